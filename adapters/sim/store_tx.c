/* SPDX-License-Identifier: MIT */
/*
 * The tree as somebody sees it: directly, or through a transaction. A transaction keeps every record as it first saw
 * it, and what it made of it; it commits only when everything it touched is still of the generation it saw. Creating or
 * removing a node changes its parent's record too, so two transactions that add to one directory conflict, as in xenstored.
 */
#include "store.h"

#include "bytes.h"

#define TX_BUCKETS 64u

/* ---- how many nodes a domain owns ---- */

static uint32_t *owned_by(struct store *store, uint32_t domid)
{
	for (uint32_t i = 0; i < store->nr_owned; i++) {
		if (store->owned[i].domid == domid)
			return &store->owned[i].nodes;
	}
	/* The table is as large as there can be domains; a domid beyond shares the last counter. */
	if (store->nr_owned < sizeof(store->owned) / sizeof(store->owned[0]))
		store->owned[store->nr_owned++].domid = domid;
	return &store->owned[store->nr_owned - 1].nodes;
}

static void count_owner(struct store *store, const struct store_record *old, const struct store_record *now)
{
	if (old)
		(*owned_by(store, store_perms(old)->domid))--;
	if (now)
		(*owned_by(store, store_perms(now)->domid))++;
}

static uint32_t is_owned(const struct store_record *record, uint16_t domid)
{
	return record && store_perms(record)->domid == domid;
}

uint32_t store_nodes_of(const struct store_caller *caller, uint16_t domid)
{
	uint32_t nodes = *owned_by(caller->store, domid);

	if (!caller->tx)
		return nodes;
	for (struct store_entry *entry = caller->tx->first; entry; entry = entry->order) {
		struct store_entry *now = store_map_find(&caller->store->map, entry->path, entry->length);

		if (entry->written)
			nodes += is_owned(entry->record, domid) - is_owned(now ? now->record : NULL, domid);
	}
	return nodes;
}

/* ---- the tree itself ---- */

static bool put_directly(struct store *store, const char *path, uint32_t length, struct store_record *record)
{
	struct store_entry *entry = store_map_find(&store->map, path, length);

	if (!record) {
		if (entry) {
			count_owner(store, entry->record, NULL);
			store_map_remove(store->sim, &store->map, entry);
		}
		return true;
	}
	if (!entry)
		entry = store_map_add(store->sim, &store->map, path, length);
	if (!entry)
		return false;
	count_owner(store, entry->record, record);
	store_record_drop(store->sim, entry->record);
	entry->record = record;
	record->generation = ++store->generation;
	return true;
}

static struct store_record *look_directly(const struct store *store, const char *path, uint32_t length)
{
	struct store_entry *entry = store_map_find(&store->map, path, length);

	return entry ? entry->record : NULL;
}

/* ---- through a transaction ---- */

static struct store_entry *tx_entry(const struct store_caller *caller, const char *path, uint32_t length)
{
	struct store_tx *tx = caller->tx;
	struct store_entry *entry = store_map_find(&tx->map, path, length);

	if (entry)
		return entry;
	entry = store_map_add(caller->store->sim, &tx->map, path, length);
	if (!entry) {
		tx->failed = true;
		return NULL;
	}
	entry->record = look_directly(caller->store, path, length);
	if (entry->record) {
		entry->record->holders++;
		entry->base = entry->record->generation;
	}
	*tx->last = entry;
	tx->last = &entry->order;
	return entry;
}

struct store_record *store_view(const struct store_caller *caller, const char *path, uint32_t length)
{
	struct store_entry *entry;

	if (!caller->tx)
		return look_directly(caller->store, path, length);
	entry = tx_entry(caller, path, length);
	return entry ? entry->record : NULL;
}

bool store_put(const struct store_caller *caller, const char *path, uint32_t length, struct store_record *record,
	       enum store_news news)
{
	struct store_entry *entry;

	if (!caller->tx) {
		if (put_directly(caller->store, path, length, record))
			return true;
		store_record_drop(caller->store->sim, record);
		return false;
	}
	entry = tx_entry(caller, path, length);
	if (!entry) {
		store_record_drop(caller->store->sim, record);
		return false;
	}
	store_record_drop(caller->store->sim, entry->record);
	entry->record = record;
	entry->written = true;
	if (news > entry->news)
		entry->news = news;
	return true;
}

struct store_tx *store_tx_begin(struct store *store, uint32_t id)
{
	struct store_tx *tx = sim_alloc(store->sim, sizeof(*tx));

	if (!tx)
		return NULL;
	if (store_map_init(store->sim, &tx->map, TX_BUCKETS) != PVF_OK) {
		sim_free(store->sim, tx, sizeof(*tx));
		return NULL;
	}
	tx->id = id;
	tx->last = &tx->first;
	return tx;
}

void store_tx_end(struct store *store, struct store_tx *tx)
{
	store_map_fini(store->sim, &tx->map);
	sim_free(store->sim, tx, sizeof(*tx));
}

static bool conflicts(const struct store *store, const struct store_tx *tx)
{
	for (const struct store_entry *entry = tx->first; entry; entry = entry->order) {
		const struct store_record *now = look_directly(store, entry->path, entry->length);

		if (entry->base != (now ? now->generation : 0))
			return true;
	}
	return false;
}

/* New nodes get their place in the tree before anything is changed, so that the rest cannot fail. */
static bool reserve(struct store *store, struct store_tx *tx)
{
	for (struct store_entry *entry = tx->first; entry; entry = entry->order) {
		if (!entry->written || !entry->record || store_map_find(&store->map, entry->path, entry->length))
			continue;
		if (!store_map_add(store->sim, &store->map, entry->path, entry->length))
			return false;
	}
	return true;
}

static void unreserve(struct store *store, struct store_tx *tx)
{
	for (struct store_entry *entry = tx->first; entry; entry = entry->order) {
		struct store_entry *node = store_map_find(&store->map, entry->path, entry->length);

		if (node && !node->record)
			store_map_remove(store->sim, &store->map, node);
	}
}

static const struct store_record *parent_of(const struct store *store, const struct store_tx *tx,
					    const struct store_entry *entry)
{
	uint32_t length = store_parent(entry->path, entry->length);
	const struct store_record *record = look_directly(store, entry->path, length);
	const struct store_entry *gone;

	if (record)
		return record;
	gone = store_map_find(&tx->map, entry->path, length);
	return gone ? gone->old : NULL;
}

enum store_error store_tx_commit(struct store *store, struct store_tx *tx)
{
	if (tx->failed)
		return STORE_ENOMEM;
	if (conflicts(store, tx))
		return STORE_EAGAIN;
	if (!reserve(store, tx)) {
		unreserve(store, tx);
		return STORE_ENOMEM;
	}

	for (struct store_entry *entry = tx->first; entry; entry = entry->order) {
		if (!entry->written)
			continue;
		entry->old = look_directly(store, entry->path, entry->length);
		if (entry->old)
			entry->old->holders++;
		if (entry->record)
			entry->record->holders++;
		(void)put_directly(store, entry->path, entry->length, entry->record);
	}
	for (struct store_entry *entry = tx->first; entry; entry = entry->order) {
		if (entry->news != STORE_QUIET && (entry->old || entry->record))
			store->changed(store->ctx, entry->path, entry->news == STORE_EXACT, entry->old, entry->record,
				       parent_of(store, tx, entry));
	}
	return STORE_OK;
}
