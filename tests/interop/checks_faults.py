# SPDX-License-Identifier: BSD-3-Clause
#
# A bad link: frames that are lost, doubled, overtaken and damaged, in both directions, by the
# guest's netem. Whatever happens every byte must be right at the end; and it must have happened, which
# is what counters are asked for.

import contextlib
import re

from exchange import LENT, OWN, exchange
from peers import (CAS, FADD, READ, SEND, SEND_IMM, SIGNALED, UC, UD, WRITE, WRITE_IMM, Link,
                   demand_done)
from rig import demand

TC = "/usr/sbin/tc"
# 134 ms: shorter ones expire in a guest without a processor of its own.
PATIENT = {"timeout": 15}
TURNS_MIN, TURNS_MAX = 3, 15
FAULTS = (
    ("one frame in 30 lost", "loss 3.3%"),
    ("one frame in 10 doubled", "duplicate 10%"),
    ("one frame in 10 overtaken", "delay 3ms reorder 90%"),
    ("one frame in 30 damaged", "corrupt 3.3%"),
    ("lost, doubled, overtaken and damaged frames",
     "loss 1% duplicate 2% corrupt 1% delay 2ms reorder 97%"),
)
# What either end counts when frames are missing, come twice or come late.
TRACES = ("out_of_sequence", "packet_seq_err", "duplicate_request", "implied_nak_seq_err",
          "local_ack_timeout_err", "retransmitted_packets", "ICRC", "GHOST_RESPONSE",
          "RESPONSE_GAP", "PSN_AHEAD", "MESSAGE_BROKEN", "IPV4_CHECKSUM",
          "out_of_seq_request", "completer_retry_err", "rcvd_seq_err")


@contextlib.contextmanager
def netem(guest, faults):
    """What the guest sends, and what it receives, goes through netem with these faults. To be made
    after a link: rxe gives the first ARP request a second, and does not ask twice."""
    guest.run("modprobe ifb numifbs=1; ip link set ifb0 up;"
              "{tc} qdisc add dev data root netem {faults} limit 10000 &&"
              "{tc} qdisc add dev data ingress &&"
              "{tc} filter add dev data parent ffff: protocol all u32 match u32 0 0 "
              "action mirred egress redirect dev ifb0 &&"
              "{tc} qdisc add dev ifb0 root netem {faults} limit 10000"
              .format(tc=TC, faults=faults))
    try:
        yield
    finally:
        guest.run("%s qdisc del dev data root; %s qdisc del dev data ingress;"
                  "%s qdisc del dev ifb0 root" % (TC, TC, TC))


def dropped(guest):
    """Frames that netem has lost, in both directions."""
    told = guest.run("%s -s qdisc show dev data; %s -s qdisc show dev ifb0" % (TC, TC))
    return [int(n) for n in re.findall(r"netem.*?dropped (\d+)", told, re.S)]


def noticed(run, before, faults):
    """What is missing of the evidence that the link was bad, or None."""
    if "loss" in faults and not all(dropped(run.guest)):
        return "netem lost nothing"
    counted = run.uroce.counters() + run.rxe.counters() - before
    if not any(counted[trace] for trace in TRACES):
        return "nobody noticed a fault: %s" % dict(counted)
    return None


def under(run, asks, answers, faults, net):
    """All RC requests, again and again until somebody has noticed faults."""
    ops = [(op, size) for size in (1, 900, 3000, 9001, 20000)
           for op in (SEND, WRITE, READ, SEND_IMM, FADD, WRITE_IMM, CAS)]
    before = run.uroce.counters() + run.rxe.counters()
    with Link(asks, answers, net=net, settings=(PATIENT, PATIENT)) as link, \
            netem(run.guest, faults):
        for turn in range(TURNS_MAX):
            exchange(link, ops if turn % 2 == 0 else ops[::-1])
            missing = noticed(run, before, faults)
            if turn >= TURNS_MIN - 1 and missing is None:
                return
    demand(False, missing)


def unreliable(run, asks, answers, kind):
    """Messages may be missing, and datagrams may come twice, but what comes is what was sent."""
    num, size, grh = 150, 2500 if kind == UC else 1000, 40 if kind == UD else 0
    stride = 2560
    with Link(asks, answers, kind) as link, \
            netem(run.guest, "loss 3% duplicate 3% corrupt 1%"):
        asks.ask_all([("fill", {"at": OWN + i * stride, "len": size, "seed": i + 1})
                      for i in range(num)])
        answers.ask_all([("recv", {"qp": link.b.slot, "id": i, "at": LENT + i * stride,
                                   "len": size + grh, "lkey": answers.all["lkey"]})
                         for i in range(num + 40)])
        for i in range(num):
            asks.ask_all([("send", {"qp": link.a.slot, "id": i, "op": SEND_IMM, "len": size,
                                    "flags": SIGNALED, "at": OWN + i * stride, "imm": i,
                                    "lkey": asks.all["lkey"]})])
            demand_done(link, link.a.poll(1), 1)
        taken = link.b.poll(num + 40, 1500)
        for c in taken:
            demand(c.status == 0 and c.bytes == size + grh, "received", c, "at", link.b)
        answers.ask_all([("check", {"at": LENT + c.id * stride + grh, "len": size,
                                    "seed": c.imm + 1}) for c in taken])
        numbers = [c.imm for c in taken]
        demand(numbers == sorted(numbers), "messages came in the order", numbers)
        demand(num / 4 < len(set(numbers)) < num, len(set(numbers)), "of", num, "came")


def all_checks(run):
    ways = (("uroce asks", lambda: (run.uroce, run.rxe)),
            ("soft-RoCE asks", lambda: (run.rxe, run.uroce)))
    for words, way in ways:
        for i, (name, faults) in enumerate(FAULTS):
            net = ("v4", "v6")[i % 2]
            run.check("%s, %s: every byte is right" % (words, name),
                      lambda: under(run, *way(), faults, net))
        for kind, kind_name in ((UC, "UC"), (UD, "UD")):
            run.check("%s, a bad link: what comes by %s is what was sent" % (words, kind_name),
                      lambda: unreliable(run, *way(), kind))
