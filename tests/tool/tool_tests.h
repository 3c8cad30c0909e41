/* SPDX-License-Identifier: MIT */
#ifndef TOOL_TESTS_H
#define TOOL_TESTS_H

#include "check.h"

extern const struct pvf_test bench_check_tests[];
extern const size_t nr_bench_check_tests;
extern const struct pvf_test text_tests[];
extern const size_t nr_text_tests;

#endif
