#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# VLANs over DPDK's virtual devices, with what run_test.py has for all of them.
#
#   vlan_test.py BUILD
#
# BUILD is a folder that was built. Two processes talk in a VLAN, over af_packet, which is given the
# tag beside the frame, and over memif, where it is in the frame; a neighbour with a tag, right or
# wrong, asks and pings. A line per check, and RESULT at the end; exit status 0 if none failed.
#
#   vlan_test.py --ask INTERFACE TAG ADDRESS
#
# is used by itself in a namespace: asks for an IPv4 address and pings it on a raw socket, a neighbour
# in a VLAN without a kernel that has the module for it. TAG is the 16 bits of the tag (0x6064: VLAN
# 100, priority 3), or "none". Prints what answered as JSON: {"arp": TAG or null, "ping": TAG or null},
# each with the tag of its answer (0: none). It asks again while nobody answers, for ASK_SECONDS.

import json
import os
import select
import socket
import struct
import subprocess
import sys
import time

import rig
from run_test import some, test_sizes

THIS = os.path.abspath(__file__)
ASK_SECONDS = 3
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
    limit = time.monotonic() + ASK_SECONDS
    while time.monotonic() < limit:
        s.send(frame)
        until = time.monotonic() + 0.5
        while select.select([s], [], [], max(0, until - time.monotonic()))[0]:
            got, tci = receive(s)
            if is_answer(got):
                return got, tci
    return None, None


def ask_and_ping(interface, tag, addr):
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


# ---- two processes ----

def test_room_for_a_tag(perf):
    """A tag is not part of what IP counts, but of what a slot holds: this one by no byte too many."""
    room = 14 + 4096 + 64
    vlan = ("192.0.2.1/24#100", "192.0.2.2/24#100")
    for bsize, addrs, mtu in ((room, (None, None), 4096), (room, vlan, 2048),
                              (room + 4, vlan, 4096)):
        with rig.check("memif: slots of %d bytes, %s, path MTU %d" %
                       (bsize, addrs[0] or "no VLAN", mtu)):
            pair = rig.memif_pair(bsize, addrs)
            server = pair.server(perf)
            client = pair.client(perf, "write", "--imm", "--iters", "20", "--size", "20000",
                                 "--verify", "--json")
            out, err = rig.end(client)
            rig.demand(client.returncode == 0, err.strip())
            rig.demand([row["mtu_bytes"] for row in rig.rows_of(out)] == [mtu], out)
            rig.end(server)


def test_vlan(perf):
    """Both ends in a VLAN, over a driver that is given the tag beside the frame by the kernel."""
    addrs = ("192.0.2.1/24#100:3", "192.0.2.2/24#100")
    pair = rig.packet_pair("af_packet, VLAN", addrs=addrs)
    test_sizes(pair, perf, (0, 1025, 1 << 20), some)
    test_sizes(rig.packet_pair("af_packet, VLAN and IPv6",
                                   addrs=("2001:db8::1/64#4094", "2001:db8::2/64#4094")),
                   perf, (1025,), some)
    server = pair.server(perf)
    client = pair.client(perf, "write", "--duration", "60", "--size", "64", "--json")
    try:
        with rig.check("%s: its telemetry tells the VLAN" % pair.name):
            rig.wait_until(lambda: rig.is_busy(pair, 0))
            port = rig.ask_telemetry(pair.prefix(0), "/uroce/ports")["port_0_worker_0"]
            rig.demand(port["addr"] == "192.0.2.1#100", port)
            known = rig.ask_telemetry(pair.prefix(1), "/uroce/neighbours")["port_0"]["entries"]
            rig.demand(len(known) == 1 and known[0].startswith("192.0.2.1#100 ") and
                       known[0].endswith(" known"), known)
        for tag, answer in (("0x0064", 0x6064), ("0xe064", 0x6064), ("0x0065", None),
                            ("0x0000", None), ("none", None)):
            with rig.check("%s: a neighbour with tag %s is %sanswered" %
                           (pair.name, tag, "" if answer else "not ")):
                out, err = rig.end(rig.start(rig.in_netns(rig.netns("b")) +
                                             [sys.executable, THIS, "--ask", rig.iface("b", "a"), tag,
                                              "192.0.2.1"]))
                rig.demand(json.loads(out) == {"arp": answer, "ping": answer}, out, err)
        test_kernel_vlan(pair)
    finally:
        for child in (client, server):
            child.kill()
            child.communicate()
    with rig.check("%s: another VLAN is nobody's" % pair.name):
        other = rig.packet_pair("af_packet, two VLANs", addrs=(addrs[0], "192.0.2.2/24#101"))
        server = other.server(perf)
        client = other.client(perf, "write", "--iters", "10")
        out, err = rig.end(client)
        rig.demand(client.returncode == 1 and "no frames come through" in err, err)
        server.kill()
        server.communicate()


def test_kernel_vlan(pair):
    """A kernel's own interface in the VLAN finds and pings the endpoint."""
    name = "%s: a kernel's VLAN interface finds and pings it" % pair.name
    link = rig.iface("b", "a") + ".100"
    try:
        rig.ip("-n", rig.netns("b"), "link", "add", "link", rig.iface("b", "a"), "name", link, "type",
               "vlan", "id", "100")
    except subprocess.CalledProcessError as e:
        rig.skip(name, "this kernel has no VLAN interfaces: %s" % e.stderr.strip())
        return
    with rig.check(name):
        rig.ip("-n", rig.netns("b"), "addr", "add", "192.0.2.98/24", "dev", link)
        rig.ip("-n", rig.netns("b"), "link", "set", link, "up")
        rig.demand(rig.kernel_pings(rig.netns("b"), "192.0.2.1"), "nobody answered")


def test_af_packet(perf):
    missing = rig.why_no_network("af_packet")
    if missing:
        rig.skip("af_packet, VLAN", missing)
        return
    try:
        with rig.namespaces(1500):
            test_vlan(perf)
    except rig.NoNetwork as e:
        rig.skip("af_packet, VLAN", e)


def tests(build, scratch):
    perf = os.path.join(build, "apps", "uroce-perf")
    if rig.has_driver("memif"):
        test_room_for_a_tag(perf)
    else:
        rig.skip("memif, VLAN", "DPDK's memif driver is not installed (librte-net-memif23)")
    test_af_packet(perf)


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "--ask":
        ask_and_ping(sys.argv[2], sys.argv[3], socket.inet_aton(sys.argv[4]))
        return 0
    return rig.run("device_vlan", tests)


if __name__ == "__main__":
    sys.exit(main())
