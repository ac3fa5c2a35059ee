#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# A third computation of the ICRC, to judge the verdicts of uroce-pcap.
#
#   icrc_oracle.py UROCE_PCAP FOLDER
#
# UROCE_PCAP is the program under test, FOLDER holds .pcap and .pcapng files. This script reads the
# files itself, finds RoCE frames itself and computes with zlib's CRC-32, so it shares nothing with
# the engine (ISA-L) nor with the decoder (a table of its own). One line is printed per difference,
# and at the end RESULT with one count per capture. Exit status: 0 if no capture differed, 1
# otherwise.
#
# Verdicts: ok, bad, absent (no room, behind the end of the frame, or four zero bytes that are
# wrong), unknown (cut by the capture, or a fragment), None for frames that are not RoCE.

import json
import os
import struct
import subprocess
import sys
import zlib

ETHERNET = 1


class OtherLinkType(Exception):
    pass


def read_pcap(data):
    order = "<" if data[0] in (0xD4, 0x4D) else ">"
    if struct.unpack(order + "I", data[20:24])[0] & 0xFFFF != ETHERNET:
        raise OtherLinkType()
    at = 24
    while at + 16 <= len(data):
        captured, wire = struct.unpack(order + "II", data[at + 8:at + 16])
        yield data[at + 16:at + 16 + captured], wire
        at += 16 + captured


def read_pcapng(data):
    order, at = "<", 0
    while at + 12 <= len(data):
        if data[at:at + 4] == b"\x0a\x0d\x0d\x0a":
            order = "<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
        kind, length = struct.unpack(order + "II", data[at:at + 8])
        block = data[at + 8:at + length - 4]
        if kind == 1 and struct.unpack(order + "H", block[:2])[0] != ETHERNET:
            raise OtherLinkType()
        if kind == 6:
            captured, wire = struct.unpack(order + "II", block[12:20])
            yield block[20:20 + captured], wire
        at += length


def read_capture(path):
    with open(path, "rb") as file:
        data = file.read()
    return read_pcapng(data) if data[:4] == b"\x0a\x0d\x0d\x0a" else read_pcap(data)


def find_layer3(frame):
    """EtherType and offset behind it, VLAN tags stepped over."""
    at = 12
    while frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    return frame[at:at + 2], at + 2


def mask(frame, start, end, offsets):
    covered = bytearray(frame[start:end])
    for offset in offsets:
        covered[offset - start] = 0xFF
    return covered


def judge(frame, wire, start, bth, end, offsets):
    if end > wire or end < bth + 16:
        return "absent"
    if end > len(frame):
        return "unknown"
    covered = mask(frame, start, end - 4, offsets + [bth + 4])
    if frame[start] >> 4 == 6:
        covered[0] |= 0x0F
    want = struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(covered)))
    found = frame[end - 4:end]
    if found == want:
        return "ok"
    return "absent" if found == bytes(4) else "bad"


def is_roce(frame, udp):
    return len(frame) >= udp + 8 and frame[udp + 2:udp + 4] == b"\x12\xb7"


def verdict_ipv4(frame, wire, at):
    if len(frame) < at + 20:
        return None
    udp = at + (frame[at] & 15) * 4
    total, flags = struct.unpack(">HxxH", frame[at + 2:at + 8])
    if frame[at + 9] != 17 or flags & 0x1FFF or not is_roce(frame, udp):
        return None
    if flags & 0x2000:
        return "unknown"
    offsets = [at + 1, at + 8, at + 10, at + 11, udp + 6, udp + 7]
    return judge(frame, wire, at, udp + 8, at + total, offsets)


def verdict_ipv6(frame, wire, at, next_header):
    if len(frame) < at + 40 or frame[at + 6] != next_header:
        return None
    end = at + 40 + struct.unpack(">H", frame[at + 4:at + 6])[0]
    offsets = [at + 1, at + 2, at + 3, at + 7]
    if next_header == 0x1B:  # RoCEv1: a GRH, and the BTH right behind it
        return judge(frame, wire, at, at + 40, end, offsets)
    if not is_roce(frame, at + 40):
        return None
    return judge(frame, wire, at, at + 48, end, offsets + [at + 46, at + 47])


def verdict(frame, wire):
    ethertype, at = find_layer3(frame)
    if ethertype == b"\x08\x00":
        return verdict_ipv4(frame, wire, at)
    if ethertype == b"\x86\xdd":
        return verdict_ipv6(frame, wire, at, 17)
    if ethertype == b"\x89\x15":
        return verdict_ipv6(frame, wire, at, 0x1B)
    return None


def check_capture(program, path):
    """"passed", "failed" or "skipped"."""
    name = os.path.basename(path)
    try:
        want = [verdict(frame, wire) for frame, wire in read_capture(path)]
    except OtherLinkType:
        print("SKIP %s: its link type is not Ethernet" % name)
        return "skipped"
    done = subprocess.run([program, "dump", "--json", path], capture_output=True, text=True)
    if done.returncode != 0:
        print("%s: exit status %d: %s" % (name, done.returncode, done.stderr.strip()))
        return "failed"
    got = [json.loads(line)["icrc"] for line in done.stdout.splitlines()]
    if len(got) != len(want):
        print("%s: %d frames, uroce-pcap has %d" % (name, len(want), len(got)))
        return "failed"
    wrong = [i for i in range(len(want)) if want[i] != got[i]]
    for i in wrong:
        print("%s: frame %d: icrc should be %s, uroce-pcap says %s" % (name, i + 1, want[i], got[i]))
    return "failed" if wrong else "passed"


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: icrc_oracle.py UROCE_PCAP FOLDER")
    program, folder = sys.argv[1:]
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    captures = sorted(n for n in os.listdir(folder) if n.endswith((".pcap", ".pcapng")))
    if not captures:
        sys.exit("icrc_oracle.py: no captures in %s; name the folder that holds them" % folder)
    for name in captures:
        counts[check_capture(program, os.path.join(folder, name))] += 1
    print("RESULT icrc_oracle passed=%(passed)d failed=%(failed)d skipped=%(skipped)d" % counts)
    sys.exit(1 if counts["failed"] else 0)


if __name__ == "__main__":
    main()
