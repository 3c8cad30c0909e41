/* SPDX-License-Identifier: MIT */
/* What a virtual device number is called in a Linux guest (Xen: xen-vbd-interface(7), "Concrete encoding in the VBD"). */
#include "vbd_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct scheme {
	uint32_t high;       /* the number's upper part … */
	uint32_t high_shift; /* … above this bit */
	uint32_t disk_shift; /* bits of the partition number */
	uint32_t first_disk; /* IDE: each major carries two */
	const char *prefix;
};

static const struct scheme schemes[] = {
	{1, 28, 8, 0, "xvd"}, {202, 8, 4, 0, "xvd"}, {8, 8, 4, 0, "sd"}, {3, 8, 6, 0, "hd"}, {22, 8, 6, 2, "hd"},
};

/* 0 is a, 25 z, 26 aa: digits that count from one. */
static void letters(char text[8], uint32_t disk)
{
	char reversed[8];
	size_t n = 0;

	for (disk++; disk > 0 && n < sizeof(reversed) - 1; disk = (disk - 1) / 26)
		reversed[n++] = (char)('a' + (disk - 1) % 26);
	for (size_t i = 0; i < n; i++)
		text[i] = reversed[n - 1 - i];
	text[n] = '\0';
}

char *vbd_name(char text[VBD_NAME_TEXT], uint32_t virtual_device)
{
	text[0] = '\0';
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		const struct scheme *scheme = &schemes[i];
		uint32_t low = virtual_device & ((1u << scheme->high_shift) - 1u);
		uint32_t partition = low & ((1u << scheme->disk_shift) - 1u);
		char name[8];

		if (virtual_device >> scheme->high_shift != scheme->high)
			continue;
		letters(name, (low >> scheme->disk_shift) + scheme->first_disk);
		if (partition == 0)
			(void)snprintf(text, VBD_NAME_TEXT, "%s%s", scheme->prefix, name);
		else
			(void)snprintf(text, VBD_NAME_TEXT, "%s%s%u", scheme->prefix, name, partition);
		break;
	}
	return text;
}
