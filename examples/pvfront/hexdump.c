/* SPDX-License-Identifier: MIT */
#include "hexdump.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_line(uint64_t offset, const uint8_t line[16])
{
	(void)printf("%08" PRIx64 " ", offset);
	for (uint32_t i = 0; i < 16; i++)
		(void)printf("%s%02x", i % 8 == 0 ? "  " : " ", line[i]);
	(void)printf("  |");
	for (uint32_t i = 0; i < 16; i++)
		(void)putchar(line[i] >= 0x20 && line[i] < 0x7f ? line[i] : '.');
	(void)printf("|\n");
}

bool hexdump_print(struct hexdump *dump, uint64_t offset, const uint8_t *data, uint32_t bytes)
{
	for (uint32_t at = 0; at + 16 <= bytes; at += 16) {
		if (dump->started && memcmp(dump->line, data + at, 16) == 0) {
			if (!dump->starred)
				(void)printf("*\n");
			dump->starred = true;
			continue;
		}
		memcpy(dump->line, data + at, 16);
		dump->started = true;
		dump->starred = false;
		print_line(offset + at, dump->line);
	}
	return fflush(stdout) == 0;
}
