/* SPDX-License-Identifier: MIT */
#ifndef HEXDUMP_H
#define HEXDUMP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Sixteen bytes a line with their offset; lines that repeat are one "*". Keeps its place between calls in *last, which
 * starts zeroed. False when stdout does not take it.
 */
struct hexdump {
	uint8_t line[16];
	bool started, starred;
};

bool hexdump_print(struct hexdump *dump, uint64_t offset, const uint8_t *data, uint32_t bytes);

#endif
