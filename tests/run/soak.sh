#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# soak.sh [HOURS]: the simulator's tests, the oracle among them, with a new seed each time round, in turn plain, under
# ASan+UBSan and under TSan, until the hours are over or something fails. The seed is printed: it repeats the run.
set -euo pipefail
cd "$(dirname "$0")/../.."

hours=${1-1}
if ! [[ $hours =~ ^[0-9]+(\.[0-9]+)?$ ]] || [ $# -gt 1 ]; then
	echo "dev: soak takes a number of hours, as in ./dev soak 2, not '$*'" >&2
	exit 2
fi

for variant in plain asan tsan; do
	tests/run/build.sh "$variant" tests
done

# The hours begin after the builds; one round is run in any case.
end=$(($(date +%s) + $(python3 -c "print(int(float('$hours') * 3600))")))
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 TSAN_OPTIONS=halt_on_error=1 PVF_LONG=1 PVF_TIMEOUT=7200
rounds=0
log=build/soak.log
while [ "$rounds" -eq 0 ] || [ "$(date +%s)" -lt "$end" ]; do
	for variant in asan tsan plain; do
		PVF_SEED=$((RANDOM << 15 | RANDOM))
		export PVF_SEED
		if ! meson test -C "build/$variant" --no-rebuild --suite sim --print-errorlogs --timeout-multiplier 100 \
			>"$log" 2>&1; then
			cat "$log"
			echo "soak: FAILED after $rounds rounds; again with: PVF_LONG=1 PVF_SEED=$PVF_SEED meson test -C build/$variant --suite sim"
			exit 1
		fi
		echo "soak: $variant with seed $PVF_SEED passed"
	done
	rounds=$((rounds + 1))
done
echo "soak: $rounds rounds passed"
