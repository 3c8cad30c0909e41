/* SPDX-License-Identifier: MIT */
/*
 * Where data to be written come from. The length is known before the first byte is written: what has none, a pipe say,
 * is read to its end into a temporary file first.
 */
#ifndef INPUT_H
#define INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "failure.h"

struct input {
	int fd;
	const char *name; /* for messages */
	uint64_t length;  /* bytes; of a pipe no more than the limit plus one */
};

/* path NULL: stdin. Reads at most limit + 1 bytes of what has no length, and no more than `exactly` when that is not 0. */
bool input_open(struct input *input, const char *path, uint64_t limit, uint64_t exactly, struct failure *failure);
/* The next bytes, all of them. */
bool input_read(struct input *input, uint8_t *data, uint32_t bytes, struct failure *failure);
void input_close(struct input *input);

/* Whether it can be opened and is no directory, before anything else is done. */
bool input_check(const char *path, struct failure *failure);

#endif
