# SPDX-License-Identifier: MIT
"""Plants what each check is there for, and sees it caught. A check that cannot fail shows nothing."""

import re

import barrier
import chain
import emulate
import objects
import table
import words

# name, source, part of the complaint
PLANTED_WORDS = [
    ("an attribute", "static int x __attribute__((unused));", "__attribute__"),
    ("a builtin", "int f(int x) { return __builtin_ctz(x); }", "__builtin_ctz"),
    ("assembler", "void f(void) { asm(\"nop\"); }", "asm"),
    ("a long", "unsigned long x;", "long"),
    ("a double", "double x;", "double"),
    ("a bit-field", "struct s { uint32_t low : 4; };", "bit-field"),
    ("an unnamed bit-field", "struct s { unsigned : 4; };", "bit-field"),
    ("a pragma", "#pragma pack(1)", "#pragma"),
    ("typeof", "typeof(1) x;", "typeof"),
]
CLEAN_WORDS = [
    ("words in comments", "/* as long as __attribute__ */ int x; // double\n"),
    ("words in strings", "const char *x = \"too long: \\\" double\"; char c = '\\'';"),
    ("a conditional and labels", "int f(int x) { switch (x) { case 1: return x ? x : 2; default: return 0; } }"),
]
PLANTED_INCLUDES = [
    ("an OS header", "#include <unistd.h>\n", "unistd.h"),
    ("string.h", "  #  include <string.h>\n", "string.h"),
]

# For gcc: what the checks of objects must refuse, by the check's name.
PLANTED_OBJECTS = [
    ("a 64-bit division", "i386", "symbols",
     "#include <stdint.h>\nuint64_t f(uint64_t a, uint64_t b);\nuint64_t f(uint64_t a, uint64_t b) { return a / b; }\n",
     "__udivdi3"),
    ("a call of malloc", "x86_64", "symbols",
     "#include <stddef.h>\nvoid *malloc(size_t);\nvoid *f(void);\nvoid *f(void) { return malloc(1); }\n", "malloc"),
    ("a frame of 600 bytes", "arm64", "frames",
     "int f(int i);\nint f(int i) { volatile char b[600]; b[i] = 1; return b[0]; }\n", "6[0-9][0-9] bytes"),
    ("a recursion", "x86_64", "chain",
     "int f(volatile int *i);\nint f(volatile int *i) { return *i ? f(i) + *i * f(i) : 0; }\n", "recursion: f\\S* > f"),
    ("a chain deeper than 2 KiB", "x86_64", "chain",
     "".join(f"int f{n}(int i);\nint f{n}(int i) {{ volatile char b[450]; b[i] = 1; "
             f"return {f'f{n - 1}(i) + ' if n else ''}b[2]; }}\n" for n in range(5)), "more than 2048"),
    ("a recursion through a table", "x86_64", "chain",
     "struct table { int (*run)(int); };\nextern const struct table *where;\nint f(int i);\n"
     "int f(int i) { return i ? where->run(i - 1) + 1 : 0; }\n", "recursion: f > f"),
    ("a call through a pointer that nobody listed", "x86_64", "chain",
     "extern int (*volatile where)(int);\nint f(void);\nint f(void) { return where(1) + 1; }\n", "does not list"),
]

# For clang's MSVC mode: what must not compile.
PLANTED_WINDOWS = [
    ("an attribute", "extern int x __attribute__((aligned(8)));\n", "poisoned"),
    ("a builtin", "int f(unsigned x);\nint f(unsigned x) { return __builtin_ctz(x); }\n", "poisoned"),
    ("GNU assembler", "void f(void);\nvoid f(void) { __asm__ volatile(\"\"); }\n", "poisoned"),
    ("an atomic builtin", "int f(int *x);\nint f(int *x) { return __atomic_load_n(x, 5); }\n", "poisoned"),
    ("a double", "double x(void);\n", "poisoned"),
    ("a 128-bit integer", "__int128 x(void);\n", "poisoned"),
    ("an array of variable length", "int f(int n);\nint f(int n) { char b[n]; b[0] = 1; return b[0]; }\n",
     "variable length"),
    ("a long taken for 64 bits", "#include <stdint.h>\n_Static_assert(sizeof(long) == 8, \"LP64\");\n", "LP64"),
    ("a statement expression", "int f(void);\nint f(void) { return ({ 1; }); }\n", "statement expression"),
    ("a range in a case", "int f(int x);\nint f(int x) { switch (x) { case 1 ... 2: return 1; } return 0; }\n",
     "range"),
]

SHIM_SOURCE = """
#include <check.h>
static void holds(void **state)
{
	(void)state;
	assert_true(1);
	assert_false(0);
	assert_null(NULL);
	assert_non_null(state);
	assert_int_equal(-1, -1);
	assert_int_not_equal(1, 2);
	assert_ptr_equal(state, state);
	assert_ptr_not_equal(state, NULL);
	assert_string_equal("a", "a");
	assert_string_not_equal("a", "b");
	assert_memory_equal("abc", "abd", 2);
	assert_memory_not_equal("abc", "abd", 3);
	assert_in_range(2, 1, 2);
	assert_not_in_range(3, 1, 2);
}
TESTS
int main(void)
{
	static const struct pvf_test tests[] = {
		PVF_TEST(holds, "", "", "holds"),
		ROWS
	};
	return pvf_run_tests("targets", tests, sizeof(tests) / sizeof(tests[0]));
}
"""
FALSE_ASSERTIONS = [
    "assert_true(0)", "assert_false(1)", "assert_null(\"\")", "assert_non_null(NULL)", "assert_int_equal(1, 2)",
    "assert_int_not_equal(1, 1)", "assert_ptr_equal(state, NULL)", "assert_ptr_not_equal(NULL, NULL)",
    "assert_string_equal(\"a\", \"b\")", "assert_string_not_equal(\"a\", \"a\")",
    "assert_memory_equal(\"abc\", \"abd\", 3)", "assert_memory_not_equal(\"abc\", \"abc\", 3)",
    "assert_in_range(3, 1, 2)", "assert_not_in_range(2, 1, 2)", "fail()", "skip()", "fail_msg(\"%d\", 1)",
]


def _caught(said, pattern):
    return "" if re.search(pattern, said) else f"not caught: expected /{pattern}/ in: {said or 'no complaint at all'}"


def check_words():
    wrong = []
    for name, text, part in PLANTED_WORDS:
        if not any(part in one for one in words.check_words("planted.c", text)):
            wrong.append(f"{name} was not noticed")
    for name, text in CLEAN_WORDS:
        wrong += [f"{name}: {one}" for one in words.check_words("clean.c", text)]
    for name, text, part in PLANTED_INCLUDES:
        if not any(part in one for one in words.check_includes("planted.c", text, lambda header: False)):
            wrong.append(f"{name} was not noticed")
    if words.check_includes("clean.c", "/*\n#include <stdio.h>\n*/\n#include <stdint.h>\n", lambda header: False):
        wrong.append("an #include in a comment was taken for one")
    return "\n".join(wrong)


def _build(cpu, compiler):
    return next(one for one in table.BUILDS if one.cpu == cpu and one.compiler == compiler)


def check_object(directory, name, cpu, check, text, pattern):
    directory = directory / re.sub(r"\W+", "-", name)
    said = objects.compile_text(_build(cpu, "gcc"), text, directory, "planted")
    if said:
        return said
    result = directory / "planted.o"
    if check == "symbols":
        return _caught(objects.check_symbols(cpu, [result]), pattern)
    if check == "frames":
        return _caught(objects.check_frames(directory), pattern)
    return _caught(chain.check_chain(directory, objects.ROOT, set(), {"run": ["f"]})[0], pattern)


def check_windows(directory, name, text, pattern):
    return _caught(objects.compile_text(_build("win-x64", "msvc"), text, directory, name), pattern)


def check_weakened(build, directory):
    """Compiles barriers.c without its barriers and sees each missing one noticed."""
    result, said = objects.compile_one(build, objects.HERE / "barriers.c", directory,
                                       ("-include", str(objects.HERE / "weakened.h")))
    if said:
        return said
    code = barrier.Code([result])
    return "\n".join(f"{function}: its missing barrier was not noticed"
                     for function, kind in table.WEAKENED.items()
                     if table.INSTRUCTIONS[build.cpu][kind] and not barrier.check_words(build.cpu, code, {function}))


def check_shim(target, directory):
    """Each assertion of the CMocka stand-in, made false, must fail its test and leave the one before alone."""
    directory.mkdir(parents=True, exist_ok=True)
    wrong = []
    source = directory / "shim.c"
    tests = "\n".join(f"static void planted_{n}(void **state) {{ (void)state; {assertion}; }}"
                      for n, assertion in enumerate(FALSE_ASSERTIONS))
    rows = "\n".join(f'PVF_TEST(planted_{n}, "", "", "planted {n}"),' for n in range(len(FALSE_ASSERTIONS)))
    source.write_text(SHIM_SOURCE.replace("TESTS", tests).replace("ROWS", rows))
    program = directory / "shim"
    problem = emulate.link(target, [source, emulate.FRAME], [], program, directory)
    if problem:
        return problem
    code, said, lines = emulate.run(target, program)
    results = {line["test"]: line["result"] for line in lines}
    if results.pop("holds", "") != "pass":
        wrong.append("assertions that hold did not pass")
    wrong += [f"{assertion} did not fail its test" for n, assertion in enumerate(FALSE_ASSERTIONS)
              if results.get(f"planted {n}") != "fail"]
    if code == 0:
        wrong.append("the program's exit code was 0")
    return "\n".join(wrong) + (f"\n{said}" if wrong else "")
