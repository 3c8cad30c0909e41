/* SPDX-License-Identifier: MIT */
/*
 * A file that is there complete or not at all: written under a temporary name beside it, synced, renamed. Pipes and
 * character devices, /dev/null say, are written directly.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "failure.h"

struct output {
	int fd;
	const char *name;       /* for messages */
	char *path, *temporary; /* NULL: written directly */
	uint64_t position;
};

/* path NULL: stdout. */
bool output_open(struct output *output, const char *path, struct failure *failure);
/* Appends. Blocks of zeros become holes where the file can have them. */
bool output_write(struct output *output, const uint8_t *data, uint32_t bytes, struct failure *failure);
/* `complete`: the file gets its name; else it vanishes. Returns false with a failure when it could not be completed. */
bool output_close(struct output *output, bool complete, struct failure *failure);

#endif
