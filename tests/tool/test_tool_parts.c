/* SPDX-License-Identifier: MIT */
#include "tool_tests.h"

int main(void)
{
	int bench = pvf_run_tests("tool", bench_check_tests, nr_bench_check_tests);
	int text = pvf_run_tests("tool", text_tests, nr_text_tests);

	return bench | text;
}
