/* SPDX-License-Identifier: MIT */
/* What a benchmark asks for: iometer-like mixes of block size, reads and random places. */
#ifndef BENCH_PATTERN_H
#define BENCH_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

struct bench_pattern {
	const char *name; /* "custom" when it was put together on the command line */
	uint32_t block;   /* bytes */
	uint32_t read_percent, random_percent;
};

extern const struct bench_pattern bench_patterns[];
extern const uint32_t nr_bench_patterns;

const struct bench_pattern *bench_pattern_find(const char *name);

/* Chooses requests, the same ones for the same seed. */
struct bench_picker {
	struct bench_pattern pattern;
	uint64_t random; /* state */
	uint64_t first;  /* first sector of the range, 512 bytes each */
	uint64_t blocks; /* blocks in the range, at least one */
	uint64_t next;   /* the block that comes next in sequence */
};

void bench_picker_start(struct bench_picker *picker, const struct bench_pattern *pattern, uint64_t first_sector,
			uint64_t blocks, uint64_t seed);
/* The sector of the next request; *read says which way. */
uint64_t bench_pick(struct bench_picker *picker, bool *read);

#endif
