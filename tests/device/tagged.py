#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# Asks for an IPv4 address and pings it through a VLAN tag, on a raw socket: a neighbour in a VLAN
# without a kernel that has the module for it.
#
#   tagged.py INTERFACE TAG ADDRESS
#
# TAG is the 16 bits of the tag (0x6064: VLAN 100, priority 3), or "none". Prints what answered as
# JSON: {"arp": TAG or null, "ping": TAG or null}, each with the tag of its answer (0: none). It asks
# again and again, for as long as nobody answers, but not for ever: no answer takes PATIENCE seconds.

import json
import select
import socket
import struct
import sys
import time

PATIENCE = 3
SOL_PACKET, PACKET_AUXDATA, VLAN_VALID = 263, 8, 0x10
EVERYBODY = b"\xff" * 6
OWN_ADDR = socket.inet_aton("192.0.2.99")


def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    total = (total & 0xffff) + (total >> 16)
    return ~((total & 0xffff) + (total >> 16)) & 0xffff


def question(mac, addr):
    return struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + mac + OWN_ADDR + b"\0" * 6 + addr


def ping(addr):
    body = b"through a tag!" * 4
    icmp = struct.pack("!BBHHH", 8, 0, 0, 0x1234, 1) + body
    icmp = icmp[:2] + struct.pack("!H", checksum(icmp)) + icmp[4:]
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(icmp), 0, 0x4000, 64, 1, 0) + OWN_ADDR + addr
    return ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + icmp


def receive(s):
    """A frame without its tag, and the tag, which the kernel has taken off."""
    frame, ancillary, _, _ = s.recvmsg(2048, 256)
    for level, kind, data in ancillary:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, tci = struct.unpack("I12xH", data[:18])
            if status & VLAN_VALID:
                return frame, tci
    return frame, 0


def ask(s, frame, is_answer):
    """The answer and its tag; (None, None): nobody answers."""
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        s.send(frame)
        until = time.monotonic() + 0.5
        while select.select([s], [], [], max(0, until - time.monotonic()))[0]:
            got, tci = receive(s)
            if is_answer(got):
                return got, tci
    return None, None


def main():
    interface, tag, addr = sys.argv[1], sys.argv[2], socket.inet_aton(sys.argv[3])
    tagged = b"" if tag == "none" else b"\x81\x00" + struct.pack("!H", int(tag, 0))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as s:
        s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        s.bind((interface, 0))
        own = s.getsockname()[4]
        answer, arp_tag = ask(s, EVERYBODY + own + tagged + b"\x08\x06" + question(own, addr),
                              lambda f: f[:6] == own and f[12:14] == b"\x08\x06" and
                              f[20:22] == b"\x00\x02" and f[28:32] == addr)
        mac = answer[6:12] if answer else EVERYBODY
        _, ping_tag = ask(s, mac + own + tagged + b"\x08\x00" + ping(addr),
                          lambda f: f[:6] == own and f[12:14] == b"\x08\x00" and
                          f[26:34] == addr + OWN_ADDR and f[34:36] == b"\x00\x00" and
                          f[42:].startswith(b"through a tag!"))
    print(json.dumps({"arp": arp_tag, "ping": ping_tag}))


if __name__ == "__main__":
    main()
