/* SPDX-License-Identifier: MIT */
#include "session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "interruptible.h"
#include "progress.h"
#include "statistics.h"
#include "units.h"

bool session_interrupted(const struct session *session)
{
	(void)session;
	return interrupt_signal() != 0;
}

uint32_t session_device(const struct session *session)
{
	const char *slash = session->attachment.path != NULL ? strrchr(session->attachment.path, '/') : NULL;

	return slash != NULL ? (uint32_t)strtoul(slash + 1, NULL, 10) : (uint32_t)session->options->virtual_device;
}

bool session_attach(struct session *session)
{
	const struct host_driver *driver = host_driver_find(session->options->host, &session->failure);

	session->trace.started = progress_now();
	session->trace.keep = session->options->json;
	session->attachment.driver = driver;
	if (driver == NULL || !driver->attach(session->options, &session->attachment, &session->failure))
		return false;
	session->attachment.host = interruptible_host(session->attachment.host);
	return true;
}

void session_detach(struct session *session)
{
	struct attachment *attachment = &session->attachment;

	if (attachment->state != NULL)
		attachment->driver->detach(attachment);
	attachment->path = NULL;
}

static bool open_device(struct session *session)
{
	const struct options *options = session->options;
	struct pvf_vbd_options vbd_options = PVF_VBD_OPTIONS;
	int status;

	vbd_options.flags = PVF_VBD_TIMING | session->vbd_flags;
	vbd_options.phase_ms = (uint32_t)options->deadline;
	vbd_options.persistent = options->persistent ? 1 : 0;
	vbd_options.spin = (uint32_t)options->spin;
	vbd_options.trace = options->trace ? trace_step : NULL;
	vbd_options.trace_ctx = &session->trace;
	status = pvf_vbd_open(session->attachment.host, session->attachment.path, &vbd_options, &session->vbd);
	return status == PVF_OK ||
	       fail_device(&session->failure, CODE_CONNECT, status, "the frontend at %s cannot be opened: %s (%s)",
			   session->attachment.path, pvf_status_text(status), pvf_status_name(status));
}

/* The device has to have the size of what the backend was told to serve. */
static bool check_size(struct session *session)
{
	uint64_t expected = session->attachment.expected_bytes;
	uint64_t bytes = session->info.sectors * 512;
	char has[UNITS_TEXT], wants[UNITS_TEXT];

	if (expected == 0 || bytes == expected)
		return true;
	return fail_device(&session->failure, CODE_IO, PVF_RANGE,
			   "the size is wrong: the backend's key sectors says %" PRIu64
			   " sectors (%s), but %s has %" PRIu64 " (%s); nothing was transferred; look at the backend",
			   session->info.sectors, units_bytes(has, bytes), session->options->image, expected / 512,
			   units_bytes(wants, expected));
}

bool session_connect(struct session *session)
{
	int status;

	if (!open_device(session))
		return false;
	interruptible(true);
	status = pvf_vbd_connect(session->vbd);
	if (status == PVF_AGAIN && session_interrupted(session))
		return false;
	if (status != PVF_OK)
		return fail_device(&session->failure, CODE_CONNECT, status, "%s (%s); --trace shows the handshake",
				   pvf_vbd_error(session->vbd), pvf_status_name(status));
	status = pvf_vbd_info(session->vbd, &session->info);
	if (status != PVF_OK)
		return fail_device(&session->failure, CODE_CONNECT, status, "connected, but gone at once: %s",
				   pvf_vbd_error(session->vbd));
	(void)snprintf(session->path, sizeof(session->path), "%s", session->info.path);
	(void)snprintf(session->backend_path, sizeof(session->backend_path), "%s", session->info.backend_path);
	session->info.path = session->path;
	session->info.backend_path = session->backend_path;
	session->was_connected = true;
	session->queue = pvf_vbd_queue(session->vbd, 0);
	return check_size(session);
}

/*
 * The owner keeps reaping while control closes the device: first what is still answered, within the deadline, then,
 * after the disconnect, what ended without an answer.
 */
static void reap_answered(struct session *session)
{
	const struct pvf_host *host = session->attachment.host;
	uint64_t deadline = host->ops->now(host->ctx) + session->options->deadline * 1000000u;
	struct pvf_vbd_done done[32];

	pvf_vbd_want(session->vbd, PVF_WANT_DOWN);
	while (pvf_vbd_wait(session->queue, done, 32, deadline) > 0)
		continue;
}

static void reap_rest(struct session *session)
{
	struct pvf_vbd_done done[32];

	while (pvf_vbd_reap(session->queue, done, 32) > 0)
		continue;
}

static void check_nothing_held(struct session *session)
{
	const struct attachment *attachment = &session->attachment;
	char text[256] = "";
	size_t used = 0;

	if (attachment->driver->counters != NULL)
		session->nr_counters = attachment->driver->counters(attachment, session->counters);
	if (attachment->driver->held == NULL)
		return;
	session->nr_held = attachment->driver->held(attachment, session->held);
	for (uint32_t i = 0; i < session->nr_held; i++) {
		if (session->held[i].value == 0)
			continue;
		int added = snprintf(text + used, sizeof(text) - used, " %s %" PRIu64, session->held[i].name,
				     session->held[i].value);
		if (added > 0 && (size_t)added < sizeof(text) - used)
			used += (size_t)added;
	}
	if (used > 0)
		(void)fail_device(
			&session->failure, CODE_BROKEN, PVF_PAGE_HELD,
			"after the close something was left behind:%s; a bug of pvfront, or the backend keeps what "
			"it should let go",
			text);
}

void session_disconnect(struct session *session)
{
	int status;

	if (session->vbd == NULL)
		return;
	interruptible(false);
	if (session->queue != NULL)
		reap_answered(session);
	status = pvf_vbd_disconnect(session->vbd);
	if (status != PVF_OK && session->was_connected)
		(void)fail_device(&session->failure, CODE_BROKEN, status, "the device did not close: %s (%s)",
				  pvf_vbd_error(session->vbd), pvf_status_name(status));
	if (session->queue != NULL) {
		struct pvf_vbd_statistics statistics;

		reap_rest(session);
		pvf_vbd_statistics(session->queue, &statistics, NULL);
		statistics_add(&session->statistics, &statistics);
	}
	status = pvf_vbd_close(session->vbd);
	session->vbd = NULL;
	session->queue = NULL;
	if (status != PVF_OK)
		(void)fail_device(
			&session->failure, CODE_BROKEN, status,
			"after the close the backend still maps %u pages; they are set aside until it lets go",
			(unsigned int)session->attachment.host->parking->pages);
	check_nothing_held(session);
}
