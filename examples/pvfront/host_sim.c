/* SPDX-License-Identifier: MIT */
/* The simulated Xen: a machine of its own in this process, with one vbd over --image. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <pvfront/sim_posix.h>

#include "host_driver.h"
#include "number.h"
#include "options.h"

static const struct pvf_sim_fault_name *find_fault(const char *name, size_t length)
{
	for (const struct pvf_sim_fault_name *row = pvf_sim_fault_names; row->name != NULL; row++)
		if (strlen(row->name) == length && memcmp(row->name, name, length) == 0)
			return row;
	return NULL;
}

static bool check_fault(const char *fault, struct failure *failure)
{
	size_t length = strcspn(fault, "@");
	const char *why = NULL;
	uint64_t number;
	char names[1024] = "";
	size_t used = 0;

	if (find_fault(fault, length) != NULL) {
		if (fault[length] == '\0')
			return true;
		if (!number_parse(fault + length + 1, &number, &why))
			return fail(failure, CODE_USAGE, "--backend-fault '%s': what follows the @ %s", fault, why);
		if (number <= UINT32_MAX)
			return true;
		return fail(failure, CODE_USAGE, "--backend-fault '%s': what follows the @ is too large", fault);
	}
	for (const struct pvf_sim_fault_name *row = pvf_sim_fault_names; row->name != NULL; row++) {
		int added = snprintf(names + used, sizeof(names) - used, " %s", row->name);
		if (added > 0 && (size_t)added < sizeof(names) - used)
			used += (size_t)added;
	}
	return fail(failure, CODE_USAGE, "--backend-fault '%s' is no fault the simulated backend knows; it has:%s",
		    fault, names);
}

/* The size the vbd should have: what the backend is told to serve, unless somebody set the key that says so. */
static uint64_t expected_bytes(const struct options *options, uint64_t image_bytes)
{
	for (uint32_t i = 0; i < options->nr_backend_keys; i++)
		if (strncmp(options->backend_keys[i], "sectors=", 8) == 0)
			return 0;
	return image_bytes;
}

static bool sim_attach(const struct options *options, struct attachment *attachment, struct failure *failure)
{
	struct pvf_sim_machine *machine;
	char why[512] = "";
	struct pvf_sim_setup setup = {
		.image = options->image,
		.read_only = options->read_only,
		.sim = {.size = sizeof(struct pvf_sim_options)},
		.vbd =
			{
				.size = sizeof(struct pvf_sim_vbd_options),
				.virtual_device = (uint32_t)options->virtual_device,
				.sector_size = (uint32_t)options->sector_size,
				.backend_persistent = true,
				.backend_keys = options->backend_keys,
				.nr_backend_keys = options->nr_backend_keys,
				.fault = options->fault,
			},
	};
	int status;

	if (options->image == NULL)
		return fail(failure, CODE_USAGE, "--image is missing: the simulated backend needs a file to serve");
	if (options->fault != NULL && !check_fault(options->fault, failure))
		return false;
	machine = calloc(1, sizeof(*machine));
	if (machine == NULL)
		return fail(failure, CODE_IO, "no memory for the simulated machine");
	status = pvf_sim_open(&setup, machine, why, sizeof(why));
	if (status != PVF_OK) {
		free(machine);
		(void)fail(failure, CODE_USAGE, "%s", why[0] != '\0' ? why : pvf_status_text(status));
		failure->status = status;
		return false;
	}
	attachment->host = pvf_sim_host(machine);
	attachment->path = pvf_sim_vbd_path(machine->vbd);
	attachment->expected_bytes = expected_bytes(options, machine->disk.bytes);
	attachment->state = machine;
	return true;
}

static void sim_detach(struct attachment *attachment)
{
	struct pvf_sim_machine *machine = attachment->state;

	/* A backend that kept pages mapped lets go when it ends; then what was parked can be freed. */
	pvf_sim_vbd_detach(machine->vbd);
	machine->vbd = NULL;
	(void)pvf_host_unpark(pvf_sim_host(machine));
	pvf_sim_close(machine);
	free(machine);
	attachment->state = NULL;
}

static uint32_t sim_counters(const struct attachment *attachment, struct named_number numbers[MAX_NUMBERS])
{
	const struct pvf_sim_machine *machine = attachment->state;
	struct pvf_sim_vbd_counters c;

	pvf_sim_vbd_counters(machine->vbd, &c);
	const struct named_number rows[] = {
		{"reads", c.reads},
		{"writes", c.writes},
		{"flushes", c.flushes},
		{"other", c.other},
		{"segments", c.segments},
		{"bytes_read", c.bytes_read},
		{"bytes_written", c.bytes_written},
		{"refused", c.refused},
		{"events", c.events},
		{"notifications", c.notifications},
		{"grant_maps", c.grant_maps},
		{"grant_unmaps", c.grant_unmaps},
		{"grants_mapped", c.grants_mapped},
		{"persistent_mapped", c.persistent_mapped},
		{"cpu_ns", c.cpu_ns},
	};
	_Static_assert(sizeof(rows) / sizeof(rows[0]) <= MAX_NUMBERS, "room for all of them");
	memcpy(numbers, rows, sizeof(rows));
	return sizeof(rows) / sizeof(rows[0]);
}

static uint32_t sim_held(const struct attachment *attachment, struct named_number numbers[MAX_NUMBERS])
{
	const struct pvf_sim_machine *machine = attachment->state;
	struct pvf_sim_held held;

	pvf_sim_held(machine->guest, &held);
	const struct named_number rows[] = {
		{"grants", held.grants},   {"grants_mapped", held.grants_mapped},
		{"maps", held.maps},       {"ports", held.ports},
		{"watches", held.watches}, {"transactions", held.transactions},
		{"pages", held.pages},     {"parked", held.parked},
		{"memory", held.memory},
	};
	_Static_assert(sizeof(rows) / sizeof(rows[0]) <= MAX_NUMBERS, "room for all of them");
	memcpy(numbers, rows, sizeof(rows));
	return sizeof(rows) / sizeof(rows[0]);
}

static void sim_help(void)
{
	(void)printf("\nFaults of the simulated backend (--backend-fault NAME[@N]):\n");
	for (const struct pvf_sim_fault_name *row = pvf_sim_fault_names; row->name != NULL; row++)
		(void)printf("  %-20s %s\n", row->name, row->text);
}

const struct host_driver host_sim = {
	.name = "sim",
	.attach = sim_attach,
	.detach = sim_detach,
	.counters = sim_counters,
	.held = sim_held,
	.help = sim_help,
};
