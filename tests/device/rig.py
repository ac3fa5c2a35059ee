# SPDX-License-Identifier: BSD-3-Clause
"""What the device tests share: checks and their counts, programs that are started and ended, pairs
of them that find each other, networks of the kernel's between them.

Everything that is made has this process's number in its name and is removed at the end, whatever
happened; nothing here sleeps for luck: what has to be waited for is asked for, with a limit."""

import contextlib
import ctypes
import fcntl
import glob
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

PID = os.getpid()
PATIENCE = 90
EAL = ["--no-huge", "--no-pci", "--no-shconf", "--log-level=lib.eal:error", "-m", "512"]
KERNEL_ADDR = ["198.51.100.1", "198.51.100.2"]

counts = {"passed": 0, "failed": 0, "skipped": 0}
children = []


class Failed(Exception):
    pass


class NoNetwork(Exception):
    """Namespaces and interfaces cannot be made here."""


def verdict(name, wrong=None):
    counts["failed" if wrong else "passed"] += 1
    print("FAILED %s: %s" % (name, wrong) if wrong else "passed %s" % name, flush=True)


def skip(name, why):
    counts["skipped"] += 1
    print("SKIP %s: %s" % (name, why), flush=True)


@contextlib.contextmanager
def check(name):
    """A check passes if its body does not raise."""
    try:
        yield
    except (Failed, OSError, ValueError, LookupError, subprocess.SubprocessError) as e:
        verdict(name, "%s" % e if isinstance(e, Failed) else repr(e))
    else:
        verdict(name)


def demand(condition, *words):
    if not condition:
        raise Failed(" ".join(str(w) for w in words))


def cpus():
    """A core for each side; the same where there is only one."""
    mine = sorted(os.sched_getaffinity(0))
    return ["-l", str(mine[0])], ["-l", str(mine[-1])]


def start(arguments, **options):
    child = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             **options)
    children.append(child)
    return child


def end(child):
    """What a child wrote; it is killed if it has not ended in time."""
    try:
        return child.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        raise Failed("did not end in %d seconds: %s" % (PATIENCE, err.strip()))


def rows_of(out):
    return [json.loads(line) for line in out.splitlines()]


def prefix(letter):
    """EAL's --file-prefix of a program."""
    return "uroce-test-%d-%s" % (PID, letter)


def command(program, letter, side, vdevs, namespace=None):
    """A program's command line up to its own options, on the core of a side."""
    return (in_netns(namespace) + [program] + cpus()[side] + EAL +
            ["--file-prefix", prefix(letter)] + ["--vdev=" + v for v in vdevs] + ["--"])


class Pair:
    """How server and client of a program reach each other."""

    def __init__(self, name, vdevs, netns=(None, None), host="127.0.0.1", addrs=(None, None)):
        self.name, self.vdevs, self.netns, self.host = name, vdevs, netns, host
        self.addrs = addrs
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = str(s.getsockname()[1])

    def prefix(self, side):
        return prefix("ab"[side])

    def command(self, program, side, own):
        return (command(program, "ab"[side], side, [self.vdevs[side]], self.netns[side]) + own +
                ["--port", self.port] + (["--addr", self.addrs[side]] if self.addrs[side] else []))

    def server(self, program, *own):
        return start(self.command(program, 0, ["--server", *own]))

    def client(self, program, *own):
        return start(self.command(program, 1, [*own, "--client", self.host]))


def ask_telemetry(prefix, command):
    folder = "/var/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "/tmp")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(10)
        s.connect("%s/dpdk/%s/dpdk_telemetry.v2" % (folder, prefix))
        s.recv(1024)
        s.send(command.encode())
        return json.loads(s.recv(65536))[command.split(",")[0]]


def wait_until(condition, seconds=20):
    """Asks again and again; what it says may not be there yet."""
    limit = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return
        except (OSError, ValueError, LookupError, subprocess.SubprocessError):
            pass
        demand(time.monotonic() < limit, "it did not come to that in %d seconds" % seconds)
        time.sleep(0.05)


def is_busy(pair, side):
    return ask_telemetry(pair.prefix(side), "/uroce/counters")["rx_accepted"] > 100


def memif_pair(bsize=8192, addrs=(None, None)):
    vdev = "net_memif0,role=%s,socket=@uroce-test-" + str(PID) + \
        ",socket-abstract=yes,bsize=" + str(bsize)
    return Pair("memif", (vdev % "server", vdev % "client"), addrs=addrs)


# ---- networks of the kernel's ----

def netns(letter):
    """The name of a namespace made here."""
    return "u%d%s" % (PID, letter)


def iface(at, to):
    """The name of the interface in one namespace that leads to another."""
    return "u%d%s%s" % (PID, at, to)


def in_netns(name):
    return ["ip", "netns", "exec", name] if name else []


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def state_of(letter, interface):
    """An interface's state in its kernel's words, such as UP."""
    out = subprocess.run(["ip", "-n", netns(letter), "-j", "link", "show", "dev", interface],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)[0]["operstate"]


@contextlib.contextmanager
def inside(namespace):
    """Sockets that are made meanwhile are the namespace's, and stay so."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as ours, open("/var/run/netns/" + namespace) as theirs:
        demand(libc.setns(theirs.fileno(), 0) == 0, "setns:", os.strerror(ctypes.get_errno()))
        try:
            yield
        finally:
            libc.setns(ours.fileno(), 0)


@contextlib.contextmanager
def network(letters, links, mtu=1500, ipv6=True):
    """
    A namespace per letter, and a pair of interfaces for each link: two letters, and further ones
    that tell it from others between the two. Without IPv6 no kernel says anything unasked.
    """
    ends = [(link[0], link[1], link[2:]) for link in links]
    ends = [((a, b + tag), (b, a + tag)) for a, b, tag in ends]
    try:
        try:
            make_network(letters, ends, mtu, ipv6)
        except subprocess.CalledProcessError as e:
            raise NoNetwork("network namespaces cannot be made here: %s" % e.stderr.strip()) from e
        # Until its kernel has looked at a link, it sends nothing over it.
        for at, to in (end for pair in ends for end in pair):
            wait_until(lambda: state_of(at, iface(at, to)) == "UP")
        yield
    finally:
        for pair in ends:
            subprocess.run(["ip", "link", "del", iface(*pair[0])], capture_output=True)
        for letter in letters:
            subprocess.run(["ip", "netns", "del", netns(letter)], capture_output=True)


def make_network(letters, ends, mtu, ipv6):
    for letter in letters:
        ip("netns", "add", netns(letter))
        for knob in () if ipv6 else ("all", "default"):
            subprocess.run(in_netns(netns(letter)) + [
                "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/%s/disable_ipv6" % knob],
                check=True, capture_output=True, text=True)
        ip("-n", netns(letter), "link", "set", "lo", "up")
    for pair in ends:
        ip("link", "add", iface(*pair[0]), "type", "veth", "peer", "name", iface(*pair[1]))
        for at, to in pair:
            ip("link", "set", iface(at, to), "netns", netns(at))
            ip("-n", netns(at), "link", "set", iface(at, to), "mtu", str(mtu), "up")


def make_checksums(letter, interface):
    """An interface whose kernel makes the checksums itself, instead of leaving them to hardware
    that a veth has not: who reads its frames raw would see them wrong."""
    value = ctypes.create_string_buffer(struct.pack("II", 0x17, 0))  # ETHTOOL_STXCSUM
    with inside(netns(letter)), socket.socket() as s:
        request = struct.pack("16sP16x", interface.encode(), ctypes.addressof(value))
        fcntl.ioctl(s, 0x8946, request)  # SIOCETHTOOL


@contextlib.contextmanager
def namespaces(mtu):
    """Two namespaces, a pair of interfaces between them; kernel addresses for TCP only."""
    with network("ab", ["ab"], mtu):
        for at, to, addr in (("a", "b", KERNEL_ADDR[0]), ("b", "a", KERNEL_ADDR[1])):
            ip("-n", netns(at), "addr", "add", addr + "/24", "dev", iface(at, to))
        yield


def kernel_pings(namespace, addr):
    """One echo request of a kernel's, again and again until it is answered or 20 seconds pass."""
    v6 = ":" in addr
    family, proto = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if v6 else \
        (socket.AF_INET, socket.IPPROTO_ICMP)
    limit = time.monotonic() + 20
    with inside(namespace):
        s = socket.socket(family, socket.SOCK_RAW, proto)
    with s:
        s.settimeout(1)
        body = struct.pack("!BBHHH", 128 if v6 else 8, 0, 0, PID & 0xffff, 1) + b"uroce" * 20
        if not v6:
            total = sum(struct.unpack("!%dH" % (len(body) // 2), body))
            total = (total & 0xffff) + (total >> 16)
            body = body[:2] + struct.pack("!H", ~total & 0xffff) + body[4:]
        while time.monotonic() < limit:
            try:
                s.sendto(body, (addr, 0))
                answer = s.recv(2048)[0 if v6 else 20:]
            except (TimeoutError, OSError):
                continue
            if answer[0] == (129 if v6 else 0) and answer[4:] == body[4:]:
                return True
    return False


def packet_pair(name, options="", addrs=(None, None)):
    vdevs = ["net_af_packet0,iface=%s%s" % (i, options) for i in (iface("a", "b"), iface("b", "a"))]
    return Pair(name, vdevs, (netns("a"), netns("b")), KERNEL_ADDR[0], addrs)


def why_no_network(driver):
    """What is missing for ports on interfaces in namespaces; None: nothing."""
    if os.geteuid() != 0:
        return "network namespaces and raw sockets need root"
    if not has_driver(driver):
        return "DPDK's %s driver is not installed (librte-net-%s23)" % (
            driver, driver.replace("_", "-"))
    if not shutil.which("ip"):
        return "there is no ip command (iproute2)"
    return None


# ----

def has_driver(name):
    """Whether DPDK's plug-in of that name is where the library looks for it."""
    folders = subprocess.run(["pkg-config", "--variable=libdir", "libdpdk"], capture_output=True,
                             text=True).stdout.split() or ["/usr/lib/x86_64-linux-gnu"]
    for folder in folders:
        for path, _, files in os.walk(os.path.join(folder, "dpdk")):
            if any(f.startswith("librte_net_%s.so" % name) for f in files):
                return True
    return False


def clean_up(scratch):
    for child in children:
        if child.poll() is None:
            child.kill()
            child.communicate()
    shutil.rmtree(scratch, ignore_errors=True)
    for folder in glob.glob("/var/run/dpdk/" + prefix("*")):
        shutil.rmtree(folder, ignore_errors=True)


def run(name, tests):
    """A script's main: tests(build, scratch) in a build folder and a scratch one; exit status."""
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        print("usage: %s BUILD (a folder that was built)" % os.path.basename(sys.argv[0]),
              file=sys.stderr)
        return 2
    # An interrupted run removes what it has made, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    scratch = tempfile.mkdtemp(prefix="uroce-test-")
    try:
        tests(os.path.abspath(sys.argv[1]), scratch)
    finally:
        clean_up(scratch)
    print("RESULT %s passed=%d failed=%d skipped=%d" % (
        name, counts["passed"], counts["failed"], counts["skipped"]))
    return 1 if counts["failed"] else 0
