# SPDX-License-Identifier: BSD-3-Clause
#
# Where soft-RoCE (of Linux 6.1) departs from the standard, and uroce gets along with it. Each check
# makes the situation by dropping chosen packets in the guest, so that it is the same every time. What
# it departs in with messages that are too long is among checks_errors' checks.

from checks_faults import PATIENT, TC
from exchange import LENT, OWN, Exchange
from peers import FADD, CAS, READ, SEND_IMM, SIGNALED, UC, WRITE, Link, demand_done
from rig import Sniffer, bth_of, demand

READ_REQUEST, READ_MIDDLE, READ_LAST = 0x0c, 0x0e, 0x0f
ACK, ATOMIC_ACK = 0x11, 0x12
TO_GUEST, FROM_GUEST = "ingress", "egress"
# Where the base transport header is, from the IPv4 header on; its opcode, and the word of its PSN.
OPCODE = "u8 0x%02x 0xff at 28"
PSN = "u32 0x%06x 0x00ffffff at 36"
READ_ANSWERS = (0x0d, READ_MIDDLE, READ_LAST, 0x10)
FIRST_PSN = 0x1000
MTU = 1024


class Dropping:
    """What the guest is not to receive, or to send; rules can be taken back one by one. The action is
    "trap", since rxe is told of what "drop" does away with on its way out, and sends it again without
    end."""

    def __init__(self, guest):
        self.guest, self.rules = guest, 0

    def __enter__(self):
        self.guest.run(TC + " qdisc add dev data clsact")
        return self

    def __exit__(self, *_):
        self.guest.run(TC + " qdisc del dev data clsact")

    def add(self, hook, *matches):
        self.rules += 1
        self.guest.run("%s filter add dev data %s pref %d protocol ip u32 %s action trap" %
                       (TC, hook, self.rules, " ".join("match " + m for m in matches)))
        return hook, self.rules

    def remove(self, rule):
        self.guest.run("%s filter del dev data %s pref %d" % (TC, *rule))


def read_from_the_middle(run):
    """The third packet of an answer is lost."""
    with Link(run.uroce, run.rxe, mtu=MTU, psns=(FIRST_PSN, FIRST_PSN),
              settings=(PATIENT, PATIENT)) as link, Dropping(run.guest) as dropping:
        whole = Exchange(link, [(READ, 6 * MTU)])
        rule = dropping.add(FROM_GUEST, PSN % (FIRST_PSN + 2))
        sniffer = Sniffer()
        whole.post()
        demand(link.a.poll(1, 100) == [], "the answer was complete all the same")
        dropping.remove(rule)
        whole.finish()
        whole.check_memory()
    repeated, answer = None, None
    for is_uroces, frame in sniffer.take():
        bth = bth_of(frame)
        psn = bth and int.from_bytes(bth[9:12], "big")
        if bth and is_uroces and bth[0] == READ_REQUEST and psn == FIRST_PSN + 2:
            repeated = psn
        if bth and not is_uroces and repeated and psn == repeated:
            answer = answer or bth[0]
    demand(answer == READ_MIDDLE, "the repeat was answered with opcode", answer)


def repeats_behind(run, op):
    """The answer of a WRITE and of what follows it are lost, and then that of what follows alone:
    soft-RoCE would take an ACK with its PSN for it."""
    with Link(run.rxe, run.uroce, psns=(FIRST_PSN, FIRST_PSN),
              settings=(PATIENT, PATIENT)) as link, Dropping(run.guest) as dropping:
        whole = Exchange(link, [(WRITE, 8), (op, 8)])
        answers = [dropping.add(TO_GUEST, OPCODE % opcode) for opcode in (ATOMIC_ACK, 0x10)]
        acks = dropping.add(TO_GUEST, OPCODE % ACK)
        before = run.uroce.counters()
        whole.post()
        demand(link.a.poll(1, 100) == [], "answered all the same")
        dropping.remove(acks)
        got = link.a.poll(2, 600)
        demand(len(got) == 1, "soft-RoCE took an ACK for an answer:", got)
        for rule in answers:
            dropping.remove(rule)
        got += link.a.poll(1)
        demand_done(link, got, 2)
        whole.check_memory()
        counted = run.uroce.counters() - before
        demand(counted["duplicate_request"] >= 2, "nothing was repeated:", dict(counted))


def behind_a_broken_message(asks, answers, run, hook, wanted):
    """Six UC messages of three packets; the middle of the second is lost."""
    size, num = 600, 6
    with Link(asks, answers, UC, mtu=256, psns=(FIRST_PSN, FIRST_PSN)) as link, \
            Dropping(run.guest) as dropping:
        dropping.add(hook, PSN % (FIRST_PSN + 4))
        asks.ask_all([("fill", {"at": OWN + i * 1024, "len": size, "seed": i + 1})
                      for i in range(num)])
        answers.ask_all([("recv", {"qp": link.b.slot, "id": i, "at": LENT + i * 1024, "len": size,
                                   "lkey": answers.all["lkey"]}) for i in range(num)])
        asks.ask_all([("send", {"qp": link.a.slot, "id": i, "op": SEND_IMM, "len": size, "imm": i,
                                "flags": SIGNALED, "at": OWN + i * 1024,
                                "lkey": asks.all["lkey"]}) for i in range(num)])
        demand_done(link, link.a.poll(num), num)
        taken = link.b.poll(len(wanted), 3000)
        demand(all(c.status == 0 for c in taken), "received", taken)
        demand([c.imm for c in taken] == wanted, "received", [c.imm for c in taken])
        answers.ask_all([("check", {"at": LENT + c.id * 1024, "len": size, "seed": c.imm + 1})
                         for c in taken])


def all_checks(run):
    run.check("soft-RoCE answers a READ that is repeated from its middle with MIDDLE to LAST, and "
              "uroce takes that", lambda: read_from_the_middle(run))
    for op, name in ((FADD, "FETCH_ADD"), (CAS, "COMPARE_SWAP"), (READ, "READ")):
        run.check("soft-RoCE takes an ACK with the PSN of a %s for its answer, and uroce sends none"
                  % name, lambda: repeats_behind(run, op))
    run.check("soft-RoCE loses the UC message behind a broken one too, and uroce hears no complaint",
              lambda: behind_a_broken_message(run.uroce, run.rxe, run, TO_GUEST, [0, 3, 4, 5]))
    run.check("uroce loses a broken UC message and nothing else",
              lambda: behind_a_broken_message(run.rxe, run.uroce, run, FROM_GUEST,
                                              [0, 2, 3, 4, 5]))
