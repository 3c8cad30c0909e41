/* SPDX-License-Identifier: MIT */
/* The command line. One table of options (options_table.c), one of verbs (verbs.c). */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "failure.h"

#define MAX_BACKEND_KEYS 64u

enum verb_bit {
	VERB_INFO = 0x01,
	VERB_READ = 0x02,
	VERB_WRITE = 0x04,
	VERB_VERIFY = 0x08,
	VERB_COPY = 0x10,
	VERB_BENCH = 0x20,
	VERB_FLUSH = 0x40,
	VERB_ALL = 0x7f,
};

/* In the order of the table. */
enum option_id {
	OPTION_HOST,
	OPTION_JSON,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_IMAGE,
	OPTION_READ_ONLY,
	OPTION_BACKEND_KEY,
	OPTION_BACKEND_FAULT,
	OPTION_TRACE,
	OPTION_DEADLINE,
	OPTION_PERSISTENT,
	OPTION_SECTOR_SIZE,
	OPTION_VIRTUAL_DEVICE,
	OPTION_SECTOR,
	OPTION_COUNT,
	OPTION_OFFSET,
	OPTION_LENGTH,
	OPTION_IN,
	OPTION_OUT,
	OPTION_WRITE,
	OPTION_SCRATCH,
	OPTION_SEED,
	OPTION_PATTERN,
	OPTION_BLOCK,
	OPTION_READ_PERCENT,
	OPTION_RANDOM,
	OPTION_DEPTH,
	OPTION_SECONDS,
	OPTION_REPEAT,
	OPTION_COMPARE,
	OPTION_POLL,
	OPTION_SPIN,
	OPTIONS
};

enum option_kind {
	KIND_FLAG,
	KIND_TEXT,
	KIND_NUMBER,  /* uint64_t, with suffixes */
	KIND_SECONDS, /* uint64_t milliseconds */
	KIND_ON_OFF,
	KIND_LIST, /* repeated: backend_keys */
};

struct option_row {
	const char *name; /* without the dashes */
	enum option_kind kind;
	size_t offset;        /* in struct options */
	uint64_t min, max;    /* KIND_NUMBER, KIND_SECONDS (in ms) */
	uint32_t verbs;       /* verbs it goes with */
	const char *argument; /* for the help; NULL for a flag */
	const char *help;
};

extern const struct option_row option_table[OPTIONS];

struct verb;

struct options {
	const struct verb *verb; /* NULL when none was named */
	bool device_class;       /* "vbd" was named */
	uint64_t given;          /* bit n: option n was on the command line */

	const char *host, *image, *fault, *in, *out, *pattern, *compare;
	const char *backend_keys[MAX_BACKEND_KEYS];
	uint32_t nr_backend_keys;
	bool json, help, version, read_only, trace, persistent, write, scratch, poll;
	uint64_t deadline, sector_size, virtual_device;
	uint64_t sector, count, offset, length;
	uint64_t seed, block, read_percent, random, depth, seconds, repeat, spin;
};

static inline bool option_given(const struct options *options, enum option_id id)
{
	return (options->given >> id & 1u) != 0;
}

/* Fills in what was not given, reads the command line, and checks each value by itself. */
bool options_parse(struct options *options, int argc, char **argv, struct failure *failure);

/* Checks the options against each other and against the files they name, before anything is opened. */
bool options_check(const struct options *options, struct failure *failure);

#endif
