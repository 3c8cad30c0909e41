/* SPDX-License-Identifier: MIT */
/*
 * Takes the barriers out, so that the check of the disassembly can be seen to fail. Forced in front of a source: the
 * guard of compiler.h then keeps the real ones away.
 */
#include <pvfront/compiler.h>

#define pvf_mb pvf_barrier
#define pvf_load32_acquire pvf_load32
#define pvf_store32_release pvf_store32
