#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# Several workers on a port of DPDK's virtual devices, with a queue for each and with one for all.
#
#   workers_test.py BUILD
#
# BUILD is a folder that was built. Every operation on four queue pairs, dealt out to two workers on
# each side, every byte checked: over rings within a process, over memif and over af_packet between
# two. Then that a second process on an interface is refused. A line per check, and RESULT at the
# end; exit status 0 if none failed.

import os
import sys

import rig
from rig import (Pair, ask_telemetry, check, demand, end, iface, is_busy, netns, rows_of, skip,
                 start, wait_until, why_no_network)
from run_test import check_rows, some

SIZES = (1, 1025, 4097, 65536, 1 << 20)


def lcores():
    """Two lcores, on as many cores as there are."""
    cpus = sorted(os.sched_getaffinity(0))
    return ["--lcores", "0@%d,1@%d" % (cpus[0], cpus[-1])]


class Many(Pair):
    """A pair of which each side has so many workers, and says how many queues, if it does."""

    def __init__(self, name, vdevs, workers, queues=(None, None), **options):
        super().__init__(name, vdevs, **options)
        self.workers, self.queues = workers, queues

    def command(self, program, side, own):
        own = own + ["--workers", str(self.workers[side])]
        if self.queues[side]:
            own += ["--queues", str(self.queues[side])]
        words = super().command(program, side, own)
        at = words.index("-l")
        return words[:at] + lcores() + words[at + 2:]


def test_operations(pair, perf, sizes=SIZES):
    server = pair.server(perf, "--keep")
    try:
        for size in sizes:
            with check("%s: every operation, %d bytes, every byte checked" % (pair.name, size)):
                client = pair.client(perf, "all", "--size", str(size), "--qps", "4", "--verify",
                                     "--json", "--iters", str(4 * some(size)))
                out, err = end(client)
                demand(client.returncode == 0, err.strip())
                check_rows(rows_of(out), size)
                demand(all(r["workers"] == pair.workers[1] for r in rows_of(out)), out)
    finally:
        server.kill()
        server.communicate()


def worker_port(pair, side, worker):
    return ask_telemetry(pair.prefix(side), "/uroce/ports")["port_0_worker_%d" % worker]


def test_one_queue_is_shared(pair, perf):
    """Worker 1 has queue pairs, and all that it sends goes through worker 0."""
    server = pair.server(perf)
    client = pair.client(perf, "write", "--duration", "20", "--size", "64", "--qps", "4", "--json")
    try:
        with check("%s: one worker sends and receives for the other" % pair.name):
            wait_until(lambda: is_busy(pair, 0))
            for side in (0, 1):
                demand([worker_port(pair, side, w)["queue_pairs"] for w in (0, 1)] == [2, 2],
                       "queue pairs are not dealt out")
                relayed = worker_port(pair, side, 0)["relayed"]
                wait_until(lambda: worker_port(pair, side, 0)["relayed"] > relayed + 100)
                demand(worker_port(pair, side, 1)["relayed"] == 0, "worker 1 has a queue")
                counters = ask_telemetry(pair.prefix(side), "/uroce/counters")
                demand(counters["rx_handed_over"] > 100, counters)
    finally:
        for child in (client, server):
            child.kill()
            child.communicate()


# ---- one process ----

def test_loopback(perf):
    name = "loopback, 2 workers"
    if len(os.sched_getaffinity(0)) < 2:
        skip(name, "EAL makes an lcore for each core, and there is one")
        return
    for size in SIZES:
        with check("%s: every operation, %d bytes, every byte checked" % (name, size)):
            child = start([perf, "all", "--workers", "2", "--qps", "4", "--size", str(size),
                           "--verify", "--json", "--iters", str(4 * some(size))])
            out, err = end(child)
            demand(child.returncode == 0, err.strip())
            check_rows(rows_of(out), size)
    with check("%s: compare and swap on five queue pairs" % name):
        child = start([perf, "atomic", "--atomic-op", "cas", "--workers", "2", "--qps", "5",
                       "--verify", "--json", "--iters", "5000"])
        out, err = end(child)
        demand(child.returncode == 0, err.strip())
        check_rows(rows_of(out), 8, ["atomic"])
    too_many = len(os.sched_getaffinity(0)) + 1
    if too_many > 16:
        skip("%s: more workers than lcores" % name, "a device has 16 workers at the most")
        return
    with check("%s: more workers than lcores are refused in words" % name):
        child = start([perf, "write", "--workers", str(too_many)])
        out, err = end(child)
        demand(child.returncode == 1, "exit status", child.returncode)
        demand("%d workers need as many lcores" % too_many in err, err)


# ---- memif ----

def memif(name, workers, queues=(None, None)):
    vdev = "net_memif0,role=%s,socket=@uroce-workers-" + str(rig.PID) + \
        ",socket-abstract=yes,bsize=8192"
    return Many(name, (vdev % "server", vdev % "client"), workers, queues)


def test_memif(perf):
    if not rig.has_driver("memif"):
        skip("memif", "DPDK's memif driver is not installed (librte-net-memif23)")
        return
    test_operations(memif("memif, 2 workers, one queue", (2, 2)), perf)
    test_operations(memif("memif, 2 workers, 2 queues", (2, 2), (2, 2)), perf)
    # Who knows nothing of the other takes one queue, which both have.
    test_operations(memif("memif, 2 workers and 1", (2, 1)), perf, (4097,))
    test_one_queue_is_shared(memif("memif, one queue", (2, 2)), perf)


# ---- af_packet ----

def packet(name, workers, options=("", "")):
    vdevs = ["net_af_packet0,iface=%s%s" % (iface(*ends), option)
             for ends, option in zip(("ab", "ba"), options)]
    return Many(name, vdevs, workers, netns=(netns("a"), netns("b")), host=rig.KERNEL_ADDR[0])


def test_second_process(perf):
    pair = packet("af_packet", (1, 1))
    server = pair.server(perf, "--keep")
    try:
        demand(server.stdout.readline(), "the server did not start")
        with check("af_packet: a second process on the interface is refused in words"):
            second = Many("second", pair.vdevs, (1, 1), netns=pair.netns, addrs=("192.0.2.9/24", None))
            # Not the first one's files.
            command = [w.replace("uroce-test-", "uroce-test2-") for w in
                       second.command(perf, 0, ["--server"])]
            child = start(command)
            out, err = end(child)
            demand(child.returncode == 1, "exit status", child.returncode, err)
            demand("endpoint of another process (%d)" % server.pid in err, err)
        with check("af_packet: the first goes on"):
            client = pair.client(perf, "all", "--verify", "--iters", "50", "--json")
            out, err = end(client)
            demand(client.returncode == 0, err.strip())
    finally:
        server.kill()
        server.communicate()
    with check("af_packet: who was killed holds the interface no longer"):
        server = pair.server(perf)
        client = pair.client(perf, "write", "--verify", "--iters", "50", "--json")
        out, err = end(client)
        demand(client.returncode == 0, err.strip())
        end(server)


def test_af_packet(perf):
    why = why_no_network("af_packet")
    if why:
        skip("af_packet", why)
        return
    try:
        with rig.namespaces(1500):
            test_operations(packet("af_packet, 2 workers, one queue", (2, 2)), perf)
            test_operations(packet("af_packet, 2 workers, 2 queues", (2, 2),
                                   (",qpairs=2", ",qpairs=2")), perf)
            # Each side as it likes: a kernel is between them.
            test_operations(packet("af_packet, 2 workers with 2 queues, and 1 with one", (2, 1),
                                   (",qpairs=2", "")), perf, (4097,))
            test_one_queue_is_shared(packet("af_packet, one queue", (2, 2)), perf)
            test_second_process(perf)
    except rig.NoNetwork as e:
        skip("af_packet", e)


def tests(build, _scratch):
    perf = os.path.join(build, "apps/uroce-perf")
    test_loopback(perf)
    test_memif(perf)
    test_af_packet(perf)


if __name__ == "__main__":
    sys.exit(rig.run("device_workers", tests))
