/* SPDX-License-Identifier: MIT */
#include "verbs.h"

#include <stddef.h>
#include <string.h>

#include "options.h"
#include "vbd_verbs.h"

const struct verb verbs[] = {
	{
		.name = "info",
		.bit = VERB_INFO,
		.summary = "connects, says what the device is and what was agreed, closes",
		.examples = "  pvfront vbd info --image disk.img\n"
			    "  pvfront --json vbd info --image disk.img --trace\n"
			    "  pvfront vbd info --image disk.img --backend-key feature-persistent=\n",
		.run = vbd_info_run,
		.print = vbd_info_print,
	},
	{
		.name = "read",
		.bit = VERB_READ,
		.summary = "reads a range to a file or stdout (a dump when that is a terminal)",
		.examples = "  pvfront vbd read --image disk.img --sector 0 --count 1\n"
			    "  pvfront vbd read --image disk.img --offset 1M --length 64K --out part.bin\n",
		.check = vbd_read_check,
		.run = vbd_read_run,
		.print = vbd_read_print,
		.json = vbd_read_json,
	},
	{
		.name = "write",
		.bit = VERB_WRITE,
		.summary = "writes a file or stdin to a range",
		.examples = "  pvfront vbd write --image disk.img --write --sector 8 --in part.bin\n"
			    "  head -c 4096 /dev/zero | pvfront vbd write --image disk.img --write --offset 1M\n",
		.check = vbd_write_check,
		.run = vbd_write_run,
		.print = vbd_write_print,
		.json = vbd_write_json,
	},
	{
		.name = "verify",
		.bit = VERB_VERIFY,
		.summary = "writes a pattern over a range or the whole device, then reads all of it back",
		.examples = "  pvfront vbd verify --image scratch.img --write\n"
			    "  pvfront vbd verify --image disk.img --write --scratch --sector 2048 --count 64K\n",
		.run = vbd_verify_run,
		.print = vbd_verify_print,
		.json = vbd_verify_json,
	},
	{
		.name = "copy",
		.bit = VERB_COPY,
		.summary = "copies the whole device to a file (--out) or from one (--in, with --write)",
		.examples = "  pvfront vbd copy --image disk.img --out copy.img\n"
			    "  pvfront vbd copy --image disk.img --write --in copy.img\n",
		.check = vbd_copy_check,
		.run = vbd_copy_run,
		.print = vbd_copy_print,
		.json = vbd_copy_json,
	},
	{
		.name = "bench",
		.bit = VERB_BENCH,
		.summary = "measures a pattern of reads (and writes, with --write)",
		.examples = "  pvfront vbd bench --image disk.img --pattern maxio\n"
			    "  pvfront vbd bench --image disk.img --block 4K --random 100 --depth 1 --poll\n"
			    "  pvfront vbd bench --image scratch.img --write --pattern 4k5050 --repeat 5\n"
			    "  pvfront vbd bench --image disk.img --pattern maxthroughput --compare disk.img\n",
		.connects_itself = true,
		.check = vbd_bench_check,
		.run = vbd_bench_run,
		.print = vbd_bench_print,
		.json = vbd_bench_json,
	},
	{
		.name = "flush",
		.bit = VERB_FLUSH,
		.summary = "asks the backend to put everything on stable storage",
		.examples = "  pvfront vbd flush --image disk.img\n",
		.run = vbd_flush_run,
		.print = vbd_flush_print,
	},
};

const uint32_t nr_verbs = sizeof(verbs) / sizeof(verbs[0]);

const struct verb *verb_find(const char *name)
{
	for (uint32_t i = 0; i < nr_verbs; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}
