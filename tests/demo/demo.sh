#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./dev demo: a disk image, served by a backend on a simulated Xen, copied out through the block protocol and checked.
#
#   --image PATH   this image instead of one made here; it is only read
#   --fault NAME   corrupt, size or die: what the backend does wrong; the demo must then fail and say where
#   --check        only looks at the arguments
set -euo pipefail

tree=$(cd "$(dirname "$0")/../.." && pwd)
tool=$tree/build/pvfront
work=$tree/build/demo
PATH=$PATH:/usr/sbin:/sbin
image='' fault='' check=''

refuse() {
	printf 'demo: %s\n' "$*" >&2
	exit 2
}

fail() {
	printf 'demo: FAILED: %s\n' "$*" >&2
	exit 1
}

step() {
	printf '\n== %s\n' "$*"
}

while [ $# -gt 0 ]; do
	case $1 in
	--check) check=yes ;;
	--image | --fault)
		[ $# -ge 2 ] || refuse "$1 needs a value"
		[ "$1" = --image ] && image=$2 || fault=$2
		shift
		;;
	*) refuse "'$1' is no option of ./dev demo; it takes --image PATH and --fault corrupt|size|die" ;;
	esac
	shift
done
case $fault in
'' | corrupt | size | die) ;;
*) refuse "no fault '$fault'; the faults are corrupt, size and die" ;;
esac
if [ -n "$image" ]; then
	[ -f "$image" ] || refuse "$image: no such image"
	[ -r "$image" ] || refuse "$image: it cannot be read"
	image=$(realpath "$image")
fi
[ -z "$check" ] || exit 0

# An ext4 file system of 64 MiB with real files in it: this tree and the C library's development files. No root, no mount.
make_image() {
	local files=$work/files
	mkdir -p "$files/tree"
	tar -C "$tree" --exclude=./build --exclude=./.git -cf - . | tar -C "$files/tree" -xf -
	dpkg-query -L libc6-dev linux-libc-dev | tar -C / --no-recursion --files-from=- -cf - 2>/dev/null | tar -C "$files" -xf -
	mke2fs -q -F -t ext4 -d "$files" "$1" 64M
	rm -rf "$files"
}

# Each difference is named: which size, or which block.
compare() {
	local wanted got first
	wanted=$(stat -c %s "$1")
	got=$(stat -c %s "$2")
	[ "$wanted" = "$got" ] || fail "the size differs: the image has $wanted bytes, the copy $got"
	wanted=$(sha256sum <"$1" | cut -d ' ' -f 1)
	got=$(sha256sum <"$2" | cut -d ' ' -f 1)
	printf 'image %s\ncopy  %s\n' "$wanted" "$got"
	[ "$wanted" = "$got" ] && return
	# cmp counts from 1; it ends with 1 because the files differ.
	first=$(($({ cmp -l "$1" "$2" || true; } | sed -n '1{s/^ *\([0-9]*\) .*/\1/p;q}') - 1))
	fail "the copy differs from the image: first in block $((first / 4096)) of 4096 bytes, at byte $first"
}

check_file_system() {
	if ! dumpe2fs -h "$1" >/dev/null 2>&1; then
		echo "no ext file system on it: nothing to check"
		return
	fi
	e2fsck -fn "$1" || fail "e2fsck found errors on the copy"
}

# Block size × depth × what is done; the numbers of each run are kept for the table.
measure() {
	local scratch=$1 block depth read_percent
	for block in 4K 32K; do
		for depth in 1 32; do
			for read_percent in 100 0 50; do
				"$tool" --json vbd bench --image "$scratch" --block "$block" --depth "$depth" \
					--read "$read_percent" --random 100 --seconds 0.5 --write --scratch ||
					fail "bench, block $block, depth $depth, $read_percent % read"
			done
		done
	done >"$work/bench.jsonl"
	python3 "$tree/tests/demo/table.py" bench <"$work/bench.jsonl"
}

rm -rf "$work"
mkdir -p "$work"
faulty=()
[ -z "$fault" ] || faulty=(--backend-fault "$fault")

if [ -z "$image" ]; then
	image=$work/disk.img
	step "an ext4 image of 64 MiB from real files"
	make_image "$image"
	ls -l "$image"
fi

step "the handshake: pvfront vbd info --image $image --trace"
"$tool" vbd info --image "$image" --trace "${faulty[@]}" || fail "the device could not be attached (see the line above)"

step "the whole device out through the ring: pvfront vbd copy --image $image --out $work/copy.img"
"$tool" --json vbd copy --image "$image" --out "$work/copy.img" "${faulty[@]}" >"$work/copy.json" || {
	python3 "$tree/tests/demo/table.py" error <"$work/copy.json"
	fail "the copy was not finished (see the line above)"
}
python3 "$tree/tests/demo/table.py" copy <"$work/copy.json"

step "SHA-256"
compare "$image" "$work/copy.img"

step "the file system on the copy: e2fsck -fn"
check_file_system "$work/copy.img"

step "how fast (on a scratch copy; 0.5 s each, random places)"
cp --sparse=always "$image" "$work/scratch.img"
measure "$work/scratch.img"

step "what the backend saw while the device was copied out"
python3 "$tree/tests/demo/table.py" backend <"$work/copy.json"

[ -z "$fault" ] || fail "the backend was told to '$fault' and nothing was noticed"
printf '\ndemo: ok: %s bytes through the ring, identical\n' "$(stat -c %s "$work/copy.img")"
rm -rf "$work"
