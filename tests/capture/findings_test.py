#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# What uroce-pcap analyze finds in the captures is what is in them.
#
#   findings_test.py UROCE_PCAP FOLDER [LIST [--write]]
#
# LIST (findings.txt beside this file) has, for each capture, its connections and findings: they
# were read and held against tshark by hand once, and each later change of a line is to be read in
# the same way. --write writes the list anew. Besides, tshark counts on its own: requests, those
# that were sent again, refusals. With UROCE_PUBLIC_CAPTURES in the environment that folder is
# looked at too, with findings-public.txt. Exit status: 0 if nothing differs, else 1.

import collections
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FIELDS = ["frame.number", "ip.dst", "ipv6.dst", "infiniband.bth.opcode", "infiniband.bth.destqp",
          "infiniband.bth.psn", "infiniband.aeth.syndrome"]
# Queue pairs are set up anew in these, with the same PSNs: tshark's frames cannot be told apart by
# them. In host-raw-peer two requests are malformed besides.
SET_UP_ANEW = {"host-raw-peer.pcap", "host-raw-responder.pcap"}
# What was sent again and is seen for the first time: it was lost before the place of capture.
UNSEEN_BEFORE = {"netem-rc-pingpong.pcap": 3}
# Requests of RC that end a message.
RC_LAST = {0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x13, 0x14, 0x16, 0x17}
RC_RESPONSES = {0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12}


def analyze(program, path):
    done = subprocess.run([program, "analyze", "--json", path], capture_output=True, text=True)
    if not done.stdout:
        return None, done.stderr.strip()
    report = json.loads(done.stdout)
    grades = {f["grade"] for f in report["findings"]}
    wanted = 4 if "error" in grades else 0
    if done.returncode not in (wanted, 3):
        return None, "exit status %d instead of %d" % (done.returncode, wanted)
    return report, ""


def describe(name, report, refusal):
    if report is None:
        return ["%s: refused" % name] if "link type" in refusal else ["%s: %s" % (name, refusal)]
    lines = ["%s: %d frames, %d of RoCE" % (name, report["frames"], report["roce_frames"])]
    for c in report["connections"]:
        messages = ["+".join("%d %s" % (m["count"], kind) for kind, m in s["messages"].items())
                    or "0" for s in c["streams"]]
        lines.append("    %d %s %s mtu %d: %s" % (c["connection"], c["service"], c["confidence"],
                                                  c["mtu_bytes"], " / ".join(messages)))
    for f in report["findings"]:
        lines.append("    %s %s, connection %s, frames %s"
                     % (f["grade"], f["kind"], f["connection"], " ".join(map(str, f["frames"]))))
    return lines


def run_tshark(path):
    command = ["tshark", "-n", "-r", path, "--disable-protocol", "tftp", "-Y",
               "infiniband.bth.opcode", "-T", "fields", "-E", "separator=/t", "-E", "occurrence=f"]
    for port in (69, 72):
        command += ["-d", "udp.port==%d,infiniband" % port]
    for field in FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("tshark failed on %s: %s" % (path, done.stderr.strip()))
    return [line.split("\t") for line in done.stdout.splitlines()]


def count_with_tshark(path, altered):
    """Messages, packets sent again, NAKs and RNR NAKs of RC; without altered frames."""
    seen, counts = set(), collections.Counter()
    for number, ip, ip6, opcode, qp, psn, syndrome in run_tshark(path):
        if int(number) in altered:
            continue
        code = int(opcode)
        if code in RC_RESPONSES:
            kind = int(syndrome, 0) & 0xe0 if syndrome and code == 0x11 else 0
            counts["naks"] += kind == 0x60
            counts["rnr_naks"] += kind == 0x20
        elif code < 0x20:
            key = (ip or ip6, qp, psn)
            counts["again"] += key in seen
            counts["messages"] += key not in seen and code in RC_LAST
            seen.add(key)
    return counts


def compare_counts(name, report, path):
    altered = {n for f in report["findings"] if f["kind"] == "icrc-bad" for n in f["frames"]}
    theirs = count_with_tshark(path, altered)
    theirs["again"] += UNSEEN_BEFORE.get(name, 0)
    doubled = sum(f["count"] for f in report["findings"] if f["kind"] == "duplicate")
    ours = collections.Counter(again=doubled)
    for c in report["connections"]:
        for s in c["streams"] if c["service"] == "RC" else []:
            ours["messages"] += sum(m["count"] for m in s["messages"].values())
            ours["again"] += s["retransmitted"]
            ours["naks"] += s["naks"]
            ours["rnr_naks"] += s["rnr_naks"]
    # A READ that is resumed in the middle has a PSN that no request had: tshark counts a message.
    resumed = theirs["messages"] - ours["messages"]
    if 0 < resumed <= ours["again"] - theirs["again"]:
        theirs["messages"] -= resumed
        theirs["again"] += resumed
    differ = [k for k in ("messages", "again", "naks", "rnr_naks") if ours[k] != theirs[k]]
    for key in differ:
        print("%s: %s: tshark %d, uroce-pcap %d" % (name, key, theirs[key], ours[key]))
    return not differ


def look_at(program, folder, list_path, write):
    """The lines of all captures in a folder; passed, failed and skipped."""
    passed = failed = skipped = 0
    wanted = open(list_path).read().split("\n\n") if not write else []
    wanted = {block.strip().split(":")[0]: block.strip() for block in wanted if block.strip()}
    blocks = []
    for name in sorted(n for n in os.listdir(folder) if n.endswith((".pcap", ".pcapng"))):
        path = os.path.join(folder, name)
        report, refusal = analyze(program, path)
        block = "\n".join(describe(name, report, refusal))
        blocks.append(block)
        good = True
        if not write and block != wanted.get(name):
            print("%s: found:\n%s\nbut %s has:\n%s"
                  % (name, block, os.path.basename(list_path), wanted.get(name)))
            good = False
        if report and not shutil.which("tshark"):
            print("SKIP %s, counted by tshark: it is not installed" % name)
            skipped += 1
        elif report and name not in SET_UP_ANEW and not name.startswith(("derived", "vectors")):
            good = compare_counts(name, report, path) and good
        passed, failed = passed + good, failed + (not good)
    if write:
        open(list_path, "w").write("\n\n".join(blocks) + "\n")
    return passed, failed, skipped


def main():
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    if len(arguments) not in (2, 3):
        sys.exit("usage: findings_test.py UROCE_PCAP FOLDER [LIST] [--write]")
    write = "--write" in sys.argv
    list_path = arguments[2] if len(arguments) == 3 else os.path.join(HERE, "findings.txt")
    counts = look_at(arguments[0], arguments[1], list_path, write)
    public = os.environ.get("UROCE_PUBLIC_CAPTURES")
    if public and len(arguments) == 2:
        more = look_at(arguments[0], public, os.path.join(HERE, "findings-public.txt"), write)
        counts = [a + b for a, b in zip(counts, more)]
    elif not public:
        print("SKIP public captures: UROCE_PUBLIC_CAPTURES does not name their folder")
        counts = (counts[0], counts[1], counts[2] + 1)
    print("RESULT findings passed=%d failed=%d skipped=%d" % tuple(counts))
    sys.exit(1 if counts[1] else 0)


if __name__ == "__main__":
    main()
