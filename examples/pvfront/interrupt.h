/* SPDX-License-Identifier: MIT */
/*
 * Signals. The first SIGINT, SIGTERM or SIGHUP is remembered: the work stops, the device is closed cleanly, the program
 * exits with 128 + signal. The second one ends the program at once, taking only the half-written file with it.
 */
#ifndef INTERRUPT_H
#define INTERRUPT_H

void interrupt_setup(void);

/* The signal that came, 0: none. */
int interrupt_signal(void);

/* The file that a second signal has to remove; NULL: none. The string stays the caller's. */
void interrupt_partial_file(const char *path);

#endif
