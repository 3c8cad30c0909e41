/* SPDX-License-Identifier: MIT */
/* What can be done with a vbd. */
#ifndef VERBS_H
#define VERBS_H

#include <stdbool.h>
#include <stdint.h>

struct failure;
struct json;
struct options;
struct session;

struct verb {
	const char *name;
	uint32_t bit;
	const char *summary;
	const char *examples; /* for --help, one a line, indented */
	bool connects_itself; /* run makes and ends its own connections */
	/* Checks before the device is attached; may be NULL. */
	bool (*check)(const struct options *options, struct failure *failure);
	/* Does it, on a connected session. */
	bool (*run)(struct session *session);
	/* The outcome for a person and for a program; called when run succeeded, or failed with something to tell. */
	void (*print)(const struct session *session);
	void (*json)(const struct session *session, struct json *json);
};

extern const struct verb verbs[];
extern const uint32_t nr_verbs;

const struct verb *verb_find(const char *name);

#endif
