#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# program.sh DIRECTORY shared|static: builds the program in a directory outside the tree with what pkg-config says, and
# runs it on an image of 4 MiB that it may write. $libraries is where the installed libraries are.
set -euo pipefail
: "${libraries:?}"
cd "$1"

# shellcheck disable=SC2207 # flags are words
flags=($(pkg-config --cflags pvfront-sim))
case $2 in
shared)
	# shellcheck disable=SC2207
	libs=($(pkg-config --libs pvfront-sim))
	;;
static)
	# shellcheck disable=SC2207
	libs=($(pkg-config --static --libs pvfront-sim))
	libs=("${libs[@]/#-lpvfront-sim/-l:libpvfront-sim.a}")
	libs=("${libs[@]/%-lpvfront/-l:libpvfront.a}")
	;;
esac
gcc -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror "${flags[@]}" -o program ./*.c "${libs[@]}"
linked=$(LD_LIBRARY_PATH=$libraries ldd program | grep -c libpvfront || true)
case $2 in
shared) [ "$linked" -gt 0 ] || { echo "no shared library of ours in it" && exit 1; } ;;
static) [ "$linked" -eq 0 ] || { echo "it still asks for our shared library" && exit 1; } ;;
esac
head -c 4194304 /dev/urandom >disk.img
LD_LIBRARY_PATH=$libraries ./program disk.img
