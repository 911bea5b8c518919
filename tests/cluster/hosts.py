"""Hosts out of name spaces, for tests of several hosts on one machine.

Each host has a network, a UTS and a mount name space of its own: a name (h1, h2, …), interfaces
(net0, net1, …) and a /dev/shm. Interface N of all hosts is joined by bridge N; or, of two hosts, by a
cable alone, so that nothing but its two ends costs time. All of it belongs to a Hosts object, carries
its number in every name, and is gone when that is closed, with whatever was started in there.

    with Hosts(2, interfaces=2) as hosts:
        hosts.shape("h1", "net0", rate="1gbit", loss=0.01)
        process = hosts.start("h2", ["hostname"])

From a shell: `hosts.py with N COMMAND…` runs COMMAND with hosts; `hosts.py exec HOST COMMAND…` inside it
runs one there, and `remote_shell` beside this file does so for launchers that want something like ssh.
Needs root, ip of iproute2, and setpriv, unshare and nsenter of util-linux.
"""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

NUMBERS = 256  # of Hosts that one machine can have at the same time: a byte of their addresses
STATE_VARIABLE = "TEST_HOSTS"  # the file that says which hosts there are
START_TIME_LIMIT_S = 10
OWN_ADDRESS = "02:00:00:00:01:{:02x}"  # of the bridge of an interface
HOLD = ('hostname "$1"; mount -t tmpfs tmpfs /dev/shm; mount --bind "$2" /etc/hosts; '
        'echo ready; exec sleep infinity')


class Failure(Exception):
    """Hosts could not be made, or one does not exist."""


def why_not():
    """A sentence that says why hosts can't be made here; empty if they can."""
    missing = [tool for tool in ("ip", "setpriv", "unshare", "nsenter") if shutil.which(tool) is None]
    if missing:
        return f"{', '.join(missing)} is not installed (Debian: iproute2, util-linux)"
    if os.geteuid() != 0:
        return "name spaces need root"
    for command in ("true", "ip link add name one type bridge",
                    "ip link add name one type veth peer name two"):
        tried = subprocess.run(["unshare", "--net", "--uts", "--mount", *command.split()],
                               check=False, capture_output=True, text=True)
        if tried.returncode != 0:
            return f"refused here: '{command}' in name spaces of its own: {tried.stderr.strip()}"
    return ""


def ip(*words):
    """Runs ip(8)."""
    done = subprocess.run(["ip", *words], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"ip {' '.join(words)}: {done.stderr.strip()}")


def claim_number():
    """A number that no other Hosts of this machine has, and the socket that claims it: until that is
    closed, or this process ends."""
    for first in range(NUMBERS):
        number = (os.getpid() + first) % NUMBERS
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0hawser-hosts-{number}")
        except OSError:
            claim.close()
            continue
        # One that was killed may have left them.
        for link in pathlib.Path("/sys/class/net").glob(f"hwb{number}-*"):
            ip("link", "del", link.name)
        return number, claim
    raise Failure(f"all {NUMBERS} numbers of hosts are in use on this machine")


class Hosts:
    """COUNT hosts with INTERFACES each; a context manager. Without IS_BRIDGED there are two, and this
    machine reaches neither by the network."""

    def __init__(self, count, interfaces=1, is_bridged=True):
        if not is_bridged and count != 2:
            raise Failure(f"a cable has two ends, and there are to be {count} hosts")
        self.number, self.claim = claim_number()
        self.is_bridged = is_bridged
        self.names = [f"h{i + 1}" for i in range(count)]
        self.interfaces = interfaces
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hawser-hosts-"))
        self.holders = {}  # the process that keeps the name spaces of a host
        self.started = []

    def __enter__(self):
        try:
            self._make()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    # Names. Those of interfaces have at most 15 bytes.

    def bridge(self, interface):
        """The interface of this machine that joins net INTERFACE of all hosts."""
        return f"hwb{self.number}-{interface}"

    def cable(self, host, interface):
        """The interface of this machine that is the other end of net INTERFACE of HOST."""
        return f"hwv{self.number}.{host[1:]}-{interface}"

    def address(self, host, interface=0):
        """The IPv4 address of HOST on net INTERFACE; of this machine if HOST is empty."""
        place = 254 if host == "" else int(host[1:])
        return f"10.{77 + interface}.{self.number}.{place}"

    def address6(self, host, interface=0):
        """The same in IPv6."""
        place = 254 if host == "" else int(host[1:])
        return f"fd77:{interface:x}:{self.number:x}::{place:x}"

    # Making and ending

    def _make(self):
        for interface in range(self.interfaces if self.is_bridged else 0):
            bridge = self.bridge(interface)
            # An address of its own: else it has that of one of its cables, another one when that is cut.
            ip("link", "add", bridge, "address", OWN_ADDRESS.format(interface), "type", "bridge")
            ip("addr", "add", f"{self.address('', interface)}/24", "dev", bridge)
            ip("link", "set", bridge, "up")
        lines = ["127.0.0.1 localhost", f"{self.address('')} {os.uname().nodename}"]
        lines += [f"{self.address(host)} {host}" for host in self.names]
        (self.folder / "hosts").write_text("\n".join(lines) + "\n")
        for host in self.names:
            self._make_host(host)
        for interface in range(self.interfaces):
            self._make_cables(interface)
            for host in self.names:
                self._set_up(host, interface)
        for host in self.names:
            self._wait_until_up(host)
        pids = {host: holder.pid for host, holder in self.holders.items()}
        (self.folder / "state.json").write_text(json.dumps(pids))
        os.environ[STATE_VARIABLE] = str(self.folder / "state.json")

    def _make_host(self, host):
        # It ends with this process, even if that is killed.
        holder = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--uts", "--mount",
             "--propagation", "private", "sh", "-c", HOLD, "sh", host, self.folder / "hosts"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.holders[host] = holder
        if holder.stdout.readline() != "ready\n":
            raise Failure(f"host {host} could not be set up")
        self._ip(host, "link", "set", "lo", "up")

    def _make_cables(self, interface):
        """From each host to the bridge, or from one to the other."""
        name = f"net{interface}"
        ends = [("type", "veth", "peer", "name", name, "netns", str(holder.pid))
                for holder in self.holders.values()]
        if not self.is_bridged:
            first = self.holders[self.names[0]].pid
            ip("link", "add", name, "netns", str(first), *ends[1])
            return
        for host, end in zip(self.names, ends):
            outer = self.cable(host, interface)
            ip("link", "add", outer, *end)
            ip("link", "set", outer, "master", self.bridge(interface), "up")

    def _set_up(self, host, interface):
        name = f"net{interface}"
        self._ip(host, "addr", "add", f"{self.address(host, interface)}/24", "dev", name)
        self._ip(host, "addr", "add", f"{self.address6(host, interface)}/64", "dev", name, "nodad")
        self._ip(host, "link", "set", name, "up")

    def _wait_until_up(self, host):
        """The kernel notices within a second that a cable has two ends; until then some programs take
        an interface for one that can't be used."""
        for _ in range(START_TIME_LIMIT_S * 50):
            shown = self.run(host, ["ip", "-br", "link"], capture_output=True, text=True).stdout
            states = [line.split()[1] for line in shown.splitlines() if line.startswith("net")]
            if states == ["UP"] * self.interfaces:
                return
            time.sleep(0.02)
        raise Failure(f"the interfaces of {host} do not come up: {shown}")

    def _ip(self, host, *words):
        """Runs ip(8) for interfaces of HOST."""
        subprocess.run(["nsenter", "-t", str(self.holders[host].pid), "--net", "ip", *words],
                       check=True)

    def close(self):
        """Ends everything that runs in the hosts, and the hosts; the second time, nothing."""
        if self.claim is None:
            return  # others may have the number by now
        for holder in self.holders.values():
            # One that is killed may have started another just before.
            while beside := list(self._processes_beside(holder.pid)):
                for pid in beside:
                    kill(pid)
            holder.kill()
            holder.wait()
            holder.stdout.close()
        for process in self.started:
            process.wait()
        self.holders, self.started = {}, []
        # The kernel would end the interfaces of hosts with them, but in its own time.
        for interface in range(self.interfaces):
            for link in [*(self.cable(host, interface) for host in self.names),
                         self.bridge(interface)]:
                subprocess.run(["ip", "link", "del", link], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.claim.close()
        self.claim = None
        if os.environ.get(STATE_VARIABLE) == str(self.folder / "state.json"):
            del os.environ[STATE_VARIABLE]

    @staticmethod
    def _processes_beside(pid):
        """All processes that run in the network name space of PID but itself."""
        space = os.stat(f"/proc/{pid}/ns/net").st_ino
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                is_beside = os.stat(entry / "ns/net").st_ino == space and int(entry.name) != pid
                if is_beside and has_memory(int(entry.name)):
                    yield int(entry.name)
            except OSError:
                continue  # it has ended

    # Using

    def start(self, host, command, **options):
        """A Popen of COMMAND on HOST, ended with it at the latest."""
        process = subprocess.Popen(inside(self.holders[host].pid, command), **options)
        self.started.append(process)
        return process

    def run(self, host, command, **options):
        """subprocess.run() of COMMAND on HOST."""
        return subprocess.run(inside(self.holders[host].pid, command), check=False, **options)

    def set_link(self, host, interface, is_up):
        """Takes net INTERFACE of HOST up or down."""
        self._network_tool(host, ["ip", "link", "set", f"net{interface}", "up" if is_up else "down"])

    def cut(self, host, interface, is_cut):
        """The cable of net INTERFACE of HOST: its interface stays up, and nothing gets through."""
        ip("link", "set", self.cable(host, interface), "nomaster" if is_cut else "master",
           *([] if is_cut else [self.bridge(interface)]))

    def sent_bytes(self, host, interface):
        """What HOST has sent by net INTERFACE so far."""
        counter = pathlib.Path("/sys/class/net") / self.cable(host, interface)
        return int((counter / "statistics/rx_bytes").read_text(encoding="ascii"))

    def shape(self, host, interface, rate="", loss=0.0):
        """What leaves HOST by net INTERFACE: at most RATE (as tc says it), a share LOSS is lost.
        Raises Failure where the kernel can't."""
        name = f"net{interface}"
        if rate:
            self._network_tool(host, ["tc", "qdisc", "replace", "dev", name, "root", "tbf", "rate",
                                      rate, "burst", "256kb", "latency", "50ms"])
        if loss:
            share = round(loss * 10000)
            self._network_tool(host, ["nft", "add table inet hawser; add chain inet hawser out "
                                      "{ type filter hook output priority 0; }; add rule inet "
                                      f"hawser out oifname {name} numgen random mod 10000 < "
                                      f"{share} drop"])

    def _network_tool(self, host, command):
        done = self.run(host, command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)} on {host}: {done.stderr.strip()}")


def inside(pid, command):
    """COMMAND as one that runs in the name spaces of PID, in the present folder."""
    return ["nsenter", "-t", str(pid), "--net", "--uts", "--mount", f"--wd={os.getcwd()}", "--",
            *map(str, command)]


def kill(pid):
    """Ends process PID, if it has not ended by itself, and waits until it has."""
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return
    for _ in range(START_TIME_LIMIT_S * 100):
        if not pathlib.Path(f"/proc/{pid}/fd").exists() or not has_memory(pid):
            return
        time.sleep(0.01)


def has_memory(pid):
    """It runs: one that has ended and waits to be asked for its status has none."""
    try:
        return pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[0] != "0"
    except OSError:
        return False


def holder_of(host):
    """The process that keeps HOST, from the environment."""
    state = os.environ.get(STATE_VARIABLE)
    if state is None:
        raise Failure(f"{STATE_VARIABLE} is not set: start this under 'hosts.py with'")
    pids = json.loads(pathlib.Path(state).read_text(encoding="utf-8"))
    if host not in pids:
        raise Failure(f"there is no host '{host}', but {', '.join(pids)}")
    return pids[host]


def main(words):
    """See the top of this file."""
    match words:
        case ["exec", host, *command] if command:
            argv = inside(holder_of(host), command)
            os.execvp(argv[0], argv)
        case ["with", count, *command] if command and count.isdigit():
            if why_not():
                raise Failure(why_not())
            with Hosts(int(count)):
                return subprocess.run(command, check=False).returncode
    raise Failure("usage: hosts.py with N COMMAND… | hosts.py exec HOST COMMAND…")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        sys.exit(f"hosts.py: {failure}")
