/* SPDX-License-Identifier: MIT */
/* The frontend's counters as numbers with names. */
#ifndef STATISTICS_H
#define STATISTICS_H

#include <pvfront/vbd.h>

struct json;

void statistics_add(struct pvf_vbd_statistics *sum, const struct pvf_vbd_statistics *more);
void statistics_json(const struct pvf_vbd_statistics *statistics, struct json *json, const char *name);

#endif
