/* SPDX-License-Identifier: MIT */
/* `pvfront vbd info` */
#include <stdio.h>

#include "session.h"
#include "units.h"
#include "vbd_name.h"
#include "vbd_verbs.h"

bool vbd_info_run(struct session *session)
{
	(void)session;
	return true;
}

void vbd_info_print(const struct session *session)
{
	const struct pvf_vbd_info *info = &session->info;
	char name[VBD_NAME_TEXT], size[UNITS_TEXT];

	(void)vbd_name(name, info->virtual_device);
	(void)printf("vbd %u%s%s  %s, %u-byte sectors", (unsigned int)info->virtual_device, name[0] != '\0' ? " " : "",
		     name, units_bytes(size, info->sectors * 512), (unsigned int)info->sector_size);
	if (info->physical_sector_size != info->sector_size)
		(void)printf(" (%u-byte physical)", (unsigned int)info->physical_sector_size);
	(void)printf(", ring order %u, %u queue%s, %s%s%s%s\n", (unsigned int)info->ring_order,
		     (unsigned int)info->queues, info->queues == 1 ? "" : "s",
		     info->persistent ? "persistent" : "grants mapped per request", info->flush ? ", flush" : "",
		     info->read_only ? ", read-only" : "", info->trusted ? "" : ", untrusted backend");
	(void)printf("  frontend %s\n  backend  %s in domain %u, mode %s, type %s\n", info->path, info->backend_path,
		     (unsigned int)info->backend_domid, info->mode, info->device_type);
	(void)printf(
		"  ring     %u entries of up to %u segments; the backend offers order %u, %u queues, %u indirect segments\n",
		(unsigned int)info->ring_entries, (unsigned int)info->max_segments,
		(unsigned int)info->max_ring_page_order, (unsigned int)info->max_queues,
		(unsigned int)info->max_indirect);
}
