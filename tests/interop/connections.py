# SPDX-License-Identifier: BSD-3-Clause
#
# Connections of uroce's with programs of Linux's: what happens to them, and what is said on them by
# Debian's rping, ucmatose and udaddy. All data are checked where they arrive: by uroce here, or by
# the program, or come back from it and are checked then.

import itertools

import rig
from exchange import GRH, LENT, OWN
from peers import RC, READ, SEND, SEND_IMM, SIGNALED, STATUS, TAKEN_AS, UD, WRITE, End
from rig import demand

EVENT_MS = 30000
# All that Linux's udaddy has.
UDADDY_PORT, UDP_QKEY = 7174, 0x01234567
STRIDE = 16384
RECEIVED = TAKEN_AS[SEND]
# Messages of rping's: address, key and size of memory.
ADVICE_BYTES = 16
PRINTED_MAX = 100
ADVICE_OUT, ADVICE_IN = OWN + (1 << 20), LENT + (1 << 20)

ports = itertools.count(7300)


def new_port():
    """A port that no check has used: what an earlier one left behind does not matter."""
    return next(ports)


def next_event(peer, ms=EVENT_MS):
    """What happens next, as a dictionary; of type "none" if nothing does."""
    told, _, words = peer.ask("cm_event", ms=ms).partition(" words=")
    event = dict(pair.split("=", 1) for pair in told.split())
    event["words"] = words
    event["private"] = bytes.fromhex(event.get("private", ""))
    return event


def expect(peer, kind, **named):
    """The next event, which must be of that kind, with the values that are named."""
    event = next_event(peer)
    demand(event["type"] == kind, "not", kind, "but", event)
    for name, value in named.items():
        demand(event[name] == value, name, "is not", value, "in", event)
    return event


def listen(peer, port, **named):
    return int(peer.values("cm_listen", port=port, **named)["conn"])


class Connection(End):
    """A queue pair that is connected by connection management."""

    def __init__(self, peer, kind, net, posts=lambda end: None):
        """posts: posts what is to be received from the beginning."""
        super().__init__(peer, kind, net)
        self.number = None
        self.ask("cm_prepare", **({"qkey": UDP_QKEY} if kind == UD else {}))
        posts(self)

    def connect(self, addr, port, private=b""):
        told = self.ask("cm_connect", addr=addr, port=port, private=private.hex())
        self.number = int(told.split("=")[1])
        return self

    def accept(self, request):
        self.number = int(request["conn"])
        self.ask("cm_accept", conn=self.number)
        return self

    def disconnect(self):
        self.peer.ask("cm_disconnect", conn=self.number)

    def close(self):
        if self.number is not None:
            self.peer.ask("cm_destroy", conn=self.number)
        super().close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, op=SEND, **named):
        self.ask("send", op=op, flags=SIGNALED, lkey=self.peer.all["lkey"], **named)

    def recv(self, **named):
        self.ask("recv", lkey=self.peer.all["lkey"], **named)

    def wait(self, opcode, n=1):
        """n completions with that opcode; others may come between them."""
        found = []
        while len(found) < n:
            got = self.poll(1, EVENT_MS)
            demand(got, "only", len(found), "of", n, "completions with opcode", opcode)
            demand(got[0].status == 0, "ended as", STATUS.get(got[0].status, got[0]))
            found += [c for c in got if c.opcode == opcode]
        return found

    def get(self, at, length):
        return bytes.fromhex(self.peer.ask("get", at=at, len=length))

    def put(self, at, data):
        step = 1500
        self.peer.ask_all([("put", {"at": at + i, "hex": data[i:i + step].hex()})
                           for i in range(0, len(data), step)])


def wait_listening(guest, port):
    guest.run("until rdma resource show cm_id | grep -q ':%d .*LISTEN\\|LISTEN.*:%d '; "
              "do usleep 20000; done" % (port, port))


# ---- rping ----

def rping_text(ping, size):
    """What rping's client has in its memory."""
    head = b"rdma-ping-%d: " % ping
    first = 65 + ping % 58
    tail = bytes(65 + (first - 65 + i) % 58 for i in range(size - len(head)))
    return (head + tail)[:size - 1] + b"\0"


def post_advice(end):
    end.recv(at=ADVICE_IN, len=ADVICE_BYTES)


def send_advice(end, at, size):
    memory = end.peer.all
    end.put(ADVICE_OUT, (memory["addr"] + at).to_bytes(8, "big") +
            memory["rkey"].to_bytes(4, "big") + size.to_bytes(4, "big"))
    end.send(at=ADVICE_OUT, len=ADVICE_BYTES)


def take_advice(end):
    """Address, key and size of the peer's memory."""
    demand(end.wait(RECEIVED)[0].bytes == ADVICE_BYTES, "a message of another length")
    told = end.get(ADVICE_IN, ADVICE_BYTES)
    post_advice(end)
    return {"to": int.from_bytes(told[:8], "big"), "rkey": int.from_bytes(told[8:12], "big"),
            "len": int.from_bytes(told[12:], "big")}


def rping_ask(end, count, size):
    """As rping's client."""
    for ping in range(count):
        text = rping_text(ping, size)
        end.put(OWN, text)
        end.put(LENT, bytes(size))
        for at in (OWN, LENT):
            send_advice(end, at, size)
            take_advice(end)
        demand(end.get(LENT, size) == text, "rping's server wrote something else")


def rping_answer(end, count, size):
    """As rping's server."""
    for ping in range(count):
        end.send(READ, at=OWN, **take_advice(end))
        end.wait(2)
        demand(end.get(OWN, size) == rping_text(ping, size), "what was read is not rping's")
        end.send(at=ADVICE_OUT, len=ADVICE_BYTES)
        end.send(WRITE, at=OWN, **take_advice(end))
        end.wait(1)
        end.send(at=ADVICE_OUT, len=ADVICE_BYTES)


def rping_server(run, addr, port, size):
    # Long texts are not printed whole: what it wrote back is checked anyway.
    said = "-v " if size <= PRINTED_MAX else ""
    stream = run.guest.start_program("rping -s %s-S %d -a %s -p %d" % (said, size, addr, port))
    wait_listening(run.guest, port)
    return stream


def check_rping_said(said, count, size):
    """The server prints what it read."""
    for ping in range(count):
        text = rping_text(ping, size)[:-1].decode()
        demand("server ping data: %s\n" % text in said, "rping read something else:", said)


def uroce_pings(run, net, count, size, addr=None):
    """uroce connects, pings and disconnects."""
    addr, port = addr or rig.GUEST_ADDRS[net], new_port()
    server = rping_server(run, addr, port, size)
    try:
        with Connection(run.uroce, RC, net, post_advice).connect(addr, port) as end:
            expect(run.uroce, "ESTABLISHED")
            rping_ask(end, count, size)
            end.disconnect()
            expect(run.uroce, "DISCONNECTED", error="0")
    finally:
        said = server.finish()
    if size <= PRINTED_MAX:
        check_rping_said(said, count, size)


def linux_pings(run, net, count, size, addr=None):
    """rping connects, pings, checks what it gets and disconnects."""
    addr, port = addr or rig.UROCE_ADDRS[net], new_port()
    listener = listen(run.uroce, port)
    client = run.guest.start_program("rping -c -V -C %d -S %d -a %s -p %d" %
                                     (count, size, addr, port))
    try:
        request = expect(run.uroce, "REQUEST")
        with Connection(run.uroce, RC, net, post_advice).accept(request) as end:
            expect(run.uroce, "ESTABLISHED")
            rping_answer(end, count, size)
            expect(run.uroce, "DISCONNECTED", error="0")
    finally:
        run.uroce.ask("cm_destroy", conn=listener)
        client.finish()


# ---- ucmatose, udaddy ----

MESSAGES, MESSAGE_BYTES = 10, 100
TEXT = bytes(range(MESSAGE_BYTES))


def post_receives(end, extra=0):
    for i in range(MESSAGES):
        end.recv(at=LENT + i * STRIDE, len=MESSAGE_BYTES + extra)


def say(end, text, **named):
    end.put(OWN, text)
    for _ in range(MESSAGES):
        end.send(at=OWN, len=len(text), **named)


def hear(end, extra=0):
    """The texts of ten messages."""
    got = end.wait(RECEIVED, MESSAGES)
    for completion in got:
        demand(completion.bytes == MESSAGE_BYTES + extra, "a message of", completion.bytes)
    return [end.get(LENT + i * STRIDE + extra, MESSAGE_BYTES) for i in range(MESSAGES)]


def uroce_speaks(run, net):
    """uroce connects to ucmatose, hears ten messages and says ten; ucmatose disconnects."""
    addr, port = rig.GUEST_ADDRS[net], new_port()
    server = run.guest.start_program("ucmatose -b %s -p %d" % (addr, port))
    wait_listening(run.guest, port)
    with Connection(run.uroce, RC, net, post_receives).connect(addr, port) as end:
        expect(run.uroce, "ESTABLISHED")
        hear(end)  # whatever its memory had in it
        say(end, TEXT)
        expect(run.uroce, "DISCONNECTED", error="0")
    server.finish()


def linux_speaks(run, net):
    """The same the other way round: ucmatose says again what it was told; uroce disconnects."""
    addr, port = rig.UROCE_ADDRS[net], new_port()
    listener = listen(run.uroce, port)
    client = run.guest.start_program("ucmatose -s %s -p %d" % (addr, port))
    try:
        request = expect(run.uroce, "REQUEST")
        with Connection(run.uroce, RC, net, post_receives).accept(request) as end:
            expect(run.uroce, "ESTABLISHED")
            say(end, TEXT)
            demand(hear(end) == [TEXT] * MESSAGES, "another text came back")
            end.disconnect()
            expect(run.uroce, "DISCONNECTED", error="0")
    finally:
        run.uroce.ask("cm_destroy", conn=listener)
    client.finish()


def uroce_asks_udaddy(run, net):
    """A queue pair of datagrams is found by its port, and answers."""
    addr = rig.GUEST_ADDRS[net]
    server = run.guest.start_program("udaddy -b %s" % addr)
    wait_listening(run.guest, UDADDY_PORT)
    with Connection(run.uroce, UD, net, lambda end: post_receives(end, GRH)) as end:
        end.connect(addr, UDADDY_PORT)
        expect(run.uroce, "ESTABLISHED")
        say(end, TEXT, op=SEND_IMM, imm=end.qpn)
        # It sends back its receive buffer, which begins with the 40 bytes of an IP header.
        texts = [text[GRH:] for text in hear(end, GRH)]
        demand(texts == [TEXT[:-GRH]] * MESSAGES, "another text came back")
    server.finish()
