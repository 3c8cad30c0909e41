/* SPDX-License-Identifier: MIT */
/* What read, write, copy and verify tell in common: how much, how fast. */
#ifndef MOVED_H
#define MOVED_H

struct json;
struct session;

/* "vbd 51712 copied to FILE: 64 MiB (sectors 0 to 131071) in 0.12 s, 550 MB/s"; file may be NULL. */
void moved_print(const struct session *session, const char *what, const char *file);
void moved_json(const struct session *session, struct json *json, const char *file);

#endif
