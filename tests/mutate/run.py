#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# Breaks the engine in one small place at a time, and sees whether the suites notice.
#
#   run.py [--seed S] [--sites N] [--jobs J] [--only FILE[:LINE]]    draw N mutants and judge them
#   run.py --list [--only FILE[:LINE]]                               print all that there are
#   run.py --self-test                                               show that mutants are made
#
# What can be mutated is in mutator.py. Mutants are drawn by the seed, which is printed, and judged
# in copies of the tree, one per job, each with a build folder of its own; the tree itself is never
# touched. A mutant is caught when a test of unit, proto or sim fails, crashes or runs out of time.
# Tests that are named after the mutated file come first, then the quickest. One that does not
# compile is replaced by another draw.
#
# equivalent.txt lists mutants that no test can catch, with the argument; one per line:
#
#   file<TAB>line as it is<TAB>line as mutated<TAB>why nobody can tell the difference
#
# They are run, but not counted; one that is caught is no equivalent, and one that does not exist
# any more is to go: both are failures of the list.
#
# Each survivor is printed with its lines, and at the end "caught N of M (P%)". Exit status: 0 if
# nothing survived and the list holds, 1 otherwise. By hand: it takes some seconds a mutant.

import argparse
import collections
import json
import os
import queue
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import mutator

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EQUIVALENT = os.path.join(HERE, "equivalent.txt")
SUITES = ("unit", "proto", "sim")
MEMORY_BYTES_MAX = 8 << 30
# Of the random worlds a part does: what only the others show is shown too seldom.
SOAK_SEEDS = "300"
# A test that takes this much longer than it did unchanged hangs.
PATIENCE_FACTOR, PATIENCE_SECONDS = 10, 10

Test = collections.namedtuple("Test", "name program command environment suite")


# ---- mutants ----


def all_mutants(only):
    name, _, line = (only or "").partition(":")
    found = []
    for file in sorted(os.listdir(os.path.join(ROOT, "engine"))):
        if file.endswith((".c", ".h")) and name in ("", file, "engine/" + file):
            with open(os.path.join(ROOT, "engine", file), encoding="utf-8") as f:
                found += mutator.mutants_of("engine/" + file, f.read())
    return [m for m in found if not line or m.line == int(line)]


def read_equivalents(text):
    """{(file, old line, new line)}, and what is wrong with the list."""
    listed, wrong = set(), []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [mutator.as_one_line(field) for field in line.split("\t")]
        if len(fields) != 4 or not fields[3]:
            wrong.append("equivalent.txt:%d: is not of four fields" % number)
        else:
            listed.add(tuple(fields[:3]))
    return listed, wrong


def key_of(mutant):
    return mutant.file, mutant.old, mutant.new


def describe(mutant):
    return "%s:%d: %s\n    - %s\n    + %s" % (mutant.file, mutant.line, mutant.kind, mutant.old,
                                              mutant.new)


# ---- a copy of the tree, and what is run in it ----


class Copy:
    """A copy of the tree with a build folder, for one job."""

    def __init__(self, folder, suites=SUITES):
        self.suites = suites
        self.tree = os.path.join(folder, "tree")
        self.build = os.path.join(folder, "build")
        self.tests = []
        self.seconds = {}
        shutil.copytree(ROOT, self.tree, symlinks=True, ignore=lambda at, names: [
            n for n in names if n in (".git", "__pycache__")
            or (at == ROOT and n.startswith("build"))])

    def prepare(self):
        """Builds the tests unchanged and runs them; None, or why that does not work."""
        # With CC set meson asks for no compiler cache.
        setup = subprocess.run(
            ["meson", "setup", self.build, self.tree, "-Doptimization=1", "-Ddebug=false",
             "-Dwerror=false"], env=dict(os.environ, CC="gcc"), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        if setup.returncode != 0:
            return setup.stdout
        listing = subprocess.run(["meson", "introspect", "--tests", self.build], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout
        for test in json.loads(listing):
            for suite in (s.split(":")[-1] for s in test["suite"]):
                if suite in self.suites:
                    self.tests.append(Test(
                        test["name"], os.path.relpath(test["cmd"][0], self.build), test["cmd"],
                        dict(test["env"]), suite))
                    break
        if not self.compile(self.tests):
            return "the tree does not compile as it is"
        for test in self.tests:
            began = time.monotonic()
            if not self.passes(test, None):
                return "%s %s fails on the tree as it is" % (test.suite, test.name)
            self.seconds[test.name] = time.monotonic() - began
        self.tests.sort(key=lambda t: self.seconds[t.name])
        return None

    def compile(self, tests):
        return subprocess.run(["ninja", "--quiet", "-C", self.build, "-j", "1"]
                              + [t.program for t in tests], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def passes(self, test, seconds_max):
        process = subprocess.Popen(
            test.command, cwd=self.build, env=environment_of(test), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=limit_resources)
        try:
            return process.wait(seconds_max) == 0
        except subprocess.TimeoutExpired:
            # Its children as well; the group is its own.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False

    def judge(self, mutant):
        """The test that catches it, "" if none does, None if it does not compile."""
        path = os.path.join(self.tree, mutant.file)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(mutator.apply(text, mutant))
        try:
            return self.first_failure(os.path.splitext(os.path.basename(mutant.file))[0])
        finally:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)

    def first_failure(self, stem):
        related = [t for t in self.tests if t.name == stem or t.name.startswith(stem + "_")]
        others = [t for t in self.tests if t not in related]
        # What is related is compiled alone: of most mutants it takes no more.
        for tests in (related, others):
            if tests and not self.compile(tests):
                return None
            for test in tests:
                patience = PATIENCE_FACTOR * self.seconds[test.name] + PATIENCE_SECONDS
                if not self.passes(test, patience):
                    return "%s %s" % (test.suite, test.name)
        return ""


def environment_of(test, **more):
    environment = dict(os.environ, SOAK_SEEDS=SOAK_SEEDS, **test.environment, **more)
    environment.pop("LONG", None)
    return environment


def limit_resources():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))


# ---- drawing and judging ----


class Campaign:
    """Hands out mutants in the order drawn until `wanted` of them have counted."""

    def __init__(self, drawn, wanted, equivalents):
        self.drawn = drawn
        self.wanted = wanted
        self.equivalents = equivalents
        self.next = 0
        self.pending = 0
        self.lock = threading.Condition()
        self.caught, self.survived, self.uncompilable = [], [], 0
        self.equal, self.wrong = 0, []

    def counted(self):
        return len(self.caught) + len(self.survived)

    def take(self):
        """The next mutant, or None when enough have counted or none is left."""
        with self.lock:
            while self.counted() + self.pending >= self.wanted and self.pending:
                self.lock.wait()
            if self.counted() >= self.wanted or self.next == len(self.drawn):
                return None
            self.next += 1
            self.pending += 1
            return self.drawn[self.next - 1]

    def note(self, mutant, verdict):
        with self.lock:
            self.pending -= 1
            if verdict is None:
                self.uncompilable += 1
            elif key_of(mutant) in self.equivalents:
                self.equal += 1
                if verdict:
                    self.wrong.append("%s\n    listed as equivalent, but caught by %s"
                                      % (describe(mutant), verdict))
            elif verdict:
                self.caught.append((mutant, verdict))
            else:
                self.survived.append(mutant)
            self.lock.notify_all()
            self.show_progress()

    def show_progress(self):
        line = "%d of %d: %d caught, %d survived; %d equivalent, %d did not compile" % (
            self.counted(), self.wanted, len(self.caught), len(self.survived), self.equal,
            self.uncompilable)
        if sys.stderr.isatty():
            sys.stderr.write("\r%s " % line)
        elif (self.next - self.pending) % 10 == 0:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()


def work(campaign, folder, troubles):
    try:
        copy = Copy(folder)
        trouble = copy.prepare()
        if trouble:
            troubles.put(trouble)
            return
        while True:
            mutant = campaign.take()
            if mutant is None:
                return
            verdict = None
            try:
                verdict = copy.judge(mutant)
            finally:
                campaign.note(mutant, verdict)
    except Exception as trouble:  # told by the main thread
        troubles.put("%s: %s" % (type(trouble).__name__, trouble))


def run_campaign(campaign, jobs):
    """None, or what went wrong with the copies."""
    troubles = queue.Queue()
    with tempfile.TemporaryDirectory(prefix="mutate-") as scratch:
        threads = [threading.Thread(target=work, args=(
            campaign, os.path.join(scratch, str(i)), troubles)) for i in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if sys.stderr.isatty():
        sys.stderr.write("\n")
    return None if troubles.empty() else troubles.get()


def report(campaign, stale):
    for mutant in sorted(campaign.survived):
        print("survived " + describe(mutant))
    for line in campaign.wrong + stale:
        print(line)
    counted = campaign.counted()
    print("%d equivalent and %d that did not compile are not counted"
          % (campaign.equal, campaign.uncompilable))
    print("caught %d of %d (%.1f%%)" % (len(campaign.caught), counted,
                                        100.0 * len(campaign.caught) / max(counted, 1)))
    return not campaign.survived and not campaign.wrong and not stale


def main():
    parser = argparse.ArgumentParser(description="Mutation testing of the engine.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sites", type=int, default=200, help="how many mutants are to count")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", metavar="FILE[:LINE]")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--caught", action="store_true", help="print what was caught, and by what")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        sys.exit(0 if mutator.self_test() else 1)
    mutants = all_mutants(options.only)
    if options.list:
        for mutant in mutants:
            print(describe(mutant))
        print("%d mutants" % len(mutants))
        return
    with open(EQUIVALENT, encoding="utf-8") as f:
        equivalents, stale = read_equivalents(f.read())
    existing = {key_of(m) for m in all_mutants(None)}
    stale += ["equivalent.txt: no such mutant any more: %s" % "\t".join(key)
              for key in sorted(equivalents - existing)]
    os.nice(5)
    print("seed %d: %d mutants exist%s" % (
        options.seed, len(mutants), " in " + options.only if options.only else ""))
    sys.stdout.flush()
    random.Random(options.seed).shuffle(mutants)
    campaign = Campaign(mutants, min(options.sites, len(mutants)), equivalents)
    trouble = run_campaign(campaign, max(options.jobs, 1))
    if trouble:
        sys.exit("run.py: " + trouble)
    if options.caught:
        for mutant, by in sorted(campaign.caught):
            print("caught by %s: %s" % (by, describe(mutant)))
    sys.exit(0 if report(campaign, stale) else 1)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
