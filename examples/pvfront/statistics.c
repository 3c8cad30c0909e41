/* SPDX-License-Identifier: MIT */
#include "statistics.h"

#include <stddef.h>

#include "json.h"

#define ROW(field) \
	{ \
#field, offsetof(struct pvf_vbd_statistics, field) \
	}

/* All that simply add up. */
static const struct {
	const char *name;
	size_t offset;
} rows[] = {
	ROW(reads),         ROW(writes),           ROW(flushes),       ROW(errors),      ROW(bytes_read),
	ROW(bytes_written), ROW(requests),         ROW(responses),     ROW(segments),    ROW(pushes),
	ROW(notifications), ROW(events),           ROW(sleeps),        ROW(spins),       ROW(bounced_bytes),
	ROW(split),         ROW(grant_operations), ROW(bad_responses), ROW(latency_sum), ROW(latency_count),
};

#define NR_ROWS (sizeof(rows) / sizeof(rows[0]))

static uint64_t value_at(const struct pvf_vbd_statistics *statistics, size_t offset)
{
	return *(const uint64_t *)(const void *)((const uint8_t *)statistics + offset);
}

void statistics_add(struct pvf_vbd_statistics *sum, const struct pvf_vbd_statistics *more)
{
	if (more->latency_count > 0 && (sum->latency_count == 0 || more->latency_min < sum->latency_min))
		sum->latency_min = more->latency_min;
	if (more->latency_max > sum->latency_max)
		sum->latency_max = more->latency_max;
	for (size_t i = 0; i < NR_ROWS; i++)
		*(uint64_t *)(void *)((uint8_t *)sum + rows[i].offset) += value_at(more, rows[i].offset);
}

void statistics_json(const struct pvf_vbd_statistics *statistics, struct json *json, const char *name)
{
	json_object(json, name);
	for (size_t i = 0; i < NR_ROWS; i++)
		json_number(json, rows[i].name, value_at(statistics, rows[i].offset));
	json_number(json, "latency_min", statistics->latency_min);
	json_number(json, "latency_max", statistics->latency_max);
	json_object_end(json);
}
