/* SPDX-License-Identifier: MIT */
#include "io.h"

#include <inttypes.h>
#include <string.h>

#include "session.h"
#include "verbs.h"

static const char *op_name(uint32_t op)
{
	return op == PVF_VBD_READ ? "reading" : op == PVF_VBD_WRITE ? "writing" : "flushing";
}

#define WHERE_TEXT 32

/* " at sector N"; a flush is nowhere in particular. */
static const char *at_sector(char text[WHERE_TEXT], const char *doing, uint64_t sector)
{
	text[0] = '\0';
	if (strcmp(doing, op_name(PVF_VBD_FLUSH)) != 0)
		(void)snprintf(text, WHERE_TEXT, " at sector %" PRIu64, sector);
	return text;
}

static bool silent(struct session *session, const char *doing, uint64_t sector)
{
	char where[WHERE_TEXT];

	return fail_device(&session->failure, CODE_BROKEN, PVF_TIMEOUT,
			   "the backend has answered nothing for %" PRIu64 " ms while %s%s: %" PRIu32
			   " requests are in flight in phase %s; is the backend alive? --deadline waits longer",
			   session->options->deadline, doing, at_sector(where, doing, sector),
			   pvf_vbd_in_flight(session->queue), pvf_phase_name(pvf_vbd_phase(session->vbd)));
}

/*
 * What broke the device. The queue only notes it; the sentence is made by the next advance, which may also leave the phase:
 * ask for that one before.
 */
static const char *device_says(struct session *session)
{
	const char *says;

	(void)pvf_vbd_advance(session->vbd);
	says = pvf_vbd_error(session->vbd);
	return says[0] != '\0' ? says : "the backend's state is no longer Connected";
}

bool io_wait(struct session *session, struct pvf_vbd_done *done, uint32_t max, uint32_t *n, const char *doing,
	     uint64_t sector)
{
	const struct pvf_host *host = session->attachment.host;
	uint64_t deadline = host->ops->now(host->ctx) + session->options->deadline * 1000000u;
	char where[WHERE_TEXT];

	while (!session_interrupted(session)) {
		int got = pvf_vbd_wait(session->queue, done, max, deadline);
		const char *phase = pvf_phase_name(pvf_vbd_phase(session->vbd));

		if (got > 0) {
			*n = (uint32_t)got;
			return true;
		}
		if (got == 0)
			return fail_device(&session->failure, CODE_BROKEN, PVF_RESET,
					   "nothing is in flight any more while %s%s, phase %s: %s", doing,
					   at_sector(where, doing, sector), phase, device_says(session));
		if (got == PVF_TIMEOUT)
			return silent(session, doing, sector);
		if (got != PVF_AGAIN)
			return io_failed(session, PVF_VBD_READ, sector, 0, got);
	}
	return false;
}

bool io_failed(struct session *session, uint32_t op, uint64_t sector, uint32_t bytes, int status)
{
	static const struct {
		int status;
		enum exit_code code;
		const char *advice;
	} rows[] = {
		{PVF_IO, CODE_IO, "the backend's own log says why"},
		{PVF_UNSUPPORTED, CODE_IO, "this backend does not do it"},
		{PVF_RANGE, CODE_USAGE, "choose a range inside the device"},
		{PVF_ALIGN, CODE_USAGE, "use multiples of the sector size"},
		{PVF_READ_ONLY, CODE_USAGE, "the device is read-only"},
		{PVF_INVALID, CODE_USAGE, "the request is malformed"},
		{PVF_NO_MEMORY, CODE_IO, "use a smaller --depth"},
		{PVF_NO_SPACE, CODE_IO, "the host has no grants left; use a smaller --depth"},
	};
	const char *phase = pvf_phase_name(pvf_vbd_phase(session->vbd));
	char where[64] = "";

	if (op != PVF_VBD_FLUSH)
		(void)snprintf(where, sizeof(where), " sectors %" PRIu64 " to %" PRIu64, sector,
			       sector + (bytes > 0 ? bytes / 512u - 1u : 0u));
	session->failure.has_sector = session->failure.code == CODE_OK && op != PVF_VBD_FLUSH;
	if (session->failure.has_sector)
		session->failure.sector = sector;
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].status == status)
			return fail_device(&session->failure, rows[i].code, status, "%s%s failed: %s (%s); %s",
					   op_name(op), where, pvf_status_text(status), pvf_status_name(status),
					   rows[i].advice);
	return fail_device(&session->failure, CODE_BROKEN, status, "%s%s failed: %s (%s), phase %s: %s", op_name(op),
			   where, pvf_status_text(status), pvf_status_name(status), phase, device_says(session));
}

bool io_submit(struct session *session, const struct pvf_vbd_io *io, uint32_t bytes, bool *again)
{
	int taken = pvf_vbd_submit(session->queue, io, 1);

	*again = taken == 0 || taken == PVF_AGAIN;
	if (taken == 1)
		return true;
	return *again ? false : io_failed(session, io->op, io->sector, bytes, taken);
}

/*
 * One request, start to end. When the answer never comes, the device is closed here: the request still points to memory
 * of the caller's.
 */
static bool single(struct session *session, struct pvf_vbd_io *io, uint32_t bytes)
{
	struct pvf_vbd_done done;
	uint32_t n = 0;
	bool again;

	if (!io_submit(session, io, bytes, &again))
		return again ? io_failed(session, io->op, io->sector, bytes, PVF_AGAIN) : false;
	(void)pvf_vbd_push(session->queue);
	if (!io_wait(session, &done, 1, &n, op_name(io->op), io->sector)) {
		session_disconnect(session);
		return false;
	}
	return done.status == PVF_OK || io_failed(session, io->op, io->sector, bytes, done.status);
}

bool io_read(struct session *session, uint64_t sector, void *data, uint32_t bytes)
{
	struct pvf_seg seg = PVF_SEG_OF(data, bytes);
	struct pvf_vbd_io io = {.sector = sector, .segs = &seg, .nr_segs = 1, .op = PVF_VBD_READ};

	return single(session, &io, bytes);
}

bool io_flush(struct session *session)
{
	struct pvf_vbd_io io = {.op = PVF_VBD_FLUSH};

	session->outcome.flushed = single(session, &io, 0);
	return session->outcome.flushed;
}

bool io_flush_if_offered(struct session *session)
{
	return !session->info.flush || io_flush(session);
}

bool io_may_write(struct session *session)
{
	if (!session->options->write)
		return fail(&session->failure, CODE_REFUSED,
			    "vbd %s changes the device's data and wants --write for that",
			    session->options->verb->name);
	if (session->info.read_only)
		return fail_device(
			&session->failure, CODE_USAGE, PVF_READ_ONLY,
			"the device is read-only (the backend's key mode is '%s'): attach it writable, or make its "
			"file writable",
			session->info.mode);
	return true;
}
