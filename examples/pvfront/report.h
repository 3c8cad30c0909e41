/* SPDX-License-Identifier: MIT */
#ifndef REPORT_H
#define REPORT_H

struct session;

/* Tells how it went, for a person or as JSON, and returns the exit code. `signal`: the one that ended it, or 0. */
int report(const struct session *session, int signal);

#endif
