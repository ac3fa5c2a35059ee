#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# What tests/run makes of test output: counts, failures in words, skips with their reasons.
#
#   summary.py meson COUNTS STAGE LOG      the tests of one meson log (meson-logs/STAGE.json)
#   summary.py script COUNTS STAGE STATUS  one script; its output comes on standard input
#   summary.py total COUNTS                the last line
#   summary.py self-test                   shows that nothing bad is counted as good
#
# COUNTS is a file to which the first two append a line per test, and of which the third prints the
# sum. A test says RESULT <suite> passed=N failed=N skipped=N, as often as it likes; the lines are
# added up. It cannot look better than it is: a bad exit status or a signal without a failed count
# counts as one failed, and so does a test without a RESULT line, one that ran nothing, and one that
# skipped without a line "SKIP what: why". Exit status: 0 if nothing failed (total: and something
# passed), else 1.

import json
import re
import signal
import sys

RESULT = re.compile(r"^RESULT (\S+) passed=(\d+) failed=(\d+) skipped=(\d+)\s*$", re.M)
SKIP = re.compile(r"^SKIP .+: .+$", re.M)
# What CUnit prints whether or not something failed.
CUNIT_CHATTER = re.compile(r"^\s*(CUnit - A unit testing|http://cunit|Run Summary:|Elapsed time|"
                           r"(suites|tests|asserts)\s+\d|$)")
LINES_SHOWN_MAX = 80


def how_it_ended(status):
    """In words, for an exit status as Python's subprocess or a shell has it."""
    number = -status if status < 0 else status - 128
    try:
        return "killed by %s" % signal.Signals(number).name
    except ValueError:
        return "exit status %d" % status


def judge(output, status, timed_out):
    """(passed, failed, skipped, what is wrong in words or None) of one test."""
    results = RESULT.findall(output)
    passed, failed, skipped = (sum(int(r[i]) for r in results) for i in (1, 2, 3))
    if timed_out:
        wrong = "ran out of time"
    elif status != 0:
        wrong = how_it_ended(status)
    elif not results:
        wrong = "printed no RESULT line"
    elif passed + failed + skipped == 0:
        wrong = "ran nothing"
    elif skipped and not SKIP.search(output):
        wrong = "skipped without saying why"
    elif failed:
        wrong = "%d failed, but its exit status is 0" % failed
    else:
        return passed, failed, skipped, None
    return passed, max(failed, 1), skipped, wrong


def show(stage, name, output, errors, wrong):
    """Failures with what the test had to say, and each skip."""
    where = stage if name == stage else "%s %s" % (stage, name)
    if wrong:
        print("FAIL %s: %s" % (where, wrong))
        lines = [s for s in output.splitlines() + errors.splitlines()
                 if not (CUNIT_CHATTER.match(s) or RESULT.match(s) or SKIP.match(s))]
        for line in lines[:LINES_SHOWN_MAX]:
            print("    " + line)
        if len(lines) > LINES_SHOWN_MAX:
            print("    ... and %d more lines" % (len(lines) - LINES_SHOWN_MAX))
    for line in SKIP.findall(output):
        print("%s (%s)" % (line, where))


def record(counts, stage, name, output, errors, status, timed_out=False):
    """Whether the test passed."""
    passed, failed, skipped, wrong = judge(output, status, timed_out)
    show(stage, name, output, errors, wrong)
    with open(counts, "a", encoding="utf-8") as f:
        f.write("%d %d %d\n" % (passed, failed, skipped))
    return wrong is None


def meson(counts, stage, log):
    good = True
    with open(log, encoding="utf-8") as f:
        for line in f:
            test = json.loads(line)
            # "project:suite / name", or "project:suite+suite / name"
            name = test["name"].rsplit(" / ", 1)[-1]
            status = test["returncode"]
            if status is None or (status == 0 and test["result"] != "OK"):
                status = 1
            good &= record(counts, stage, name, test["stdout"] or "", test.get("stderr", ""),
                           status, test["result"] in ("TIMEOUT", "INTERRUPT"))
    return good


def total(counts):
    with open(counts, encoding="utf-8") as f:
        rows = [[int(word) for word in line.split()] for line in f]
    passed, failed, skipped = (sum(row[i] for row in rows) for i in range(3))
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return failed == 0 and passed > 0


# (output, exit status, timed out) and the (passed, failed, skipped) that it has to count as.
VERDICTS = [
    ("RESULT a passed=3 failed=0 skipped=0\n", 0, False, (3, 0, 0)),
    ("RESULT a passed=3 failed=0 skipped=0\nRESULT b passed=4 failed=0 skipped=0\n", 0, False,
     (7, 0, 0)),
    ("SKIP x: no y\nRESULT a passed=3 failed=0 skipped=1\n", 0, False, (3, 0, 1)),
    ("RESULT a passed=3 failed=2 skipped=0\n", 1, False, (3, 2, 0)),
    ("RESULT a passed=3 failed=2 skipped=0\n", 0, False, (3, 2, 0)),
    ("RESULT a passed=3 failed=0 skipped=0\n", 1, False, (3, 1, 0)),
    ("RESULT a passed=3 failed=0 skipped=0\n", -11, False, (3, 1, 0)),
    ("RESULT a passed=3 failed=0 skipped=0\n", 0, True, (3, 1, 0)),
    ("RESULT a passed=3 failed=0 skipped=1\n", 0, False, (3, 1, 1)),
    ("RESULT a passed=0 failed=0 skipped=0\n", 0, False, (0, 1, 0)),
    ("  RESULT a passed=3 failed=0 skipped=0\n", 0, False, (0, 1, 0)),
    ("all is well\n", 0, False, (0, 1, 0)),
    ("", 0, False, (0, 1, 0)),
    ("", -6, False, (0, 1, 0)),
    ("", 139, False, (0, 1, 0)),
]


def self_test():
    failed = 0
    for output, status, timed_out, expected in VERDICTS:
        passed, bad, skipped, wrong = judge(output, status, timed_out)
        if (passed, bad, skipped) != expected or bool(wrong) != (bad > 0):
            failed += 1
            print("%r with status %d: counted as %r" % (output, status, (passed, bad, skipped)))
    print("RESULT summary_self_test passed=%d failed=%d skipped=0"
          % (len(VERDICTS) - failed, failed))
    return failed == 0


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "meson":
        good = meson(*sys.argv[2:])
    elif len(sys.argv) == 5 and sys.argv[1] == "script":
        counts, stage, status = sys.argv[2:]
        good = record(counts, stage, stage, sys.stdin.read(), "", int(status))
    elif len(sys.argv) == 3 and sys.argv[1] == "total":
        good = total(sys.argv[2])
    elif sys.argv[1:] == ["self-test"]:
        good = self_test()
    else:
        sys.exit("usage: summary.py meson|script|total|self-test ...")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
