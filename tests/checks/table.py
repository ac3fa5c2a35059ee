#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# Holds checks.txt, the table of what the engine refuses and of the test that shows it, against both.
#
#   table.py              every check has a row, every row a check and a test
#   table.py --missing    prints rows to fill in for the checks that have none
#   table.py --self-test  shows that each of these can fail
#
# A check is a place in a function of engine/*.c that decides against something: a drop or an errno
# value that is returned, a reason to refuse a request or a connection, a status other than success,
# a verdict on memory, a call of a function that refuses. It is known by its file, its function and its word,
# UROCE_DROP_PKEY or -EINVAL; a word that a function has three times needs three rows, in the order
# of the code. A row is
#
#   engine/file.c | function | word, and more words to tell it apart | clause | test file | sentence
#
# where the clause is the standard's as the code names it, or [recall], and the sentence is the name
# of a test of that file. "-" for file and sentence is a check that no test can reach; the clause
# then is the reason. Whether the test fails without the check is what tests/mutate/rows.py tries.
#
# A line per violation, then RESULT with a count per rule. Exit status: 0 if all is well.

import collections
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = "tests/checks/checks.txt"

# place: where the word stands in the text of its file.
Check = collections.namedtuple("Check", "file function word line place")
Row = collections.namedtuple("Row", "number file function what clause test sentence")

NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
# A minus that is followed by a name at once is a sign: the format wants blanks around the other.
# The last are functions that refuse for their caller; uroce_refused_invalid() is given a reason.
WORD = re.compile(r"\bUROCE_(?:DROP|CM_DROP|REFUSAL|CM_REJECT|STATUS|MR)_[A-Z0-9_]+\b|(?<![\w)])-E[A-Z0-9]+\b"
                  r"|\b(?:(?:uroce_)?refused?_(?!invalid\()\w+|bad_response|imply_nak)(?=\()")
# Of a word that is compared nothing depends but what the comparison decides.
COMPARED = re.compile(r"(==|!=|\bcase)\s*$")
CASE = re.compile(r'\{\s*((?:"(?:\\.|[^"\\\n])*"\s*)+),\s*\w+\s*\}')


def code_of(text):
    """The text with comments and strings blanked out, so that places stay."""
    return NOT_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def functions_of(code):
    """(name, start, end) of each body; a body stands between braces in column 0."""
    for m in re.finditer(r"^\{\n.*?^\}", code, re.M | re.S):
        head = re.split(r"[;}]|\n\n|^#[^\n]*\n", code[:m.start()], flags=re.M)[-1]
        name = re.search(r"(\w+)\(", re.sub(r"__attribute__\(\(.*?\)\)", "", head))
        if name:
            yield name.group(1), m.start(), m.end()


def is_check(word, before):
    """before: the code from the start of the statement up to the word."""
    if COMPARED.search(before) or word in ("UROCE_REFUSAL_NONE", "UROCE_STATUS_SUCCESS"):
        return False
    if word.startswith(("UROCE_DROP_", "UROCE_CM_DROP_", "UROCE_MR_")):
        decides = re.search(r"\breturn\b|[^=!<>]=[^=]", before)
        return bool(decides) and word not in (
            "UROCE_DROP_COUNT", "UROCE_CM_DROP_COUNT", "UROCE_MR_OK", "UROCE_MR_DEAD")
    return True


def checks_of(file, text):
    code = code_of(text)
    for function, start, end in functions_of(code):
        for m in WORD.finditer(code, start, end):
            # The braces of a compound literal are not at the end of a line.
            before = re.split(r";|[{}]\n", code[start:m.start()])[-1]
            if is_check(m.group(), before):
                yield Check(file, function, m.group(), text.count("\n", 0, m.start()) + 1,
                            m.start())


def sentences_of(text):
    """Names of the cases of a test file."""
    return {"".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', m.group(1)))
            for m in CASE.finditer(text)}


def rows_of(text):
    """The rows, and what is wrong with the lines."""
    rows, wrong = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 6 or not all(fields):
            wrong.append("%s:%d: is not of six fields" % (TABLE, number))
        else:
            rows.append(Row(number, *fields))
    return rows, wrong


def word_of(row):
    return re.split(r"[\s:,]", row.what)[0]


def compare(checks, rows):
    """(checks without a row, rows without a check)."""
    by_key = collections.defaultdict(list)
    for row in rows:
        by_key[(row.file, row.function, word_of(row))].append(row)
    missing = []
    for check in checks:
        of_key = by_key[(check.file, check.function, check.word)]
        if of_key:
            of_key.pop(0)
        else:
            missing.append(check)
    return missing, sorted((r for left in by_key.values() for r in left), key=lambda r: r.number)


def without_a_test(rows, sentences):
    """Rows whose test does not exist; sentences: a set by test file."""
    for row in rows:
        if (row.test, row.sentence) == ("-", "-"):
            if row.clause == "[recall]":
                yield "%s:%d: no test, and no reason for that" % (TABLE, row.number)
        elif row.test not in sentences:
            yield "%s:%d: there is no %s" % (TABLE, row.number, row.test)
        elif row.sentence not in sentences[row.test]:
            yield "%s:%d: %s has no case \"%s\"" % (TABLE, row.number, row.test, row.sentence)


def judge(checks, table, sentences):
    """What is wrong, by rule."""
    rows, wrong = rows_of(table)
    missing, gone = compare(checks, rows)
    return [
        ["%s:%d: %s in %s has no row in %s" % (c.file, c.line, c.word, c.function, TABLE)
         for c in missing],
        ["%s:%d: no such check any more: %s in %s of %s" % (
            TABLE, r.number, word_of(r), r.function, r.file) for r in gone],
        list(without_a_test(rows, sentences)),
        wrong + ([] if checks else ["no check was found at all"]),
    ]


# ---- the tree ----


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        return f.read()


def all_checks():
    names = sorted(n for n in os.listdir(os.path.join(ROOT, "engine")) if n.endswith(".c"))
    return [c for n in names for c in checks_of("engine/" + n, read("engine/" + n))]


def all_sentences():
    found = {}
    for folder, _, names in os.walk(os.path.join(ROOT, "tests")):
        for name in names:
            if name.endswith("_test.c"):
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                found[path] = sentences_of(read(path))
    return found


def print_missing():
    """With the line of the code, which is to be replaced by what tells the check apart."""
    rows, _ = rows_of(read(TABLE))
    for check in compare(all_checks(), rows)[0]:
        line = read(check.file).splitlines()[check.line - 1].strip()
        print("%s | %s | %s | [recall] | tests/ | " % (check.file, check.function, check.word))
        print("# %s:%d: %s" % (check.file, check.line, line))


# ---- self-test ----

PLANTED_CODE = """
/* return -EPERM; */
static int f(int a)
{
	if (a == UROCE_STATUS_WR_FLUSH_ERR || x - EDGE)
		return -EINVAL;
	note(UROCE_DROP_ICRC, "return -EIO");
	return a ? -EINVAL : 0;
}

static enum uroce_drop
g(void)
{
	switch (a) {
	case UROCE_DROP_PKEY:
		return UROCE_DROP_ICRC;
	}
	h(&(struct t){.refusal = UROCE_REFUSAL_KEY, .status = UROCE_STATUS_LOC_PROT_ERR});
	if (!a)
		return refuse_it(uroce_refused_invalid(b, c));
	return verdict == UROCE_MR_OK ? UROCE_MR_RANGE : k(UROCE_REFUSAL_NONE);
}

static enum uroce_cm_drop h(int a)
{
	if (a == UROCE_CM_REJECT_STALE)
		return k(UROCE_CM_REJECT_TIMEOUT);
	return a ? UROCE_CM_DROP_STATE : UROCE_CM_ACCEPTED;
}
"""
PLANTED_WORDS = [("f", "-EINVAL"), ("f", "-EINVAL"), ("g", "UROCE_DROP_ICRC"),
                 ("g", "UROCE_REFUSAL_KEY"), ("g", "UROCE_STATUS_LOC_PROT_ERR"),
                 ("g", "refuse_it"), ("g", "UROCE_MR_RANGE"),
                 ("h", "UROCE_CM_REJECT_TIMEOUT"), ("h", "UROCE_CM_DROP_STATE")]
PLANTED_TEST = 'x = {\n\t{"it is " /* so */\n\t"refused", f},\n\t{"it is dropped", g},\n};\n'
PLANTED_TABLE = """# comment
e.c | f | -EINVAL | C9-1 | t.c | it is refused
e.c | f | -EINVAL, the other | [recall] | t.c | it is dropped
e.c | g | UROCE_DROP_ICRC: why | [recall] | t.c | it is refused
e.c | g | UROCE_REFUSAL_KEY | [recall] | t.c | it is refused
e.c | g | UROCE_STATUS_LOC_PROT_ERR | cannot happen | - | -
e.c | g | refuse_it | [recall] | t.c | it is refused
e.c | h | UROCE_CM_REJECT_TIMEOUT | [recall] | t.c | it is refused
e.c | h | UROCE_CM_DROP_STATE | [recall] | t.c | it is refused
e.c | g | UROCE_MR_RANGE | [recall] | t.c | it is refused
"""
LINES = PLANTED_TABLE.splitlines(True)
# Tables, and how many violations of each rule they are.
VERDICTS = [
    (PLANTED_TABLE, [0, 0, 0, 0]),
    ("".join(LINES[:-1]), [1, 0, 0, 0]),
    ("".join(LINES[:2] + LINES[3:]), [1, 0, 0, 0]),
    (PLANTED_TABLE + LINES[1], [0, 1, 0, 0]),
    (PLANTED_TABLE.replace("| g | UROCE_MR_RANGE", "| f | UROCE_MR_RANGE"), [1, 1, 0, 0]),
    (PLANTED_TABLE.replace("t.c | it is dropped", "t.c | it is gone"), [0, 0, 1, 0]),
    (PLANTED_TABLE.replace("t.c | it is dropped", "u.c | it is dropped"), [0, 0, 1, 0]),
    (PLANTED_TABLE.replace("cannot happen", "[recall]"), [0, 0, 1, 0]),
    (PLANTED_TABLE.replace("C9-1 |", "|"), [1, 0, 0, 1]),
    (PLANTED_TABLE + "e.c | f | -EINVAL\n", [0, 0, 0, 1]),
]


def self_test():
    checks = list(checks_of("e.c", PLANTED_CODE))
    failed = 0
    if [(c.function, c.word) for c in checks] != PLANTED_WORDS:
        failed += 1
        print("of the planted code: %s" % [(c.function, c.word) for c in checks])
    for number, (table, expected) in enumerate(VERDICTS):
        got = judge(checks, table, {"t.c": sentences_of(PLANTED_TEST.replace("/* so */", ""))})
        if [len(lines) for lines in got] != expected:
            failed += 1
            print("planted table %d: expected %s, got %s" % (number, expected, got))
    if not judge([], "", {})[3]:
        failed += 1
        print("a tree without checks is taken for a good one")
    total = len(VERDICTS) + 2
    print("RESULT table_self_test passed=%d failed=%d skipped=0" % (total - failed, failed))
    return failed == 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(0 if self_test() else 1)
    if sys.argv[1:] == ["--missing"]:
        print_missing()
        return
    if len(sys.argv) > 1:
        sys.exit("usage: table.py [--missing|--self-test]")
    violations = judge(all_checks(), read(TABLE), all_sentences())
    for lines in violations:
        for line in lines:
            print(line)
    failed = sum(bool(lines) for lines in violations)
    print("RESULT table passed=%d failed=%d skipped=0" % (len(violations) - failed, failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
