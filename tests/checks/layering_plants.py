# SPDX-License-Identifier: BSD-3-Clause
#
# The self-test of layering.py: a violation of every rule, planted in a copy of the tree.
#
# run(layering, root) copies the tree, plants one violation after another, and expects of the check
# in question a line that it did not print before and that names the planted file. Then the same for
# what must stay allowed: no new line. So a check that lost its teeth fails here, and a tree that is
# in violation itself does not hide it. Not a program of its own: layering.py --self-test runs it.

import json
import os
import shutil
import subprocess
import tempfile

LICENCE = "/* SPDX-License-Identifier: BSD-3-Clause */\n"

# What is planted as an #include of a new file: (check, file, header, whether that is a violation).
INCLUDES = [
    ("check_includes", "engine/planted.c", "<unistd.h>", True),
    ("check_includes", "engine/planted.c", "<rte_mbuf.h>", True),
    ("check_includes", "engine/planted.c", "<pcap.h>", True),
    ("check_includes", "engine/planted.c", '"pcap/reader.h"', True),
    ("check_includes", "engine/planted.c", '"planted_port.h"', True),
    ("check_includes", "engine/planted.c", '"missing_everywhere.h"', True),
    ("check_includes", "engine/planted.c", "<unheard/of.h>", True),
    ("check_includes", "engine/planted.c", "PLANTED_HEADER", True),
    ("check_includes", "engine/planted.c", '"core.c"', True),
    ("check_includes", "engine/planted.c", "<isa-l/crc.h>", False),
    ("check_includes", "engine/planted.c", '"core.h"', False),
    ("check_includes", "pmd_glue/planted.c", '"uroce.h"', True),
    ("check_includes", "pmd_glue/planted.c", '"pcap/reader.h"', True),
    ("check_includes", "pmd_glue/planted.c", "<rte_mbuf.h>", False),
    ("check_includes", "pmd_glue/planted.c", '"core.h"', False),
    ("check_includes", "api/planted.c", "<rte_mbuf.h>", True),
    ("check_includes", "api/planted.c", '"pcap/reader.h"', True),
    ("check_includes", "api/planted.c", '"planted_port.h"', False),
    ("check_includes", "pcap/planted.c", '"planted_port.h"', True),
    ("check_includes", "pcap/planted.c", '"uroce.h"', True),
    ("check_includes", "pcap/planted.c", "<pcap.h>", False),
    ("check_includes", "apps/planted.c", '"core.h"', True),
    ("check_includes", "apps/planted.c", '"planted_port.h"', True),
    ("check_includes", "apps/planted.c", "<pcap.h>", True),
    ("check_includes", "apps/planted.c", '"uroce.h"', False),
    ("check_includes", "apps/planted.c", "<uroce.h>", False),
    ("check_includes", "apps/planted.c", "<uroce/stats.h>", False),
    ("check_includes", "engine/planted.c", "<uroce.h>", True),
    ("check_includes", "apps/planted.c", '"pcap/text.h"', False),
    ("check_includes", "tests/planted.c", '"core.h"', False),
    ("check_second_opinion", "pcap/text_planted.c", '"engine/wire.h"', True),
    ("check_second_opinion", "pcap/text_planted.c", '"planted_way.h"', True),
    ("check_second_opinion", "pcap/text_planted.c", '"text.h"', False),
    ("check_second_opinion", "tests/sim/model_planted.c", '"engine/status.h"', True),
    ("check_second_opinion", "tests/sim/model_planted.h", '"core.h"', True),
    ("check_second_opinion", "tests/sim/model_planted.c", '"sim.h"', True),
    ("check_second_opinion", "tests/sim/model_planted.c", '"model.h"', False),
]

FUNCTION = LICENCE + "int planted(void);\n\nint planted(void)\n{\n%s\treturn 0;\n}\n"

# Whole files: (check, file, content, whether that is a violation).
FILES = [
    ("check_public_headers", "engine/stats.h", LICENCE + "uint64_t no_stdint_here;\n", True),
    ("check_public_headers", "engine/stats.h", LICENCE + "struct twice { int x; };\n", True),
    ("check_public_headers", "engine/stats.h", LICENCE + "int template;\n", True),
    ("check_public_headers", "api/uroce.h", LICENCE + "#include <rte_mbuf.h>\n", True),
    ("check_public_headers", "api/uroce.h", LICENCE + "#include \"core.h\"\n", True),
    ("check_public_headers", "api/uroce_cm.h", LICENCE + "#include \"stats.h\"\n", False),
    ("check_licence", "engine/planted.c", "int x;\n", True),
    ("check_licence", "tests/planted", "#!/bin/sh\n# no licence\n", True),
    ("check_licence", "tests/planted.py", "#!/bin/sh\n" + LICENCE, False),
    ("check_file_sizes", "engine/planted.c", LICENCE + "\n" * 800, True),
    ("check_file_sizes", "engine/planted.c", LICENCE + "\n" * 799, False),
    ("check_file_sizes", "apps/planted.c", LICENCE + "\n" * 400, True),
    ("check_file_sizes", "pmd_glue/planted_port.c", LICENCE + "\n" * 799, True),
    ("check_function_sizes", "tests/planted.c", FUNCTION % ("\t;\n" * 78), True),
    ("check_function_sizes", "tests/planted.c", FUNCTION % ("\t;\n" * 77), False),
    ("check_tests_run", "tests/unit/planted_test.c", LICENCE, True),
    ("check_tests_run", "tests/unit/built_test.c", LICENCE, False),
]

# The engine's archive made of these: (sources, whether that is a violation).
ARCHIVES = [
    (["void *malloc(unsigned long);\nvoid *f(void);\nvoid *f(void)\n{\n\treturn malloc(8);\n}\n"],
     True),
    (["int clock_gettime(int, void *);\nint (*const f)(int, void *) = clock_gettime;\n"], True),
    (["int g(void);\nint f(void);\nint f(void)\n{\n\treturn g();\n}\n",
      "int g(void);\nint g(void)\n{\n\treturn 1;\n}\n"], False),
    (["void *memcpy(void *, const void *, unsigned long);\n"
      "void f(char *a, char *b, unsigned long n);\n"
      "void f(char *a, char *b, unsigned long n)\n{\n\tmemcpy(a, b, n);\n}\n"], False),
]


class Copy:
    """The tree in a scratch folder, with a pretended build."""

    def __init__(self, layering, root, scratch):
        self.layering = layering
        self.root = os.path.join(scratch, "tree")
        for folder in layering.FOLDERS:
            if os.path.isdir(os.path.join(root, folder)):
                shutil.copytree(os.path.join(root, folder), os.path.join(self.root, folder),
                                ignore=shutil.ignore_patterns("*.pcap", "__pycache__"))
        # What the plants refer to, whether or not the tree has its like yet.
        for name in ("pmd_glue/planted_port.h", "pcap/planted_way.h", "api/uroce.h"):
            if not os.path.exists(os.path.join(self.root, name)):
                self.write(name, LICENCE)
        self.write("pcap/planted_way.h", LICENCE + '#include "engine/bytes.h"\n')
        self.build = os.path.join(scratch, "build")
        os.makedirs(os.path.join(self.build, "engine"))
        os.makedirs(os.path.join(self.build, "meson-info"))
        built = os.path.join(self.root, "tests/unit/built_test.c")
        self.inform("targets", [{"target_sources": [{"sources": [built]}]}])
        self.inform("tests", [])

    def inform(self, what, content):
        with open(os.path.join(self.build, "meson-info", "intro-%s.json" % what), "w",
                  encoding="utf-8") as f:
            json.dump(content, f)

    def write(self, name, content):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(content)

    def lines_of(self, check):
        tree = self.layering.Tree(self.root, self.build)
        return set(getattr(self.layering, check)(tree))

    def new_lines(self, check, name, content):
        """What the check says with this file that it did not say without; the file goes again."""
        before = self.lines_of(check)
        path = os.path.join(self.root, name)
        kept = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                kept = f.read()
        self.write(name, content)
        after = self.lines_of(check)
        if kept is None:
            os.remove(path)
        else:
            self.write(name, kept)
        return after - before

    def archive_lines(self, sources):
        archive = os.path.join(self.build, "engine", "liburoce_engine.a")
        if os.path.exists(archive):
            os.remove(archive)
        objects = []
        for number, content in enumerate(sources):
            source = os.path.join(self.build, "planted%d.c" % number)
            with open(source, "w", encoding="utf-8") as f:
                f.write(content)
            objects.append(source[:-2] + ".o")
            subprocess.run(["gcc", "-O1", "-fPIC", "-ffreestanding", "-c", source, "-o",
                            objects[-1]], check=True)
        subprocess.run(["ar", "rcs", archive] + objects, check=True)
        return self.lines_of("check_engine_calls")


def run(layering, root):
    """Whether every check caught its plants and left the rest alone."""
    passed = failed = 0

    def expect(what, violation, lines, name):
        nonlocal passed, failed
        caught = any(name in line for line in lines)
        if caught == violation and (violation or not lines):
            passed += 1
            return
        failed += 1
        print("%s: %s" % (what, "not caught" if violation else "caught, but it is allowed"))
        for line in sorted(lines):
            print("    " + line)

    with tempfile.TemporaryDirectory() as scratch:
        copy = Copy(layering, root, scratch)
        for check, name, header, violation in INCLUDES:
            content = LICENCE + "#include %s\n" % header
            lines = copy.new_lines(check, name, content)
            expect("%s: %s in %s" % (check, header, name), violation, lines, name)
        for check, name, content, violation in FILES:
            lines = copy.new_lines(check, name, content)
            expect("%s: %s of %d bytes" % (check, name, len(content)), violation, lines, name)
        for number, (sources, violation) in enumerate(ARCHIVES):
            lines = copy.archive_lines(sources)
            expect("check_engine_calls: archive %d" % number, violation, lines, "calls")
    planted = {p[0] for p in INCLUDES + FILES if p[-1]} | {"check_engine_calls"}
    for _, check, _ in layering.CHECKS:
        if check.__name__ not in planted:
            print("%s: nothing is planted for it" % check.__name__)
            failed += 1
    print("RESULT layering_self_test passed=%d failed=%d skipped=0" % (passed, failed))
    return failed == 0
