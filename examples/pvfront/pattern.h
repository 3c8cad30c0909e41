/* SPDX-License-Identifier: MIT */
/*
 * The pattern of `vbd verify`: 512 bytes that look random and say which sector of which run they are, so that a sector
 * found in the wrong place can be named.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#define PATTERN_BYTES 512u

/* A well-mixed word for a number (splitmix64). */
uint64_t pattern_mix(uint64_t number);

void pattern_fill(uint8_t data[PATTERN_BYTES], uint64_t sector, uint64_t seed);

/* True when the bytes are the pattern of some sector of this seed: *sector is which. */
bool pattern_recognise(const uint8_t data[PATTERN_BYTES], uint64_t seed, uint64_t *sector);

#endif
