#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# Tries whether the rows of tests/checks/checks.txt are true: breaks each check, runs its test.
#
#   rows.py [--jobs J] [--only FILE]           the named test must fail, of each row
#   rows.py --find [--jobs J] [--only FILE]    which tests fail, of each check that has no row
#
# A check is broken in two ways: its word is replaced by another of its kind (the frame is dropped
# for another reason, the call returns another error), and it is taken out, if it is an if with a
# return, or else its word becomes the one that lets pass. A row is true when the named case fails
# each time; a crash or a hang of the test counts as well, since then no case can be told to be the
# one. It is true in part when one of the two goes unnoticed, as it has to where another check says
# the same or nobody looks at the word; which is printed.
#
# Works in copies of the tree, as run.py does. Exit status: 0 if every row is true at least in part,
# 1 otherwise. By hand: it takes some seconds a check, with --find ten.

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True

import mutator
import run

sys.path.insert(0, os.path.join(run.ROOT, "tests", "checks"))

import table

# By beginning: what a word becomes, what it becomes if that is what it is, what lets pass.
OTHERS = {"UROCE_DROP_": ("UROCE_DROP_CNP", "UROCE_DROP_PKEY", "UROCE_ACCEPTED"),
          "UROCE_CM_DROP_": ("UROCE_CM_DROP_CLASS", "UROCE_CM_DROP_FIELD", "UROCE_CM_ACCEPTED"),
          "UROCE_CM_REJECT_": ("UROCE_CM_REJECT_NO_QP", "UROCE_CM_REJECT_TIMEOUT", "0"),
          "UROCE_STATUS_": ("UROCE_STATUS_GENERAL_ERR", "UROCE_STATUS_REM_OP_ERR",
                            "UROCE_STATUS_SUCCESS"),
          "UROCE_REFUSAL_": ("UROCE_REFUSAL_RECV_BAD", "UROCE_REFUSAL_PAD", "UROCE_REFUSAL_NONE"),
          "UROCE_MR_": ("UROCE_MR_WRONG_PD", "UROCE_MR_NO_RIGHT", "UROCE_MR_OK"),
          "-E": ("-EDOM", "-ERANGE", "0")}
# A call has no other word but this one.
INSTEAD = {"uroce_refused_access(": "uroce_refused_invalid(UROCE_REFUSAL_PAD, 0, "}
SECONDS_MAX = 60
# What the simulations show names nothing.
SUITES = ("unit", "proto", "ring")
STARTED = re.compile(r"^\s*Test: (.*?)( \(expects 0x[^)]*\))? ?\.\.\.", re.M)


def breakages(check, text):
    """(kind, text with the check broken)."""
    end = check.place + len(check.word)
    passing = None
    for beginning, (other, another, passes) in OTHERS.items():
        if check.word.startswith(beginning):
            word = another if check.word == other else other
            passing = text[:check.place] + passes + text[end:]
            yield "another word", text[:check.place] + word + text[end:]
    for call, instead in INSTEAD.items():
        if text.startswith(call, check.place):
            yield "another call", text[:check.place] + instead + text[check.place + len(call):]
    around = [m for m in mutator.mutants_of(check.file, text)
              if m.kind == "check" and m.start <= check.place < m.end]
    if around:
        yield "no check", mutator.apply(text, min(around, key=lambda m: m.end - m.start))
    elif passing:
        yield "let pass", passing


class Verbose(run.Copy):
    """A copy whose tests tell by name what fails."""

    def failures(self, test):
        """(the cases that fail, whether the test came to its end)."""
        process = subprocess.Popen(
            test.command, cwd=self.build, env=run.environment_of(test, UNIT_VERBOSE="1"),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
            errors="replace", preexec_fn=run.limit_resources)
        try:
            output = process.communicate(timeout=SECONDS_MAX)[0]
            ended = process.returncode >= 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, ended = process.communicate()[0], False
        starts = list(STARTED.finditer(output))
        failed = set()
        for start, following in zip(starts, starts[1:] + [None]):
            part = output[start.end():following.start() if following else len(output)]
            if "FAILED" in part.split("Run Summary")[0]:
                failed.add(start.group(1))
        if not ended and starts:
            failed.add(starts[-1].group(1))
        return failed, ended

    def with_text(self, file, text, tests):
        """[(test, failed cases, ended)] with this text in this file; None: it does not compile."""
        path = os.path.join(self.tree, file)
        with open(path, encoding="utf-8") as f:
            original = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        try:
            if not self.compile(tests):
                return None
            return [(test,) + self.failures(test) for test in tests]
        finally:
            with open(path, "w", encoding="utf-8") as f:
                f.write(original)


def file_of(test):
    return "tests/%s/%s_test.c" % (test.suite, test.name)


def prove(copy, check, row):
    """What of a row is not true, a line for each breakage that was tried; None where it is."""
    tests = [t for t in copy.tests if file_of(t) == row.test]
    if not tests:
        yield "%s is of no suite that is run" % row.test
        return
    for kind, text in breakages(check, table.read(check.file)):
        results = copy.with_text(check.file, text, tests)
        if results is None:
            yield "%s: does not compile" % kind
            continue
        _, failed, ended = results[0]
        if row.sentence in failed or not ended:
            yield None
        else:
            yield "%s: not noticed by \"%s\", but by %s" % (
                kind, row.sentence, sorted(failed) or "no case of that file")


def find(copy, check):
    """Lines that say which cases fail, those that every breakage fails first."""
    by_kind = []
    for kind, text in breakages(check, table.read(check.file)):
        results = copy.with_text(check.file, text, copy.tests)
        if results is None:
            yield "# %s: does not compile" % kind
            continue
        cases = {(file_of(t), case) for t, failed, _ in results for case in failed}
        died = sorted(file_of(t) for t, _, ended in results if not ended)
        yield "# %s: %d cases fail%s" % (kind, len(cases),
                                         "; does not end: " + ", ".join(died) if died else "")
        by_kind.append(cases)
    common = set.intersection(*by_kind) if by_kind else set()
    for title, cases in (("all", common), ("some", set().union(*by_kind) - common)):
        for test, case in sorted(cases):
            yield "# %s: %s | %s" % (title, test, case)


def pairs(only):
    """(check, row) of all rows with a test, and checks without a row."""
    rows, _ = table.rows_of(table.read(table.TABLE))
    left = {}
    for row in rows:
        left.setdefault((row.file, row.function, table.word_of(row)), []).append(row)
    found, missing = [], []
    for check in table.all_checks():
        if only not in ("", check.file, os.path.basename(check.file)):
            continue
        of_key = left.get((check.file, check.function, check.word), [])
        if not of_key:
            missing.append(check)
        elif of_key[0].test != "-":
            found.append((check, of_key.pop(0)))
        else:
            of_key.pop(0)
    return found, missing


class Work:
    """Hands out things to do, keeps what was found in their order."""

    def __init__(self, things, do):
        self.things = things
        self.do = do
        self.results = [None] * len(things)
        self.next = 0
        self.lock = threading.Lock()
        self.trouble = None

    def run(self, folder):
        copy = Verbose(folder, SUITES)
        self.trouble = copy.prepare() or self.trouble
        while not self.trouble:
            with self.lock:
                i = self.next
                self.next += 1
            if i >= len(self.things):
                return
            self.results[i] = list(self.do(copy, self.things[i]))
            sys.stderr.write("\r%d of %d " % (i + 1, len(self.things)))
            sys.stderr.flush()


def main():
    parser = argparse.ArgumentParser(description="Tries the rows of the table of checks.")
    parser.add_argument("--find", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", metavar="FILE", default="")
    options = parser.parse_args()
    os.nice(5)
    found, missing = pairs(options.only)
    if options.find:
        work = Work(missing, find)
    else:
        work = Work(found, lambda copy, pair: prove(copy, *pair))
    with tempfile.TemporaryDirectory(prefix="rows-") as scratch:
        threads = [threading.Thread(target=work.run, args=(os.path.join(scratch, str(i)),))
                   for i in range(max(options.jobs, 1))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    sys.stderr.write("\n")
    if work.trouble or None in work.results:
        sys.exit("rows.py: %s" % (work.trouble or "a copy of the tree failed"))
    if options.find:
        for check, lines in zip(missing, work.results):
            print("%s | %s | %s | [recall] | tests/ | " % (check.file, check.function, check.word))
            print("# line %d: %s" % (check.line, table.read(check.file).splitlines()[
                check.line - 1].strip()))
            print("\n".join(lines))
        return
    wholly = partly = 0
    for (check, row), lines in zip(found, work.results):
        wholly += not any(lines)
        partly += any(lines) and None in lines
        for line in filter(None, lines):
            print("%s:%d: %s in %s, line %d: %s" % (table.TABLE, row.number, check.word,
                                                    check.function, check.line, line))
    print("of %d rows %d are true, %d in part, %d not" % (
        len(found), wholly, partly, len(found) - wholly - partly))
    sys.exit(0 if wholly + partly == len(found) else 1)


if __name__ == "__main__":
    main()
