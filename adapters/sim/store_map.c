/* SPDX-License-Identifier: MIT */
/* Records of nodes, and maps from path to record: the tree's, and each transaction's. */
#include "store.h"

#include "bytes.h"

struct store_perm *store_perms(const struct store_record *record)
{
	return (struct store_perm *)(uintptr_t)(record + 1);
}

uint8_t *store_value(const struct store_record *record)
{
	return (uint8_t *)(store_perms(record) + record->nr_perms);
}

char *store_children(const struct store_record *record)
{
	return (char *)(store_value(record) + record->value_length);
}

static size_t record_bytes(uint32_t nr_perms, uint32_t value_length, uint32_t children_length)
{
	return sizeof(struct store_record) + nr_perms * sizeof(struct store_perm) + value_length + children_length;
}

struct store_record *store_record_new(struct pvf_sim *sim, const struct store_perm *perms, uint32_t nr_perms,
				      const void *value, uint32_t value_length, const char *children,
				      uint32_t children_length)
{
	struct store_record *record = sim_alloc(sim, record_bytes(nr_perms, value_length, children_length));

	if (!record)
		return NULL;
	record->holders = 1;
	record->nr_perms = nr_perms;
	record->value_length = value_length;
	record->children_length = children_length;
	memcpy(store_perms(record), perms, nr_perms * sizeof(*perms));
	if (value_length)
		memcpy(store_value(record), value, value_length);
	if (children) /* NULL: the caller fills them in */
		memcpy(store_children(record), children, children_length);
	return record;
}

void store_record_drop(struct pvf_sim *sim, struct store_record *record)
{
	if (record && --record->holders == 0)
		sim_free(sim, record, record_bytes(record->nr_perms, record->value_length, record->children_length));
}

/* FNV-1a */
static uint32_t hash_of(const char *path, uint32_t length)
{
	uint32_t hash = 2166136261u;

	for (uint32_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)path[i]) * 16777619u;
	return hash;
}

int store_map_init(struct pvf_sim *sim, struct store_map *map, uint32_t buckets)
{
	map->buckets = sim_alloc(sim, buckets * sizeof(struct store_entry *));
	map->nr_buckets = buckets;
	map->count = 0;
	return map->buckets ? PVF_OK : PVF_NO_MEMORY;
}

static struct store_entry **bucket(const struct store_map *map, uint32_t hash)
{
	return &map->buckets[hash & (map->nr_buckets - 1)];
}

static void free_entry(struct pvf_sim *sim, struct store_entry *entry)
{
	store_record_drop(sim, entry->record);
	store_record_drop(sim, entry->old);
	sim_free(sim, entry, sizeof(*entry) + entry->length + 1);
}

void store_map_fini(struct pvf_sim *sim, struct store_map *map)
{
	for (uint32_t i = 0; map->buckets && i < map->nr_buckets; i++) {
		while (map->buckets[i]) {
			struct store_entry *entry = map->buckets[i];

			map->buckets[i] = entry->next;
			free_entry(sim, entry);
		}
	}
	sim_free(sim, map->buckets, map->nr_buckets * sizeof(struct store_entry *));
	map->buckets = NULL;
}

struct store_entry *store_map_find(const struct store_map *map, const char *path, uint32_t length)
{
	uint32_t hash = hash_of(path, length);
	struct store_entry *entry = *bucket(map, hash);

	while (entry && (entry->hash != hash || entry->length != length || memcmp(entry->path, path, length) != 0))
		entry = entry->next;
	return entry;
}

struct store_entry *store_map_add(struct pvf_sim *sim, struct store_map *map, const char *path, uint32_t length)
{
	struct store_entry *entry = sim_alloc(sim, sizeof(*entry) + length + 1);
	struct store_entry **at;

	if (!entry)
		return NULL;
	entry->hash = hash_of(path, length);
	entry->length = length;
	memcpy(entry->path, path, length);
	at = bucket(map, entry->hash);
	entry->next = *at;
	*at = entry;
	map->count++;
	return entry;
}

void store_map_remove(struct pvf_sim *sim, struct store_map *map, struct store_entry *entry)
{
	struct store_entry **at = bucket(map, entry->hash);

	while (*at != entry)
		at = &(*at)->next;
	*at = entry->next;
	map->count--;
	free_entry(sim, entry);
}
