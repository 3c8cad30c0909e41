/* SPDX-License-Identifier: MIT */
/* All in one: a machine with one vbd over an image. */
#include <pvfront/sim_posix.h>

#include <stdio.h>
#include <string.h>

#define FRONTEND_DOMAIN 1

static int explain(char *why, size_t capacity, int status, const char *what)
{
	if (why && capacity)
		snprintf(why, capacity, "%s: %s", what, pvf_status_text(status));
	return status;
}

static bool known_fault(const char *fault)
{
	size_t length = fault ? strcspn(fault, "@") : 0;

	if (!fault)
		return true;
	for (const struct pvf_sim_fault_name *name = pvf_sim_fault_names; name->name; name++)
		if (strlen(name->name) == length && memcmp(name->name, fault, length) == 0)
			return true;
	return false;
}

/* Says what is wrong with the vbd's options where attach can only say that something is. */
static int attach(struct pvf_sim_machine *machine, const struct pvf_sim_setup *setup, char *why, size_t capacity)
{
	struct pvf_sim_vbd_options options = setup->vbd;
	int status;

	options.size = sizeof(options);
	options.frontend_domid = FRONTEND_DOMAIN;
	options.backend_domid = 0;
	options.disk = &machine->disk;
	status = pvf_sim_vbd_attach(machine->sim, &options, &machine->vbd);
	if (status == PVF_OK || !why || !capacity)
		return status;
	if (!known_fault(options.fault))
		snprintf(why, capacity, "%s is no fault of the simulated backend", options.fault);
	else if (status == PVF_ALIGN)
		snprintf(why, capacity, "%s is no multiple of the sector size of %u bytes long; choose another one",
			 setup->image, options.sector_size);
	else
		explain(why, capacity, status,
			"the simulated vbd cannot be made; the sector sizes must be powers of two from 512, the physical one "
			"not below the logical one, and each backend key KEY=VALUE");
	return status;
}

int pvf_sim_open(const struct pvf_sim_setup *setup, struct pvf_sim_machine *machine, char *why, size_t capacity)
{
	struct pvf_sim_options options = setup->sim;
	int status;

	memset(machine, 0, sizeof(*machine));
	options.size = sizeof(options);
	if (!options.platform)
		options.platform = pvf_sim_posix_platform();
	status = pvf_sim_posix_disk(setup->image, setup->read_only, &machine->disk, why, capacity);
	if (status != PVF_OK)
		return status;
	status = pvf_sim_create(&options, &machine->sim);
	if (status != PVF_OK)
		explain(why, capacity, status, "the simulated machine cannot be made");
	if (status == PVF_OK) {
		status = pvf_sim_domain_create(machine->sim, FRONTEND_DOMAIN, &machine->guest);
		if (status != PVF_OK)
			explain(why, capacity, status, "the frontend's domain cannot be made");
	}
	if (status == PVF_OK)
		status = attach(machine, setup, why, capacity);
	if (status != PVF_OK)
		pvf_sim_close(machine);
	return status;
}

void pvf_sim_close(struct pvf_sim_machine *machine)
{
	if (machine->vbd)
		pvf_sim_vbd_detach(machine->vbd);
	if (machine->sim)
		pvf_sim_destroy(machine->sim);
	if (machine->disk.close)
		machine->disk.close(machine->disk.ctx);
	memset(machine, 0, sizeof(*machine));
}
