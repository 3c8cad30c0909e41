/* SPDX-License-Identifier: MIT */
/* One run through the ring. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "bench_account.h"
#include "io.h"
#include "pattern.h"
#include "session.h"

#define POLLS_BEFORE_YIELD 256u

struct slot {
	struct pvf_seg seg;
	uint64_t sector;
	uint64_t submitted; /* the look at the clock before it */
	uint32_t op;
};

struct load {
	struct session *session;
	struct bench_picker *picker;
	const struct pvf_host *host;
	struct slot *slots, **free;
	struct pvf_vbd_io *ios; /* chosen, not yet on the ring */
	uint32_t depth, nr_free, nr_ios;
	uint64_t ends; /* nanoseconds */
	struct bench_account account;
	struct bench_run *run;
};

static uint64_t look(struct load *load, uint32_t in_flight)
{
	bench_account_look(&load->account, load->host->ops->now(load->host->ctx), in_flight);
	return load->account.last;
}

/* Chooses a request for each free slot and puts on the ring what it takes. */
static bool fill_ring(struct load *load)
{
	int taken;

	while (load->nr_free > 0) {
		struct slot *slot = load->free[--load->nr_free];
		bool read;

		slot->sector = bench_pick(load->picker, &read);
		slot->op = read ? PVF_VBD_READ : PVF_VBD_WRITE;
		load->ios[load->nr_ios++] = (struct pvf_vbd_io){
			.sector = slot->sector, .segs = &slot->seg, .nr_segs = 1, .op = slot->op, .user = slot};
	}
	if (load->nr_ios == 0)
		return true;
	taken = pvf_vbd_submit(load->session->queue, load->ios, load->nr_ios);
	if (taken < 0 && taken != PVF_AGAIN)
		return io_failed(load->session, load->ios[0].op, load->ios[0].sector, load->picker->pattern.block,
				 taken);
	if (taken > 0) {
		for (int i = 0; i < taken; i++)
			((struct slot *)load->ios[i].user)->submitted = load->account.last;
		load->nr_ios -= (uint32_t)taken;
		memmove(load->ios, load->ios + taken, load->nr_ios * sizeof(load->ios[0]));
	}
	return true;
}

static bool poll_ring(struct load *load, struct pvf_vbd_done *done, uint32_t max, uint32_t *n)
{
	struct session *session = load->session;

	for (uint32_t empty = 1; !session_interrupted(session); empty++) {
		int got = pvf_vbd_reap(session->queue, done, max);

		if (got > 0) {
			*n = (uint32_t)got;
			return true;
		}
		if (empty % POLLS_BEFORE_YIELD != 0)
			continue;
		(void)pvf_vbd_advance(session->vbd);
		(void)sched_yield();
		if (load->host->ops->now(load->host->ctx) > load->account.last + session->options->deadline * 1000000u)
			return io_wait(session, done, max, n, "polling", load->slots[0].sector);
	}
	return false;
}

static bool wait_ring(struct load *load, struct pvf_vbd_done *done, uint32_t max, uint32_t *n)
{
	if (load->session->options->poll)
		return poll_ring(load, done, max, n);
	return io_wait(load->session, done, max, n, "measuring", load->slots[0].sector);
}

static bool take_done(struct load *load, const struct pvf_vbd_done *done, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct slot *slot = done[i].user;

		if (done[i].status != PVF_OK)
			return io_failed(load->session, slot->op, slot->sector, load->picker->pattern.block,
					 done[i].status);
		bench_account_done(&load->account, slot->submitted);
		load->free[load->nr_free++] = slot;
	}
	return true;
}

/* The clock is read before the submit and after the reap: a request's time is the whole of what its user waits for. */
static bool drive(struct load *load)
{
	struct pvf_vbd_queue *queue = load->session->queue;
	struct pvf_vbd_done done[64];
	uint64_t now = load->account.last;
	uint32_t in_flight = 0;

	while (now < load->ends || in_flight > 0) {
		uint32_t n = 0;

		if (now < load->ends && !fill_ring(load))
			return false;
		(void)pvf_vbd_push(queue);
		in_flight = pvf_vbd_in_flight(queue);
		if (!wait_ring(load, done, 64, &n))
			return false;
		now = look(load, in_flight);
		in_flight = pvf_vbd_in_flight(queue);
		if (!take_done(load, done, n))
			return false;
	}
	return true;
}

static double thread_cpu(void)
{
	struct timespec used;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static double backend_cpu(const struct session *session)
{
	struct named_number numbers[MAX_NUMBERS];
	uint32_t n = 0;

	if (session->attachment.driver->counters != NULL)
		n = session->attachment.driver->counters(&session->attachment, numbers);
	return (double)named_number(numbers, n, "cpu_ns") / 1e9;
}

/* What is written is no run of zeros, which a backend could treat apart. */
static bool take_buffers(struct load *load)
{
	for (uint32_t i = 0; i < load->depth; i++) {
		struct slot *slot = &load->slots[i];
		int status = pvf_vbd_buffer(load->session->queue, load->picker->pattern.block, &slot->seg);

		if (status != PVF_OK)
			return io_failed(load->session, PVF_VBD_READ, 0, load->picker->pattern.block, status);
		slot->seg.length = load->picker->pattern.block;
		for (uint32_t at = 0; at + PATTERN_BYTES <= load->picker->pattern.block; at += PATTERN_BYTES)
			pattern_fill((uint8_t *)pvf_seg_data(&slot->seg) + at, at, i);
		load->free[load->nr_free++] = slot;
	}
	return true;
}

static void conclude(struct load *load)
{
	const struct bench_account *account = &load->account;
	struct pvf_vbd_statistics statistics;
	struct bench_run *run = load->run;
	double elapsed = account->last > account->started ? (double)(account->last - account->started) : 0;

	pvf_vbd_statistics(load->session->queue, &statistics, NULL);
	run->requests = account->requests;
	run->time_reversals = account->reversals;
	run->seconds = elapsed / 1e9;
	run->iops = elapsed > 0 ? (double)run->requests / run->seconds : 0;
	run->min = account->min;
	run->max = account->max;
	run->average = run->requests > 0 ? (double)account->sum / (double)run->requests : 0;
	run->p50 = bench_percentile(account->histogram, PVF_LATENCY_BUCKETS, pvf_latency_bucket_ns, 50, run->max);
	run->p99 = bench_percentile(account->histogram, PVF_LATENCY_BUCKETS, pvf_latency_bucket_ns, 99, run->max);
	run->depth = elapsed > 0 ? (double)account->in_flight_time / elapsed : 0;
	run->notifications = statistics.notifications;
	run->events = statistics.events;
}

static bool measure(struct load *load)
{
	double frontend = thread_cpu(), backend = backend_cpu(load->session);
	bool good;

	bench_account_start(&load->account, load->host->ops->now(load->host->ctx));
	load->ends = load->account.started + load->session->options->seconds * 1000000u;
	good = drive(load);
	load->run->frontend_cpu = thread_cpu() - frontend;
	load->run->backend_cpu = backend_cpu(load->session) - backend;
	if (good)
		conclude(load);
	return good;
}

bool bench_vbd(struct session *session, struct bench_picker *picker, struct bench_run *run)
{
	uint32_t depth = (uint32_t)session->options->depth;
	struct load load = {
		.session = session,
		.picker = picker,
		.host = session->attachment.host,
		.slots = calloc(depth, sizeof(struct slot)),
		.free = calloc(depth, sizeof(struct slot *)),
		.ios = calloc(depth, sizeof(struct pvf_vbd_io)),
		.depth = depth,
		.run = run,
	};
	bool good = false;

	memset(run, 0, sizeof(*run));
	if (load.slots == NULL || load.free == NULL || load.ios == NULL)
		(void)fail(&session->failure, CODE_IO, "no memory for %u requests; use a smaller --depth",
			   (unsigned int)depth);
	else
		good = take_buffers(&load) && measure(&load);
	/* What is in flight still points into the slots. The buffers go with the device. */
	session_disconnect(session);
	free(load.slots);
	free(load.free);
	free(load.ios);
	return good;
}
