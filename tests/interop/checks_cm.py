# SPDX-License-Identifier: BSD-3-Clause
#
# Connection management: Debian's unmodified rping, ucmatose and udaddy (rdmacm-utils) in the guest
# against uroce, either side connecting and either side ending it; and each way to fail, which both
# sides must tell from the others.

import rig
from connections import (Connection, expect, linux_pings, linux_speaks, listen, new_port,
                         uroce_asks_udaddy, uroce_pings, uroce_speaks)
from peers import RC
from rig import demand

NETS = {"v4": "IPv4", "v6": "IPv6"}
NOBODY = "192.0.2.200"


def ask(run, port, net="v4", addr=None, private=b""):
    """uroce wants to connect: the connection, in a with statement."""
    return Connection(run.uroce, RC, net).connect(addr or rig.GUEST_ADDRS[net], port, private)


def uroce_finds_nobody_listening(run):
    with ask(run, new_port()):
        event = expect(run.uroce, "REJECTED", reason="8")
        demand("listen" in event["words"], "words:", event["words"])


def uroce_finds_nobody(run):
    with ask(run, new_port(), addr=NOBODY):
        event = expect(run.uroce, "UNREACHABLE", error="EHOSTUNREACH")
        demand(NOBODY in event["words"] or "answer" in event["words"], "words:", event["words"])


def uroce_is_rejected(run):
    port = new_port()
    peer = run.guest.start("cma_peer tcp listen %d reject no-thanks" % port)
    demand(peer.line() == "ready", "cma_peer is not ready")
    with ask(run, port, private=b"please"):
        event = expect(run.uroce, "REJECTED", reason="28")
        demand(event["private"].startswith(b"no-thanks"), "private data:", event["private"])
    peer.close()


def what_linux_sees(run, port):
    """The last event of a guest's attempt to connect to uroce: its name, status and private data."""
    peer = run.guest.start("cma_peer tcp connect %s %d please" % (rig.UROCE_ADDRS["v4"], port))
    demand(peer.line() == "ready", "cma_peer is not ready")
    try:
        while True:
            words = peer.line().split(" ", 2)
            if not words[0].endswith("RESOLVED"):
                return words
    finally:
        peer.close()


def linux_finds_nobody_listening(run):
    name, status, _ = what_linux_sees(run, new_port())
    demand((name, status) == ("RDMA_CM_EVENT_REJECTED", "8"), "it saw", name, status)


def linux_is_rejected(run):
    port = new_port()
    listener = listen(run.uroce, port)
    peer = run.guest.start("cma_peer tcp connect %s %d please" % (rig.UROCE_ADDRS["v4"], port))
    try:
        request = expect(run.uroce, "REQUEST")
        demand(request["private"].startswith(b"please"), "private data:", request["private"])
        run.uroce.ask("cm_reject", conn=request["conn"], private=b"no-thanks".hex())
        said = ""
        while "REJECTED" not in said:
            said = peer.line()
        demand(said.startswith("RDMA_CM_EVENT_REJECTED 28 no-thanks"), "it saw", said)
    finally:
        peer.close()
        run.uroce.ask("cm_destroy", conn=request["conn"])
        run.uroce.ask("cm_destroy", conn=listener)


def all_checks(run):
    for net, size in (("v4", 64), ("v4", 40000), ("v6", 3001)):
        run.check("%s: rping's server answers uroce, %d bytes" % (NETS[net], size),
                  lambda: uroce_pings(run, net, 5, size))
        run.check("%s: uroce answers rping's client, %d bytes" % (NETS[net], size),
                  lambda: linux_pings(run, net, 5, size))
    for net in NETS:
        run.check("%s: ucmatose answers uroce" % NETS[net], lambda: uroce_speaks(run, net))
        run.check("%s: uroce answers ucmatose" % NETS[net], lambda: linux_speaks(run, net))
        run.check("%s: udaddy's server answers uroce" % NETS[net],
                  lambda: uroce_asks_udaddy(run, net))
    run.check("connecting: uroce is told that nobody listens at soft-RoCE's port",
              lambda: uroce_finds_nobody_listening(run))
    run.check("connecting: uroce is told that nobody is there", lambda: uroce_finds_nobody(run))
    run.check("connecting: uroce is told that a soft-RoCE peer rejects, and what it says",
              lambda: uroce_is_rejected(run))
    run.check("connecting: soft-RoCE is told that nobody listens at uroce's port",
              lambda: linux_finds_nobody_listening(run))
    run.check("connecting: soft-RoCE is told that uroce rejects, and what it says",
              lambda: linux_is_rejected(run))
