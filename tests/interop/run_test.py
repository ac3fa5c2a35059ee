#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# uroce against Linux's soft-RoCE: Debian's kernel in a virtual machine, whose network card is a TAP
# device that uroce drives.
#
#	run_test.py BUILD [WORD...]
#
# BUILD is a folder that was built. With words, only checks with all of them in their name are run.
# A line per check, and RESULT at the end; exit status 0 if none failed. Where there is no guest to
# be had, all is skipped, with the reason.

import os
import subprocess
import sys
import time

import checks_cm
import checks_congestion
import checks_departures
import checks_errors
import checks_faults
import checks_perftest
import checks_requests
import rig
from peers import Peer

CHECKS = (checks_requests, checks_faults, checks_errors, checks_departures, checks_congestion,
          checks_perftest, checks_cm)


class Run:
    """Counts, and both peers."""

    def __init__(self, build, words):
        self.build, self.words = build, words
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.guest = self.uroce = self.rxe = None

    def skip(self, name, why):
        self.counts["skipped"] += 1
        print("SKIP %s: %s" % (name, why), flush=True)

    def check(self, name, body, with_peers=True):
        """A check passes if its body does not raise. Without peers DATA is for the body alone."""
        if not all(word in name for word in self.words):
            return
        began = time.monotonic()
        try:
            if with_peers:
                self.start_peers()
            else:
                self.end_peers()
            body()
        except (rig.Failed, OSError, ValueError, KeyError) as e:
            print("FAILED %s: %.2000s" % (name, e if isinstance(e, rig.Failed) else repr(e)),
                  flush=True)
            self.counts["failed"] += 1
            # What one check leaves behind must not make the next one fail.
            self.end_peers()
        else:
            print("passed %s (%.1f s)" % (name, time.monotonic() - began), flush=True)
            self.counts["passed"] += 1

    def start_peers(self):
        if self.uroce is None:
            addrs = "%s/24,%s/64" % (rig.UROCE_ADDRS["v4"], rig.UROCE_ADDRS["v6"])
            program = os.path.join(self.build, "tests/uroce_peer")
            self.uroce = Peer("uroce", rig.start("uroce_peer", [program] + rig.EAL + [addrs],
                                                 self.guest.log))
            self.rxe = Peer("soft-RoCE", self.guest.start("verbs_peer"))

    def end_peers(self):
        for peer in (self.uroce, self.rxe):
            if peer is not None:
                peer.stream.close()
        self.uroce = self.rxe = None


def image():
    """The guest's folder, and why there is none."""
    made = subprocess.run([os.path.join(rig.HERE, "guest/image")], capture_output=True, text=True)
    if made.returncode == 77:
        return None, made.stderr.strip().splitlines()[-1]
    rig.demand(made.returncode == 0, "guest/image:", made.stderr)
    return made.stdout.strip(), None


def run_all(run):
    why = rig.why_not()
    folder = None
    if why is None:
        folder, why = image()
    if why is not None:
        run.skip("interop", why)
        return
    rig.enter_namespace([sys.executable] + sys.argv)
    run.guest = rig.Guest(folder)
    try:
        for module in CHECKS:
            module.all_checks(run)
        if run.counts["failed"]:
            print(run.guest.said())
    finally:
        run.end_peers()
        run.guest.end()


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: run_test.py BUILD [WORD...]")
    run = Run(sys.argv[1], sys.argv[2:])
    try:
        run_all(run)
    except rig.Failed as e:
        print("FAILED interop: %s" % e)
        run.counts["failed"] += 1
    print("RESULT interop passed=%(passed)d failed=%(failed)d skipped=%(skipped)d" % run.counts)
    sys.exit(1 if run.counts["failed"] else 0)


if __name__ == "__main__":
    main()
