# SPDX-License-Identifier: BSD-3-Clause
#
# Exchanges: a list of requests, all posted at once, and everything that must be true when they are
# done: each completion at either end, each byte that was to arrive, and the bytes around it, which
# nobody may have touched.

from peers import (CAS, FADD, OP_NAMES, READ, SEND_IMM, SEND_INV, SENT_AS, SIGNALED, TAKEN_AS, UD,
                   WITH_IMM, WITH_INV, WRITE_IMM, demand_done)
from rig import demand

# Requests come from and answers go to the first half of a peer's memory; what the other end writes
# or reads lies in the second.
OWN, LENT, HALF = 0, 24 << 20, 24 << 20
BACKGROUND = 999
GUARD = 32
GRH = 40
WORD = 0x1111111111111111


class Request:
    """One request of an exchange, and where its bytes are at both ends."""

    def __init__(self, number, op, size, at):
        self.number, self.op, self.size = number, op, 8 if op in (CAS, FADD) else size
        # Odd places, but for atomics.
        self.shift = at + GRH + GUARD + (0 if op in (CAS, FADD) else number % 7)
        self.seed = at + number + 1
        self.imm = 0xabcd0000 + number
        self.word_before = None

    def end(self):
        """Where the next may begin: a multiple of 8."""
        return (self.shift + self.size + GUARD + 7) & ~7

    def is_atomic(self):
        return self.op in (CAS, FADD)

    def is_received(self):
        return self.op in TAKEN_AS

    def __str__(self):
        return "request %d (%s of %d bytes)" % (self.number, OP_NAMES[self.op], self.size)


class Exchange:
    """Requests of a link's first end, as (opcode, bytes). Several may be under way at once, if each
    has a part of the memory to itself: from `base` to `end` of either half."""

    def __init__(self, link, ops, base=0, late=False):
        """late: receives are posted only by post_receives."""
        self.link, self.a, self.b = link, link.a, link.b
        self.grh = GRH if link.kind == UD else 0
        self.requests, self.base, at = [], base, base
        for number, (op, size) in enumerate(ops):
            self.requests.append(Request(number, op, size, at))
            at = self.requests[-1].end()
        self.received = [r for r in self.requests if r.is_received()]
        self.word_at, self.word, self.window = LENT + at, WORD, 0
        self.end = at + 8
        demand(self.end <= HALF, "this exchange needs more memory than there is")
        self.prepare()
        if not late:
            self.post_receives()

    def prepare(self):
        """Memory, and the window of a SEND with invalidate."""
        for end in (self.a, self.b):
            end.peer.ask_all([("fill", {"at": half + self.base, "len": self.end - self.base,
                                        "seed": BACKGROUND, "skip": half + self.base})
                              for half in (OWN, LENT)])
        fills = {self.a: [], self.b: []}
        for r in self.requests:
            if not r.is_atomic():
                end, half = (self.b, LENT) if r.op == READ else (self.a, OWN)
                fills[end].append(("fill", {"at": half + r.shift, "len": r.size, "seed": r.seed}))
        for end, commands in fills.items():
            end.peer.ask_all(commands)
        self.b.peer.word(self.word_at, WORD)
        if any(r.op == SEND_INV for r in self.requests):
            self.window = self.b.bind(LENT + self.base, 4096)

    def post_receives(self):
        self.b.peer.ask_all([
            ("recv", {"qp": self.b.slot, "id": r.number, "at": LENT + r.shift - self.grh,
                      "len": 0 if r.op == WRITE_IMM else r.size + self.grh + r.number % 2 * 10,
                      "lkey": self.b.peer.all["lkey"]}) for r in self.received])

    def command_of(self, r):
        """The command that posts a request."""
        lent = self.b.peer.all
        named = {"qp": self.a.slot, "id": r.number, "op": r.op, "flags": SIGNALED,
                 "at": OWN + r.shift, "len": r.size, "lkey": self.a.peer.all["lkey"],
                 "imm": r.imm, "inv": self.window}
        if r.is_atomic():
            r.word_before = self.word
            named.update(to=lent["addr"] + self.word_at, rkey=lent["rkey"])
            if r.op == FADD:
                self.word += 0x100 + r.number
                named["add"] = 0x100 + r.number
            else:
                # Every other one finds another word, and must leave it.
                is_equal = r.number % 2 == 0
                named.update(add=self.word if is_equal else self.word ^ 1, swap=r.number << 32)
                self.word = r.number << 32 if is_equal else self.word
        elif not r.is_received() or r.op == WRITE_IMM:
            named.update(to=lent["addr"] + LENT + r.shift, rkey=lent["rkey"])
        return ("send", named)

    def post(self, requests=None):
        self.a.peer.ask_all([self.command_of(r) for r in requests or self.requests])

    def finish(self, requests=None):
        """Waits for the completions of both ends."""
        requests = requests or self.requests
        done = self.a.poll(len(requests))
        demand_done(self.link, done, len(requests))
        for r, c in zip(requests, done):
            demand(c.id == r.number and c.opcode == SENT_AS[r.op], r, "ended as", c)
        received = [r for r in requests if r.is_received()]
        taken = self.b.poll(len(received))
        demand(len(taken) == len(received), len(taken), "of", len(received), "were received at",
               self.b)
        for r, c in zip(received, taken):
            self.check_receive(r, c)

    def check_receive(self, r, c):
        demand(c.status == 0, r, "was received with status", c.status, "at", self.b)
        demand(c.id == r.number and c.opcode == TAKEN_AS[r.op], r, "was received as", c)
        demand(c.bytes == r.size + self.grh, r, "was received with", c.bytes, "bytes")
        if r.op in (SEND_IMM, WRITE_IMM):
            demand(c.flags & WITH_IMM and c.imm == r.imm, r, "has other immediate data:", c)
        elif r.op == SEND_INV:
            demand(c.flags & WITH_INV and c.imm == self.window, r, "ended another key:", c)
        else:
            demand(not c.flags & (WITH_IMM | WITH_INV), r, "came with more than was sent:", c)
        if self.link.kind == UD:
            demand(c.src == self.a.qpn, r, "is said to come from", c.src)

    def check_memory(self):
        """What was moved, and the guards around it."""
        checks = {self.a: [], self.b: []}
        for r in self.requests:
            if r.is_atomic():
                old = self.a.peer.word(OWN + r.shift)
                demand(old == r.word_before, r, "fetched 0x%x, not 0x%x" % (old, r.word_before))
                continue
            end, at = (self.a, OWN + r.shift) if r.op == READ else (self.b, LENT + r.shift)
            guards = (at - self.grh - GUARD, at + r.size)
            checks[end].append(("check", {"at": at, "len": r.size, "seed": r.seed}))
            checks[end] += [("check", {"at": guard, "len": GUARD, "seed": BACKGROUND,
                                  "skip": guard})
                            for guard in guards]
        for end, commands in checks.items():
            end.peer.ask_all(commands)
        demand(self.b.peer.word(self.word_at) == self.word, "the atomics' word is wrong")


def exchange(link, ops, at_once=True):
    """All of it. at_once: posts all requests before it waits for any."""
    whole = Exchange(link, ops)
    if at_once:
        whole.post()
        whole.finish()
    else:
        for r in whole.requests:
            whole.post([r])
            whole.finish([r])
    whole.check_memory()
