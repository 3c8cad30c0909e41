#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Which Debian packages each verb and each test suite needs, and how they get here.
#
#   packages.sh --install NAME…   installs what the names lack; silent when nothing does
#   packages.sh --lacking NAME…   prints what they lack
#   packages.sh --suites          prints the names of the test suites
set -euo pipefail

# A page of its own, because tests/targets also works by hand.
targets=$(sed '/^#/d' "$(dirname "$0")/../targets/packages")
readonly targets

readonly compiler='gcc libc6-dev meson ninja-build pkg-config python3'

# Whoever builds the tests builds all of them.
readonly tests="$compiler libcmocka-dev libxen-dev"

declare -rA packages=(
	[report]="python3"
	[build]="$compiler"
	[demo]="e2fsprogs python3"
	[soak]="$tests"
	[runner]="$tests"
	[unit]="$tests"
	[sim]="$tests"
	[tool]="$tests e2fsprogs mandoc"
	[install]="$tests binutils"
	[targets]="$compiler ${targets//$'\n'/ }"
	[bench]="$tests valgrind"
	[docs]="$tests e2fsprogs"
	[format]="clang-format shellcheck"
	[clang]="$tests clang"
	[tidy]="$tests clang clang-tidy"
)
readonly suites='runner unit sim tool install targets bench docs format clang tidy'

lacking() {
	local name wanted=()
	for name in "$@"; do
		read -ra words <<<"${packages[$name]}"
		wanted+=("${words[@]}")
	done
	# dpkg-query leaves out what dpkg has never heard of: compare with what is there.
	# shellcheck disable=SC2016 # the ${…} are dpkg-query's
	comm -23 <(printf '%s\n' "${wanted[@]}" | sort -u) \
		<(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null |
			sed -n 's/^installed //p' | sort -u)
}

give_up() {
	printf 'dev: %s\n' "$*" >&2
	exit 1
}

install() {
	local lacks run=()
	command -v dpkg-query >/dev/null ||
		give_up "this is no Debian system, so the packages of ./dev cannot be installed; it needs: $(for n in "$@"; do echo "${packages[$n]}"; done | tr '\n' ' ')"
	mapfile -t lacks < <(lacking "$@")
	[ ${#lacks[@]} -gt 0 ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null ||
			give_up "these Debian packages are lacking, and neither root nor sudo is here to install them: ${lacks[*]}"
		run=(sudo)
		[ -t 0 ] || run=(sudo -n)
	fi
	echo "dev: installing Debian packages: ${lacks[*]}" >&2
	local log
	log=$(mktemp)
	if ! "${run[@]}" env DEBIAN_FRONTEND=noninteractive sh -c '
		apt-get -q -o DPkg::Lock::Timeout=300 update &&
		apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"' sh "${lacks[@]}" \
		>"$log" 2>&1 </dev/null; then
		# The lists of an earlier update may serve where the network does not.
		if ! "${run[@]}" env DEBIAN_FRONTEND=noninteractive \
			apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "${lacks[@]}" \
			>>"$log" 2>&1 </dev/null; then
			tail -n 5 "$log" >&2
			rm -f "$log"
			give_up "these Debian packages could not be installed (is there a network, and are you allowed to?): ${lacks[*]}"
		fi
	fi
	rm -f "$log"
}

case ${1-} in
--install)
	shift
	install "$@"
	;;
--lacking)
	shift
	lacking "$@"
	;;
--suites)
	echo "$suites"
	;;
*)
	give_up "packages.sh: --install, --lacking or --suites"
	;;
esac
