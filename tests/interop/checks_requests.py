# SPDX-License-Identifier: BSD-3-Clause
#
# That requests are carried out: each opcode that soft-RoCE has, in both directions, by the three
# services, at every path MTU, over every kind of address, of every interesting size, one at a time
# and many at once. Its kernel (6.1) has neither ATOMIC WRITE nor FLUSH: nothing is said of those.

import contextlib
import random

from exchange import Exchange, exchange
from peers import (CAS, FADD, RC, READ, SEND, SEND_IMM, SEND_INV, UC, UD, WRITE, WRITE_IMM, Link)
from rig import Sniffer, bth_of, demand

NETS = {"v4": "IPv4", "v6": "IPv6"}
MTUS = (256, 512, 1024, 2048, 4096)
MIB = 1 << 20
# The packets that the requests of every_request and their answers are made of.
RC_REQUESTS = set(range(0x00, 0x0d)) | {0x13, 0x14, 0x16, 0x17}
RC_ANSWERS = {0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12}
UC_REQUESTS = set(range(0x20, 0x2c))
UD_REQUESTS = {0x64, 0x65}


def ops_of(kind, mtu):
    if kind == UD:
        return [(op, size) for size in (0, 1, 2, 3, 255, 1024, 4095, 4096)
                for op in (SEND, SEND_IMM)]
    sizes = (0, 1, 2, 3, mtu - 1, mtu, mtu + 1, 2 * mtu, 3 * mtu + 1, 5 * mtu + 2)
    if kind == UC:
        ops = [(op, size) for size in sizes for op in (WRITE, SEND, WRITE_IMM, SEND_IMM)]
        # What tells that the last WRITE has arrived.
        return ops + [(SEND, 1)]
    ops = [(op, size) for size in sizes
           for op in (SEND, WRITE, READ, SEND_IMM, FADD, WRITE_IMM, CAS)]
    # Only one each: it ends the only window of the queue pair.
    return ops + [(SEND_INV, mtu - 5)]


def every_request(asks, answers, kind, net, mtu):
    """Services without acknowledgement have no flow control either: one message at a time."""
    with Link(asks, answers, kind, net, mtu) as link:
        exchange(link, ops_of(kind, mtu), at_once=kind == RC)


def every_opcode(run, asks, answers):
    """Seen on the wire, so that what the checks above are said to cover is what they cover."""
    sniffer = Sniffer()
    every_request(asks, answers, RC, "v4", 256)
    every_request(asks, answers, UC, "v4", 256)
    every_request(asks, answers, UD, "v4", 4096)
    with Link(asks, answers, mtu=256) as link:
        exchange(link, [(SEND_INV, 700)])
    seen = {True: set(), False: set()}
    for is_uroces, frame in sniffer.take():
        bth = bth_of(frame)
        if bth:
            seen[is_uroces].add(bth[0])
    asked, answered = seen[asks is run.uroce], seen[asks is not run.uroce]
    missing = (RC_REQUESTS | UC_REQUESTS | UD_REQUESTS) - asked | RC_ANSWERS - answered
    demand(not missing, "never seen on the wire:", sorted(hex(m) for m in missing))


def large(asks, answers, mtu):
    for op in (WRITE, READ, SEND, WRITE_IMM):
        with Link(asks, answers, mtu=mtu) as link:
            exchange(link, [(op, 16 * MIB)])


def odd_sizes(asks, answers, seed):
    """Random requests, all in flight."""
    dice = random.Random(seed)
    kinds = (SEND, WRITE, READ, SEND_IMM, FADD, WRITE_IMM, CAS)
    ops = [(dice.choice(kinds), int(2 ** dice.uniform(0, 16.5)) - 1) for _ in range(200)]
    with Link(asks, answers, mtu=dice.choice(MTUS), net=dice.choice(list(NETS))) as link:
        exchange(link, ops)


def psn_wrap(asks, answers, first):
    with Link(asks, answers, mtu=256, psns=(first, first)) as link:
        exchange(link, [(op, 5000) for op in (WRITE, READ, SEND, FADD, READ, WRITE_IMM) * 3])


def both_at_once(run, num_links):
    """Queue pairs that ask at both ends, all posted before anything is waited for."""
    kinds = (SEND, WRITE, READ, SEND_IMM, FADD, WRITE_IMM, CAS)
    with contextlib.ExitStack() as stack:
        exchanges, base = [], 0
        for i in range(num_links):
            ends = (run.uroce, run.rxe) if i % 2 == 0 else (run.rxe, run.uroce)
            link = stack.enter_context(Link(*ends, net=list(NETS)[i // 2 % 2], mtu=MTUS[i % 5]))
            exchanges.append(Exchange(link, [(op, 1 + (i + k) * 997 % 20000)
                                             for k, op in enumerate(kinds * 5)], base))
            base = exchanges[-1].end
        for step in (Exchange.post, Exchange.finish, Exchange.check_memory):
            for one in exchanges:
                step(one)


def all_checks(run):
    ways = (("soft-RoCE carries out every %s request of uroce's", lambda: (run.uroce, run.rxe)),
            ("uroce carries out every %s request of soft-RoCE's", lambda: (run.rxe, run.uroce)))
    for net, net_name in NETS.items():
        for words, way in ways:
            for mtu in MTUS:
                for kind, kind_name in ((RC, "RC"), (UC, "UC")):
                    run.check("%s, path MTU %d: %s" % (net_name, mtu, words % kind_name),
                              lambda: every_request(*way(), kind, net, mtu))
            run.check("%s: %s" % (net_name, words % "UD"),
                      lambda: every_request(*way(), UD, net, 4096))
    for words, way in (("uroce asks", ways[0][1]), ("soft-RoCE asks", ways[1][1])):
        run.check("%s: every opcode was seen on the wire" % words,
                  lambda: every_opcode(run, *way()))
        for mtu in (1024, 4096):
            run.check("%s: messages of 16 MiB, path MTU %d" % (words, mtu),
                      lambda: large(*way(), mtu))
        for seed in (1, 2, 3):
            run.check("%s: 200 requests of random sizes, all in flight (seed %d)" % (words, seed),
                      lambda: odd_sizes(*way(), seed))
        for first in (0xffffff, 0xfffff0, 0x7ffff8):
            run.check("%s: packet numbers from 0x%06x on" % (words, first),
                      lambda: psn_wrap(*way(), first))
    run.check("sixteen queue pairs ask each other at once", lambda: both_at_once(run, 16))
