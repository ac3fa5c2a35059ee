#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# An endpoint that shares a port: with a forwarder whose port it is, and with a kernel's stack.
#
#   embed_test.py BUILD
#
# BUILD is a folder that was built. l2fwd-uroce forwards between two namespaces while l2fwd-watch
# reads its counters by RDMA READ from one of them; then a kernel shares an endpoint's port, and its
# address, over an exception path. A line per check, and RESULT at the end; exit status 0 if none
# failed. What needs root or a missing driver is skipped, with the reason.

import contextlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading

from rig import (NoNetwork, Pair, ask_telemetry, check, command, demand, end, iface, inside, ip,
                 kernel_pings, make_checksums, netns, network, run, skip, start, state_of,
                 wait_until, why_no_network)

SO_NO_CHECK, SO_RCVBUFFORCE, PACKET_OUTGOING = 11, 33, 4  # socket(7), packet(7)
DATAGRAMS = 3000
UNDER_WAY = 16
HERE = ("198.51.100.1", "198.51.100.2")  # the kernels on both sides of the forwarder
CONTROL = ("203.0.113.1", "203.0.113.2")  # where the forwarder listens, and the watcher
ENDPOINT = "192.0.2.1"
LINE = re.compile(r"port=(\d+) received=(\d+) forwarded=(\d+) dropped=(\d+) endpoint_in=(\d+) "
                  r"endpoint_out=(\d+)")


@contextlib.contextmanager
def forwarder_between():
    """a - m - b: a and b have kernels with addresses, m has the forwarder. A link of its own for
    TCP between a and m."""
    with network("amb", ["am", "mb", "amc"], ipv6=False):
        for letter, addr in (("a", HERE[0]), ("b", HERE[1])):
            ip("-n", netns(letter), "addr", "add", addr + "/24", "dev", iface(letter, "m"))
        for letter, addr, interface in (("m", CONTROL[0], iface("m", "ac")),
                                        ("a", CONTROL[1], iface("a", "mc"))):
            ip("-n", netns(letter), "addr", "add", addr + "/24", "dev", interface)
        yield


def forwarder(build, *own):
    return start(command(
        os.path.join(build, "apps/l2fwd-uroce"), "m", 0,
        ["net_af_packet%d,iface=%s" % (i, iface("m", to)) for i, to in enumerate("ab")],
        netns("m")) + ["--no-mac-updating", *own])


def watcher(build, *own):
    return start(command(os.path.join(build, "apps/l2fwd-watch"), "a", 1,
                         ["net_af_packet0,iface=%s" % iface("a", "m")], netns("a")) +
                 [CONTROL[0], *own])


def pages_of(out, num_ports=2):
    """The pages that a program has printed: a list of {field: value} by port each."""
    names = ("received", "forwarded", "dropped", "endpoint_in", "endpoint_out")
    rows = [[int(n) for n in LINE.fullmatch(line).groups()] for line in out.splitlines()
            if line.startswith("port=")]
    demand([row[0] for row in rows] == list(range(num_ports)) * (len(rows) // num_ports), rows)
    return [[dict(zip(names, row[1:])) for row in rows[i:i + num_ports]]
            for i in range(0, len(rows), num_ports)]


def listens(letter, port):
    """Whether somebody in a namespace listens on a TCP port."""
    with inside(netns(letter)):
        out = subprocess.run(["ss", "-Hltn", "sport = :%d" % port], capture_output=True,
                             text=True).stdout
    return out != ""


class Sniffer:
    """Frames that an interface receives, and that its kernel sends by it."""

    def __init__(self, letter, interface):
        with inside(netns(letter)):
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.socket.bind((interface, 0))
        self.socket.setblocking(False)

    def count(self):
        """(received, sent) since the last time."""
        counts = [0, 0]
        while True:
            try:
                _, where = self.socket.recvfrom(65536)
            except BlockingIOError:
                return tuple(counts)
            counts[where[2] == PACKET_OUTGOING] += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def udp(letter, addr):
    with inside(netns(letter)):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # A checksum left to an interface that is none would never be made.
    s.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
    s.bind((addr, 0))
    s.settimeout(10)
    return s


def send_to_and_fro():
    """DATAGRAMS from a to b, each of which b sends back; all arrive, whole. A kernel that moves who
    sends from core to core does not keep their order."""
    sent = {b"%d " % i + bytes(i % 1400) for i in range(DATAGRAMS)}
    at_b, at_a = set(), set()
    with udp("a", HERE[0]) as a, udp("b", HERE[1]) as b:
        for i, data in enumerate(list(sent) + UNDER_WAY * [None]):
            if data:
                a.sendto(data, b.getsockname())
            if i >= UNDER_WAY:
                data, source = b.recvfrom(2048)
                at_b.add(data)
                b.sendto(data, source)
                at_a.add(a.recv(2048))
    demand(at_b == at_a == sent, "of", len(sent), "arrived", len(at_b & sent), "came back",
           len(at_a & sent))


def test_counters(build):
    """The page that a peer reads says what the forwarder has really done."""
    with Sniffer("b", iface("b", "m")) as at_b:
        server = forwarder(build)
        wait_until(lambda: listens("m", 18516))
        pages = []
        with check("l2fwd: datagrams are forwarded both ways while a peer reads the counters"):
            client = watcher(build, "--interval", "0.002", "--count", "1000")
            demand(client.stdout.readline() != "", "the watcher reads nothing")
            send_to_and_fro()
            out, err = end(client)
            demand(client.returncode == 0, err)
            pages = pages_of(out)
        with check("l2fwd: each page is of one moment, and counters only grow"):
            demand(len(pages) > 900, len(pages), "pages")
            for page in pages:
                demand(page[0]["received"] == page[0]["endpoint_in"] + page[1]["forwarded"] +
                       page[1]["dropped"], page)
                demand(page[1]["received"] == page[0]["forwarded"] + page[0]["dropped"], page)
                demand(page[1]["endpoint_in"] == page[1]["endpoint_out"] == 0, page)
            for before, after in zip(pages, pages[1:]):
                demand(all(after[p][f] >= before[p][f] for p in (0, 1) for f in before[p]),
                       before, after)
            demand(len({page[1]["forwarded"] for page in pages}) > 20, "too little was seen")
        with check("l2fwd: what a peer has read is what the receiver has counted"):
            client = watcher(build, "--count", "1")
            out, err = end(client)
            page = pages_of(out)[0]
            demand((page[1]["forwarded"], page[1]["received"]) == at_b.count(),
                   "the other side has counted otherwise than", page)
            demand(page[0]["forwarded"] >= DATAGRAMS and page[1]["forwarded"] > DATAGRAMS, page)
            demand(page[0]["dropped"] == page[1]["dropped"] == 0, page)
        with check("l2fwd: a kernel finds and pings the endpoint in the forwarder"):
            ip("-n", netns("a"), "route", "add", "192.0.2.0/24", "dev", iface("a", "m"))
            demand(kernel_pings(netns("a"), ENDPOINT), "nobody answered")
        with check("l2fwd: who says nonsense is shown the door, and others are served"):
            for words in (b"hello\n", b"::1 1 2\n", b"::1 99999999 0 7 0 0\n", b"", b"x" * 5000):
                with inside(netns("a")):
                    stranger = socket.create_connection((CONTROL[0], 18516), 5)
                with stranger:
                    stranger.sendall(words)
                    stranger.shutdown(socket.SHUT_WR)
                    try:
                        demand(stranger.recv(100) == b"", "it was answered:", words)
                    except ConnectionResetError:
                        pass
            out, err = end(watcher(build, "--count", "2", "--interval", "0.01"))
            demand(len(pages_of(out)) == 2, err)
        with check("l2fwd: SIGTERM ends it in good order"):
            server.send_signal(signal.SIGTERM)
            out, err = end(server)
            demand(server.returncode == 0, "exit status", server.returncode, err)
            demand("frames forwarded" in out, out)


def test_l2fwd(build):
    missing = why_no_network("af_packet")
    if missing:
        skip("l2fwd", missing)
        return
    try:
        with forwarder_between():
            test_counters(build)
    except NoNetwork as e:
        skip("l2fwd", e)


# ---- a kernel that shares the port ----

TAP = "u%dx" % os.getpid()
SHARED, PEER, KERNEL_PEER = "192.0.2.1", "192.0.2.2", "192.0.2.200"
STREAM_BYTES = 4 << 20


class Sharing:
    """a: an endpoint and its TAP, whose kernel is in k and has the endpoint's address; b: another
    endpoint, and a kernel with an address of its own."""

    def __init__(self, build):
        self.pair = Pair("exception path", [
            "net_af_packet0,iface=" + iface("a", "b"), "net_af_packet0,iface=" + iface("b", "a")],
            (netns("a"), netns("b")), CONTROL[0], (SHARED + "/24", PEER + "/24"))
        self.perf = os.path.join(build, "apps/uroce-perf")

    def set_up(self):
        for letter, addr, interface in (("b", KERNEL_PEER, iface("b", "a")),
                                        ("a", CONTROL[0], iface("a", "bc")),
                                        ("b", CONTROL[1], iface("b", "ac"))):
            ip("-n", netns(letter), "addr", "add", addr + "/24", "dev", interface)
        make_checksums("b", iface("b", "a"))
        self.server = self.pair.server(self.perf, "--keep", "--exception-path", TAP)
        wait_until(lambda: state_of("a", TAP) == "UNKNOWN")
        # Where the port's own interface is, the kernel would see each frame twice.
        ip("-n", netns("a"), "link", "set", TAP, "netns", netns("k"))
        ip("-n", netns("k"), "addr", "add", SHARED + "/24", "dev", TAP)
        ip("-n", netns("k"), "link", "set", TAP, "up")

    def counters(self):
        return ask_telemetry(self.pair.prefix(0), "/uroce/ports")["port_0_worker_0"]


def stream_both_ways(near, far):
    """STREAM_BYTES from each of two connected sockets to the other, all as they were."""
    sent = [os.urandom(STREAM_BYTES) for _ in (0, 1)]
    received = [b"", b""]

    def take(i, s):
        while len(received[i]) < STREAM_BYTES:
            data = s.recv(1 << 16)
            demand(data, "the connection ended early")
            received[i] += data

    threads = [threading.Thread(target=near.sendall, args=(sent[0],)),
               threading.Thread(target=far.sendall, args=(sent[1],)),
               threading.Thread(target=take, args=(0, near))]
    for thread in threads:
        thread.start()
    take(1, far)
    for thread in threads:
        thread.join()
    demand(received == sent[::-1], "it is not what was sent")


def connection(listener_in, addr, connect_in):
    """A TCP connection between two namespaces: (who connected, who listened)."""
    with inside(netns(listener_in)):
        listener = socket.create_server((addr, 0))
    with listener:
        listener.settimeout(20)
        with inside(netns(connect_in)):
            near = socket.create_connection(listener.getsockname(), 20)
        far, _ = listener.accept()
    for s in (near, far):
        s.settimeout(20)
    return near, far


def answers_to_arp(letter, interface, asker, target):
    """How many answers a question gets until a ping behind it is answered."""
    with inside(netns(letter)):
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x806))
    with s:
        s.bind((interface, 0))
        s.setblocking(False)
        mac = s.getsockname()[4]
        s.send(b"\xff" * 6 + mac + b"\x08\x06" + struct.pack(
            "!HHBBH6s4s6x4s", 1, 0x800, 6, 4, 1, mac, socket.inet_aton(asker),
            socket.inet_aton(target)))
        demand(kernel_pings(netns(letter), target), "nobody answers pings")
        answers = 0
        while True:
            try:
                frame = s.recv(2048)
            except BlockingIOError:
                return answers
            answers += frame[20:22] == b"\0\2" and frame[38:42] == socket.inet_aton(asker)


def test_shared(sharing):
    full = sharing.counters()["kernel_full"]
    client = sharing.pair.client(sharing.perf, "all", "--duration", "2", "--size", "64K",
                                 "--verify", "--json")
    wait_until(lambda: ask_telemetry(sharing.pair.prefix(0), "/uroce/counters")["rx_accepted"] > 0)
    with Sniffer("k", TAP) as at_kernel:
        with check("exception path: TCP to the endpoint's own address is the kernel's"):
            near, far = connection("k", SHARED, "b")
            with near, far:
                stream_both_ways(near, far)
        with check("exception path: TCP from the kernel behind it"):
            near, far = connection("b", KERNEL_PEER, "k")
            with near, far:
                stream_both_ways(near, far)
        with check("exception path: a question for the shared address gets one answer"):
            demand(answers_to_arp("b", iface("b", "a"), "192.0.2.201", SHARED) == 1, "answers")
        with check("exception path: pings both ways"):
            demand(kernel_pings(netns("b"), SHARED), "the endpoint does not answer")
            demand(kernel_pings(netns("k"), KERNEL_PEER), "the kernel gets no answers")
        with check("exception path: RoCE meanwhile, every byte checked"):
            out, err = end(client)
            demand(client.returncode == 0, err)
            rows = [json.loads(line) for line in out.splitlines()]
            demand(len(rows) == 4 and all(r["verified"] and r["iterations"] > 0 for r in rows), out)
        with check("exception path: counted, nothing dropped, and no RoCE frame at the kernel"):
            counters = sharing.counters()
            received, sent = at_kernel.count()
            demand(counters["exception_path"] == TAP, counters)
            demand(received > STREAM_BYTES / 1500 and sent > STREAM_BYTES / 1500, received, sent)
            demand(counters["kernel_rx"] >= received and counters["kernel_tx"] >= sent, counters,
                   received, sent)
            # RoCE was a multiple of it.
            demand(counters["kernel_rx"] < 3 * received, counters, received)
            demand(counters["kernel_full"] == full and counters["kernel_cut"] == 0, full, counters)


def test_full(sharing):
    """An interface that is down takes nothing: that is counted, and RoCE goes on."""
    with check("exception path: what the kernel does not take is counted and dropped"):
        ip("-n", netns("k"), "link", "set", TAP, "down")
        before = sharing.counters()["kernel_full"]
        with udp("b", KERNEL_PEER) as s:
            for _ in range(100):
                s.sendto(b"anybody?", (SHARED, 9))
        wait_until(lambda: sharing.counters()["kernel_full"] >= before + 100)
        out, err = end(sharing.pair.client(sharing.perf, "write", "--iters", "100", "--verify",
                                           "--json"))
        demand(json.loads(out)["verified"], err)
        ip("-n", netns("k"), "link", "set", TAP, "up")


def test_exception_path(build):
    missing = why_no_network("af_packet")
    if not missing and not os.path.exists("/dev/net/tun"):
        missing = "this kernel has no TAP interfaces (/dev/net/tun)"
    if missing:
        skip("exception path", missing)
        return
    try:
        with network("abk", ["ab", "abc"], ipv6=False):
            sharing = Sharing(build)
            sharing.set_up()
            test_shared(sharing)
            test_full(sharing)
            with check("exception path: the interface goes with the process"):
                sharing.server.kill()
                sharing.server.communicate()
                wait_until(lambda: not os.path.exists("/sys/class/net/" + TAP))
    except NoNetwork as e:
        skip("exception path", e)


# ----

def test_arguments(build):
    l2fwd, watch = (os.path.join(build, "apps", p) for p in ("l2fwd-uroce", "l2fwd-watch"))
    null = command(l2fwd, "n", 0, ["net_null0", "net_null1"])
    for arguments in (null + ["-p", "zz"], null + ["-T", "-1"], null + ["--tcp-port", "70000"],
                      null + ["--seconds"], null + ["--fly"], null + ["fly"],
                      [watch], [watch, "--", "--count", "0"], [watch, "--", "--count"],
                      [watch, "--no-huge", "--", "--addr", "1.2.3.4"]):
        with check("wrong arguments are refused: %s" % " ".join(
                [os.path.basename(arguments[0])] + arguments[arguments.index("--") + 1:]
                if "--" in arguments else arguments)):
            child = start(arguments)
            out, err = end(child)
            demand(child.returncode == 2, "exit status", child.returncode, err)
            demand(out == "" and ": " in err, "printed", repr(out), repr(err))
    for program in (l2fwd, watch):
        with check("%s --help explains" % os.path.basename(program)):
            child = start([program, "--help"])
            out, err = end(child)
            demand(child.returncode == 0 and err == "", child.returncode, err)
            for word in ("EAL-ARGUMENTS", "--tcp-port", "--addr", "exit status"):
                demand(word in out, word, "is missing")
    with check("l2fwd: ports come in pairs"):
        child = start(command(l2fwd, "n", 0, ["net_null0"]))
        out, err = end(child)
        demand(child.returncode == 1 and "even" in err, child.returncode, err)


def tests(build, scratch):
    test_arguments(build)
    test_l2fwd(build)
    test_exception_path(build)


if __name__ == "__main__":
    sys.exit(run("embed", tests))
