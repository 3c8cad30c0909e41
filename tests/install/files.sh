#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# files.sh PREFIX LIBDIR: names each file that is lacking from an installation.
set -euo pipefail

prefix=$1
libdir=$2
lacking=0
for file in bin/pvfront share/man/man1/pvfront.1 include/pvfront/{pvfront,compiler,grant,host,status,xenbus,xs,vbd,sim,sim_backend,sim_posix}.h \
	include/pvfront/wire/{ring,blkif,xenbus,xs,grant}.h \
	"$libdir"/lib{pvfront,pvfront-sim}.{a,so} "$libdir"/pkgconfig/{pvfront,pvfront-sim}.pc; do
	[ -e "$prefix/$file" ] || {
		echo "not installed: $file"
		lacking=1
	}
done
exit $lacking
