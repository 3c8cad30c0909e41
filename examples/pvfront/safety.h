/* SPDX-License-Identifier: MIT */
#ifndef SAFETY_H
#define SAFETY_H

#include <stdbool.h>

struct failure;
struct options;
struct session;

/* Refuses a device that holds something recognised, unless --scratch is given. Reads from it, over the ring. */
bool safety_device_is_scratch(struct session *session);

/* The same for a file that `bench --compare` would write to. */
bool safety_file_is_scratch(const struct options *options, const char *path, struct failure *failure);

#endif
