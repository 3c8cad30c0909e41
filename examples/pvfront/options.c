/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <inttypes.h>
#include <string.h>

#include "number.h"
#include "verbs.h"

static void defaults(struct options *options)
{
	memset(options, 0, sizeof(*options));
	options->host = "sim";
	options->deadline = 10000;
	options->persistent = true;
	options->sector_size = 512;
	options->virtual_device = 51712;
	options->depth = 32;
	options->block = 4096;
	options->read_percent = 100;
	options->seconds = 2000;
	options->repeat = 1;
	options->spin = 2000;
}

static const struct option_row *find(const char *name, size_t length, enum option_id *id)
{
	for (uint32_t i = 0; i < OPTIONS; i++)
		if (strlen(option_table[i].name) == length && memcmp(option_table[i].name, name, length) == 0) {
			*id = (enum option_id)i;
			return &option_table[i];
		}
	return NULL;
}

static bool set_number(const struct option_row *row, uint64_t *field, const char *text, struct failure *failure)
{
	const char *why = NULL;
	bool good =
		row->kind == KIND_SECONDS ? number_parse_seconds(text, field, &why) : number_parse(text, field, &why);

	if (!good)
		return fail(failure, CODE_USAGE, "--%s '%s' %s", row->name, text, why);
	if (*field >= row->min && *field <= row->max)
		return true;
	if (row->kind == KIND_SECONDS)
		return fail(failure, CODE_USAGE, "--%s %s is out of range: %g to %g", row->name, text,
			    (double)row->min / 1000, (double)row->max / 1000);
	return fail(failure, CODE_USAGE, "--%s %s is out of range: %" PRIu64 " to %" PRIu64, row->name, text, row->min,
		    row->max);
}

/* A key is one or more path elements of xenstore's characters (Xen: docs/misc/xenstore.txt). */
static bool add_backend_key(struct options *options, const char *text, struct failure *failure)
{
	const char *equals = strchr(text, '=');

	if (equals == NULL || equals == text)
		return fail(failure, CODE_USAGE, "--backend-key '%s' is not KEY=VALUE (KEY= removes the key)", text);
	for (const char *at = text; at < equals; at++) {
		bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
		if (!letter && strchr("-_@/", *at) == NULL)
			return fail(failure, CODE_USAGE, "--backend-key '%s': '%c' cannot be part of a xenstore key",
				    text, *at);
	}
	if (options->nr_backend_keys == MAX_BACKEND_KEYS)
		return fail(failure, CODE_USAGE, "more than %u times --backend-key", MAX_BACKEND_KEYS);
	options->backend_keys[options->nr_backend_keys++] = text;
	return true;
}

static bool set(struct options *options, const struct option_row *row, const char *text, struct failure *failure)
{
	uint8_t *field = (uint8_t *)options + row->offset;
	const bool yes = true;
	bool on;

	switch (row->kind) {
	case KIND_FLAG:
		memcpy(field, &yes, sizeof(yes));
		return true;
	case KIND_TEXT:
		if (text[0] == '\0')
			return fail(failure, CODE_USAGE, "--%s wants a %s, not an empty word", row->name,
				    row->argument);
		memcpy(field, &text, sizeof(text));
		return true;
	case KIND_ON_OFF:
		on = strcmp(text, "on") == 0;
		if (!on && strcmp(text, "off") != 0)
			return fail(failure, CODE_USAGE, "--%s '%s' is neither on nor off", row->name, text);
		memcpy(field, &on, sizeof(on));
		return true;
	case KIND_LIST:
		return add_backend_key(options, text, failure);
	case KIND_NUMBER:
	case KIND_SECONDS:
		break;
	}
	return set_number(row, (uint64_t *)(void *)field, text, failure);
}

/* One option at argv[*at]: "--name", "--name value" or "--name=value". */
static bool take_option(struct options *options, int argc, char **argv, int *at, struct failure *failure)
{
	const char *word = strcmp(argv[*at], "-h") == 0 ? "--help" : argv[*at];
	const char *name = word + 2;
	const char *equals = strchr(word, '=');
	size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
	enum option_id id;
	const struct option_row *row;
	const char *text = equals != NULL ? equals + 1 : NULL;

	row = word[0] == '-' && word[1] == '-' ? find(name, length, &id) : NULL;
	if (row == NULL)
		return fail(failure, CODE_USAGE, "unknown option '%s'; see: pvfront --help", argv[*at]);
	if (row->kind == KIND_FLAG && text != NULL)
		return fail(failure, CODE_USAGE, "--%s takes no value", row->name);
	if (row->kind != KIND_FLAG && text == NULL) {
		if (*at + 1 >= argc)
			return fail(failure, CODE_USAGE, "--%s wants a value: %s", row->name, row->argument);
		text = argv[++*at];
	}
	if (option_given(options, id) && row->kind != KIND_LIST)
		return fail(failure, CODE_USAGE, "--%s is given twice", row->name);
	options->given |= UINT64_C(1) << id;
	return set(options, row, text, failure);
}

static bool take_word(struct options *options, const char *word, struct failure *failure)
{
	if (!options->device_class) {
		options->device_class = strcmp(word, "vbd") == 0;
		return options->device_class ||
		       fail(failure, CODE_USAGE, "'%s' is no device class of this pvfront; it has: vbd", word);
	}
	if (options->verb != NULL)
		return fail(failure, CODE_USAGE, "'%s' is one word too many after 'vbd %s'", word, options->verb->name);
	options->verb = verb_find(word);
	return options->verb != NULL ||
	       fail(failure, CODE_USAGE,
		    "'%s' is no verb of vbd; there are: info, read, write, verify, copy, bench, flush", word);
}

static bool options_suit_verb(const struct options *options, struct failure *failure)
{
	for (uint32_t i = 0; options->verb != NULL && i < OPTIONS; i++) {
		const struct option_row *row = &option_table[i];
		if (option_given(options, (enum option_id)i) && (row->verbs & options->verb->bit) == 0)
			return fail(failure, CODE_USAGE, "--%s does not go with 'vbd %s'; see: pvfront vbd %s --help",
				    row->name, options->verb->name, options->verb->name);
	}
	return true;
}

bool options_parse(struct options *options, int argc, char **argv, struct failure *failure)
{
	defaults(options);
	/* Known before anything can fail: the error itself is to be JSON then. */
	for (int i = 1; i < argc; i++)
		options->json = options->json || strcmp(argv[i], "--json") == 0;
	for (int i = 1; i < argc; i++) {
		bool good = argv[i][0] == '-' && argv[i][1] != '\0' ? take_option(options, argc, argv, &i, failure)
								    : take_word(options, argv[i], failure);
		if (!good)
			return false;
	}
	return options_suit_verb(options, failure);
}
