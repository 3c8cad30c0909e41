/* SPDX-License-Identifier: MIT */
#include "bench_pattern.h"

#include <stddef.h>
#include <string.h>

#include "pattern.h"

const struct bench_pattern bench_patterns[] = {
	{"maxio", 512, 100, 0},    {"maxthroughput", 65536, 100, 0}, {"reallife", 2048, 65, 60},
	{"4k5050", 4096, 50, 100}, {"32k5050", 32768, 50, 100},
};

const uint32_t nr_bench_patterns = sizeof(bench_patterns) / sizeof(bench_patterns[0]);

const struct bench_pattern *bench_pattern_find(const char *name)
{
	for (uint32_t i = 0; i < nr_bench_patterns; i++)
		if (strcmp(bench_patterns[i].name, name) == 0)
			return &bench_patterns[i];
	return NULL;
}

void bench_picker_start(struct bench_picker *picker, const struct bench_pattern *pattern, uint64_t first_sector,
			uint64_t blocks, uint64_t seed)
{
	picker->pattern = *pattern;
	picker->random = seed;
	picker->first = first_sector;
	picker->blocks = blocks;
	picker->next = 0;
}

uint64_t bench_pick(struct bench_picker *picker, bool *read)
{
	uint64_t word = pattern_mix(picker->random++);
	uint64_t block;

	/* Independent pieces of one random word. */
	*read = (word & 0xffff) * 100 < (uint64_t)picker->pattern.read_percent << 16;
	if ((word >> 16 & 0xffff) * 100 < (uint64_t)picker->pattern.random_percent << 16) {
		block = pattern_mix(word) % picker->blocks;
	} else {
		block = picker->next;
		picker->next = block + 1 < picker->blocks ? block + 1 : 0;
	}
	return picker->first + block * (picker->pattern.block / 512u);
}
