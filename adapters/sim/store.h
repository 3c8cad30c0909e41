/* SPDX-License-Identifier: MIT */
/*
 * The tree behind xenstored: nodes by full path, permissions, transactions, and what to tell about changes. As in
 * xenstored a node is one record with its permissions, value and children's names; a change makes a new record, so
 * that a transaction can keep the one it has read. Everything is called with the store's lock held.
 */
#ifndef PVFRONT_SIM_STORE_H
#define PVFRONT_SIM_STORE_H

#include "sim_internal.h"

#include <pvfront/wire/xs.h>

/* The error strings of the wire protocol (Xen: io/xs_wire.h, xsd_errors). */
enum store_error {
	STORE_OK,
	STORE_EINVAL,
	STORE_EACCES,
	STORE_EEXIST,
	STORE_ENOENT,
	STORE_ENOMEM,
	STORE_ENOSPC,
	STORE_ENOSYS,
	STORE_EBUSY,
	STORE_EAGAIN,
	STORE_E2BIG,
	STORE_EPERM,
	STORE_ERRORS
};
const char *store_error_name(enum store_error error);
int store_error_status(enum store_error error);

/* ---- paths and numbers (path.c) ---- */

#define STORE_PATH_ROOM (PVF_WIRE_XS_ABS_PATH_MAX + 1u)

uint32_t store_length(const char *text);
bool store_same(const char *a, const char *b);
/* The absolute form of a path as a domain says it. EINVAL: not a path, or too long. */
enum store_error store_absolute(uint16_t domid, const char *path, char absolute[STORE_PATH_ROOM]);
/* The length of the parent's path; "/" is its own parent. */
uint32_t store_parent(const char *path, uint32_t length);
const char *store_leaf(const char *path);
/* `path` is `of` or below it. */
bool store_is_below(const char *path, const char *of);
/* Appends to text at `at`; returns the new length. The room is the caller's to know. */
uint32_t store_put_text(char *out, uint32_t at, const char *text);
uint32_t store_put_number(char *out, uint32_t at, uint64_t number);
/* The number that is the whole of a text. */
bool store_number(const char *text, uint32_t *number);

/* ---- records ---- */

#define STORE_READ 1u
#define STORE_WRITE 2u
#define STORE_OWNER 4u

struct store_perm {
	uint16_t domid;
	uint16_t
		access; /* STORE_READ | STORE_WRITE; the first entry's is everybody else's, and its domid the owner's */
};

struct store_record {
	uint64_t generation;
	uint32_t holders;
	uint32_t nr_perms, value_length, children_length;
	/* struct store_perm[], the value, the children's names each ended by NUL */
};

struct store_perm *store_perms(const struct store_record *record);
uint8_t *store_value(const struct store_record *record);
char *store_children(const struct store_record *record);

/* Who hears of a change. */
enum store_news {
	STORE_QUIET, /* a directory's list of children: its child is the news */
	STORE_EXACT, /* a node that went with its parent: watches on itself only */
	STORE_NEWS,  /* watches on it and above it */
};

/* A node, or in a transaction's own map what it has seen or made of one. */
struct store_entry {
	struct store_entry *next;    /* in its bucket */
	struct store_entry *order;   /* transaction: the order in which nodes were touched */
	struct store_record *record; /* NULL: there is no such node */
	uint64_t base;               /* transaction: the generation it was first seen with; 0: it was not there */
	uint32_t hash;
	uint32_t length;
	bool written;             /* transaction */
	uint32_t news;            /* transaction: enum store_news */
	struct store_record *old; /* transaction, while it commits */
	char path[];
};

struct store_map {
	struct store_entry **buckets;
	uint32_t nr_buckets, count;
};

struct store_owned {
	uint32_t domid, nodes;
};

struct store_tx {
	struct store_tx *next;
	uint32_t id;
	struct store_map map;
	struct store_entry *first, **last;
	bool failed; /* memory ran out: it cannot be committed */
};

struct store {
	struct pvf_sim *sim;
	struct store_map map;
	uint64_t generation;
	struct store_owned owned[256];
	uint32_t nr_owned;
	uint32_t max_nodes, max_node_bytes; /* of an unprivileged domain */
	/* A node changed: `old` and `now` are what it was and is, `parent` the node above; each may be NULL. */
	void (*changed)(void *ctx, const char *path, bool exact, const struct store_record *old,
			const struct store_record *now, const struct store_record *parent);
	void *ctx;
};

/* Who asks, and inside what. */
struct store_caller {
	struct store *store;
	struct store_tx *tx; /* NULL: none */
	uint16_t domid;
	bool privileged;
};

int store_init(struct store *store, struct pvf_sim *sim);
void store_fini(struct store *store);

/* What of STORE_READ, STORE_WRITE, STORE_OWNER a domain may do to a node. */
uint32_t store_access(const struct store_record *record, uint16_t domid, bool privileged);

/* Paths are absolute and valid. The record stays until the store's lock is let go. */
enum store_error store_get(const struct store_caller *caller, const char *path, uint32_t access,
			   const struct store_record **record);
enum store_error store_write(const struct store_caller *caller, const char *path, const void *value, uint32_t length);
enum store_error store_mkdir(const struct store_caller *caller, const char *path);
enum store_error store_remove(const struct store_caller *caller, const char *path);
enum store_error store_set_perms(const struct store_caller *caller, const char *path, const struct store_perm *perms,
				 uint32_t n);
/* As store_write with permissions of one's own, also for what is missing above; for the toolstack. */
enum store_error store_create(struct store *store, const char *path, const void *value, uint32_t length,
			      const struct store_perm *perms, uint32_t n);

/* ---- maps of nodes (store_map.c) ---- */

int store_map_init(struct pvf_sim *sim, struct store_map *map, uint32_t buckets);
void store_map_fini(struct pvf_sim *sim, struct store_map *map);
struct store_entry *store_map_find(const struct store_map *map, const char *path, uint32_t length);
struct store_entry *store_map_add(struct pvf_sim *sim, struct store_map *map, const char *path, uint32_t length);
void store_map_remove(struct pvf_sim *sim, struct store_map *map, struct store_entry *entry);
/* Without `children` their room is the caller's to fill. */
struct store_record *store_record_new(struct pvf_sim *sim, const struct store_perm *perms, uint32_t nr_perms,
				      const void *value, uint32_t value_length, const char *children,
				      uint32_t children_length);
void store_record_drop(struct pvf_sim *sim, struct store_record *record);

/* ---- the tree as a caller sees it, and transactions (store_tx.c) ---- */

/* The record at a path, NULL when there is none; noted by the transaction. */
struct store_record *store_view(const struct store_caller *caller, const char *path, uint32_t length);
/* Puts a record there (NULL: removes the node); it takes over the caller's hold. False: no memory, nothing done. */
bool store_put(const struct store_caller *caller, const char *path, uint32_t length, struct store_record *record,
	       enum store_news news);
uint32_t store_nodes_of(const struct store_caller *caller, uint16_t domid);
struct store_tx *store_tx_begin(struct store *store, uint32_t id);
enum store_error store_tx_commit(struct store *store, struct store_tx *tx);
void store_tx_end(struct store *store, struct store_tx *tx);

#endif
