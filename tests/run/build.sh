#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# build.sh VARIANT [tests]   builds the tree in build/VARIANT; with the tests when asked
#   plain   gcc, -O2 -g
#   asan    gcc, AddressSanitizer and UndefinedBehaviourSanitizer
#   tsan    gcc, ThreadSanitizer
#   clang   clang, -O2 -g
set -euo pipefail
cd "$(dirname "$0")/../.."

variant=$1
tests=${2-}
directory=build/$variant
compiler=gcc
options=(-Dbuildtype=debugoptimized)

case $variant in
plain) ;;
asan) options+=('-Db_sanitize=address,undefined' -Db_lundef=false '-Dc_args=-fno-sanitize-recover=all -fno-omit-frame-pointer') ;;
tsan) options+=(-Db_sanitize=thread -Db_lundef=false) ;;
clang) compiler=clang ;;
*)
	echo "build.sh: no variant '$variant'" >&2
	exit 2
	;;
esac

mkdir -p build
# Two suites, or two of ./dev, may want the same build at once.
exec 9>"build/$variant.lock"
flock 9

log=build/$variant.log
if [ ! -f "$directory/build.ninja" ]; then
	rm -rf "$directory"
	want=false
	[ -z "$tests" ] || want=true
	CC=$compiler meson setup "$directory" "${options[@]}" -Dtests=$want >"$log" 2>&1 || {
		cat "$log" >&2
		exit 1
	}
elif [ -n "$tests" ] && ! meson introspect --buildoptions "$directory" |
	python3 -c 'import json, sys; sys.exit(not any(o["name"] == "tests" and o["value"] for o in json.load(sys.stdin)))'; then
	meson configure "$directory" -Dtests=true >"$log" 2>&1
fi
ninja -C "$directory" >"$log" 2>&1 || {
	cat "$log" >&2
	exit 1
}
