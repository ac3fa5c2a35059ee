# SPDX-License-Identifier: BSD-3-Clause
#
# Debian's unmodified perftest in the guest against uroce-perf: each of its programs for RC, as
# server and as client. Perftest checks no data, so what is asked for is that both sides end well,
# and that both sides and the wire count the same messages.

import ipaddress
import os
import re
import subprocess

import rig
from peers import FADD, READ, SEND, WRITE
from rig import Failed, Sniffer, bth_of, demand

OPS = {WRITE: "write", READ: "read", SEND: "send", FADD: "atomic"}
ITERS = 200
# The last packet of a message, which is also counted when it came in several: of requests, and of
# answers where those have the data.
LAST_PACKETS = {WRITE: (0x08, 0x0a), SEND: (0x02, 0x04), READ: (0x0f, 0x10), FADD: (0x12,)}
ANSWERED = (READ, FADD)
PINGPONGS = (WRITE, SEND)
# What both kinds of program print for each test.
ROW = re.compile(r"^ (\d+) +(\d+) +[\d.]+\s", re.M)
REPORT = re.compile(r"perftest measured .* (\d+) messages of (\d+) bytes")
IS_READY = "waiting for a client"
SHORT_PATIENCE = 5


class Test:
    """One test, as either command line names it."""

    def __init__(self, op, is_latency, net, size, qps=1, mtu=4096, is_cas=False):
        self.op, self.is_latency, self.net, self.qps, self.mtu = op, is_latency, net, qps, mtu
        self.is_cas = is_cas and op == FADD
        self.size = 8 if op == FADD else size
        self.program = "ib_%s_%s" % (OPS[op], "lat" if is_latency else "bw")
        self.messages = ITERS * qps

    def is_pingpong(self):
        return self.is_latency and self.op in PINGPONGS

    def start_perftest(self, guest, host=""):
        command = [self.program, "-F", "-n", ITERS, "-x", gid_index(guest, self.net),
                   "-m", self.mtu]
        if self.op != FADD:
            command += ["-s", self.size]
        if self.is_cas:
            command += ["-A", "CMP_AND_SWAP"]
        if self.qps > 1:
            command += ["-q", self.qps]
        return guest.start_program(" ".join(str(word) for word in command + [host]))

    def start_uroce(self, run, role):
        prefix = {"v4": 24, "v6": 64}[self.net]
        command = [os.path.join(run.build, "apps/uroce-perf")] + rig.EAL
        command += [OPS[self.op], "--perftest", "--iters", str(ITERS), "--qps", str(self.qps)]
        command += role + ["--addr", "%s/%d" % (rig.UROCE_ADDRS[self.net], prefix)]
        if self.op != FADD:
            command += ["--size", str(self.size)]
        if self.is_cas:
            command += ["--atomic-op", "cas"]
        if self.is_latency:
            command += ["--lat"]
        return rig.start("uroce-perf", command, subprocess.STDOUT)


def gid_index(guest, net):
    """Where soft-RoCE has the guest's address."""
    gid = ipaddress.ip_address(rig.GUEST_ADDRS[net])
    if gid.version == 4:
        gid = ipaddress.ip_address("::ffff:%s" % gid)
    told = guest.run("cd /sys/class/infiniband/rxe0/ports/1/gids && grep . * 2>/dev/null || true")
    for line in told.splitlines():
        index, _, text = line.partition(":")
        if ipaddress.ip_address(text) == gid:
            return int(index)
    raise Failed("soft-RoCE has no GID %s: %s" % (gid, told))


def finish_both(client, server):
    """What each said. If one fails the other will, too, and what it says may be the reason."""
    said, failures = [], []
    for stream in (client, server):
        try:
            said.append(stream.finish(SHORT_PATIENCE if failures else rig.PATIENCE))
        except Failed as e:
            failures.append(str(e))
    demand(not failures, "; ".join(failures))
    return said


def wait_ready(server):
    while IS_READY not in server.line():
        pass


def demand_row(test, who, said):
    rows = [(int(size), int(messages)) for size, messages in ROW.findall(said)]
    demand(rows == [(test.size, test.messages)], who, "counted", rows, "and said:", said)


def demand_wire(test, sniffer, client_is_uroce):
    """The messages that were under way, whoever had to repeat some of them."""
    seen = {True: set(), False: set()}
    for is_uroces, frame in sniffer.take():
        bth = bth_of(frame)
        if bth and bth[0] in LAST_PACKETS[test.op]:
            seen[is_uroces].add(bth[5:8] + bth[9:12])
    of_client, of_server = len(seen[client_is_uroce]), len(seen[not client_is_uroce])
    wanted = (0, test.messages) if test.op in ANSWERED else (test.messages, 0)
    if test.is_pingpong():
        wanted = (test.messages, test.messages)
    demand((of_client, of_server) == wanted, "on the wire were", of_client,
           "messages of the client's and", of_server, "of the server's")


def uroce_asks(run, test):
    sniffer = Sniffer()
    server = test.start_perftest(run.guest)
    client = test.start_uroce(run, ["--client", rig.GUEST_CTL])
    ours, theirs = finish_both(client, server)
    demand_row(test, "uroce-perf", ours)
    # It has nothing to say of the latency of what it takes no part in.
    if not test.is_latency or test.is_pingpong():
        demand_row(test, "perftest", theirs)
    demand_wire(test, sniffer, True)


def perftest_asks(run, test):
    sniffer = Sniffer()
    server = test.start_uroce(run, ["--server"])
    try:
        wait_ready(server)
        client = test.start_perftest(run.guest, rig.HOST_CTL)
    except Failed:
        server.close()
        raise
    theirs, ours = finish_both(client, server)
    demand_row(test, "perftest", theirs)
    # What perftest reports to its server.
    if not test.is_latency and test.op != SEND:
        report = [(int(n), int(size)) for n, size in REPORT.findall(ours)]
        demand(report == [(test.messages, test.size)], "uroce-perf was told", report, ours)
    demand_wire(test, sniffer, False)


def all_checks(run):
    for words, ask in (("%s as server", uroce_asks), ("%s as client", perftest_asks)):
        for is_latency in (False, True):
            for op in OPS:
                plain = Test(op, is_latency, "v4", 4096)
                other = Test(op, is_latency, "v6", 5001, 1 if is_latency else 2, 1024, is_cas=True)
                run.check("IPv4: uroce-perf and %s count the same" % (words % plain.program),
                          lambda: ask(run, plain), with_peers=False)
                run.check("IPv6, path MTU 1024%s%s: uroce-perf and %s count the same" %
                          (", 2 queue pairs" if other.qps == 2 else "",
                           ", compare and swap" if other.is_cas else "", words % other.program),
                          lambda: ask(run, other), with_peers=False)
