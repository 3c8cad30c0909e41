#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# format.sh --write|--check: clang-format on every C file of the tree; --check also looks at the scripts.
set -euo pipefail
cd "$(dirname "$0")/../.."

mapfile -d '' -t sources < <(find libpvfront adapters examples tests -name '*.[ch]' -print0 | sort -z)

case ${1-} in
--write)
	clang-format -i "${sources[@]}"
	;;
--check)
	mapfile -d '' -t scripts < <(find dev .ci/run tests examples -type f \( -name '*.sh' -o -name dev -o -name run \) -print0)
	record=(python3 tests/run/record.py format "" source)
	"${record[@]}" "every C file is formatted as .clang-format says" \
		-- clang-format --dry-run --Werror "${sources[@]}" || failed=1
	"${record[@]}" "shellcheck has nothing to say about the scripts" -- shellcheck "${scripts[@]}" || failed=1
	exit "${failed-0}"
	;;
*)
	echo "format.sh: --write or --check" >&2
	exit 2
	;;
esac
