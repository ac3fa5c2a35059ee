# SPDX-License-Identifier: BSD-3-Clause
#
# What must not work: requests with a wrong key, beyond a region, against rights, too long; receives
# that come late, or never; a peer that is gone. Each end must report the status that the standard
# has, the frame between them must carry the code for it, and nobody's memory may have changed. Where
# soft-RoCE departs from the standard the check's name says how.

from exchange import LENT, OWN, Exchange, exchange
from peers import (ALL_RIGHTS, CAS, ERR, FADD, LOCAL_WRITE, READ, REMOTE_ATOMIC, REMOTE_READ,
                   REMOTE_WRITE, SEND, SEND_INV, SIGNALED, STATUS, WRITE, WRITE_IMM, Link)
from rig import Sniffer, bth_of, demand

ACKNOWLEDGE = 0x11
NAK_INVALID, NAK_ACCESS, NAK_OPERATIONAL = 0x61, 0x62, 0x63
RTS = 3
LENGTH = 3000
# A part of the lent half that is registered anew, with fewer rights.
ODD = LENT + (20 << 20)


def demand_status(what, completions, wanted):
    told = [STATUS.get(c.status, c.status) for c in completions]
    demand(told == wanted, "%s: %s, not %s" % (what, told, wanted))


class Refusal:
    """A link on which a request is to fail."""

    def __init__(self, asks, answers, **named):
        self.link = Link(asks, answers, **named)
        self.a, self.b = self.link.ends
        self.sniffer = Sniffer()
        self.b.peer.ask("fill", at=LENT, len=2 * LENGTH, seed=7)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.link.close()

    def recv(self, length, number=0, at=LENT, lkey=None):
        self.b.ask("recv", id=number, at=at, len=length, lkey=lkey or self.b.peer.all["lkey"])

    def send(self, op, length=LENGTH, number=0, to=None, rkey=None, inv=0):
        lent = self.b.peer.all
        self.a.ask("send", id=number, op=op, flags=SIGNALED, at=OWN, len=length,
                   lkey=self.a.peer.all["lkey"], to=lent["addr"] + LENT if to is None else to,
                   rkey=lent["rkey"] if rkey is None else rkey, imm=1, inv=inv, add=1, swap=1)

    def demand_end(self, asked, nak=None, answered=(), states=(ERR, ERR)):
        """asked, answered: the statuses of all that is outstanding at either end, in order."""
        got = self.a.poll(len(asked))
        demand_status("the one that asked (%s)" % self.a, got, list(asked))
        taken = self.b.poll(len(answered), 5000)
        demand_status("the one that was asked (%s)" % self.b, taken, list(answered))
        told = [bth[12] for is_uroces, bth in
                ((o, bth_of(f)) for o, f in self.sniffer.take())
                if bth and bth[0] == ACKNOWLEDGE and bth[12] >= 0x60]
        if nak:
            demand(told == [nak], "NAKs on the wire:", [hex(n) for n in told])
        for end, state in zip(self.link.ends, states):
            demand(end.state() == state, end.peer.name, "is in state", end.state())
        self.b.peer.ask("check", at=LENT, len=2 * LENGTH, seed=7)


def wrong_key(asks, answers, op):
    with Refusal(asks, answers) as r:
        r.send(op, rkey=r.b.peer.all["rkey"] ^ 0x55, length=8 if op in (FADD, CAS) else LENGTH)
        # What was posted behind it.
        r.send(WRITE, number=1, to=0, rkey=0)
        r.demand_end(["REM_ACCESS_ERR", "WR_FLUSH_ERR"], NAK_ACCESS)


def beyond_region(asks, answers, op):
    """One byte too many; what lies in front of it must not be written either."""
    region = answers.register(LENT, LENGTH - 1, ALL_RIGHTS)
    with Refusal(asks, answers, mtu=256) as r:
        r.send(op, to=region["addr"], rkey=region["rkey"])
        r.demand_end(["REM_ACCESS_ERR"], NAK_ACCESS)


def without_right(asks, answers, op, access):
    region = answers.register(LENT, LENGTH, access)
    with Refusal(asks, answers) as r:
        r.send(op, to=region["addr"], rkey=region["rkey"],
               length=8 if op in (FADD, CAS) else LENGTH)
        r.demand_end(["REM_ACCESS_ERR"], NAK_ACCESS)


def against_queue_pair(asks, answers, op):
    """The region allows it, the queue pair does not."""
    with Refusal(asks, answers, access=(ALL_RIGHTS, LOCAL_WRITE)) as r:
        r.send(op, length=8 if op in (FADD, CAS) else LENGTH)
        r.demand_end(["REM_INV_REQ_ERR"], NAK_INVALID)


def too_long(asks, answers, asked, nak, answered):
    with Refusal(asks, answers) as r:
        r.recv(LENGTH - 1, at=ODD)
        r.recv(LENGTH, number=1, at=ODD)
        r.send(SEND)
        r.demand_end([asked], nak, [answered, "WR_FLUSH_ERR"])


def bad_receive(asks, answers, answered):
    """The receive's own key is wrong: that is the receiver's fault."""
    with Refusal(asks, answers) as r:
        r.recv(LENGTH, lkey=r.b.peer.all["lkey"] ^ 0x55)
        r.send(SEND)
        r.demand_end(["REM_OP_ERR"], NAK_OPERATIONAL, [answered])


def ended_key(asks, answers):
    """A window's key, after the peer's SEND with invalidate."""
    with Refusal(asks, answers) as r:
        key = r.b.bind(LENT, LENGTH)
        for number in (0, 1):
            r.recv(LENGTH, at=ODD, number=number)
        r.send(SEND_INV, length=8, inv=key)
        demand_status("the SEND", r.a.poll(1), ["SUCCESS"])
        demand_status("its receive", r.b.poll(1), ["SUCCESS"])
        r.send(WRITE, rkey=key)
        r.demand_end(["REM_ACCESS_ERR"], NAK_ACCESS, ["WR_FLUSH_ERR"])


def not_ready(asks, answers, op):
    """The receive comes after the request: it is asked for again, and nothing is lost."""
    before = asks.counters() + answers.counters()
    with Link(asks, answers) as link:
        late = Exchange(link, [(op, LENGTH)] * 3, late=True)
        late.post()
        demand(link.a.poll(1, 300) == [], "it ended without a receive")
        late.post_receives()
        late.finish()
        late.check_memory()
    counted = asks.counters() + answers.counters() - before
    demand(counted["rnr_nak_sent"] + counted["rnr_nak_received"] > 0, "no RNR NAK was counted")


def never_ready(asks, answers):
    """Two retries are allowed: three RNR NAKs, and that is the end of it."""
    with Refusal(asks, answers, settings=({"rnr_retry": 2}, {})) as r:
        r.send(SEND)
        r.send(SEND, number=1)
        got = r.a.poll(2)
        demand_status("the one that asked", got, ["RNR_RETRY_EXC_ERR", "WR_FLUSH_ERR"])
        demand(r.a.state() == ERR and r.b.state() == RTS, "states:", r.a.state(), r.b.state())
        naks = [bth for _, bth in ((o, bth_of(f)) for o, f in r.sniffer.take())
                if bth and bth[0] == ACKNOWLEDGE and bth[12] >> 5 == 1]
        demand(len(naks) == 3, len(naks), "RNR NAKs")


def gone(asks, answers):
    with Refusal(asks, answers, settings=({"timeout": 14, "retry": 2}, {})) as r:
        r.b.ask("error")
        r.send(WRITE)
        r.send(READ, number=1)
        demand_status("the one that asked", r.a.poll(2), ["RETRY_EXC_ERR", "WR_FLUSH_ERR"])


def still_there(asks, answers):
    """After all that an ordinary exchange works."""
    with Link(asks, answers) as link:
        exchange(link, [(op, LENGTH) for op in (SEND, WRITE, READ, FADD)])


def all_checks(run):
    ways = (("soft-RoCE refuses", lambda: (run.uroce, run.rxe)),
            ("uroce refuses", lambda: (run.rxe, run.uroce)))
    names = {WRITE: "WRITE", READ: "READ", FADD: "FETCH_ADD", CAS: "COMPARE_SWAP",
             WRITE_IMM: "WRITE with immediate"}
    rights = {WRITE: LOCAL_WRITE | REMOTE_READ | REMOTE_ATOMIC,
              READ: LOCAL_WRITE | REMOTE_WRITE | REMOTE_ATOMIC,
              FADD: LOCAL_WRITE | REMOTE_READ | REMOTE_WRITE}
    for refuses, way in ways:
        for op in (WRITE, READ, FADD, CAS, WRITE_IMM):
            run.check("%s a %s with a wrong key" % (refuses, names[op]),
                      lambda: wrong_key(*way(), op))
        for op in (WRITE, READ):
            run.check("%s a %s beyond the region's end" % (refuses, names[op]),
                      lambda: beyond_region(*way(), op))
        for op, access in rights.items():
            run.check("%s a %s that the region does not allow" % (refuses, names[op]),
                      lambda: without_right(*way(), op, access))
            run.check("%s a %s that the queue pair does not allow" % (refuses, names[op]),
                      lambda: against_queue_pair(*way(), op))
        run.check("%s a key that a SEND with invalidate has ended" % refuses,
                  lambda: ended_key(*way()))
    run.check("uroce refuses a SEND longer than its receive",
              lambda: too_long(run.rxe, run.uroce, "REM_INV_REQ_ERR", NAK_INVALID, "LOC_LEN_ERR"))
    run.check("soft-RoCE calls a SEND longer than its receive an operational error, and uroce "
              "reports that", lambda: too_long(run.uroce, run.rxe, "REM_OP_ERR", NAK_OPERATIONAL,
                                               "LOC_QP_OP_ERR"))
    run.check("uroce tells a peer that a receive of its own is bad",
              lambda: bad_receive(run.rxe, run.uroce, "LOC_PROT_ERR"))
    run.check("soft-RoCE tells uroce that a receive of its own is bad",
              lambda: bad_receive(run.uroce, run.rxe, "LOC_QP_OP_ERR"))
    for words, way in (("uroce asks", ways[0][1]), ("soft-RoCE asks", ways[1][1])):
        for op in (SEND, WRITE_IMM):
            run.check("%s: a receive that comes late is waited for (%s)" %
                      (words, "SEND" if op == SEND else names[op]), lambda: not_ready(*way(), op))
        run.check("%s: RNR retries end when they are used up" % words, lambda: never_ready(*way()))
        run.check("%s: retries end when the peer is gone" % words, lambda: gone(*way()))
        run.check("%s: after all refusals an exchange works" % words, lambda: still_there(*way()))
