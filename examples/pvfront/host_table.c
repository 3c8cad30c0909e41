/* SPDX-License-Identifier: MIT */
#include "host_driver.h"

#include <string.h>

const struct host_driver *const host_drivers[] = {
	&host_sim,
};

const uint32_t nr_host_drivers = sizeof(host_drivers) / sizeof(host_drivers[0]);

const struct host_driver *host_driver_find(const char *name, struct failure *failure)
{
	char names[128] = "";
	size_t length = 0;

	for (uint32_t i = 0; i < nr_host_drivers; i++) {
		if (strcmp(host_drivers[i]->name, name) == 0)
			return host_drivers[i];
		int added = snprintf(names + length, sizeof(names) - length, "%s%s", i > 0 ? ", " : "",
				     host_drivers[i]->name);
		if (added > 0 && (size_t)added < sizeof(names) - length)
			length += (size_t)added;
	}
	(void)fail(failure, CODE_USAGE, "host '%s' is not built into this pvfront; it has: %s", name, names);
	return NULL;
}

void host_drivers_help(void)
{
	for (uint32_t i = 0; i < nr_host_drivers; i++)
		if (host_drivers[i]->help != NULL)
			host_drivers[i]->help();
}

uint64_t named_number(const struct named_number *numbers, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(numbers[i].name, name) == 0)
			return numbers[i].value;
	return 0;
}
