/* SPDX-License-Identifier: MIT */
#include "help.h"

#include <stdio.h>
#include <string.h>

#include "host_driver.h"
#include "options.h"
#include "verbs.h"

#define WIDTH 100

static void print_option(const struct option_row *row)
{
	char left[40];
	int column = 26;

	(void)snprintf(left, sizeof(left), "--%s%s%s", row->name, row->argument != NULL ? " " : "",
		       row->argument != NULL ? row->argument : "");
	(void)printf("  %-24s", left);
	for (const char *word = row->help; *word != '\0';) {
		int length = (int)strcspn(word, " ");
		if (column + 1 + length > WIDTH) {
			(void)printf("\n%26s", "");
			column = 26;
		}
		(void)printf(" %.*s", length, word);
		column += 1 + length;
		word += length;
		word += strspn(word, " ");
	}
	(void)printf("\n");
}

static void print_options(uint32_t verb_bits, bool common)
{
	for (uint32_t i = 0; i < OPTIONS; i++)
		if ((option_table[i].verbs & verb_bits) != 0 && (option_table[i].verbs == VERB_ALL) == common)
			print_option(&option_table[i]);
}

static void print_verbs(void)
{
	for (uint32_t i = 0; i < nr_verbs; i++)
		(void)printf("  %-8s %s\n", verbs[i].name, verbs[i].summary);
}

static void print_exit_codes(void)
{
	(void)printf(
		"\nExit codes: 0 done; 1 I/O or data error; 2 bad input, nothing was done; 3 the handshake failed;\n"
		"4 refused for safety (--write, --scratch); 5 the device broke or the backend died; 128+n signal n.\n");
}

static void print_verb(const struct verb *verb)
{
	(void)printf("pvfront vbd %s: %s\n\nUsage: pvfront [--host NAME] [--json] vbd %s [OPTION]...\n", verb->name,
		     verb->summary, verb->name);
	(void)printf("\nExamples:\n%s", verb->examples);
	(void)printf("\nNumbers take K, M, G, T (powers of 1024). Options of %s:\n", verb->name);
	print_options(verb->bit, false);
	(void)printf("\nOptions of every verb:\n");
	print_options(verb->bit, true);
	host_drivers_help();
	print_exit_codes();
}

static void print_class(void)
{
	(void)printf(
		"pvfront vbd: drives a block device through Xen's blkif protocol\n\n"
		"Usage: pvfront [--host NAME] [--json] vbd VERB [OPTION]...\n\nVerbs (each has its own --help):\n");
	print_verbs();
	(void)printf("\nOptions of every verb:\n");
	print_options(VERB_ALL, true);
	(void)printf("\nExamples:\n");
	for (uint32_t i = 0; i < nr_verbs; i++)
		(void)printf("%s", verbs[i].examples);
	host_drivers_help();
	print_exit_codes();
}

static void print_program(void)
{
	(void)printf("pvfront: drives Xen's paravirtual devices from an ordinary program\n\n"
		     "Usage: pvfront [--host NAME] [--json] vbd VERB [OPTION]...\n"
		     "       pvfront vbd [VERB] --help\n"
		     "       pvfront --version\n\nVerbs:\n");
	print_verbs();
	(void)printf("\nExamples:\n"
		     "  pvfront vbd info --image disk.img\n"
		     "  pvfront vbd copy --image disk.img --out copy.img\n"
		     "  pvfront --json vbd bench --image disk.img --pattern reallife --read 100\n"
		     "  pvfront vbd read --help\n");
	print_exit_codes();
}

void help_print(const struct options *options)
{
	if (options->verb != NULL)
		print_verb(options->verb);
	else if (options->device_class)
		print_class();
	else
		print_program();
}

void help_version(void)
{
	(void)printf("pvfront %s\nhosts:", PVFRONT_VERSION);
	for (uint32_t i = 0; i < nr_host_drivers; i++)
		(void)printf(" %s", host_drivers[i]->name);
	(void)printf("\n");
}
