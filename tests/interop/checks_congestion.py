# SPDX-License-Identifier: BSD-3-Clause
#
# Congestion: notifications (CNPs) for either end's queue pairs, and frames that a switch marked. None
# of that may do harm, whatever the ends make of it. soft-RoCE makes nothing of it; it also sends none.
# uroce answers marks with notifications; its queue pairs slow down when notified where their frames
# may be marked (CAPABLE).

import socket
import struct
import zlib

import rig
from checks_faults import PATIENT, TC, netem
from exchange import Exchange
from peers import CAS, FADD, READ, SEND, SEND_IMM, WRITE, WRITE_IMM, Link
from rig import Sniffer, demand

CNP = 0x81
GUEST_MAC = bytes.fromhex("020000000001")
OPS = [(op, size) for size in (1, 900, 3000, 9001)
       for op in (SEND, WRITE, READ, SEND_IMM, FADD, WRITE_IMM, CAS)]
# Marked as a transport that understands marks (RFC 3168, ECT(0)).
CAPABLE = dict(PATIENT, tclass=2)
MARKED = 3
CNPS = 100


def cnp(from_addr, to_addr, to_mac, qpn):
    """A congestion notification as a frame (annex A17.9.3): BECN, PSN 0, 16 bytes of nothing."""
    bth = bytes((CNP, 0x40, 0xff, 0xff, 0x40)) + qpn.to_bytes(3, "big") + bytes(4)
    udp = struct.pack("!HHHH", 0xc123, 4791, 8 + 12 + 16 + 4, 0)
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0xc1, 20 + 40, 0, 0x4000, 64, 17, 0,
                         socket.inet_aton(from_addr), socket.inet_aton(to_addr))
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xffff) + (total >> 16)
    # What changes on the way counts as all ones.
    masked = bytearray(b"\xff" * 8 + header + udp + bth)
    for at in (9, 16, 18, 19, 34, 35, 40):
        masked[at] = 0xff
    icrc = zlib.crc32(bytes(masked) + bytes(16)).to_bytes(4, "little")
    header = header[:10] + struct.pack("!H", ~total & 0xffff) + header[12:]
    return to_mac + GUEST_MAC + b"\x08\x00" + header + udp + bth + bytes(16) + icrc


def notified(run, asks, answers, settings, counter):
    """Both ends are told of congestion all the time, which uroce counts. What uroce is to receive goes to the guest, whose
    kernel turns it round."""
    before = run.uroce.counters()
    with Link(asks, answers, settings=(settings, settings)) as link, \
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as s:
        s.bind((rig.DATA, 0))
        uroce_mac = s.getsockname()[4]
        uroces, rxes = link.ends if asks is run.uroce else link.ends[::-1]
        frames = (cnp(rig.UROCE_ADDRS["v4"], rig.GUEST_ADDRS["v4"], GUEST_MAC, rxes.qpn),
                  cnp(rig.GUEST_ADDRS["v4"], rig.UROCE_ADDRS["v4"], uroce_mac, uroces.qpn))
        run.guest.run("{tc} qdisc add dev data clsact && {tc} filter add dev data ingress protocol "
                      "ip u32 match ip dst {addr} action mirred egress redirect dev data"
                      .format(tc=TC, addr=rig.UROCE_ADDRS["v4"]))
        try:
            for turn in range(4):
                whole = Exchange(link, OPS)
                for i in range(CNPS):
                    if i == CNPS // 4:
                        whole.post()
                    for frame in frames:
                        s.send(frame)
                whole.finish()
                whole.check_memory()
        finally:
            run.guest.run("%s qdisc del dev data clsact" % TC)
    counted = run.uroce.counters() - before
    demand(counted[counter] > 0, "no notification reached uroce:", dict(counted))


def marked(run, asks, answers):
    """One frame in three is marked, in both directions."""
    sniffer = Sniffer()
    before = run.uroce.counters()
    with Link(asks, answers, settings=(CAPABLE, CAPABLE)) as link, \
            netem(run.guest, "loss 33% ecn"):
        for _ in range(3):
            whole = Exchange(link, OPS)
            whole.post()
            whole.finish()
            whole.check_memory()
    frames = [(is_uroces, frame) for is_uroces, frame in sniffer.take()
              if frame[12:14] == b"\x08\x00"]
    marks = [is_uroces for is_uroces, frame in frames if frame[15] & MARKED == MARKED]
    demand(marks.count(False) > 10, "uroce was sent", marks.count(False), "marked frames")
    counted = run.uroce.counters() - before
    demand(counted["np_ecn_marked_roce_packets"] > 10, "uroce saw no marks:", dict(counted))
    told = [is_uroces for is_uroces, frame in frames if len(frame) == 74 and frame[42] == CNP]
    demand(told.count(True) == counted["np_cnp_sent"] > 0, told.count(True), "notifications seen:",
           dict(counted))
    demand(not told.count(False), "soft-RoCE sends notifications")


def all_checks(run):
    for words, way in (("uroce asks", lambda: (run.uroce, run.rxe)),
                       ("soft-RoCE asks", lambda: (run.rxe, run.uroce))):
        run.check("%s: congestion notifications to both ends do no harm" % words,
                  lambda: notified(run, *way(), PATIENT, "rp_cnp_ignored"))
        run.check("%s: congestion notifications to both ends slow down uroce, and do no harm" % words,
                  lambda: notified(run, *way(), CAPABLE, "rp_cnp_handled"))
        run.check("%s: frames that a switch marked do no harm" % words,
                  lambda: marked(run, *way()))
