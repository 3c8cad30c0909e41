/* SPDX-License-Identifier: MIT */
#ifndef HELP_H
#define HELP_H

struct options;

/* The help for what was named: the program, "vbd", or one verb. */
void help_print(const struct options *options);
void help_version(void);

#endif
