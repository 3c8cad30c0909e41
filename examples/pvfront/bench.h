/* SPDX-License-Identifier: MIT */
#ifndef BENCH_H
#define BENCH_H

#include "bench_check.h"
#include "bench_pattern.h"

struct json;
struct session;

#define BENCH_MAX_RUNS 99u

struct bench_result {
	struct bench_pattern pattern;
	bool complete;   /* all runs are done and obey the laws: only then there is something to show */
	uint32_t median; /* the run to show */
	double spread;
	double overhead; /* raw IOPS / ours; 0: not compared */
	double raw_median, raw_spread;
	uint32_t runs;
	struct bench_run run[BENCH_MAX_RUNS];
	double iops[BENCH_MAX_RUNS], raw_iops[BENCH_MAX_RUNS];
};

/* One run on a freshly connected session. */
bool bench_vbd(struct session *session, struct bench_picker *picker, struct bench_run *run);

/* The same requests one after the other with pread and pwrite, as the simulated backend does them. */
bool bench_raw(struct session *session, struct bench_picker *picker, double *iops);

#endif
