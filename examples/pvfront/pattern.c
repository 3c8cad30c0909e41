/* SPDX-License-Identifier: MIT */
#include "pattern.h"

#include <string.h>

#define WORDS (PATTERN_BYTES / 8u)

uint64_t pattern_mix(uint64_t number)
{
	number += 0x9e3779b97f4a7c15u;
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
	number = (number ^ number >> 27) * 0x94d049bb133111ebu;
	return number ^ number >> 31;
}

/*
 * A run of verify must not leave what the next one would take for a file system. The two-byte signatures are the ones
 * that chance can make: MBR (bytes 510, 511 of sector 0) and ext2/3/4 (bytes 56, 57 of sector 2).
 */
static void avoid_signatures(uint8_t data[PATTERN_BYTES])
{
	if (data[510] == 0x55 && data[511] == 0xaa)
		data[511] ^= 0xff;
	if (data[56] == 0x53 && data[57] == 0xef)
		data[57] ^= 0xff;
}

/* Word 0 is the sector, disguised by the seed; the others follow from both. */
void pattern_fill(uint8_t data[PATTERN_BYTES], uint64_t sector, uint64_t seed)
{
	uint64_t key = pattern_mix(seed);
	uint64_t words[WORDS];

	words[0] = sector ^ key;
	for (uint32_t i = 1; i < WORDS; i++)
		words[i] = pattern_mix(pattern_mix(sector) ^ (key + i));
	memcpy(data, words, PATTERN_BYTES);
	avoid_signatures(data);
}

bool pattern_recognise(const uint8_t data[PATTERN_BYTES], uint64_t seed, uint64_t *sector)
{
	uint8_t expected[PATTERN_BYTES];
	uint64_t word;

	memcpy(&word, data, sizeof(word));
	*sector = word ^ pattern_mix(seed);
	pattern_fill(expected, *sector, seed);
	return memcmp(data, expected, PATTERN_BYTES) == 0;
}
