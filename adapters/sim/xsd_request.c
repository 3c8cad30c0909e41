/* SPDX-License-Identifier: MIT */
/* The requests of the wire protocol, one function each (Xen: docs/misc/xenstore.txt), and the table of them. */
#include "xsd.h"

#include "bytes.h"

#define PERM_TEXT 8u /* "rNNNNN" and its NUL */

/* The payload, with a NUL put behind it. */
struct request {
	struct xsd_conn *conn;
	char *text;
	uint32_t length;
};

typedef enum store_error handler(struct xsd *xsd, const struct request *request);

/* ---- helpers ---- */

/* The next NUL-terminated string after `at`; NULL when there is none. */
static char *string_at(const struct request *request, uint32_t at)
{
	if (at >= request->length || at + store_length(request->text + at) >= request->length)
		return NULL;
	return request->text + at;
}

static char *second_string(const struct request *request)
{
	char *first = string_at(request, 0);

	return first ? string_at(request, store_length(first) + 1) : NULL;
}

/* The request's first string as a node's absolute path, in xsd->path. */
static enum store_error take_path(struct xsd *xsd, const struct request *request)
{
	const char *path = string_at(request, 0);

	if (!path || path[0] == '@')
		return STORE_EINVAL;
	return store_absolute(request->conn->domid, path, xsd->path);
}

/* ... that is the whole payload. */
static enum store_error take_only_path(struct xsd *xsd, const struct request *request)
{
	const char *path = string_at(request, 0);

	if (path && store_length(path) + 1 != request->length)
		return STORE_EINVAL;
	return take_path(xsd, request);
}

static enum store_error answer(struct xsd *xsd, const void *data, uint32_t length)
{
	if (length > sizeof(xsd->reply))
		return STORE_E2BIG;
	if (length)
		memcpy(xsd->reply, data, length);
	xsd->reply_length = length;
	return STORE_OK;
}

static enum store_error answer_text(struct xsd *xsd, const char *text)
{
	return answer(xsd, text, store_length(text) + 1);
}

static enum store_error acknowledge(struct xsd *xsd, enum store_error error)
{
	return error == STORE_OK ? answer_text(xsd, "OK") : error;
}

static enum store_error take_readable(struct xsd *xsd, const struct request *request,
				      const struct store_record **record)
{
	enum store_error error = take_only_path(xsd, request);

	return error == STORE_OK ? store_get(&xsd->caller, xsd->path, STORE_READ, record) : error;
}

/* ---- nodes ---- */

static enum store_error do_read(struct xsd *xsd, const struct request *request)
{
	const struct store_record *record;
	enum store_error error = take_readable(xsd, request, &record);

	return error == STORE_OK ? answer(xsd, store_value(record), record->value_length) : error;
}

static enum store_error do_directory(struct xsd *xsd, const struct request *request)
{
	const struct store_record *record;
	enum store_error error = take_readable(xsd, request, &record);

	return error == STORE_OK ? answer(xsd, store_children(record), record->children_length) : error;
}

/* "<path>|<offset>|" -> "<generation>|" and children from the offset; an empty name marks the end. */
static enum store_error do_directory_part(struct xsd *xsd, const struct request *request)
{
	const char *offset_text = second_string(request);
	const struct store_record *record;
	uint32_t offset, at, bytes = 0, left;
	enum store_error error;

	if (!offset_text || !store_number(offset_text, &offset))
		return STORE_EINVAL;
	error = take_path(xsd, request);
	if (error == STORE_OK)
		error = store_get(&xsd->caller, xsd->path, STORE_READ, &record);
	if (error != STORE_OK)
		return error;

	at = store_put_number((char *)xsd->reply, 0, record->generation) + 1;
	left = offset < record->children_length ? record->children_length - offset : 0;
	/* Whole names, and room for the end mark. */
	while (bytes < left) {
		uint32_t name = store_length(store_children(record) + offset + bytes) + 1;

		if (at + bytes + name + 1 > sizeof(xsd->reply))
			break;
		bytes += name;
	}
	memcpy(xsd->reply + at, store_children(record) + (left ? offset : 0), bytes);
	at += bytes;
	if (bytes == left)
		xsd->reply[at++] = '\0';
	xsd->reply_length = at;
	return STORE_OK;
}

static enum store_error do_write(struct xsd *xsd, const struct request *request)
{
	const char *path = string_at(request, 0);
	enum store_error error = take_path(xsd, request);
	uint32_t at;

	if (error != STORE_OK)
		return error;
	at = store_length(path) + 1;
	return acknowledge(xsd, store_write(&xsd->caller, xsd->path, request->text + at, request->length - at));
}

static enum store_error do_mkdir(struct xsd *xsd, const struct request *request)
{
	enum store_error error = take_only_path(xsd, request);

	return acknowledge(xsd, error == STORE_OK ? store_mkdir(&xsd->caller, xsd->path) : error);
}

static enum store_error do_rm(struct xsd *xsd, const struct request *request)
{
	enum store_error error = take_only_path(xsd, request);

	return acknowledge(xsd, error == STORE_OK ? store_remove(&xsd->caller, xsd->path) : error);
}

/* ---- permissions ---- */

static const char perm_letters[] = "nrwb"; /* by STORE_READ | STORE_WRITE */

static enum store_error do_get_perms(struct xsd *xsd, const struct request *request)
{
	const struct store_record *record;
	enum store_error error = take_readable(xsd, request, &record);
	uint32_t at = 0;

	if (error != STORE_OK)
		return error;
	for (uint32_t i = 0; i < record->nr_perms; i++) {
		const struct store_perm *perm = &store_perms(record)[i];

		if (at + PERM_TEXT > sizeof(xsd->reply))
			return STORE_E2BIG;
		xsd->reply[at] = (uint8_t)perm_letters[perm->access & (STORE_READ | STORE_WRITE)];
		at = store_put_number((char *)xsd->reply, at + 1, perm->domid) + 1;
	}
	xsd->reply_length = at;
	return STORE_OK;
}

static bool parse_perm(const char *text, struct store_perm *perm)
{
	uint32_t domid;

	for (uint16_t access = 0; access < 4; access++) {
		if (text[0] != perm_letters[access] || !store_number(text + 1, &domid) || domid > 0x7ff0u)
			continue;
		perm->domid = (uint16_t)domid;
		perm->access = access;
		return true;
	}
	return false;
}

static enum store_error do_set_perms(struct xsd *xsd, const struct request *request)
{
	enum store_error error = take_path(xsd, request);
	struct store_perm *perms = xsd->perms;
	uint32_t n = 0, at;

	if (error != STORE_OK)
		return error;
	at = store_length(request->text) + 1;
	while (at < request->length) {
		const char *text = string_at(request, at);

		if (!text || n == sizeof(xsd->perms) / sizeof(*perms) || !parse_perm(text, &perms[n++]))
			return STORE_EINVAL;
		at += store_length(text) + 1;
	}
	if (n == 0)
		return STORE_EINVAL;
	/* A node cannot be given to a domain that is not there. */
	if (!pvf_sim_domain_find(xsd->sim, perms[0].domid))
		return STORE_ENOENT;
	return acknowledge(xsd, store_set_perms(&xsd->caller, xsd->path, perms, n));
}

/* ---- watches ---- */

static enum store_error do_watch(struct xsd *xsd, const struct request *request)
{
	const char *path = string_at(request, 0), *token = second_string(request);

	if (!token)
		return STORE_EINVAL;
	return acknowledge(xsd, xsd_watch(xsd, request->conn, path, token));
}

static enum store_error do_unwatch(struct xsd *xsd, const struct request *request)
{
	const char *path = string_at(request, 0), *token = second_string(request);

	if (!token)
		return STORE_EINVAL;
	return acknowledge(xsd, xsd_unwatch(xsd, request->conn, path, token));
}

static enum store_error do_reset_watches(struct xsd *xsd, const struct request *request)
{
	xsd_unwatch_all(xsd, request->conn);
	xsd_end_transactions(xsd, request->conn);
	return acknowledge(xsd, STORE_OK);
}

/* ---- transactions ---- */

static struct store_tx **find_tx(struct xsd_conn *conn, uint32_t id)
{
	struct store_tx **at = &conn->transactions;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static void end_tx(struct xsd *xsd, struct xsd_conn *conn, struct store_tx **at)
{
	struct store_tx *tx = *at;

	*at = tx->next;
	conn->nr_transactions--;
	store_tx_end(&xsd->store, tx);
}

void xsd_end_transactions(struct xsd *xsd, struct xsd_conn *conn)
{
	while (conn->transactions)
		end_tx(xsd, conn, &conn->transactions);
}

static enum store_error do_transaction_start(struct xsd *xsd, const struct request *request)
{
	struct xsd_conn *conn = request->conn;
	struct store_tx *tx;

	if (xsd->caller.tx)
		return STORE_EBUSY;
	if (!conn->privileged && conn->nr_transactions >= xsd->sim->limits.store_transactions)
		return STORE_ENOSPC;
	do {
		conn->next_tx++;
	} while (conn->next_tx == 0 || *find_tx(conn, conn->next_tx));
	tx = store_tx_begin(&xsd->store, conn->next_tx);
	if (!tx)
		return STORE_ENOMEM;
	tx->next = conn->transactions;
	conn->transactions = tx;
	conn->nr_transactions++;
	xsd->reply_length = store_put_number((char *)xsd->reply, 0, tx->id) + 1;
	return STORE_OK;
}

static enum store_error do_transaction_end(struct xsd *xsd, const struct request *request)
{
	struct store_tx *tx = xsd->caller.tx;
	const char *how = string_at(request, 0);
	enum store_error error = STORE_OK;

	if (!how || (!store_same(how, "T") && !store_same(how, "F")))
		return STORE_EINVAL;
	if (!tx)
		return STORE_ENOENT;
	if (how[0] == 'T') {
		error = sim_fault_take(&request->conn->domain->faults.conflicts) ? STORE_EAGAIN
										 : store_tx_commit(&xsd->store, tx);
	}
	end_tx(xsd, request->conn, find_tx(request->conn, tx->id));
	return acknowledge(xsd, error);
}

/* ---- domains ---- */

static enum store_error take_domid(const struct request *request, uint32_t *domid)
{
	const char *text = string_at(request, 0);

	return text && store_number(text, domid) && *domid < 0x7ff0u ? STORE_OK : STORE_EINVAL;
}

static enum store_error do_get_domain_path(struct xsd *xsd, const struct request *request)
{
	uint32_t domid, length;
	enum store_error error = take_domid(request, &domid);

	if (error != STORE_OK)
		return error;
	length = store_put_text((char *)xsd->reply, 0, "/local/domain/");
	xsd->reply_length = store_put_number((char *)xsd->reply, length, domid) + 1;
	return STORE_OK;
}

static enum store_error do_is_domain_introduced(struct xsd *xsd, const struct request *request)
{
	uint32_t domid;
	enum store_error error = take_domid(request, &domid);

	if (error != STORE_OK)
		return error;
	return answer_text(xsd, pvf_sim_domain_find(xsd->sim, (uint16_t)domid) ? "T" : "F");
}

/* What the toolstack does in other ways here; nobody else may. */
static enum store_error do_toolstack(struct xsd *xsd, const struct request *request)
{
	(void)xsd;
	return request->conn->privileged ? STORE_ENOSYS : STORE_EACCES;
}

/* ---- the table ---- */

static handler *const handlers[] = {
	[PVF_XS_CONTROL] = do_toolstack,
	[PVF_XS_DIRECTORY] = do_directory,
	[PVF_XS_READ] = do_read,
	[PVF_XS_GET_PERMS] = do_get_perms,
	[PVF_XS_WATCH] = do_watch,
	[PVF_XS_UNWATCH] = do_unwatch,
	[PVF_XS_TRANSACTION_START] = do_transaction_start,
	[PVF_XS_TRANSACTION_END] = do_transaction_end,
	[PVF_XS_INTRODUCE] = do_toolstack,
	[PVF_XS_RELEASE] = do_toolstack,
	[PVF_XS_GET_DOMAIN_PATH] = do_get_domain_path,
	[PVF_XS_WRITE] = do_write,
	[PVF_XS_MKDIR] = do_mkdir,
	[PVF_XS_RM] = do_rm,
	[PVF_XS_SET_PERMS] = do_set_perms,
	[PVF_XS_IS_DOMAIN_INTRODUCED] = do_is_domain_introduced,
	[PVF_XS_RESUME] = do_toolstack,
	[PVF_XS_SET_TARGET] = do_toolstack,
	[PVF_XS_RESET_WATCHES] = do_reset_watches,
	[PVF_XS_DIRECTORY_PART] = do_directory_part,
};

/* Requests that may come with a transaction's number; the others ignore it. */
static enum store_error enter_transaction(struct xsd *xsd, struct xsd_conn *conn, uint32_t id)
{
	xsd->caller = (struct store_caller){
		.store = &xsd->store,
		.tx = id ? *find_tx(conn, id) : NULL,
		.domid = conn->domid,
		.privileged = conn->privileged,
	};
	return id && !xsd->caller.tx ? STORE_ENOENT : STORE_OK;
}

void xsd_request(struct xsd *xsd, struct xsd_conn *conn)
{
	struct pvf_wire_xs_header header;
	struct request request = {.conn = conn, .text = (char *)conn->in + PVF_WIRE_XS_HEADER};
	enum store_error error;
	bool known, queued;

	memcpy(&header, conn->in, sizeof(header));
	request.length = header.length;
	request.text[header.length] = '\0';
	xsd->reply_length = 0;
	known = header.type < sizeof(handlers) / sizeof(handlers[0]) && handlers[header.type];
	error = known ? enter_transaction(xsd, conn, header.tx_id) : STORE_ENOSYS;
	if (error == STORE_OK)
		error = handlers[header.type](xsd, &request);

	if (error == STORE_OK) {
		queued = xsd_queue(xsd, conn, header.type, header.req_id, header.tx_id, xsd->reply, xsd->reply_length);
	} else {
		const char *name = store_error_name(error);

		queued = xsd_queue(xsd, conn, PVF_XS_ERROR, header.req_id, header.tx_id, name, store_length(name) + 1);
	}
	if (!queued)
		sim_log(xsd->sim, PVF_LOG_ERROR, "xenstored has no memory for an answer");
	if (error == STORE_OK && header.type == PVF_XS_WATCH)
		xsd_watch_first(xsd, conn);
}
