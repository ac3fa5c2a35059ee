# SPDX-License-Identifier: BSD-3-Clause
#
# The two peers, as the test run sees them: what talk.c understands, and pairs of connected queue
# pairs. Either peer can be either end; nothing here knows which of them is uroce.

import collections

from rig import Failed, demand

RC, UC, UD = 2, 3, 4
WRITE, WRITE_IMM, SEND, SEND_IMM, READ, CAS, FADD, SEND_INV = 0, 1, 2, 3, 4, 5, 6, 9
OP_NAMES = {WRITE: "WRITE", WRITE_IMM: "WRITE_IMM", SEND: "SEND", SEND_IMM: "SEND_IMM",
            READ: "READ", CAS: "CAS", FADD: "FADD", SEND_INV: "SEND_INV"}
# The opcodes of completions: of the request, and of the receive.
SENT_AS = {WRITE: 1, WRITE_IMM: 1, SEND: 0, SEND_IMM: 0, SEND_INV: 0, READ: 2, CAS: 3, FADD: 4}
TAKEN_AS = {SEND: 128, SEND_IMM: 128, SEND_INV: 128, WRITE_IMM: 129}
WITH_IMM, WITH_INV = 2, 8
SIGNALED = 2
LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, MW_BIND = 1, 2, 4, 8, 16
ALL_RIGHTS = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC
STATUS = {0: "SUCCESS", 1: "LOC_LEN_ERR", 2: "LOC_QP_OP_ERR", 4: "LOC_PROT_ERR",
          5: "WR_FLUSH_ERR", 6: "MW_BIND_ERR", 7: "BAD_RESP_ERR", 8: "LOC_ACCESS_ERR",
          9: "REM_INV_REQ_ERR", 10: "REM_ACCESS_ERR", 11: "REM_OP_ERR", 12: "RETRY_EXC_ERR",
          13: "RNR_RETRY_EXC_ERR", 19: "FATAL_ERR", 21: "GENERAL_ERR"}
ERR = 6
MEMORY_BYTES = 48 << 20
POLL_MS = 60000

Completion = collections.namedtuple("Completion", "id status opcode bytes flags imm src")


class Peer:
    """One of the two programs."""

    def __init__(self, name, stream):
        self.name, self.stream = name, stream
        self.slots = set()
        self.all = self.register(0, MEMORY_BYTES, ALL_RIGHTS | MW_BIND)

    def ask_all(self, commands):
        """Commands (a word and a dictionary each), sent at once; their answers in words."""
        self.stream.say("".join("%s %s\n" % (word, " ".join("%s=%s" % i for i in named.items()))
                                for word, named in commands))
        answers = []
        for word, named in commands:
            answer = self.stream.line()
            if not answer.startswith("ok"):
                raise Failed("%s: %s %s: %s" % (self.name, word, named, answer))
            answers.append(answer[3:])
        return answers

    def ask(self, word, **named):
        return self.ask_all([(word, named)])[0]

    def values(self, word, **named):
        return dict(pair.split("=", 1) for pair in self.ask(word, **named).split())

    def register(self, at, length, access):
        told = self.values("register", at=at, len=length, access=access)
        return {name: int(value, 0) for name, value in told.items()}

    def word(self, at, value=None):
        named = {"at": at}
        if value is not None:
            named["set"] = hex(value)
        return int(self.values("word", **named)["value"], 0)

    def counters(self):
        return collections.Counter({k: int(v) for k, v in self.values("counters").items()})


class End:
    """A queue pair of a peer."""

    def __init__(self, peer, kind, net, access=ALL_RIGHTS, wr=256):
        self.peer, self.kind = peer, kind
        self.slot = min(set(range(32)) - peer.slots)
        told = peer.values("create", qp=self.slot, type=kind, net=net, access=access, wr=wr)
        peer.slots.add(self.slot)
        self.qpn, self.gid = int(told["qpn"]), told["gid"]

    def ask(self, word, **named):
        return self.peer.ask(word, qp=self.slot, **named)

    def poll(self, n, ms=POLL_MS):
        """n completions, or those that have come when the time is over."""
        return [Completion(*(int(v) for v in text.split(",")))
                for text in self.ask("poll", n=n, ms=ms).split()]

    def state(self):
        return int(self.ask("state").split("=")[1])

    def bind(self, at, length):
        """The key of a new window over a part of the memory, which can be written and read."""
        told = self.ask("bind", lkey=self.peer.all["lkey"], at=at, len=length,
                        access=REMOTE_WRITE | REMOTE_READ)
        return int(told.split("=")[1], 0)

    def close(self):
        self.ask("destroy")
        self.peer.slots.remove(self.slot)

    def __str__(self):
        return "%s (%s)" % (self.peer.name, self.ask("why"))


class Link:
    """Two ends, connected; the first is the one that asks in most tests."""

    def __init__(self, a, b, kind=RC, net="v4", mtu=1024, psns=(0x123456, 0x654321),
                 access=(ALL_RIGHTS, ALL_RIGHTS), settings=({}, {})):
        self.kind, self.net, self.mtu = kind, net, mtu
        self.ends = []
        try:
            for peer, rights in zip((a, b), access):
                self.ends.append(End(peer, kind, net, rights))
            for i in (1, 0):
                self.connect(i, psns, settings[i])
        except Failed:
            self.close()
            raise
        self.a, self.b = self.ends

    def connect(self, i, psns, settings):
        other = self.ends[1 - i]
        route = {"qpn": other.qpn, "gid": other.gid, "psn": psns[1 - i], "own_psn": psns[i],
                 "mtu": self.mtu, "timeout": 18, "retry": 7, "rnr_retry": 7, "min_rnr": 12,
                 "rd": 16, "qkey": 0x11223344}
        route.update(settings)
        self.ends[i].ask("connect", **route)

    def close(self):
        for end in self.ends:
            end.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def demand_done(link, got, n):
    """n completions of the requester, in order and successful."""
    for c in got:
        demand(c.status == 0, "request", c.id, "ended", STATUS.get(c.status, c.status), "at",
               link.a, "; the other:", link.b)
    demand(len(got) == n, "only", len(got), "of", n, "requests ended at", link.a, "; the other:",
           link.b)
