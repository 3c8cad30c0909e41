/* SPDX-License-Identifier: MIT */
#include "units.h"

#include <inttypes.h>
#include <stdio.h>

struct unit {
	double size;
	const char *name;
};

/* Three significant digits, without digits that say nothing. */
static char *in_unit(char text[UNITS_TEXT], double value, const char *name)
{
	int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
	char number[24];
	int length = snprintf(number, sizeof(number), "%.*f", decimals, value);

	if (length > 0 && length < (int)sizeof(number) && decimals > 0) {
		while (number[length - 1] == '0')
			number[--length] = '\0';
		if (number[length - 1] == '.')
			number[--length] = '\0';
	}
	(void)snprintf(text, UNITS_TEXT, "%.20s%s%.8s", number, name[0] != '\0' ? " " : "", name);
	return text;
}

/* The largest unit that the value reaches; the table starts with the largest. */
static char *scaled(char text[UNITS_TEXT], double value, const struct unit *units, uint32_t n)
{
	uint32_t i = 0;

	while (i + 1 < n && value < units[i].size)
		i++;
	return in_unit(text, value / units[i].size, units[i].name);
}

char *units_bytes(char text[UNITS_TEXT], uint64_t bytes)
{
	static const struct unit units[] = {
		{1099511627776.0, "TiB"}, {1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}, {1.0, "B"},
	};

	return scaled(text, (double)bytes, units, 5);
}

char *units_rate(char text[UNITS_TEXT], double per_second)
{
	static const struct unit units[] = {{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1.0, "B/s"}};

	return scaled(text, per_second, units, 4);
}

char *units_count(char text[UNITS_TEXT], double count)
{
	static const struct unit units[] = {{1e6, "M"}, {1e3, "k"}, {1.0, ""}};

	return scaled(text, count, units, 3);
}

char *units_time(char text[UNITS_TEXT], double nanoseconds)
{
	static const struct unit units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "\xc2\xb5s"}, {1.0, "ns"}};

	return scaled(text, nanoseconds, units, 4);
}

char *units_clock(char text[UNITS_TEXT], uint64_t seconds)
{
	if (seconds < 3600)
		(void)snprintf(text, UNITS_TEXT, "%" PRIu64 ":%02u", seconds / 60, (unsigned int)(seconds % 60));
	else
		(void)snprintf(text, UNITS_TEXT, "%" PRIu64 ":%02u:%02u", seconds / 3600,
			       (unsigned int)(seconds / 60 % 60), (unsigned int)(seconds % 60));
	return text;
}
