# SPDX-License-Identifier: BSD-3-Clause
#
# Exchanges: a list of requests, all posted at once, and everything that must be true when they are
# done: each completion at either end, each byte that was to arrive, and the bytes around it, which
# nobody may have touched.

from peers import (CAS, FADD, OP_NAMES, READ, SENT_AS, SEND_IMM, SEND_INV, SIGNALED, TAKEN_AS, UD,
                   WITH_IMM, WITH_INV, WRITE_IMM, demand_done)
from rig import demand

# Requests come from and answers go to the first half of a peer's memory, what is written or read
# by the other end lies in the second.
OWN, LENT, HALF = 0, 24 << 20, 24 << 20
BACKGROUND = 999
GUARD = 64
GRH = 40
WORD = 0x1111111111111111


class Request:
    """One request of an exchange, and where its bytes are at both ends."""

    def __init__(self, number, op, size, at):
        self.number, self.op, self.size = number, op, 8 if op in (CAS, FADD) else size
        # Odd places, but for atomics.
        self.shift = at + GUARD + (0 if op in (CAS, FADD) else number % 7)
        self.seed = number + 1
        self.imm = 0xabcd0000 + number

    def end(self):
        """Where the next may begin: a multiple of 8."""
        return (self.shift + self.size + GRH + 2 * GUARD) & ~7

    def is_received(self):
        return self.op in TAKEN_AS

    def __str__(self):
        return "request %d (%s of %d bytes)" % (self.number, OP_NAMES[self.op], self.size)


def lay_out(ops):
    requests, at = [], 0
    for number, (op, size) in enumerate(ops):
        requests.append(Request(number, op, size, at))
        at = requests[-1].end()
    demand(at <= HALF, "this exchange needs more memory than there is")
    return requests, at


def prepare(link, requests, total):
    """Fills both memories; returns the atomics' words as they must be before each request."""
    for end in (link.a, link.b):
        for half in (OWN, LENT):
            end.peer.ask("fill", at=half, len=total, seed=BACKGROUND, skip=half)
    sources = {link.a: [], link.b: []}
    for r in requests:
        if r.op not in (CAS, FADD):
            end, half = (link.b, LENT) if r.op == READ else (link.a, OWN)
            sources[end].append(("fill", {"at": half + r.shift, "len": r.size, "seed": r.seed}))
    for end, fills in sources.items():
        end.peer.ask_all(fills)
    grh = GRH if link.kind == UD else 0
    link.b.peer.ask_all([
        ("recv", {"qp": link.b.slot, "id": r.number, "at": LENT + r.shift - grh,
                  "len": 0 if r.op == WRITE_IMM else r.size + grh + r.number % 2 * 10,
                  "lkey": link.b.peer.all["lkey"]}) for r in requests if r.is_received()])


def send_command(link, r, window, word_at, word):
    """The command that posts a request, and the atomic's word after it."""
    lent = link.b.peer.all
    named = {"qp": link.a.slot, "id": r.number, "op": r.op, "flags": SIGNALED,
             "at": OWN + r.shift, "len": r.size, "lkey": link.a.peer.all["lkey"],
             "imm": r.imm, "inv": window}
    if r.op in (CAS, FADD):
        named.update(to=lent["addr"] + word_at, rkey=lent["rkey"])
        named.update(add=0x100 + r.number if r.op == FADD else word, swap=r.number << 32)
        word = word + 0x100 + r.number if r.op == FADD else r.number << 32
    elif not r.is_received() or r.op == WRITE_IMM:
        named.update(to=lent["addr"] + LENT + r.shift, rkey=lent["rkey"])
    return ("send", named), word


def check_receive(link, r, c, window):
    grh = GRH if link.kind == UD else 0
    demand(c.status == 0, r, "was received with status", c.status, "at", link.b)
    demand(c.id == r.number and c.opcode == TAKEN_AS[r.op], r, "was received as", c)
    demand(c.bytes == r.size + grh, r, "was received with", c.bytes, "bytes")
    if r.op in (SEND_IMM, WRITE_IMM):
        demand(c.flags & WITH_IMM and c.imm == r.imm, r, "has other immediate data:", c)
    elif r.op == SEND_INV:
        demand(c.flags & WITH_INV and c.imm == window, r, "invalidated another key:", c)
    else:
        demand(not c.flags & (WITH_IMM | WITH_INV), r, "came with more than was sent:", c)
    if link.kind == UD:
        demand(c.src == link.a.qpn, r, "is said to come from", c.src)


def check_bytes(link, requests):
    """What was moved, and the guards around it."""
    checks = {link.a: [], link.b: []}
    for r in requests:
        if r.op in (CAS, FADD):
            continue
        end, at = (link.a, OWN + r.shift) if r.op == READ else (link.b, LENT + r.shift)
        grh = GRH if link.kind == UD else 0
        checks[end] += [
            ("check", {"at": at, "len": r.size, "seed": r.seed}),
            ("check", {"at": at - grh - 32, "len": 32, "seed": BACKGROUND, "skip": at - grh - 32}),
            ("check", {"at": at + r.size, "len": 32, "seed": BACKGROUND, "skip": at + r.size})]
    for end, commands in checks.items():
        end.peer.ask_all(commands)


def exchange(link, ops):
    """Requests of a link's first end, as (opcode, bytes); raises Failed if anything is wrong."""
    requests, total = lay_out(ops)
    prepare(link, requests, total)
    window = 0
    if any(r.op == SEND_INV for r in requests):
        window = int(link.b.ask("bind", lkey=link.b.peer.all["lkey"], at=LENT, len=4096,
                                access=2).split("=")[1], 0)
    word_at = LENT + total - total % 8
    link.b.peer.word(word_at, WORD)
    word, before, sends = WORD, {}, []
    for r in requests:
        before[r.number] = word
        command, word = send_command(link, r, window, word_at, word)
        sends.append(command)
    link.a.peer.ask_all(sends)
    done = link.a.poll(len(requests))
    demand_done(link, done, len(requests))
    for r, c in zip(requests, done):
        demand(c.id == r.number and c.opcode == SENT_AS[r.op], r, "ended as", c)
        if r.op in (CAS, FADD):
            old = link.a.peer.word(OWN + r.shift)
            demand(old == before[r.number], r, "fetched 0x%x, not 0x%x" % (old, before[r.number]))
    received = [r for r in requests if r.is_received()]
    taken = link.b.poll(len(received))
    demand(len(taken) == len(received), len(taken), "of", len(received), "were received at", link.b)
    for r, c in zip(received, taken):
        check_receive(link, r, c, window)
    demand(link.b.peer.word(word_at) == word, "the word of the atomics is wrong")
    check_bytes(link, requests)
