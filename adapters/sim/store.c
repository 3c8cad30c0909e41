/* SPDX-License-Identifier: MIT */
/* What can be done to the tree, and who may do it (Xen: docs/misc/xenstore.txt). */
#include "store.h"

#include "bytes.h"

#define MAP_BUCKETS 4096u

/* What xenstored counts of a record besides its permissions, value and children. */
#define RECORD_HEADER 24u
#define RECORD_PERM 8u

static const struct {
	const char *name;
	int status;
} errors[STORE_ERRORS] = {
	[STORE_OK] = {"OK", PVF_OK},
	[STORE_EINVAL] = {"EINVAL", PVF_STORE_INVALID},
	[STORE_EACCES] = {"EACCES", PVF_STORE_DENIED},
	[STORE_EEXIST] = {"EEXIST", PVF_STORE_EXISTS},
	[STORE_ENOENT] = {"ENOENT", PVF_STORE_NOT_FOUND},
	[STORE_ENOMEM] = {"ENOMEM", PVF_STORE_NO_MEMORY},
	[STORE_ENOSPC] = {"ENOSPC", PVF_STORE_QUOTA},
	[STORE_ENOSYS] = {"ENOSYS", PVF_STORE_UNKNOWN_OP},
	[STORE_EBUSY] = {"EBUSY", PVF_STORE_BUSY},
	[STORE_EAGAIN] = {"EAGAIN", PVF_STORE_CONFLICT},
	[STORE_E2BIG] = {"E2BIG", PVF_STORE_TOO_BIG},
	[STORE_EPERM] = {"EPERM", PVF_STORE_PERMISSION},
};

const char *store_error_name(enum store_error error)
{
	return errors[error].name;
}

int store_error_status(enum store_error error)
{
	return errors[error].status;
}

/* ---- permissions ---- */

uint32_t store_access(const struct store_record *record, uint16_t domid, bool privileged)
{
	const struct store_perm *perms = store_perms(record);

	if (privileged || perms[0].domid == domid)
		return STORE_READ | STORE_WRITE | STORE_OWNER;
	for (uint32_t i = 1; i < record->nr_perms; i++) {
		if (perms[i].domid == domid)
			return perms[i].access;
	}
	return perms[0].access;
}

/* The nearest node above that exists; the root always does. */
static const struct store_record *nearest_above(const struct store_caller *caller, const char *path, uint32_t *length)
{
	const struct store_record *record;

	do {
		*length = store_parent(path, *length);
		record = store_view(caller, path, *length);
	} while (!record && *length > 1);
	return record;
}

/*
 * For a node that is not there its nearest parent decides, and whoever could not have looked learns only that: EACCES,
 * not ENOENT.
 */
enum store_error store_get(const struct store_caller *caller, const char *path, uint32_t access,
			   const struct store_record **record)
{
	uint32_t length = store_length(path);
	const struct store_record *above;

	*record = store_view(caller, path, length);
	if (*record && (store_access(*record, caller->domid, caller->privileged) & access) == access)
		return STORE_OK;
	if (*record)
		return STORE_EACCES;
	above = nearest_above(caller, path, &length);
	if (!above)
		return STORE_ENOMEM;
	return store_access(above, caller->domid, caller->privileged) & access ? STORE_ENOENT : STORE_EACCES;
}

/* ---- changes ---- */

static bool too_large(const struct store_caller *caller, const struct store_record *record)
{
	uint32_t bytes =
		RECORD_HEADER + record->nr_perms * RECORD_PERM + record->value_length + record->children_length;

	return !caller->privileged && bytes > caller->store->max_node_bytes;
}

static enum store_error replace(const struct store_caller *caller, const char *path, uint32_t length,
				struct store_record *record, enum store_news news)
{
	if (!record)
		return STORE_ENOMEM;
	if (too_large(caller, record)) {
		store_record_drop(caller->store->sim, record);
		return STORE_ENOSPC;
	}
	return store_put(caller, path, length, record, news) ? STORE_OK : STORE_ENOMEM;
}

/* Outside a transaction, watches hear of it at once. */
static void tell(const struct store_caller *caller, const char *path, const struct store_record *old, bool exact)
{
	struct store *store = caller->store;
	uint32_t length = store_length(path);

	if (!caller->tx)
		store->changed(store->ctx, path, exact, old, store_view(caller, path, length),
			       store_view(caller, path, store_parent(path, length)));
}

static enum store_error add_child(const struct store_caller *caller, const char *parent, uint32_t length,
				  const char *name, uint32_t name_length)
{
	struct store_record *old = store_view(caller, parent, length), *record;

	if (!old)
		return STORE_ENOMEM;
	record = store_record_new(caller->store->sim, store_perms(old), old->nr_perms, store_value(old),
				  old->value_length, NULL, old->children_length + name_length + 1);
	if (record) {
		memcpy(store_children(record), store_children(old), old->children_length);
		memcpy(store_children(record) + old->children_length, name, name_length);
	}
	return replace(caller, parent, length, record, STORE_QUIET);
}

static enum store_error remove_child(const struct store_caller *caller, const char *parent, uint32_t length,
				     const char *name)
{
	struct store_record *old = store_view(caller, parent, length), *record;
	uint32_t name_bytes = store_length(name) + 1, at = 0, rest;
	const char *children;

	if (!old)
		return STORE_ENOMEM;
	children = store_children(old);
	while (at < old->children_length && !store_same(children + at, name))
		at += store_length(children + at) + 1;
	if (at >= old->children_length)
		return STORE_OK;

	record = store_record_new(caller->store->sim, store_perms(old), old->nr_perms, store_value(old),
				  old->value_length, children, old->children_length - name_bytes);
	if (!record)
		return STORE_ENOMEM;
	rest = old->children_length - at - name_bytes;
	memcpy(store_children(record) + at, children + at + name_bytes, rest);
	return store_put(caller, parent, length, record, STORE_QUIET) ? STORE_OK : STORE_ENOMEM;
}

/* The end of the name that begins at `from`. */
static uint32_t name_end(const char *path, uint32_t from)
{
	while (path[from] && path[from] != '/')
		from++;
	return from;
}

/* Makes the nodes below `above` (a length of path), down to the last, which gets the value. */
static enum store_error make_below(const struct store_caller *caller, const char *path, uint32_t above,
				   const struct store_perm *perms, uint32_t n, const void *value, uint32_t length)
{
	uint32_t first = above > 1 ? above + 1 : 1, end = name_end(path, first), whole = store_length(path);
	enum store_error error;

	for (;;) {
		bool last = end == whole;
		uint32_t child_end = last ? end : name_end(path, end + 1);
		struct store_record *record;

		record = store_record_new(caller->store->sim, perms, n, value, last ? length : 0,
					  last ? NULL : path + end + 1, last ? 0 : child_end - end);
		/* A child's name in the path ends with a slash or the path's NUL: in the list it ends with NUL. */
		if (record && !last)
			store_children(record)[child_end - end - 1] = '\0';
		error = replace(caller, path, end, record, last ? STORE_NEWS : STORE_QUIET);
		if (error != STORE_OK || last)
			break;
		end = child_end;
	}
	if (error == STORE_OK)
		error = add_child(caller, path, above, path + first, name_end(path, first) - first);
	if (error == STORE_OK)
		return STORE_OK;

	/* Nothing is left of what was made. */
	for (end = name_end(path, first);; end = name_end(path, end + 1)) {
		(void)store_put(caller, path, end, NULL, STORE_QUIET);
		if (end == whole)
			return error;
	}
}

static uint32_t missing_nodes(const char *path, uint32_t above)
{
	uint32_t nodes = above > 1 ? 0 : 1;

	for (const char *at = path + above; *at; at++)
		nodes += *at == '/';
	return nodes;
}

/* A new node has its parent's permissions; made by an unprivileged domain it is that domain's own. */
static enum store_error make(const struct store_caller *caller, const char *path, const void *value, uint32_t length)
{
	uint32_t above = store_length(path);
	const struct store_record *parent = nearest_above(caller, path, &above);
	struct store_perm *perms;
	enum store_error error;
	size_t bytes;
	uint32_t n;

	if (!parent)
		return STORE_ENOMEM;
	if (!caller->privileged &&
	    store_nodes_of(caller, caller->domid) + missing_nodes(path, above) > caller->store->max_nodes)
		return STORE_ENOSPC;

	n = parent->nr_perms;
	bytes = n * sizeof(*perms);
	perms = sim_alloc(caller->store->sim, bytes);
	if (!perms)
		return STORE_ENOMEM;
	memcpy(perms, store_perms(parent), bytes);
	if (!caller->privileged)
		perms[0].domid = caller->domid;
	error = make_below(caller, path, above, perms, n, value, length);
	sim_free(caller->store->sim, perms, bytes);
	if (error == STORE_OK)
		tell(caller, path, NULL, false);
	return error;
}

/* Another value or other permissions for a node that is there. */
static enum store_error change(const struct store_caller *caller, const char *path, const struct store_perm *perms,
			       uint32_t n, const void *value, uint32_t length)
{
	struct pvf_sim *sim = caller->store->sim;
	uint32_t path_length = store_length(path);
	struct store_record *old = store_view(caller, path, path_length);
	enum store_error error;

	if (!old)
		return STORE_ENOMEM;
	old->holders++;
	error = replace(caller, path, path_length,
			store_record_new(sim, perms, n, value, length, store_children(old), old->children_length),
			STORE_NEWS);
	if (error == STORE_OK)
		tell(caller, path, old, false);
	store_record_drop(sim, old);
	return error;
}

enum store_error store_write(const struct store_caller *caller, const char *path, const void *value, uint32_t length)
{
	const struct store_record *record;
	enum store_error error = store_get(caller, path, STORE_WRITE, &record);

	if (error == STORE_ENOENT)
		return make(caller, path, value, length);
	if (error != STORE_OK)
		return error;
	return change(caller, path, store_perms(record), record->nr_perms, value, length);
}

enum store_error store_mkdir(const struct store_caller *caller, const char *path)
{
	const struct store_record *record;
	enum store_error error = store_get(caller, path, STORE_WRITE, &record);

	return error == STORE_ENOENT ? make(caller, path, NULL, 0) : error;
}

enum store_error store_set_perms(const struct store_caller *caller, const char *path, const struct store_perm *perms,
				 uint32_t n)
{
	const struct store_record *record;
	enum store_error error = store_get(caller, path, STORE_WRITE | STORE_OWNER, &record);

	if (error != STORE_OK)
		return error;
	if (!caller->privileged && perms[0].domid != store_perms(record)[0].domid)
		return STORE_EPERM;
	return change(caller, path, perms, n, store_value(record), record->value_length);
}

/* ---- removal ---- */

/* Goes down along first children; the path buffer is the stack. */
static uint32_t deepest(const struct store_caller *caller, char *path, uint32_t length)
{
	for (;;) {
		const struct store_record *record = store_view(caller, path, length);

		if (!record || record->children_length == 0)
			return length;
		if (length > 1)
			path[length++] = '/';
		length = store_put_text(path, length, store_children(record));
	}
}

static enum store_error remove_one(const struct store_caller *caller, char *path, uint32_t length, bool exact)
{
	struct pvf_sim *sim = caller->store->sim;
	struct store_record *old = store_view(caller, path, length);
	uint32_t parent = store_parent(path, length);
	enum store_error error;

	if (!old)
		return STORE_ENOMEM;
	old->holders++;
	error = remove_child(caller, path, parent, store_leaf(path));
	if (error == STORE_OK && !store_put(caller, path, length, NULL, exact ? STORE_EXACT : STORE_NEWS))
		error = STORE_ENOMEM;
	if (error == STORE_OK)
		tell(caller, path, old, exact);
	store_record_drop(sim, old);
	return error;
}

/* Children first: each is told to watches on itself, only the top one to those above it. */
static enum store_error remove_tree(const struct store_caller *caller, char *path, uint32_t top)
{
	uint32_t length = top;
	enum store_error error;

	do {
		length = deepest(caller, path, length);
		error = remove_one(caller, path, length, length != top);
		if (length == top)
			break;
		length = store_parent(path, length);
		path[length] = '\0';
	} while (error == STORE_OK);
	return error;
}

enum store_error store_remove(const struct store_caller *caller, const char *path)
{
	struct pvf_sim *sim = caller->store->sim;
	const struct store_record *record;
	enum store_error error = store_get(caller, path, STORE_WRITE, &record);
	uint32_t length = store_length(path);
	char *work;

	/* "It is not an error if path does not exist", as long as its parent does. */
	if (error == STORE_ENOENT)
		return store_view(caller, path, store_parent(path, length)) ? STORE_OK : STORE_ENOENT;
	if (error != STORE_OK)
		return error;
	if (length == 1)
		return STORE_EINVAL;

	work = sim_alloc(sim, STORE_PATH_ROOM);
	if (!work)
		return STORE_ENOMEM;
	memcpy(work, path, length + 1);
	error = remove_tree(caller, work, length);
	sim_free(sim, work, STORE_PATH_ROOM);
	return error;
}

/* ---- the toolstack's ---- */

enum store_error store_create(struct store *store, const char *path, const void *value, uint32_t length,
			      const struct store_perm *perms, uint32_t n)
{
	struct store_caller caller = {.store = store, .privileged = true};
	uint32_t above = store_length(path);
	enum store_error error;

	if (store_view(&caller, path, above))
		return change(&caller, path, perms, n, value, length);
	if (!nearest_above(&caller, path, &above))
		return STORE_ENOMEM;
	error = make_below(&caller, path, above, perms, n, value, length);
	if (error == STORE_OK)
		tell(&caller, path, NULL, false);
	return error;
}

int store_init(struct store *store, struct pvf_sim *sim)
{
	static const struct store_perm root_perms = {0, 0};
	struct store_caller caller = {.store = store, .privileged = true};
	struct store_record *root;

	store->sim = sim;
	if (store_map_init(sim, &store->map, MAP_BUCKETS) != PVF_OK)
		return PVF_NO_MEMORY;
	root = store_record_new(sim, &root_perms, 1, NULL, 0, NULL, 0);
	if (!root || !store_put(&caller, "/", 1, root, STORE_QUIET))
		return PVF_NO_MEMORY;
	return store_error_status(store_create(store, "/tool/xenstored", NULL, 0, &root_perms, 1));
}

void store_fini(struct store *store)
{
	store_map_fini(store->sim, &store->map);
}
