/* SPDX-License-Identifier: MIT */
/* The simulated xenstored as a whole: domains come and go, and the toolstack reaches into the tree. */
#include "xsd.h"

#include "bytes.h"

static bool xsd_work(void *arg)
{
	struct xsd *xsd = arg;
	struct xsd_conn *conn;
	uint32_t skip;
	bool did = false;

	sim_lock(&xsd->sim->os, &xsd->lock);
	/* One message of one connection; whose turn it is goes around, or is drawn. */
	if (++xsd->turn >= xsd->nr_conns)
		xsd->turn = 0;
	skip = xsd->sim->stepped && xsd->nr_conns ? sim_random(xsd->sim, xsd->nr_conns) : xsd->turn;
	for (conn = xsd->conns; skip; skip--)
		conn = conn->next;
	for (uint32_t i = 0; i < xsd->nr_conns && !did; i++) {
		did = xsd_serve(xsd, conn);
		conn = conn->next ? conn->next : xsd->conns;
	}
	sim_unlock(&xsd->sim->os, &xsd->lock);
	return did;
}

int xsd_create(struct pvf_sim *sim)
{
	struct xsd *xsd = sim_alloc(sim, sizeof(*xsd));
	int status;

	if (!xsd)
		return PVF_NO_MEMORY;
	sim->xsd = xsd;
	xsd->sim = sim;
	xsd->store.changed = xsd_changed;
	xsd->store.ctx = xsd;
	xsd->store.max_nodes = sim->limits.store_nodes;
	xsd->store.max_node_bytes = sim->limits.store_node_bytes;
	status = store_init(&xsd->store, sim);
	if (status != PVF_OK)
		return status;
	xsd->actor.work = xsd_work;
	xsd->actor.arg = xsd;
	return sim_actor_add(sim->store_domain, &xsd->actor);
}

void xsd_destroy(struct pvf_sim *sim)
{
	store_fini(&sim->xsd->store);
	sim_free(sim, sim->xsd, sizeof(*sim->xsd));
	sim->xsd = NULL;
}

/* ---- domains ---- */

static struct xsd_conn **find_conn(struct xsd *xsd, const struct pvf_sim_domain *domain)
{
	struct xsd_conn **at = &xsd->conns;

	while (*at && (*at)->domain != domain)
		at = &(*at)->next;
	return at;
}

static int make_home(struct xsd *xsd, uint16_t domid)
{
	struct store_perm perms = {.domid = domid, .access = 0};
	struct store_caller caller = {.store = &xsd->store, .privileged = true};
	char path[32];
	uint32_t length = store_put_text(path, 0, "/local/domain/");

	(void)store_put_number(path, length, domid);
	if (store_view(&caller, path, store_length(path)))
		return PVF_OK;
	return store_error_status(store_mkdir(&caller, path)) != PVF_OK
		       ? PVF_NO_MEMORY
		       : store_error_status(store_set_perms(&caller, path, &perms, 1));
}

static int connect_conn(struct pvf_sim *sim, struct xsd_conn *conn)
{
	void *page;
	int status = pvf_sim_map(sim->store_domain, conn->domid, SIM_STORE_REF, false, &page, &conn->map);

	if (status != PVF_OK)
		return status;
	conn->page = page;
	status = pvf_sim_bind(sim->store_domain, conn->domid, conn->domain->store_port, &conn->event, &conn->port);
	if (status != PVF_OK)
		(void)pvf_sim_unmap(sim->store_domain, conn->map);
	return status;
}

int xsd_introduce(struct pvf_sim *sim, struct pvf_sim_domain *domain)
{
	struct xsd *xsd = sim->xsd;
	struct xsd_conn *conn = sim_alloc(sim, sizeof(*conn));
	struct xsd_conn **end = &xsd->conns;
	int status;

	if (!conn)
		return PVF_NO_MEMORY;
	conn->domain = domain;
	conn->domid = (uint16_t)domain->domid;
	conn->privileged = conn->domid == 0;
	conn->out_last = &conn->out;
	conn->watches_last = &conn->watches;
	status = connect_conn(sim, conn);
	if (status != PVF_OK) {
		sim_free(sim, conn, sizeof(*conn));
		return status;
	}

	sim_lock(&sim->os, &xsd->lock);
	while (*end)
		end = &(*end)->next;
	*end = conn;
	xsd->nr_conns++;
	status = make_home(xsd, conn->domid);
	xsd_special(xsd, "@introduceDomain");
	sim_unlock(&sim->os, &xsd->lock);
	sim_domain_wake(sim->store_domain);
	return status;
}

static void free_conn(struct xsd *xsd, struct xsd_conn *conn)
{
	struct pvf_sim *sim = xsd->sim;

	xsd_unwatch_all(xsd, conn);
	xsd_end_transactions(xsd, conn);
	while (conn->out) {
		struct xsd_message *message = conn->out;

		conn->out = message->next;
		sim_free(sim, message, sizeof(*message) + message->bytes);
	}
	sim_free(sim, conn, sizeof(*conn));
}

void xsd_release(struct pvf_sim *sim, struct pvf_sim_domain *domain, bool tell)
{
	struct xsd *xsd = sim->xsd;
	struct xsd_conn **at, *conn;

	sim_lock(&sim->os, &xsd->lock);
	at = find_conn(xsd, domain);
	conn = *at;
	if (conn) {
		*at = conn->next;
		xsd->nr_conns--;
	}
	if (conn && tell)
		xsd_special(xsd, "@releaseDomain");
	sim_unlock(&sim->os, &xsd->lock);
	if (!conn)
		return;

	/* No lock is held across the close (XSA-441). */
	hv_port_close(&sim->hv, sim->store_domain->hv, conn->port);
	(void)pvf_sim_unmap(sim->store_domain, conn->map);
	sim_lock(&sim->os, &xsd->lock);
	free_conn(xsd, conn);
	sim_unlock(&sim->os, &xsd->lock);
	sim_domain_wake(sim->store_domain);
}

void xsd_held(struct pvf_sim *sim, struct pvf_sim_domain *domain, struct pvf_sim_held *held)
{
	const struct xsd_conn *conn;

	sim_lock(&sim->os, &sim->xsd->lock);
	conn = *find_conn(sim->xsd, domain);
	if (conn) {
		held->watches = conn->nr_watches;
		held->transactions = conn->nr_transactions;
	}
	sim_unlock(&sim->os, &sim->xsd->lock);
}

/* ---- the toolstack's way in ---- */

static struct store_caller enter(struct pvf_sim *sim)
{
	sim_lock(&sim->os, &sim->xsd->lock);
	return (struct store_caller){.store = &sim->xsd->store, .privileged = true};
}

static int leave(struct pvf_sim *sim, enum store_error error)
{
	sim_unlock(&sim->os, &sim->xsd->lock);
	sim_domain_wake(sim->store_domain);
	return store_error_status(error);
}

static enum store_error node_path(struct pvf_sim *sim, const char *path)
{
	enum store_error error = path[0] == '/' ? STORE_OK : STORE_EINVAL;

	return error == STORE_OK ? store_absolute(0, path, sim->xsd->path) : error;
}

/* The toolstack speaks the same protocol: path, NUL and value fit one message, or nobody could write or read it. */
static enum store_error node_value(const char *path, uint32_t length)
{
	uint32_t bytes = 1;

	while (path[bytes - 1])
		bytes++;
	return length > PVF_WIRE_XS_PAYLOAD_MAX - bytes ? STORE_E2BIG : STORE_OK;
}

int pvf_sim_store_write(struct pvf_sim *sim, const char *path, const void *value, uint32_t length)
{
	struct store_caller caller = enter(sim);
	enum store_error error = node_path(sim, path);

	if (error == STORE_OK)
		error = node_value(path, length);
	if (error == STORE_OK)
		error = store_write(&caller, sim->xsd->path, value, length);
	return leave(sim, error);
}

int pvf_sim_store_read(struct pvf_sim *sim, const char *path, void *value, uint32_t capacity, uint32_t *length)
{
	struct store_caller caller = enter(sim);
	const struct store_record *record = NULL;
	enum store_error error = node_path(sim, path);

	if (error == STORE_OK)
		error = store_get(&caller, sim->xsd->path, STORE_READ, &record);
	if (error == STORE_OK) {
		*length = record->value_length;
		if (capacity > record->value_length)
			capacity = record->value_length;
		if (capacity)
			memcpy(value, store_value(record), capacity);
	}
	return leave(sim, error);
}

int pvf_sim_store_remove(struct pvf_sim *sim, const char *path)
{
	struct store_caller caller = enter(sim);
	enum store_error error = node_path(sim, path);

	if (error == STORE_OK)
		error = store_remove(&caller, sim->xsd->path);
	return leave(sim, error);
}

uint32_t pvf_sim_store_count(struct pvf_sim *sim)
{
	uint32_t count = enter(sim).store->map.count;

	(void)leave(sim, STORE_OK);
	return count;
}

int sim_store_create(struct pvf_sim *sim, const char *path, const void *value, uint32_t length, uint16_t owner,
		     uint16_t reader)
{
	struct store_perm perms[2] = {{owner, 0}, {reader, STORE_READ}};
	struct store_caller caller = enter(sim);
	enum store_error error = node_path(sim, path);

	if (error == STORE_OK)
		error = node_value(path, length);
	if (error == STORE_OK)
		error = store_create(caller.store, sim->xsd->path, value, length, perms, 2);
	return leave(sim, error);
}
