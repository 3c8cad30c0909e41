/* SPDX-License-Identifier: MIT */
/*
 * A host like another one, whose wait also ends, with PVF_AGAIN, when a signal has come. There is one in a program.
 */
#ifndef INTERRUPTIBLE_H
#define INTERRUPTIBLE_H

#include <stdbool.h>

#include <pvfront/host.h>

/* `host` must outlive what is returned. */
const struct pvf_host *interruptible_host(const struct pvf_host *host);

/* Whether signals end waits just now: yes while there is work to give up, no while the device is being closed. */
void interruptible(bool yes);

#endif
