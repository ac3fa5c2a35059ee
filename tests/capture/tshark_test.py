#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# Every frame of every capture in a folder, as tshark reads it and as uroce-pcap does.
#
#   tshark_test.py UROCE_PCAP FOLDER
#
# UROCE_PCAP is the program under test, FOLDER holds .pcap and .pcapng files. Compared are the BTH
# and every extension header, field by field; the ICRC is not, since tshark does not check it. One
# line is printed per difference, and at the end RESULT with one count per capture. Exit status: 0
# if no capture differed (or tshark is not installed, which is said), 1 otherwise.
#
# tshark guesses a protocol from the lower of a frame's two UDP ports before it looks at 4791, so a
# source port of 69 makes it see TFTP; every source port below 4791 is therefore declared to be
# InfiniBand's.

import json
import os
import shutil
import subprocess
import sys

# tshark's field, and where the same is in our JSON object. tshark files the address and key of an
# AtomicETH under RETH; see our_value.
FIELDS = [
    ("infiniband.bth.opcode", ("opcode_number",)),
    ("infiniband.bth.destqp", ("dqpn",)),
    ("infiniband.bth.psn", ("psn",)),
    ("infiniband.bth.a", ("ackreq",)),
    ("infiniband.bth.se", ("se",)),
    ("infiniband.bth.m", ("migreq",)),
    ("infiniband.bth.padcnt", ("pad",)),
    ("infiniband.bth.tver", ("tver",)),
    ("infiniband.bth.p_key", ("pkey",)),
    ("infiniband.aeth.syndrome", ("aeth", "syndrome")),
    ("infiniband.aeth.msn", ("aeth", "msn")),
    ("infiniband.reth.va", ("reth", "va")),
    ("infiniband.reth.r_key", ("reth", "rkey")),
    ("infiniband.reth.dmalen", ("reth", "dma_len")),
    ("infiniband.atomiceth.swapdt", ("atomiceth", "swap_add")),
    ("infiniband.atomiceth.cmpdt", ("atomiceth", "compare")),
    ("infiniband.atomicacketh.origremdt", ("atomicacketh", "orig")),
    ("infiniband.immdt", ("immdt", "imm")),
    ("infiniband.ieth", ("ieth", "rkey")),
    ("infiniband.deth.q_key", ("deth", "qkey")),
    ("infiniband.deth.srcqp", ("deth", "sqpn")),
]
BYTE_FIELDS = {"infiniband.immdt", "infiniband.ieth"}


def run_dump(program, path):
    """Our objects of a capture; None and the message where it was refused."""
    done = subprocess.run([program, "dump", "--json", path], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    return [json.loads(line) for line in done.stdout.splitlines()], ""


def run_tshark(path, ports):
    """Rows of field values as text, one per frame."""
    command = ["tshark", "-n", "-r", path, "--disable-protocol", "tftp", "-T", "fields",
               "-E", "separator=/t", "-E", "occurrence=f", "-e", "frame.number"]
    for port in ports:
        command += ["-d", "udp.port==%d,infiniband" % port]
    for name, _ in FIELDS:
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("tshark failed on %s: %s" % (path, done.stderr.strip()))
    return [line.split("\t") for line in done.stdout.splitlines()]


def their_value(name, text):
    if text == "":
        return None
    if text in ("True", "False"):
        return int(text == "True")
    if name in BYTE_FIELDS:
        return int(text.replace(":", ""), 16)
    return int(text, 0)


def our_value(frame, keys):
    if keys[0] == "reth" and "atomiceth" in frame:
        keys = ("atomiceth",) + keys[1:]
    value = frame
    for key in keys:
        value = value.get(key) if value is not None else None
    return int(value) if isinstance(value, bool) else value


def excused(frame):
    """Frames of which tshark 4.0 cannot be asked more than the BTH."""
    # It calls 0x81 unknown, and does not know which headers of a cut frame are whole.
    return frame["opcode"] == "CNP" or frame["icrc"] == "unknown"


def compare_frame(name, frame, row):
    differences = 0
    for (field, keys), text in zip(FIELDS, row[1:]):
        theirs, ours = their_value(field, text), our_value(frame, keys)
        if theirs != ours and not (excused(frame) and len(keys) > 1):
            print("%s: frame %d: %s: tshark %s, uroce-pcap %s"
                  % (name, frame["frame"], field, theirs, ours))
            differences += 1
    return differences


def compare_capture(program, path):
    """"passed", "failed" or "skipped"."""
    name = os.path.basename(path)
    frames, refusal = run_dump(program, path)
    if frames is None:
        print("SKIP %s: %s" % (name, refusal))
        return "skipped"
    ports = sorted({f["udp_sport"] for f in frames if f["udp_sport"] and f["udp_sport"] < 4791})
    rows = run_tshark(path, ports)
    if len(rows) != len(frames):
        print("%s: tshark has %d frames, uroce-pcap %d" % (name, len(rows), len(frames)))
        return "failed"
    differences = sum(compare_frame(name, f, r) for f, r in zip(frames, rows))
    return "failed" if differences else "passed"


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: tshark_test.py UROCE_PCAP FOLDER")
    program, folder = sys.argv[1:]
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    captures = sorted(n for n in os.listdir(folder) if n.endswith((".pcap", ".pcapng")))
    if not captures:
        sys.exit("tshark_test.py: no captures in %s; name the folder that holds them" % folder)
    if shutil.which("tshark"):
        for name in captures:
            counts[compare_capture(program, os.path.join(folder, name))] += 1
    else:
        print("SKIP tshark: it is not installed (Debian: apt install tshark)")
        counts["skipped"] = len(captures)
    print("RESULT tshark passed=%(passed)d failed=%(failed)d skipped=%(skipped)d" % counts)
    sys.exit(1 if counts["failed"] else 0)


if __name__ == "__main__":
    main()
