#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# What an endpoint costs a forwarder: how many frames l2fwd-uroce forwards with it and without.
#
#   forward.py BUILD [SECONDS]
#
# BUILD is a folder that was built. Two workloads on one core, none of which costs the devices
# anything: frames of zeros, which are nobody's, and UDP to the port's own MAC, which the endpoint
# has to look at down to the port number before it hands them back. The endpoint is on one of the
# two ports, and so sees half of the frames. With and without take turns, so that whatever else the
# machine does meets both; of SECONDS (2) each, five times, the medians count.

import os
import statistics
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../device"))

from rig import clean_up, command, demand, end, start

ROUNDS = 5
PCAP_MAC = b"\x02\x70\x63\x61\x70\x00"  # that of DPDK's first pcap port
BURSTS = 8


def udp_frame():
    """64 bytes, from one documentation address to another, to port 5000."""
    ip = struct.pack("!BBHHHBBH4B4B", 0x45, 0, 50, 0, 0, 64, 17, 0, 198, 51, 100, 1,
                     198, 51, 100, 2)
    total = sum(struct.unpack("!10H", ip))
    total = (total & 0xffff) + (total >> 16)
    ip = ip[:10] + struct.pack("!H", ~total & 0xffff) + ip[12:]
    return (PCAP_MAC + b"\x02\0\0\0\0\x09\x08\0" + ip + struct.pack("!HHHH", 4000, 5000, 30, 0) +
            bytes(22))


def write_capture(path, frame, num):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for _ in range(num):
            f.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


def rate(l2fwd, vdevs, seconds, *own):
    """Millions of frames a second."""
    child = start(command(l2fwd, "f", 1, vdevs) +
                  ["--seconds", str(seconds), "--tcp-port", "0", *own])
    out, err = end(child)
    demand(child.returncode == 0, err)
    return float(out.split()[-2])


def main():
    if len(sys.argv) not in (2, 3) or not os.path.isdir(sys.argv[1]):
        print("usage: forward.py BUILD [SECONDS]", file=sys.stderr)
        return 2
    l2fwd = os.path.join(os.path.abspath(sys.argv[1]), "apps/l2fwd-uroce")
    seconds = int(sys.argv[2]) if len(sys.argv) == 3 else 2
    scratch = tempfile.mkdtemp(prefix="uroce-bench-")
    try:
        capture = os.path.join(scratch, "udp.pcap")
        write_capture(capture, udp_frame(), BURSTS * 32)
        udp = "net_pcap0,rx_pcap=%s,infinite_rx=1" % capture
        print("%-10s %10s %10s %7s" % ("Mframes/s", "without", "with", "ratio"))
        for name, vdevs in (("zeros", ["net_null0", "net_null1"]), ("UDP", [udp, "net_null0"])):
            pairs = [(rate(l2fwd, vdevs, seconds, "--no-endpoint"), rate(l2fwd, vdevs, seconds))
                     for _ in range(ROUNDS)]
            without, with_it = (statistics.median(p[i] for p in pairs) for i in (0, 1))
            ratio = statistics.median(p[1] / p[0] for p in pairs)
            print("%-10s %10.1f %10.1f %7.2f" % (name, without, with_it, ratio), flush=True)
    finally:
        clean_up(scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
