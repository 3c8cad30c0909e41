/* SPDX-License-Identifier: MIT */
/* The tool's small parts: numbers, units, names, JSON, signatures, the pattern. */
#include "tool_tests.h"

#include <stdio.h>
#include <string.h>

#include "json.h"
#include "number.h"
#include "pattern.h"
#include "signature.h"
#include "units.h"
#include "vbd_name.h"

static void reads_numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {{"0", 0},
		    {"512", 512},
		    {"4K", 4096},
		    {"1M", 1048576},
		    {"2G", 2147483648u},
		    {"1T", 1099511627776u},
		    {"18446744073709551615", UINT64_MAX}};
	static const char *const bad[] = {"",
					  "-1",
					  "+1",
					  " 1",
					  "1 ",
					  "1k",
					  "1KB",
					  "K",
					  "0x10",
					  "1.5",
					  "18446744073709551616",
					  "18446744073709551615K",
					  "16777216T",
					  "12a"};
	uint64_t value;
	const char *why;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(number_parse(good[i].text, &value, &why));
		assert_int_equal(value, good[i].value);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (number_parse(bad[i], &value, &why))
			fail_msg("'%s' was taken for a number", bad[i]);
	assert_true(number_parse_seconds("0.25", &value, &why));
	assert_int_equal(value, 250);
	assert_true(number_parse_seconds("3", &value, &why));
	assert_int_equal(value, 3000);
	assert_false(number_parse_seconds("1.2345", &value, &why));
	assert_false(number_parse_seconds("-1", &value, &why));
	assert_false(number_parse_seconds(".", &value, &why));
}

static void writes_units(void **state)
{
	char text[UNITS_TEXT];

	(void)state;
	assert_string_equal(units_bytes(text, 0), "0 B");
	assert_string_equal(units_bytes(text, 512), "512 B");
	assert_string_equal(units_bytes(text, 1536), "1.5 KiB");
	assert_string_equal(units_bytes(text, UINT64_C(512) << 20), "512 MiB");
	assert_string_equal(units_bytes(text, UINT64_C(3) << 40), "3 TiB");
	assert_string_equal(units_count(text, 213400), "213 k");
	assert_string_equal(units_count(text, 100), "100");
	assert_string_equal(units_rate(text, 1250000000), "1.25 GB/s");
	assert_string_equal(units_time(text, 12100), "12.1 \xc2\xb5s");
	assert_string_equal(units_time(text, 2100000), "2.1 ms");
	assert_string_equal(units_clock(text, 65), "1:05");
	assert_string_equal(units_clock(text, 7213), "2:00:13");
}

static void names_devices(void **state)
{
	static const struct {
		uint32_t number;
		const char *name;
	} rows[] = {
		{51712, "xvda"},      {51713, "xvda1"},
		{51728, "xvdb"},      {51967, "xvdp15"},
		{268435456, "xvda"},  {268439552, "xvdq"},
		{268435713, "xvdb1"}, {268435456 + 26 * 256, "xvdaa"},
		{768, "hda"},         {833, "hdb1"},
		{5632, "hdc"},        {2048, "sda"},
		{2065, "sdb1"},       {1, ""},
		{0xffffffff, ""},
	};
	char text[VBD_NAME_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(vbd_name(text, rows[i].number), rows[i].name);
}

static void escapes_json(void **state)
{
	static const uint8_t bytes[] =
		"a\"\\\n\t\x01\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff\xc0\x80\xed\xa0\x80\xe2\x82";
	FILE *file = tmpfile();
	struct json json = {.file = file};
	char text[512] = "";

	(void)state;
	assert_non_null(file);
	json_object(&json, NULL);
	json_bytes(&json, "k\"", bytes, sizeof(bytes) - 1);
	json_array(&json, "list");
	json_number(&json, NULL, UINT64_MAX);
	json_signed(&json, NULL, -5);
	json_real(&json, NULL, 0.5);
	json_real(&json, NULL, 1.0 / 0.0);
	json_array_end(&json);
	json_array(&json, "none");
	json_array_end(&json);
	json_bool(&json, "b", true);
	json_string(&json, "null", NULL);
	json_object_end(&json);
	rewind(file);
	assert_non_null(fgets(text, sizeof(text), file));
	(void)fclose(file);
	assert_string_equal(text,
			    "{\"k\\\"\":\"a\\\"\\\\\\n\\u0009\\u0001\\u007f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\\u00ff"
			    "\\u00c0\\u0080\\u00ed\\u00a0\\u0080\\u00e2\\u0082\",\"list\":[18446744073709551615,-5,"
			    "0.500000,null],\"none\":[],\"b\":true,\"null\":null}");
}

static void finds_signatures(void **state)
{
	static uint8_t data[SIGNATURE_BYTES];
	static const struct {
		uint32_t offset;
		const char *bytes, *name;
	} rows[] = {
		{0x438, "\x53\xef", "ext2"},
		{0x1fe, "\x55\xaa", "MBR"},
		{0x200, "EFI PART", "GPT"},
		{0x1000, "EFI PART", "GPT"},
		{0, "XFSB", "XFS"},
		{0x10040, "_BHRfS_M", "btrfs"},
		{3, "NTFS    ", "NTFS"},
		{82, "FAT32", "FAT"},
		{54, "FAT16", "FAT"},
		{0x8001, "CD001", "ISO 9660"},
		{4086, "SWAPSPACE2", "swap"},
		{0, "LUKS\xba\xbe", "LUKS"},
		{512 + 24, "LVM2 001", "LVM2"},
		{0, "QFI\xfb", "qcow2"},
		{0, "hsqs", "squashfs"},
		{0x200, "PM", "Apple"},
		{0x1fc, "\xda\xbe", "Sun"},
		{0x200, "\x57\x45\x56\x82", "BSD"},
		{0x255c, "\x54\x19\x01", "UFS1"},
		{0x1055c, "\x19\x01\x54\x19", "UFS2"},
		{0x20000, "\x0c\xb1\xba", "ZFS"},
	};

	(void)state;
	assert_null(signature_find(data, sizeof(data)));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t length = strlen(rows[i].bytes);
		const char *found;

		memset(data, 0, sizeof(data));
		memcpy(data + rows[i].offset, rows[i].bytes, length);
		found = signature_find(data, sizeof(data));
		assert_non_null(found);
		if (strstr(found, rows[i].name) == NULL)
			fail_msg("%s was taken for %s", rows[i].name, found);
		/* Cut off before its last byte it is not there. */
		assert_null(signature_find(data, rows[i].offset + length - 1));
	}
}

static void finds_signatures_at_the_end(void **state)
{
	static uint8_t data[SIGNATURE_END_BYTES];
	static const struct {
		uint64_t device, at;
		const char *bytes;
	} rows[] = {
		{1u << 20, (1u << 20) - 512, "EFI PART"},
		{1u << 20, (1u << 20) - 4096, "EFI PART"},
		{(1u << 20) + 512 * 7, (1u << 20) - 65536, "\xfc\x4e\x2b\xa9"}, /* md 0.90 */
		{(1u << 20) + 512 * 7, (1u << 20) - 8192,
		 "\xfc\x4e\x2b\xa9"}, /* md 1.0: 4 KiB boundary, 8 KiB from the end */
		{65536, 65536 - 8192, "\xfc\x4e\x2b\xa9"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t length = rows[i].device < sizeof(data) ? (size_t)rows[i].device : sizeof(data);

		memset(data, 0, sizeof(data));
		assert_null(signature_find_last(data, length, rows[i].device));
		memcpy(data + (rows[i].at - (rows[i].device - length)), rows[i].bytes, strlen(rows[i].bytes));
		assert_non_null(signature_find_last(data, length, rows[i].device));
	}
	/* Too small for any of them. */
	assert_null(signature_find_last(data, 512, 512));
}

static void pattern_is_its_own(void **state)
{
	uint8_t data[PATTERN_BYTES], other[PATTERN_BYTES];
	uint64_t sector;

	(void)state;
	for (uint64_t i = 0; i < 20000; i++) {
		pattern_fill(data, i, 99);
		assert_true(pattern_recognise(data, 99, &sector));
		assert_int_equal(sector, i);
		assert_false(pattern_recognise(data, 98, &sector));
		/* What verify leaves behind is no file system to the next run. */
		assert_false(data[510] == 0x55 && data[511] == 0xaa);
		assert_false(data[56] == 0x53 && data[57] == 0xef);
		pattern_fill(other, i + 1, 99);
		assert_memory_not_equal(data, other, PATTERN_BYTES);
		data[i % PATTERN_BYTES] ^= 0x10;
		assert_false(pattern_recognise(data, 99, &sector));
	}
}

const struct pvf_test text_tests[] = {
	PVF_TEST(reads_numbers, "", "unit", "numbers are read strictly, with their suffixes"),
	PVF_TEST(writes_units, "", "unit", "sizes, rates, counts and times are written for people"),
	PVF_TEST(names_devices, "V21", "unit", "virtual device numbers have the names that Linux gives them"),
	PVF_TEST(escapes_json, "", "unit", "any bytes become a valid JSON string"),
	PVF_TEST(finds_signatures, "", "unit", "file systems, partition tables and volumes are recognised"),
	PVF_TEST(finds_signatures_at_the_end, "", "unit", "what a GPT or a RAID keeps at a device's end is recognised"),
	PVF_TEST(pattern_is_its_own, "", "unit", "the pattern names its sector and is no file system"),
};
const size_t nr_text_tests = sizeof(text_tests) / sizeof(text_tests[0]);
