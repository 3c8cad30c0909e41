/* SPDX-License-Identifier: MIT */
/* What `pvfront vbd bench` tells. */
#include <stdio.h>

#include "bench.h"
#include "json.h"
#include "session.h"
#include "units.h"
#include "vbd_verbs.h"

static void print_latency(const struct bench_run *run)
{
	char min[UNITS_TEXT], average[UNITS_TEXT], p50[UNITS_TEXT], p99[UNITS_TEXT], max[UNITS_TEXT];

	(void)printf("  latency   min %s  avg %s  p50 %s  p99 %s  max %s\n", units_time(min, (double)run->min),
		     units_time(average, run->average), units_time(p50, (double)run->p50),
		     units_time(p99, (double)run->p99), units_time(max, (double)run->max));
	(void)printf("  in flight %.2f on average; IOPS x latency says %.2f\n", run->depth,
		     run->iops * run->average / 1e9);
}

static void print_costs(const struct bench_run *run)
{
	double requests = (double)run->requests;
	char frontend[UNITS_TEXT], backend[UNITS_TEXT];

	(void)printf("  CPU       frontend %.0f %%, %s a request; backend %.0f %%, %s a request\n",
		     100 * run->frontend_cpu / run->seconds, units_time(frontend, run->frontend_cpu * 1e9 / requests),
		     100 * run->backend_cpu / run->seconds, units_time(backend, run->backend_cpu * 1e9 / requests));
	(void)printf("  a request %.4f notifications to the backend, %.4f events from it\n",
		     (double)run->notifications / requests, (double)run->events / requests);
}

void vbd_bench_print(const struct session *session)
{
	const struct bench_result *result = session->outcome.bench;
	const struct bench_pattern *pattern = &result->pattern;
	const struct bench_run *run = &result->run[result->median];
	char block[UNITS_TEXT], iops[UNITS_TEXT], rate[UNITS_TEXT], raw[UNITS_TEXT];

	(void)printf("vbd %u bench %s: %s, %u %% read, %u %% random, depth %u, %.2f s%s\n",
		     (unsigned int)session->info.virtual_device, pattern->name, units_bytes(block, pattern->block),
		     pattern->read_percent, pattern->random_percent, (unsigned int)session->options->depth,
		     run->seconds, session->options->poll ? ", polling" : "");
	(void)printf("  IOPS      %s, %s", units_count(iops, run->iops), units_rate(rate, run->iops * pattern->block));
	if (result->runs > 1)
		(void)printf(" (median of %u runs, spread %.1f %%)", result->runs, 100 * result->spread);
	(void)printf("\n");
	print_latency(run);
	print_costs(run);
	if (result->overhead > 0)
		(void)printf("  raw file  %s IOPS, one request at a time; overhead %.2f x (raw / vbd)\n",
			     units_count(raw, result->raw_median), result->overhead);
}

static void run_json(const struct bench_run *run, const struct bench_pattern *pattern, struct json *json)
{
	double requests = (double)run->requests;

	json_number(json, "requests", run->requests);
	json_real(json, "measured_seconds", run->seconds);
	json_real(json, "iops", run->iops);
	json_real(json, "mb_per_s", run->iops * pattern->block / 1e6);
	json_object(json, "latency_ns");
	json_number(json, "min", run->min);
	json_real(json, "avg", run->average);
	json_number(json, "p50", run->p50);
	json_number(json, "p99", run->p99);
	json_number(json, "max", run->max);
	json_object_end(json);
	json_real(json, "average_in_flight", run->depth);
	json_real(json, "cpu_frontend_seconds", run->frontend_cpu);
	json_real(json, "cpu_backend_seconds", run->backend_cpu);
	json_real(json, "notifications_per_request", (double)run->notifications / requests);
	json_real(json, "events_per_request", (double)run->events / requests);
}

static void list_json(const double *iops, uint32_t n, struct json *json, const char *name)
{
	json_array(json, name);
	for (uint32_t i = 0; i < n; i++)
		json_real(json, NULL, iops[i]);
	json_array_end(json);
}

void vbd_bench_json(const struct session *session, struct json *json)
{
	const struct bench_result *result = session->outcome.bench;
	const struct options *options = session->options;

	json_bool(json, "valid", result != NULL && result->complete);
	if (result == NULL || !result->complete)
		return;
	json_string(json, "pattern", result->pattern.name);
	json_number(json, "block", result->pattern.block);
	json_number(json, "read_percent", result->pattern.read_percent);
	json_number(json, "random_percent", result->pattern.random_percent);
	json_number(json, "depth", options->depth);
	json_real(json, "seconds", (double)options->seconds / 1000);
	json_bool(json, "poll", options->poll);
	json_number(json, "spin", options->spin);
	json_number(json, "repeat", result->runs);
	run_json(&result->run[result->median], &result->pattern, json);
	json_real(json, "spread", result->spread);
	list_json(result->iops, result->runs, json, "runs_iops");
	if (options->compare == NULL) {
		json_null(json, "raw");
		return;
	}
	json_object(json, "raw");
	json_string(json, "file", options->compare);
	json_real(json, "iops", result->raw_median);
	json_real(json, "spread", result->raw_spread);
	list_json(result->raw_iops, result->runs, json, "runs_iops");
	json_real(json, "overhead", result->overhead);
	json_object_end(json);
}
