#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# The rules of the tree that a machine can check: which folder may include what, what the engine may
# call, public headers that stand alone, sizes, licence lines, tests that nobody would run.
#
#   layering.py [--root FOLDER] [--build FOLDER]     check the tree (FOLDER: a configured build)
#   layering.py --self-test                          show that every check can fail
#
# A line per violation; at the end RESULT, with one count per check. Exit status: 0 if nothing was
# violated, 1 otherwise. Without a build the checks that need one are skipped, which is said.
#
# Include rules are held against the text of the files, not against what the compiler found: a
# quoted name is looked for beside the file, in the root, and then in the folders of the table. A
# header that is in no list is a violation: better that a list grows than that a rule decays.

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

C11 = set("assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal "
          "stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath "
          "threads time uchar wchar wctype".split())
POSIX = set("dirent dlfcn elf endian err execinfo fcntl fnmatch ftw getopt glob grp ifaddrs "
            "libgen malloc netdb poll pthread pwd regex sched semaphore spawn strings syslog "
            "sysexits termios ucontext unistd utime".split())
POSIX_FOLDERS = ("sys/", "net/", "netinet/", "netpacket/", "arpa/", "linux/", "asm/", "bits/")

# The kinds of header that each folder may include, besides its own files.
ALLOWED = {
    "engine": {"c11", "isa-l"},
    "pmd_glue": {"c11", "posix", "dpdk", "engine"},
    "api": {"c11", "posix", "engine", "pmd_glue"},
    "pcap": {"c11", "posix", "libpcap", "engine"},
    "apps": {"c11", "posix", "dpdk", "public", "pcap"},
    "tests": {"c11", "posix", "isa-l", "dpdk", "libpcap", "cunit", "sanitizer", "verbs", "public",
              "engine", "pmd_glue", "api", "pcap", "apps"},
}
FOLDERS = list(ALLOWED)
# What applications include; an installed header that is not named here counts as well.
PUBLIC = ["api/uroce.h", "api/uroce_cm.h", "engine/cm_status.h", "engine/dcqcn_conf.h", "engine/status.h",
          "engine/stats.h"]
# The tests' second opinions, on the wire format, on what a run must come to, and on both: nothing
# of them may come from the first.
INDEPENDENT = re.compile(r"(pcap/text|tests/sim/model|tests/interop/(guest|talk|peer)).*\.[ch]$")

# What the engine may leave to others. The last is the linker's own, not a call.
ENGINE_MAY_CALL = {"memcpy", "memmove", "memset", "memcmp", "__assert_fail", "__stack_chk_fail",
                   "crc32_gzip_refl", "_GLOBAL_OFFSET_TABLE_"}

FILE_LINES_MAX = 800
APP_LINES_MAX = 400
FUNCTION_LINES_MAX = 80

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:([<"])([^>"]+)[>"]|(.*))')
SOURCE_NAMES = ("meson.build", "meson_options.txt", ".clang-format", ".clang-tidy", "Makefile")
SOURCE_SUFFIXES = (".c", ".h", ".cc", ".py", ".sh", ".supp")


class Tree:
    """The source files below a root, by their names relative to it."""

    def __init__(self, root, build=None):
        self.root = root
        self.build = build
        self.files = sorted(self._walk())
        self.text = {}

    def _walk(self):
        for folder, subfolders, names in os.walk(self.root):
            subfolders[:] = [s for s in subfolders if s not in (".git", "__pycache__")
                             and not (folder == self.root and s.startswith("build"))]
            for name in names:
                yield os.path.relpath(os.path.join(folder, name), self.root)

    def lines(self, name):
        if name not in self.text:
            with open(os.path.join(self.root, name), encoding="utf-8", errors="replace") as f:
                self.text[name] = f.read().splitlines()
        return self.text[name]

    def c_files(self):
        return [f for f in self.files if f.endswith((".c", ".h")) and f.split("/")[0] in ALLOWED]

    def is_source(self, name):
        base = os.path.basename(name)
        if base in SOURCE_NAMES or base.endswith(SOURCE_SUFFIXES):
            return True
        return "." not in base and self.lines(name)[:1] and self.lines(name)[0].startswith("#!")

    def includes(self, name):
        """(line number, bracket, header) of each #include; bracket is empty for a macro's name."""
        for number, line in enumerate(self.lines(name), 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match.group(1) or "", match.group(2) or match.group(3)

    def resolve(self, name, header):
        """The file of the tree that a header's name means in the file `name`, or None."""
        own = name.split("/")[0]
        beside = os.path.normpath(os.path.join(os.path.dirname(name), header))
        permitted = [f for f in FOLDERS if f in ALLOWED[own]]
        others = [f for f in FOLDERS if f not in permitted]
        subfolders = sorted({os.path.dirname(f) for f in self.files if f.startswith(own + "/")})
        for place in [beside, header] + [os.path.join(f, header)
                                         for f in subfolders + permitted + others]:
            if place in self.files:
                return place
        return None


def kind_of_system_header(header):
    stem, suffix = os.path.splitext(header)
    if suffix == ".h":
        if stem in C11:
            return "c11"
        if stem in POSIX or header.startswith(POSIX_FOLDERS):
            return "posix"
        if stem.startswith("rte_"):
            return "dpdk"
    for prefix, kind in (("isa-l/", "isa-l"), ("pcap/", "libpcap"), ("CUnit/", "cunit"),
                         ("sanitizer/", "sanitizer"), ("infiniband/", "verbs"),
                         ("rdma/", "verbs")):
        if header.startswith(prefix):
            return kind
    return {"isa-l.h": "isa-l", "pcap.h": "libpcap"}.get(header, "unknown")


def judge_include(tree, name, bracket, header):
    """None, or why this file may not include this header."""
    own = name.split("/")[0]
    if not bracket:
        return "is a macro, which this check cannot follow"
    if header.endswith(".c"):
        return "is a source file; link it"
    if bracket == "<":
        # As an application that has uroce installed.
        installed = header[len("uroce/"):] if header.startswith("uroce/") else header
        target = next((p for p in PUBLIC if os.path.basename(p) == installed), None)
    else:
        target = tree.resolve(name, header)
    if target is None:
        kind = kind_of_system_header(header)
        if bracket == '"' and kind == "unknown":
            return "is in no folder of the tree"
        if kind == "unknown":
            return "is in no list of tests/checks/layering.py; say there what it is"
        return None if kind in ALLOWED[own] else "is of kind %s" % kind
    folder = target.split("/")[0]
    if folder == own or folder in ALLOWED[own]:
        return None
    if target in PUBLIC and "public" in ALLOWED[own]:
        return None
    return "is %s" % target


def check_includes(tree):
    for name in tree.c_files():
        own = name.split("/")[0]
        for number, bracket, header in tree.includes(name):
            why = judge_include(tree, name, bracket, header)
            if why:
                yield "%s:%d: %s/ may not include %s: it %s" % (name, number, own, header, why)


def reach(tree, name, seen):
    """Every file of the tree that including `name` brings in."""
    for _, bracket, header in tree.includes(name):
        target = tree.resolve(name, header) if bracket == '"' else None
        if target and target not in seen:
            seen.add(target)
            reach(tree, target, seen)
    return seen


def check_second_opinion(tree):
    for name in tree.c_files():
        if INDEPENDENT.match(name):
            for target in sorted(reach(tree, name, set())):
                if target.startswith("engine/"):
                    yield "%s: includes %s, but must know nothing of the engine" % (name, target)


def check_engine_calls(tree):
    """Held against the archive of the build; b_sanitize adds calls, so give a plain build."""
    archive = os.path.join(tree.build, "engine", "liburoce_engine.a")
    if not os.path.exists(archive):
        yield "%s: not built" % archive
        return
    defined, wanted, member = set(), [], ""
    listing = subprocess.run(["nm", archive], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        words = line.split()
        if line.endswith(":"):
            member = line[:-1]
        elif len(words) >= 2 and words[-2] in ("U", "w", "v"):
            wanted.append((member, words[-1]))
        elif len(words) == 3 and words[1].isupper():
            defined.add(words[2])
    for member, symbol in wanted:
        if symbol not in defined and symbol not in ENGINE_MAY_CALL:
            yield "engine: %s calls %s" % (member, symbol)


def installed_headers(tree):
    """Public headers: those named above that exist, and whatever the build installs."""
    headers = {p for p in PUBLIC if p in tree.files}
    plan = os.path.join(tree.build or "", "meson-info", "intro-installed.json")
    if tree.build and os.path.exists(plan):
        with open(plan, encoding="utf-8") as f:
            for source in json.load(f):
                name = os.path.relpath(source, os.path.realpath(tree.root))
                if name.endswith(".h") and name in tree.files:
                    headers.add(name)
    return sorted(headers)


def check_public_headers(tree):
    """Each alone, from a folder that holds nothing but the public headers, as installed."""
    headers = installed_headers(tree)
    with tempfile.TemporaryDirectory() as scratch:
        for name in headers:
            place = os.path.join(scratch, "uroce", os.path.basename(name))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(os.path.join(tree.root, name), place)
        for name in headers:
            for compiler, language, suffix in (("gcc", "c11", ".c"), ("g++", "c++17", ".cc")):
                # Twice, so that a missing guard shows.
                source = os.path.join(scratch, "alone" + suffix)
                with open(source, "w", encoding="utf-8") as f:
                    f.write("#include <uroce/%s>\n" % os.path.basename(name) * 2)
                done = subprocess.run(
                    [compiler, "-std=" + language, "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                     "-I", scratch, "-fsyntax-only", source], capture_output=True, text=True)
                if done.returncode != 0:
                    first = next((s for s in done.stderr.splitlines() if "error" in s), "")
                    yield "%s: does not compile alone as %s: %s" % (
                        name, language, first.replace(scratch + "/", ""))


def check_licence(tree):
    for name in tree.files:
        if tree.is_source(name):
            if not any("SPDX-License-Identifier: BSD-3-Clause" in s for s in tree.lines(name)[:2]):
                yield "%s: no SPDX-License-Identifier in its first two lines" % name


def check_file_sizes(tree):
    """A header and its source are one file in two, and share the limit; a program's is its own."""
    for name in tree.files:
        if not tree.is_source(name):
            continue
        lines = len(tree.lines(name))
        limit = APP_LINES_MAX if name.startswith("apps/") else FILE_LINES_MAX
        header = name[:-2] + ".h"
        if lines > limit:
            yield "%s: %d lines; %d at the most" % (name, lines, limit)
        elif name.endswith(".c") and header in tree.files:
            lines += len(tree.lines(header))
            if lines > FILE_LINES_MAX:
                yield "%s: %d lines with its header; %d at the most" % (name, lines, FILE_LINES_MAX)


def check_function_sizes(tree):
    """A function is what stands between a brace alone in column 0 and the next."""
    for name in tree.c_files():
        start = None
        for number, line in enumerate(tree.lines(name), 1):
            if line == "{":
                start = number
            elif line.startswith("}") and start is not None:
                if number - start + 1 > FUNCTION_LINES_MAX:
                    yield "%s:%d: a function of %d lines; %d at the most" % (
                        name, start, number - start + 1, FUNCTION_LINES_MAX)
                start = None


def check_tests_run(tree):
    """A test file that no meson.build names would pass by never running."""
    info = os.path.join(tree.build, "meson-info", "intro-targets.json")
    with open(info, encoding="utf-8") as f:
        targets = json.load(f)
    built = {os.path.realpath(s) for t in targets for g in t["target_sources"]
             for s in g.get("sources", [])}
    with open(os.path.join(tree.build, "meson-info", "intro-tests.json"), encoding="utf-8") as f:
        run = {os.path.realpath(word) for test in json.load(f) for word in test["cmd"]}
    for name in tree.files:
        if re.match(r"tests/.*_test\.(c|py)$", name):
            path = os.path.realpath(os.path.join(tree.root, name))
            if path not in built | run:
                yield "%s: no meson.build runs it" % name


# What each check says when it holds, and whether it needs a build.
CHECKS = [
    ("folders include only what the table allows", check_includes, False),
    ("the packet text and the model know nothing of the engine", check_second_opinion, False),
    ("the engine calls nothing but memory functions and ISA-L", check_engine_calls, True),
    ("public headers compile alone in C and C++", check_public_headers, False),
    ("every source file names its licence", check_licence, False),
    ("files keep to their lines", check_file_sizes, False),
    ("functions keep to their lines", check_function_sizes, False),
    ("every test file is run", check_tests_run, True),
]


def check_tree(tree):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for title, check, needs_build in CHECKS:
        if needs_build and not tree.build:
            print("SKIP %s: no --build was given" % title)
            counts["skipped"] += 1
            continue
        violations = list(check(tree))
        for line in violations:
            print(line)
        counts["failed" if violations else "passed"] += 1
    print("RESULT layering passed=%(passed)d failed=%(failed)d skipped=%(skipped)d" % counts)
    return counts["failed"] == 0


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description="Checks the rules of the tree.")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(here)))
    parser.add_argument("--build", help="a configured and built folder")
    parser.add_argument("--self-test", action="store_true", help="plant a violation of each rule")
    options = parser.parse_args()
    if options.self_test:
        import layering_plants
        sys.exit(0 if layering_plants.run(sys.modules[__name__], options.root) else 1)
    tree = Tree(options.root, options.build)
    if not any(f.startswith("engine/") for f in tree.files):
        sys.exit("layering.py: no engine/ in %s; name the root of the tree" % options.root)
    sys.exit(0 if check_tree(tree) else 1)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
