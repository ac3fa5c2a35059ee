# SPDX-License-Identifier: BSD-3-Clause
#
# The machines of the interoperation tests: a network namespace of this process's own, the guest in
# it, and how to run things on either.
#
# The guest has two network cards, each a TAP device here. uroce drives DATA through DPDK's
# af_packet; this machine's kernel has no address on it and keeps silent. CTL is between the two
# kernels, for the test run's commands, and for the TCP that RDMA programs exchange their numbers
# by; what is done to the frames on DATA does not touch it. Both die with this process, and so do
# the guest and every program: there is nothing to clean up.

import ctypes
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DATA, CTL = "uroce-data", "uroce-ctl"
HOST_CTL, GUEST_CTL = "198.51.100.254", "198.51.100.1"
GUEST_ADDRS = {"v4": "192.0.2.1", "v6": "2001:db8::1"}
UROCE_ADDRS = {"v4": "192.0.2.77", "v6": "2001:db8::77"}
AGENT_PORT = 4000
BOOT_SECONDS = 240
PATIENCE = 120
# Room for frames of 9000 bytes; and through the queue of the device, so that Sniffer sees what uroce
# sends.
EAL = ["--no-huge", "--no-pci", "--no-shconf", "--no-telemetry", "--log-level=lib.eal:error",
       "-m", "512", "--file-prefix", "uroce-interop-%d" % os.getpid(), "--vdev",
       "net_af_packet0,iface=%s,framesz=16384,blocksz=65536,framecnt=256,"
       "qdisc_bypass=0" % DATA, "--"]
SO_RCVBUFFORCE = 33
IN_OWN_NAMESPACE = "UROCE_INTEROP_IN_NAMESPACE"


class Failed(Exception):
    """What a check found; or what keeps all of them from running."""


def demand(condition, *words):
    if not condition:
        raise Failed(" ".join(str(w) for w in words))


def why_not():
    """Why this machine cannot run the guest, or None."""
    if os.geteuid() != 0:
        return "network namespaces and TAP devices need root"
    for program, package in (("qemu-system-x86_64", "qemu-system-x86"), ("ip", "iproute2"),
                             ("gcc", "gcc"), ("apt-get", "apt")):
        if not shutil.which(program):
            return "there is no %s (%s)" % (program, package)
    if not os.path.exists("/dev/net/tun"):
        return "this machine's kernel has no TAP devices"
    probe = subprocess.run(["unshare", "-n", "true"], capture_output=True, text=True)
    return probe.stderr.strip() or None


def enter_namespace(arguments):
    """Starts this program again in a network namespace of its own, and comes back in that one."""
    if IN_OWN_NAMESPACE not in os.environ:
        os.environ[IN_OWN_NAMESPACE] = "1"
        os.execvp("unshare", ["unshare", "-n"] + arguments)
    ip("link", "set", "lo", "up")
    for name in (DATA, CTL):
        ip("tuntap", "add", "dev", name, "mode", "tap")
        with open("/proc/sys/net/ipv6/conf/%s/disable_ipv6" % name, "w") as f:
            f.write("1")
        ip("link", "set", name, "mtu", "9000", "up")
    ip("addr", "add", HOST_CTL + "/24", "dev", CTL)


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Sniffer:
    """The frames on DATA between its making and `take`: (is it from uroce, its bytes)."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.socket.bind((DATA, 0))

    def take(self):
        frames = []
        while True:
            try:
                frame, address = self.socket.recvfrom(10000, socket.MSG_DONTWAIT)
            except BlockingIOError:
                self.socket.close()
                return frames
            frames.append((address[2] == socket.PACKET_OUTGOING, frame))


def bth_of(frame):
    """The base transport header and what follows, or None if the frame is not RoCEv2."""
    kind = frame[12:14]
    at = 34 if kind == b"\x08\x00" else 54 if kind == b"\x86\xdd" else None
    if at is None or frame[at - 11 if at == 34 else 20] != 17 or frame[at + 2:at + 4] != b"\x12\xb7":
        return None
    return frame[at + 8:]


class Stream:
    """Lines to and from a program, here or in the guest."""

    def __init__(self, name, into, out, ended):
        self.name, self.into, self.out, self.ended = name, into, out, ended
        self.rest = b""

    def say(self, text):
        try:
            self.into(text.encode())
        except OSError as e:
            raise Failed("%s is gone (%s)" % (self.name, e))

    def line(self, seconds=PATIENCE):
        limit = time.monotonic() + seconds
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.out], [], [], max(0, limit - time.monotonic()))
            demand(ready, "%s does not answer" % self.name)
            more = os.read(self.out.fileno(), 65536)
            demand(more, "%s ended: %s" % (self.name, self.rest.decode(errors="replace")))
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode(errors="replace")

    def all(self, seconds=PATIENCE):
        """What is said until it ends."""
        limit = time.monotonic() + seconds
        while True:
            ready, _, _ = select.select([self.out], [], [], max(0, limit - time.monotonic()))
            demand(ready, "%s does not end: %s" % (self.name, self.rest.decode(errors="replace")))
            more = os.read(self.out.fileno(), 65536)
            if not more:
                return self.rest.decode(errors="replace")
            self.rest += more

    def close(self):
        self.ended()


def start(name, command, log):
    """A program on this machine."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                             preexec_fn=die_with_parent)

    def into(data):
        child.stdin.write(data)
        child.stdin.flush()

    def ended():
        child.kill()
        child.communicate()
    return Stream(name, into, child.stdout, ended)


class Guest:
    def __init__(self, image):
        self.scratch = tempfile.mkdtemp(prefix="uroce-interop-")
        self.console = os.path.join(self.scratch, "console")
        self.log = open(os.path.join(self.scratch, "log"), "w+b")
        card = "virtio-net-pci,netdev=%s,mac=02:00:00:00:00:%02x,romfile=,host_mtu=9000," \
            "csum=off,gso=off,host_tso4=off,host_tso6=off,host_ufo=off," \
            "guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ufo=off"
        tap = "tap,id=%s,ifname=%s,script=no,downscript=no,vhost=off"
        addrs = "%s/24,%s/64" % (GUEST_ADDRS["v4"], GUEST_ADDRS["v6"])
        self.qemu = subprocess.Popen(
            ["qemu-system-x86_64", "-M", "pc", "-accel", "tcg", "-cpu", "max", "-m", "512",
             "-nodefaults", "-display", "none", "-no-reboot",
             "-kernel", os.path.join(image, "vmlinuz"), "-initrd", os.path.join(image, "initrd"),
             "-append", "console=ttyS0 quiet panic=-1 mitigations=off nokaslr no_timer_check "
             "tsc=reliable uroce.ctl=%s/24 uroce.addr=%s" % (GUEST_CTL, addrs),
             "-serial", "file:" + self.console,
             "-netdev", tap % ("n0", DATA), "-device", card % ("n0", 1),
             "-netdev", tap % ("n1", CTL), "-device", card % ("n1", 2)],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            preexec_fn=die_with_parent)

    def said(self):
        """The end of the console and of what programs here complained of."""
        text = ""
        for path in (self.console, os.path.join(self.scratch, "log")):
            if os.path.exists(path):
                with open(path, errors="replace") as f:
                    text += "".join(f.readlines()[-20:])
        return text

    def connect(self, seconds):
        limit = time.monotonic() + seconds
        while True:
            demand(self.qemu.poll() is None, "the guest ended:", self.said())
            try:
                return socket.create_connection((GUEST_CTL, AGENT_PORT), 1)
            except OSError:
                demand(time.monotonic() < limit, "the guest's agent does not answer:", self.said())
                time.sleep(0.1)

    def start(self, command):
        """A shell command in the guest; closing the stream ends it."""
        s = self.connect(BOOT_SECONDS)
        s.settimeout(None)
        s.sendall(command.encode() + b"\n")
        return Stream(command.split()[0] + " in the guest", s.sendall, s, s.close)

    def run(self, command, seconds=PATIENCE):
        """What a shell command in the guest prints; it must succeed."""
        stream = self.start("( %s ) 2>&1; echo \"@$?\"" % command)
        try:
            said, _, status = stream.all(seconds).rpartition("@")
            demand(status.strip() == "0", "%s in the guest: %s" % (command, said))
            return said
        finally:
            stream.close()

    def end(self):
        self.qemu.kill()
        self.qemu.wait()
        self.log.close()
        shutil.rmtree(self.scratch, ignore_errors=True)
