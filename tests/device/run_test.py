#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# The programs over DPDK's virtual devices: rings within a process, memif and af_packet between two.
#
#   run_test.py BUILD
#
# BUILD is a folder that was built. Every operation is run at every interesting size with every byte
# checked, in one process, over memif, and over a pair of virtual interfaces in network namespaces
# made here; then what users meet besides: no root, wrong arguments, telemetry, a peer that dies. A
# line per check, and RESULT at the end; exit status 0 if none failed. What needs root or a missing
# driver is skipped, with the reason.
#
#   run_test.py --sniff INTERFACE
#
# is used by itself in a namespace: counts frames until standard input closes, prints them as JSON.

import contextlib
import json
import os
import pwd
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

from rig import (KERNEL_ADDR, PATIENCE, NoNetwork, Pair, ask_telemetry, check, demand, end,
                 has_driver, iface, in_netns, ip, is_busy, kernel_pings, memif_pair, namespaces,
                 netns, packet_pair, rows_of, run, skip, start, wait_until, why_no_network)

OPS = ["write", "read", "send", "atomic"]
# A retry limit's time with what connections use: 8 attempts of 67 ms each; and room for a slow
# machine. A peer that is gone must not take longer to be noticed.
GONE_SECONDS = 5

def check_rows(rows, size, ops=OPS):
    demand([r["op"] for r in rows] == list(ops), "operations are", [r["op"] for r in rows])
    for row in rows:
        wanted = 8 if row["op"] == "atomic" else size
        demand(row["size_bytes"] == wanted, "size is", row)
        demand(row["verified"] is True, "not verified:", row)
        demand(row["iterations"] > 0 and row["seconds"] > 0 and row["mmps"] > 0, row)
        gbps = row["iterations"] * row["size_bytes"] * 8 / row["seconds"] / 1e9
        demand(abs(row["gbps"] - gbps) <= 0.01 * gbps + 1e-5, "gbps does not follow:", row)


def check_latency(row):
    lat = row["lat_us"]
    demand(0 < lat["min"] <= lat["p50"] <= lat["p99"] <= lat["p999"] <= lat["max"], row)


def test_sizes(pair, perf, sizes, iters):
    """Every operation at every size against one server that stays."""
    server = pair.server(perf, "--keep")
    try:
        for size in sizes:
            with check("%s: every operation, %d bytes, every byte checked" % (pair.name, size)):
                client = pair.client(perf, "all", "--size", str(size), "--verify", "--json",
                                     "--iters", str(iters(size)))
                out, err = end(client)
                demand(client.returncode == 0, err.strip())
                check_rows(rows_of(out), size)
        with check("%s: compare and swap on three queue pairs" % pair.name):
            client = pair.client(perf, "atomic", "--atomic-op", "cas", "--qps", "3", "--verify",
                                 "--iters", "1000", "--json")
            out, err = end(client)
            demand(client.returncode == 0, err.strip())
            check_rows(rows_of(out), 8, ["atomic"])
        for size in (0, 1, 5000):
            with check("%s: immediate data, %d bytes" % (pair.name, size)):
                client = pair.client(perf, "all", "--imm", "--size", str(size), "--verify",
                                     "--iters", "200", "--json")
                out, err = end(client)
                demand(client.returncode == 0, err.strip())
                check_rows(rows_of(out), size)
                demand([r["imm"] for r in rows_of(out)] == [True, False, True, False], out)
        with check("%s: latency of every operation" % pair.name):
            client = pair.client(perf, "all", "--lat", "--verify", "--json", "--iters", "200")
            out, err = end(client)
            demand(client.returncode == 0, err.strip())
            check_rows(rows_of(out), 64)
            for row in rows_of(out):
                check_latency(row)
        with check("%s: the server that stays has not ended" % pair.name):
            demand(server.poll() is None, "it ended:", server.returncode)
    finally:
        server.kill()
        server.communicate()


def some(size):
    """Few messages where they are large: this is about bytes, not about speed."""
    return max(3, min(500, (8 << 20) // max(size, 1)))


# ---- one process ----

def test_loopback(perf, ping):
    for size in (0, 1, 4095, 4096, 4097, 65536, 1 << 20, 16 << 20):
        with check("loopback: every operation, %d bytes, every byte checked" % size):
            child = start([perf, "all", "--size", str(size), "--verify", "--json", "--iters",
                           str(some(size))])
            out, err = end(child)
            demand(child.returncode == 0, err.strip())
            check_rows(rows_of(out), size)
    with check("loopback: a sweep doubles and ends where it should"):
        child = start([perf, "write", "--size", "3..20", "--json", "--iters", "100"])
        out, err = end(child)
        demand([r["size_bytes"] for r in rows_of(out)] == [3, 6, 12, 20], out, err)
        demand(all(r["verified"] is False for r in rows_of(out)), "verified without --verify")
    for size in (0, 1, 70000):
        with check("loopback: immediate data, %d bytes" % size):
            child = start([perf, "all", "--imm", "--size", str(size), "--qps", "3", "--verify",
                           "--iters", "300", "--json"])
            out, err = end(child)
            demand(child.returncode == 0, err.strip())
            check_rows(rows_of(out), size)
    with check("loopback: several queue pairs, path MTU 1024"):
        child = start([perf, "write", "--size", "5000", "--qps", "7", "--mtu", "1024", "--depth",
                       "9", "--iters", "1000", "--verify", "--json"])
        out, err = end(child)
        demand(child.returncode == 0, err.strip())
        row = rows_of(out)[0]
        demand((row["qps"], row["depth"], row["mtu_bytes"]) == (7, 9, 1024), row)
        demand(row["iterations"] == 1000 and row["lat_us"] is None, row)
    with check("loopback: latency of every operation"):
        child = start([perf, "all", "--lat", "--json", "--iters", "500"])
        out, err = end(child)
        demand(child.returncode == 0, err.strip())
        for row in rows_of(out):
            check_latency(row)
    for op in ("send", "write", "read"):
        with check("loopback: uroce-ping %s" % op):
            child = start([ping, "--op", op, "--count", "300", "--verify", "--json"])
            out, err = end(child)
            demand(child.returncode == 0, err.strip())
            row = rows_of(out)[0]
            check_latency(row)
            demand(sum(h["count"] for h in row["histogram"]) == 300, row["histogram"])


def test_nobody(build, scratch):
    name = "loopback: as user nobody"
    if os.geteuid() != 0:
        skip(name, "only root can become somebody else")
        return
    with check(name):
        # A folder of the build may be closed to others.
        os.chmod(scratch, 0o755)
        perf = shutil.copy(os.path.join(build, "apps/uroce-perf"), scratch)
        shutil.copy(os.path.join(build, "api/liburoce.so.0"), scratch)
        nobody = pwd.getpwnam("nobody")
        child = start([perf, "all", "--verify", "--size", "4097", "--iters", "100", "--json"],
                      user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], cwd="/",
                      env=dict(os.environ, LD_LIBRARY_PATH=scratch))
        out, err = end(child)
        demand(child.returncode == 0, err.strip())
        check_rows(rows_of(out), 4097)


def test_arguments(perf, ping):
    wrong = [
        [perf], [perf, "fly"], [perf, "write", "read"], [perf, "write", "--size"],
        [perf, "write", "--size", "12Q"], [perf, "write", "--size", "9..3"],
        [perf, "write", "--size", "2G"], [perf, "write", "--mtu", "1000"],
        [perf, "write", "--depth", "0"], [perf, "write", "--qps", "-1"],
        [perf, "write", "--frobnicate"], [perf, "write", "--iters", "2", "--duration", "2"],
        [perf, "write", "--lat", "--qps", "2"], [perf, "atomic", "--atomic-op", "mul"],
        [perf, "write", "--client", "127.0.0.1"], [perf, "--server"],
        [perf, "write", "--exception-path", "uroce0"],
        [perf, "--no-huge", "--", "--server", "--exception-path", "a/b"],
        [perf, "--no-huge", "--", "--server", "--size", "4"], [perf, "write", "--addr", "1.2.3"],
        [perf, "write", "--perftest"], [perf, "--no-huge", "--", "all", "--perftest", "--server"],
        [perf, "--no-huge", "--", "write", "--perftest", "--server", "--verify"],
        [perf, "--no-huge", "--", "write", "--perftest", "--server", "--size", "1..4"],
        [ping, "send"], [ping, "--op", "atomic"], [ping, "--count", "0"],
        [ping, "--interval", "x"],
    ]
    for arguments in wrong:
        words = " ".join([os.path.basename(arguments[0])] + arguments[1:])
        with check("wrong arguments are refused in one line: %s" % words):
            child = start(arguments)
            out, err = end(child)
            demand(child.returncode == 2, "exit status", child.returncode, err)
            demand(out == "" and err.count("\n") == 1, "printed", repr(out), repr(err))
    for program in (perf, ping):
        with check("%s --help explains" % os.path.basename(program)):
            child = start([program, "--help"])
            out, err = end(child)
            demand(child.returncode == 0 and err == "", child.returncode, err)
            for word in ("--loopback", "net_memif0", "net_af_packet0", "--verify", "exit status"):
                demand(word in out, word, "is missing")


# ---- two processes over memif ----

def test_telemetry(pair, perf):
    server = pair.server(perf)
    client = pair.client(perf, "write", "--duration", "20", "--size", "64", "--json")
    try:
        with check("telemetry: counters move while messages flow"):
            wait_until(lambda: is_busy(pair, 1))
            before = ask_telemetry(pair.prefix(0), "/uroce/counters")["messages_received"]
            wait_until(lambda: ask_telemetry(
                pair.prefix(0), "/uroce/counters")["messages_received"] > before + 1000)
        for side in (0, 1):
            with check("telemetry: the %s's queue pair" % ("server", "client")[side]):
                listed = ask_telemetry(pair.prefix(side), "/uroce/qp/list")
                demand(len(listed) == 1, "queue pairs:", listed)
                info = ask_telemetry(pair.prefix(side), "/uroce/qp/info,%d" % listed[0])
                demand(info["lqpn"] == listed[0] and info["state"] == "RTS", info)
                demand(info["path_mtu_bytes"] == 4096, info)
        with check("telemetry: what the two sides say of each other agrees"):
            numbers = [ask_telemetry(pair.prefix(s), "/uroce/qp/list")[0] for s in (0, 1)]
            infos = [ask_telemetry(pair.prefix(s), "/uroce/qp/info,%d" % numbers[s])
                     for s in (0, 1)]
            demand([i["rqpn"] for i in infos] == numbers[::-1], infos)
        with check("telemetry: ports and drops"):
            port = ask_telemetry(pair.prefix(0), "/uroce/ports")["port_0_worker_0"]
            demand(port["addr"] == "192.0.2.1" and port["queue_pairs"] == 1, port)
            drops = ask_telemetry(pair.prefix(0), "/uroce/drops")
            demand("ICRC" in drops and drops["ICRC"] == 0, drops)
    finally:
        for child in (client, server):
            child.kill()
            child.communicate()


def test_gone(pair, perf, how, name, words):
    """The server is hit in the middle of a test; the client has to end by itself."""
    server = pair.server(perf)
    client = pair.client(perf, "write", "--duration", "60", "--json")
    try:
        with check(name):
            wait_until(lambda: is_busy(pair, 1))
            os.kill(server.pid, how)
            since = time.monotonic()
            out, err = end(client)
            took = time.monotonic() - since
            demand(client.returncode == 1, "exit status", client.returncode, err)
            demand(took < GONE_SECONDS, "took %.1f seconds" % took)
            demand(any(w in err for w in words), "said", repr(err))
            demand(out == "", "printed", repr(out))
    finally:
        for child in (client, server):
            child.kill()
            child.communicate()


def test_strangers(pair, perf):
    """Whoever else connects to the TCP port of a server."""
    said = (
        ("another protocol", b"GET / HTTP/1.0\r\n\r\n", "another protocol"),
        ("an absurd test", b"uroce-perf 1\ntest op=9 cas=0 imm=0 latency=0 verify=0 size=1 qps=1 "
         b"depth=1 slots=1\n", "out of range"),
        ("more memory than is reasonable", b"uroce-perf 1\ntest op=0 cas=0 imm=0 latency=0 verify=0 "
         b"size=1073741824 qps=256 depth=1 slots=1\n", "memory"),
        ("a queue pair that cannot be", b"uroce-perf 1\ntest op=0 cas=0 imm=0 latency=0 verify=0 "
         b"size=64 qps=1 depth=1 slots=1\nqp index=0 qpn=1 psn=0 gid=" + b"0" * 32 +
         b" mac=" + b"0" * 12 + b" mtu=1024\n", "queue pair"),
        ("nothing, and leaves", b"", "closed the connection"),
    )
    for what, data, answer in said:
        with check("a stranger who says %s gets words" % what):
            server = pair.server(perf)
            try:
                peer = None
                limit = time.monotonic() + 20
                while peer is None:
                    try:
                        peer = socket.create_connection(("127.0.0.1", int(pair.port)), 5)
                    except ConnectionRefusedError:
                        demand(time.monotonic() < limit, "the server does not listen")
                        time.sleep(0.05)
                with peer:
                    peer.sendall(data)
                    peer.shutdown(socket.SHUT_WR)
                    out, err = end(server)
                demand(server.returncode == 1, "exit status", server.returncode)
                demand(answer in err, "said", repr(err))
            finally:
                server.kill()
                server.communicate()


# ---- perftest's exchange ----

PERFTEST_KEY = re.compile(rb"0000:0010:[0-9a-f]{6}:[0-9a-f]{6}:[0-9a-f]{8}:[0-9a-f]{16}"
                          rb":00:00:00:00:00:00:00:00:00:00:ff:ff:c0:00:02:4d:00000000:\0")


def test_perftest(pair, perf):
    """Both sides as perftest: what each of its tests says in which order is the same on both."""
    for test in ("write", "read", "send", "atomic", "write --lat", "read --lat", "send --lat",
                 "atomic --lat", "write --qps 3 --size 70000", "send --qps 3 --size 1"):
        with check("perftest's exchange: %s" % test):
            words = test.split() + ["--iters", "70", "--perftest"]
            server = pair.server(perf, *words)
            client = pair.client(perf, *words, "--json")
            out, err = end(client)
            demand(client.returncode == 0, err.strip())
            row = rows_of(out)[0]
            demand(row["iterations"] == 70 * row["qps"], "iterations", row)
            said, err = end(server)
            demand(server.returncode == 0, "the server's exit status", server.returncode, err)
            reported = row["lat_us"] is None and row["op"] != "send"
            demand(("%d messages of %d bytes" % (row["iterations"], row["size_bytes"]) in said)
                   == reported, "the server was told", said)


def perftest_client(port):
    made = []

    def connect():
        made.append(socket.create_connection(("127.0.0.1", int(port)), timeout=PATIENCE))
        return True

    wait_until(connect)
    return made[0]


def swap(peer, mine, size):
    peer.sendall(mine)
    return peer.recv(size, socket.MSG_WAITALL)


def greet(peer):
    demand(swap(peer, b"5.80\0 and more..", 16) == b"6.06".ljust(16, b"\0"), "the version")
    demand(swap(peer, struct.pack(">i", 16384), 4) == struct.pack(">i", 4096), "the cycle")
    demand(swap(peer, struct.pack(">i", 128), 4) == struct.pack(">i", 64), "the cache line")
    demand(swap(peer, b"3\0", 2) == b"5\0", "the path MTU")


def test_perftest_octets(perf):
    """A server of ours against octets as perftest sends them, and against worse."""
    key = b"0000:0080:000011:abcdef:00021c00:00005566aab61000" + \
        b":00:00:00:00:00:00:00:00:00:00:ff:ff:c0:00:02:01:00000000:\0"
    strangers = {
        "of an old version": (lambda peer: swap(peer, b"5.60".ljust(16, b"\0"), 16), "5.60"),
        "that greets with nonsense": (lambda peer: [
            swap(peer, b"6.06".ljust(16, b"\0"), 16), swap(peer, b"\xff\xff\xff\xff", 4),
            swap(peer, b"\0\0\0\x40", 4)], "does not greet like perftest"),
        "with an MTU that there is not": (lambda peer: [
            swap(peer, b"6.06".ljust(16, b"\0"), 16), swap(peer, b"\0\0\x10\0", 4),
            swap(peer, b"\0\0\0\x40", 4), swap(peer, b"9\0", 2)], "path MTU"),
        "with a key that is none": (lambda peer: [greet(peer), swap(peer, b"x" * 108, 108)],
                                    "where a queue pair was expected"),
        "with a queue pair of 32 bits": (lambda peer: [
            greet(peer), swap(peer, key.replace(b":000011:", b":9000011")[:108], 108)],
            "where a queue pair was expected"),
        "that leaves": (lambda peer: greet(peer), "ended before the test was over"),
    }
    pair = Pair("perftest", ("net_ring0", "net_ring0"), addrs=("192.0.2.77/24", None))
    for name, (deal, words) in strangers.items():
        with check("perftest's exchange: a client %s is refused in words" % name):
            server = pair.server(perf, "write", "--perftest")
            with perftest_client(pair.port) as peer:
                deal(peer)
            out, err = end(server)
            demand(server.returncode == 1 and words in err, server.returncode, err)
    with check("perftest's exchange: octet by octet"):
        server = pair.server(perf, "write", "--perftest")
        with perftest_client(pair.port) as peer:
            greet(peer)
            keys = [swap(peer, key, 108) for _ in range(4)]
            demand(len(set(keys)) == 1 and PERFTEST_KEY.fullmatch(keys[0]), keys)
            for number in (struct.pack(">Q", 65536), struct.pack(">Q", 5000),
                           struct.pack(">d", 9e3), struct.pack(">d", 8.5e3),
                           struct.pack(">d", 0.25)):
                demand(swap(peer, number, 8) == bytes(8), "the server's report")
            demand(swap(peer, key, 108) == keys[0], "the last key")
            demand(peer.recv(5, socket.MSG_WAITALL) == b"done\0", "the last word")
        out, err = end(server)
        demand(server.returncode == 0, err)
        demand("8500.00 MiB/s, 0.250000 million messages/s, 5000 messages of 65536 bytes" in out,
               out)


def test_memif(perf, ping):
    if not has_driver("memif"):
        skip("memif", "DPDK's memif driver is not installed (librte-net-memif23)")
        return
    pair = memif_pair()
    test_sizes(pair, perf, (0, 1, 4095, 4096, 4097, 65536, 1 << 20, 16 << 20), some)
    with check("memif: uroce-ping against a uroce-perf server"):
        server = pair.server(perf)
        client = pair.client(ping, "--count", "200", "--json")
        out, err = end(client)
        demand(client.returncode == 0, err.strip())
        check_latency(rows_of(out)[0])
        out, err = end(server)
        demand(server.returncode == 0, "the server's exit status", server.returncode, err)
    test_perftest(pair, perf)
    test_telemetry(pair, perf)
    test_gone(pair, perf, signal.SIGKILL, "a server that is killed: the client ends, with words",
              ("closed the connection", "RETRY_EXC_ERR"))
    test_gone(pair, perf, signal.SIGSTOP, "a server that stops answering: retries end, with words",
              ("RETRY_EXC_ERR",))
    test_strangers(pair, perf)


# ---- two processes over af_packet ----

def sniff(interface):
    """In a namespace of its own: frames on an interface, by kind."""
    seen = {"icmp": 0, "roce": 0, "other": 0}
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
        s.bind((interface, 0))
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([s, sys.stdin], [], [])
            if sys.stdin in ready:
                break
            frame = s.recv(2048)
            is_ip = frame[12:14] == b"\x08\x00"
            protocol = frame[23] if is_ip else 0
            kind = "other"
            if protocol == 1:
                kind = "icmp"
            elif protocol == 17 and frame[36:38] == b"\x12\xb7":
                kind = "roce"
            seen[kind] += 1
    print(json.dumps(seen), flush=True)


@contextlib.contextmanager
def sniffing(side, seen):
    child = start(in_netns(netns("ab"[side])) +
                  [sys.executable, os.path.abspath(__file__), "--sniff",
                   iface("ab"[side], "ba"[side])], stdin=subprocess.PIPE)
    try:
        demand(child.stdout.readline() == "ready\n", "the sniffer does not start")
        yield
        out, err = child.communicate("", timeout=PATIENCE)
        seen.update(json.loads(out))
    finally:
        child.kill()
        child.communicate()


def test_ipv6(perf):
    """Both ends over IPv6, also their loss of a mixed pair, which has no way to each other."""
    addrs = ("2001:db8::1/64", "2001:db8::2/64")
    test_sizes(packet_pair("af_packet, IPv6", addrs=addrs), perf, (0, 1025, 1 << 20), some)
    pair = packet_pair("af_packet, IPv6 to IPv4", addrs=(addrs[0], None))
    with check("%s is refused in words" % pair.name):
        server = pair.server(perf)
        client = pair.client(perf, "write", "--iters", "10")
        out, err = end(client)
        demand(client.returncode != 0, out)
        demand("no address of the peer's kind" in err, err)
        end(server)


def test_neighbours(perf):
    """The kernel at the other end finds the endpoint, and its pings are answered meanwhile."""
    for addrs, target, net in (((None, None), "192.0.2.1", "192.0.2.0/24"),
                               (("2001:db8::1/64", "2001:db8::2/64"), "2001:db8::1",
                                "2001:db8::/64")):
        pair = packet_pair("af_packet", addrs=addrs)
        with check("af_packet: a kernel finds and pings %s while messages flow" % target):
            ip("-n", netns("b"), "route", "add", net, "dev", iface("b", "a"))
            server = pair.server(perf)
            client = pair.client(perf, "write", "--duration", "20", "--size", "64", "--json")
            try:
                wait_until(lambda: is_busy(pair, 0))
                demand(kernel_pings(netns("b"), target), "nobody answered")
                told = ask_telemetry(pair.prefix(0), "/uroce/neighbours")["port_0"]
                demand(told["answered"] > 0 and told["echoes"] > 0, told)
            finally:
                for child in (client, server):
                    child.kill()
                    child.communicate()


def test_slots(perf):
    """p4-dpdk-target#62: the driver says 9000, its slots of 2048 bytes would cut what is longer."""
    with check("af_packet: slots of 2048 bytes lower the path MTU"):
        pair = packet_pair("af_packet")
        server = pair.server(perf)
        client = pair.client(perf, "write", "--iters", "10", "--size", "5000", "--verify", "--json")
        out, err = end(client)
        demand(client.returncode == 0, err.strip())
        demand([row["mtu_bytes"] for row in rows_of(out)] == [1024], out)
        end(server)


def test_quiet(perf):
    """The kernel must not answer frames that are uroce's: it does if the address is its own."""
    pair = packet_pair("af_packet")
    for addrs, is_quiet in (((None, None), True),
                            ((KERNEL_ADDR[0] + "/24", KERNEL_ADDR[1] + "/24"), False)):
        name = "af_packet: no ICMP while messages flow" if is_quiet else \
            "af_packet: the kernel's own address does make ICMP (so the check above can fail)"
        pair.addrs = addrs
        with check(name):
            seen = {}
            with sniffing(0, seen):
                server = pair.server(perf)
                client = pair.client(perf, "all", "--iters", "20", "--json")
                out, err = end(client)
                demand(client.returncode == 0, err.strip())
                end(server)
            demand(seen["roce"] > 100, "the sniffer saw", seen)
            demand((seen["icmp"] == 0) == is_quiet, "the sniffer saw", seen)


def test_af_packet(perf):
    names = "af_packet"
    missing = why_no_network("af_packet")
    if missing:
        skip(names, missing)
        return
    try:
        with namespaces(1500):
            test_sizes(packet_pair("af_packet"), perf,
                       (0, 1, 1023, 1024, 1025, 65536, 1 << 20, 16 << 20), some)
            test_ipv6(perf)
            test_quiet(perf)
            test_neighbours(perf)
        with namespaces(9000):
            test_slots(perf)
            test_sizes(packet_pair("af_packet, jumbo frames",
                                   ",framesz=16384,blocksz=65536,framecnt=256"),
                       perf, (4095, 4096, 4097, 1 << 20), some)
    except NoNetwork as e:
        skip(names, e)


# ----

def tests(build, scratch):
    perf, ping = (os.path.join(build, "apps", p) for p in ("uroce-perf", "uroce-ping"))
    test_loopback(perf, ping)
    test_nobody(build, scratch)
    test_arguments(perf, ping)
    test_perftest_octets(perf)
    test_memif(perf, ping)
    test_af_packet(perf)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--sniff":
        sniff(sys.argv[2])
        return 0
    return run("device", tests)


if __name__ == "__main__":
    sys.exit(main())
