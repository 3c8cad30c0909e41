/* SPDX-License-Identifier: MIT */
/* Watches: who hears of which change, and under which name. */
#include "xsd.h"

#include "bytes.h"

static const char *token_of(const struct xsd_watch *watch)
{
	return watch->text + watch->token_at;
}

/* Queues the event that `path` changed; the path is told as the watch was set, relative or absolute. */
static void send_event(struct xsd *xsd, struct xsd_conn *conn, const struct xsd_watch *watch, const char *path)
{
	const char *told = path + watch->home;
	uint32_t path_bytes = store_length(told) + 1, token_bytes = store_length(token_of(watch)) + 1;
	uint32_t times = sim_fault_take(&conn->domain->faults.spurious_watches) ? 2 : 1;

	if (path_bytes + token_bytes > PVF_WIRE_XS_PAYLOAD_MAX)
		return;
	memcpy(xsd->reply, told, path_bytes);
	memcpy(xsd->reply + path_bytes, token_of(watch), token_bytes);
	while (times--) {
		/* Without memory an event is lost, and the machine's owner hears of it. */
		if (!xsd_queue(xsd, conn, PVF_XS_WATCH_EVENT, 0, 0, xsd->reply, path_bytes + token_bytes))
			sim_log(xsd->sim, PVF_LOG_ERROR, "xenstored has no memory for a watch event");
	}
}

/*
 * A domain hears only of what it could have found out: a node it may read, or one that came or went in a directory it
 * may list (XSA-115).
 */
static bool may_hear(const struct xsd_conn *conn, const struct store_record *old, const struct store_record *now,
		     const struct store_record *parent)
{
	if (now && (store_access(now, conn->domid, conn->privileged) & STORE_READ))
		return true;
	if (old && (store_access(old, conn->domid, conn->privileged) & STORE_READ))
		return true;
	return (!old || !now) && parent && (store_access(parent, conn->domid, conn->privileged) & STORE_READ);
}

void xsd_changed(void *ctx, const char *path, bool exact, const struct store_record *old,
		 const struct store_record *now, const struct store_record *parent)
{
	struct xsd *xsd = ctx;

	for (struct xsd_conn *conn = xsd->conns; conn; conn = conn->next) {
		if (!conn->watches || !may_hear(conn, old, now, parent))
			continue;
		for (struct xsd_watch *watch = conn->watches; watch; watch = watch->next) {
			if (exact ? store_same(path, watch->text) : store_is_below(path, watch->text))
				send_event(xsd, conn, watch, path);
		}
	}
}

/* Only domain 0 may hear of domains that come and go, unless it says otherwise (Xen: docs/misc/xenstore.txt). */
void xsd_special(struct xsd *xsd, const char *name)
{
	for (struct xsd_conn *conn = xsd->conns; conn; conn = conn->next) {
		for (struct xsd_watch *watch = conn->watches; conn->privileged && watch; watch = watch->next) {
			if (store_same(name, watch->text))
				send_event(xsd, conn, watch, name);
		}
	}
}

static struct xsd_watch **find(struct xsd_conn *conn, const char *path, const char *token)
{
	struct xsd_watch **at = &conn->watches;

	while (*at && !(store_same((*at)->text, path) && store_same(token_of(*at), token)))
		at = &(*at)->next;
	return at;
}

static enum store_error absolute_watch_path(struct xsd *xsd, const struct xsd_conn *conn, const char *path)
{
	if (path[0] == '@' && !store_same(path, "@introduceDomain") && !store_same(path, "@releaseDomain"))
		return STORE_EINVAL;
	return store_absolute(conn->domid, path, xsd->path);
}

enum store_error xsd_watch(struct xsd *xsd, struct xsd_conn *conn, const char *path, const char *token)
{
	enum store_error error = absolute_watch_path(xsd, conn, path);
	uint32_t path_bytes, token_bytes, bytes;
	struct xsd_watch *watch;

	if (error != STORE_OK)
		return error;
	if (*find(conn, xsd->path, token))
		return STORE_EEXIST;
	if (!conn->privileged && conn->nr_watches >= xsd->sim->limits.store_watches)
		return STORE_E2BIG;

	path_bytes = store_length(xsd->path) + 1;
	token_bytes = store_length(token) + 1;
	bytes = (uint32_t)sizeof(*watch) + path_bytes + token_bytes;
	watch = sim_alloc(xsd->sim, bytes);
	if (!watch)
		return STORE_ENOMEM;
	watch->bytes = bytes;
	watch->home = path_bytes - (store_length(path) + 1);
	watch->token_at = path_bytes;
	memcpy(watch->text, xsd->path, path_bytes);
	memcpy(watch->text + path_bytes, token, token_bytes);
	*conn->watches_last = watch;
	conn->watches_last = &watch->next;
	conn->nr_watches++;
	return STORE_OK;
}

/* "Watches fire once when they are set", after the answer, whatever stands at the path. */
void xsd_watch_first(struct xsd *xsd, struct xsd_conn *conn)
{
	struct xsd_watch *watch = conn->watches;

	while (watch && watch->next)
		watch = watch->next;
	if (watch)
		send_event(xsd, conn, watch, watch->text);
}

static void remove_watch(struct xsd *xsd, struct xsd_conn *conn, struct xsd_watch **at)
{
	struct xsd_watch *watch = *at;

	*at = watch->next;
	if (!*at)
		conn->watches_last = at;
	conn->nr_watches--;
	sim_free(xsd->sim, watch, watch->bytes);
}

enum store_error xsd_unwatch(struct xsd *xsd, struct xsd_conn *conn, const char *path, const char *token)
{
	enum store_error error = absolute_watch_path(xsd, conn, path);
	struct xsd_watch **at;

	if (error != STORE_OK)
		return error;
	at = find(conn, xsd->path, token);
	if (!*at)
		return STORE_ENOENT;
	remove_watch(xsd, conn, at);
	return STORE_OK;
}

void xsd_unwatch_all(struct xsd *xsd, struct xsd_conn *conn)
{
	while (conn->watches)
		remove_watch(xsd, conn, &conn->watches);
}
