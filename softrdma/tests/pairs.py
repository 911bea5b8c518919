"""Programs that come in two, a server and a client, on softrdma: the pingpongs of libibverbs and
perftest. Both ends run on this host: in one fabric, in two that talk by UDP, or in two network name
spaces. Each pair has a time limit."""
import itertools
import os
import pathlib
import re
import socket
import subprocess
import time

TIME_LIMIT_S = 60


class Failure(Exception):
    """A program did not do what it was started for."""


def build(work, name):
    """A program of ours for libibverbs, from its source beside this file."""
    program = work / name
    subprocess.run(["cc", "-O2", "-o", program, pathlib.Path(__file__).parent / f"{name}.c",
                    "-libverbs"], check=True)
    return program


def operations(work):
    """What perftest lacks: immediate data, invalidation."""
    program = build(work, "operations")
    for kind in ("RC", "UC", "UD", "XRC"):
        yield [program, "-c", kind]


def pingpongs():
    """Each kind of queue pair, polling and sleeping; the received bytes are compared."""
    for kind, sleeps in itertools.product(("rc", "uc", "ud", "srq"), (False, True)):
        yield [f"ibv_{kind}_pingpong", "-c", *(["-e"] if sleeps else [])]
    yield ["ibv_xsrq_pingpong"]
    yield ["ibv_xsrq_pingpong", "-e"]


def perftests(everything):
    """Each operation with the transports that have it. EVERYTHING: all sizes, in all forms."""
    transports = {"send": ("RC", "UC", "UD", "XRC"), "write": ("RC", "UC", "XRC"),
                  "read": ("RC", "XRC"), "atomic": ("RC", "XRC")}
    for operation, kinds in transports.items():
        for kind, measure in itertools.product(kinds, ("lat", "bw")):
            program = [f"ib_{operation}_{measure}", "-c", kind]
            has_sizes = operation != "atomic"
            if not everything:
                yield [*program, "-n", "200"]
                continue
            # At its largest sizes a server that is not driven needs a while.
            yield [*program, "-n", "30", *(["-a"] if has_sizes and kind != "UD" else [])]
            if operation == "send":
                yield [*program, "-n", "200", "-e"]
            if measure == "bw":
                yield [*program, "-n", "200", "-q", "4"]
                yield [*program, "-n", "200", "-b"]
    if not everything:
        yield ["ib_send_lat", "-n", "200", "-e"]
        yield ["ib_send_bw", "-n", "200", "-q", "4", "-b"]
        yield ["ib_write_bw", "-n", "100", "-s", "1048576"]


# What a program may lose between hosts makes it wait for ever, if nothing repeats it: many messages
# at once, or long ones.
UNRELIABLE = re.compile(r"ib_send_bw -c (UC|UD)|ib_write_bw -c UC|ib_(send|write)_lat -c UC .*-a")


# How perftest is told of a multicast group: by the bytes of its GID, which here are an address of
# IPv4 (239.77.0.1) or IPv6 (ff0e::7701). The sender needs a GID of the same family (-x).
IPV4_GROUP = ["-M", "0:0:0:0:0:0:0:0:0:0:255:255:239:77:0:1"]
IPV6_GROUP = ["-M", "255:14:0:0:0:0:0:0:0:0:0:0:0:0:119:1"]


class OneHost:
    """Both ends in one fabric of this host."""
    name = "one host"
    groups = [IPV4_GROUP]  # by which its ends reach one another
    server = client = []
    address = "localhost"

    def settings(self, port):
        return [{"SOFTRDMA_FABRIC": f"pair.{port}"}] * 2

    def suits(self, command):
        return True


class TwoFabrics(OneHost):
    """Two fabrics of this host with addresses of their own: by UDP, as if they were two hosts."""
    name = "two fabrics"

    def settings(self, port):
        return [{"SOFTRDMA_FABRIC": f"pair.{port}.{which}",
                 "SOFTRDMA_ADDRESS": f"127.0.{1 + port % 200}.{which}"} for which in (1, 2)]

    def suits(self, command):
        return not UNRELIABLE.match(" ".join(map(str, command)))


class TwoNamespaces(TwoFabrics):
    """Two hosts out of network name spaces, with a cable between them. Needs root."""
    name = "two name spaces"
    address = "10.94.0.1"
    mtu = 1500
    groups = [IPV4_GROUP, [*IPV6_GROUP, "-x", "1"]]
    roce_addresses = None  # of both, if not all that they have

    def __init__(self):
        self.names = [f"softrdma-{os.getpid()}-{which}" for which in (1, 2)]
        self.server, self.client = (["ip", "netns", "exec", name] for name in self.names)

    def settings(self, port):
        fabric = {"SOFTRDMA_FABRIC": f"pair.{port}"}
        if not self.roce_addresses:
            return [fabric] * 2
        return [{**fabric, "SOFTRDMA_ADDRESS": address} for address in self.roce_addresses]

    def __enter__(self):
        for name in self.names:
            ip("netns", "add", name)
        ends = [f"sr{os.getpid()}-{which}" for which in (1, 2)]
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for which, (name, end) in enumerate(zip(self.names, ends), 1):
            ip("link", "set", end, "netns", name)
            for command in (["addr", "add", f"10.94.0.{which}/16", "dev", end],
                            ["addr", "add", f"fd94::{which}/64", "dev", end, "nodad"],
                            ["link", "set", end, "mtu", str(self.mtu), "up"],
                            ["link", "set", "lo", "up"]):
                ip("-n", name, *command)
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False)


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def ucx():
    """UCX over its rc_verbs and ud_verbs, polling and sleeping. A one-sided operation wakes nobody who
    sleeps at its target, so that those poll."""
    for test, wait in [("tag_lat", "poll"), ("tag_bw", "poll"), ("tag_lat", "sleep"),
                       ("tag_bw", "sleep"), ("ucp_put_lat", "poll"), ("ucp_put_bw", "poll"),
                       ("ucp_get", "poll"), ("ucp_fadd", "poll"), ("ucp_cswap", "poll")]:
        yield ["ucx_perftest", "-t", test, "-n", "200", "-w", "10", "-s", "8", "-E", wait]
    yield ["ucx_perftest", "-t", "tag_bw", "-n", "50", "-w", "5", "-s", "1048576"]


UCX_SETTINGS = {"UCX_TLS": "rc_verbs,ud_verbs,self", "UCX_NET_DEVICES": "softrdma0:1"}


def multicast(place):
    """Datagrams to multicast groups: no more of them than inboxes and sockets hold, as nobody tells of
    one that is lost. Each end of a latency test has a group, which perftest chooses; those don't leave
    a host."""
    for group in place.groups:
        yield ["ib_send_bw", "-g", "-c", "UD", "-n", "100", "-s", "64", *group]
    if place.name == OneHost.name:
        yield ["ib_send_lat", "-g", "-c", "UD", "-n", "200"]
        yield ["ib_send_lat", "-g", "-c", "UD", "-n", "200", "-e"]


# With InfiniBand perftest asks a subnet manager for its groups.
MULTICAST_SETTINGS = {"SOFTRDMA_LINK": "roce"}
STRICT = {"SOFTRDMA_STRICT": "1"}


def strict():
    """Programs that register again what they have given back, and their settings."""
    yield from ((["ibv_rc_pingpong", "-c", *more], {}) for more in ([], ["-o"], ["-e"]))
    yield from ((["ib_send_bw", "-c", kind, "-n", "200"], {}) for kind in ("RC", "UD"))
    yield from ((command, UCX_SETTINGS) for command in ucx())


DELAY = {"SOFTRDMA_DELAY": "300"}  # microseconds


def late():
    """What goes on though every packet is late."""
    yield ["ibv_rc_pingpong", "-c"]
    yield ["ib_write_bw", "-c", "RC", "-n", "100"]


def lossy(everything):
    """What repeats until it has arrived."""
    yield ["ibv_rc_pingpong", "-c"]
    for operation, kind in itertools.product(("send", "write", "read", "atomic"), ("RC", "XRC")):
        for measure in ("lat", "bw") if everything else ("bw",):
            yield [f"ib_{operation}_{measure}", "-c", kind, "-n", "200"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def is_listening(place, port):
    listening = "0A"
    shown = subprocess.run([*place.server, "cat", "/proc/net/tcp", "/proc/net/tcp6"], text=True,
                           capture_output=True, check=True).stdout
    for line in shown.splitlines():
        fields = line.split()
        if fields[0] != "sl" and fields[3] == listening \
                and int(fields[1].rsplit(":", 1)[1], 16) == port:
            return True
    return False


def name_of(command, place, more):
    told = "".join(f", {key}={value}" for key, value in (more or {}).items())
    return f"{' '.join(map(str, command))} ({place.name}{told})"


def ended_well(command, status, text):
    """Whether a program did what it was started for. Once rping is through, one of its threads closes
    the channel of connection events, of which the other may be about to ask the next one: then it
    exits with an error though all went well (linux-rdma/rdma-core #1622 mends that)."""
    return status == 0 or (command[0] == "rping" and "DISCONNECT EVENT" in text
                           and "rdma_get_cm_event: Bad file descriptor" in text)


def run_ends(library, name, place, commands, settings, is_ready):
    """Runs a server at PLACE and, once IS_READY(), its client; COMMANDS and SETTINGS are of both.
    Returns what the client printed. NAME: what is said of them."""
    print("started:", name, flush=True)
    began = time.monotonic()

    def start(prefix, command, own):
        return subprocess.Popen([*prefix, *command], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT,
                                env={**os.environ, "LD_PRELOAD": str(library), **own})

    server = start(place.server, commands[0], settings[0])
    client = None
    try:
        while not is_ready():
            if server.poll() is not None or time.monotonic() - began > TIME_LIMIT_S:
                raise Failure(f"{name}: the server did not begin\n{server.communicate()[0][-2000:]}")
            time.sleep(0.01)
        client = start(place.client, commands[1], settings[1])
        shown = client.communicate(timeout=TIME_LIMIT_S)[0]
        served = server.communicate(timeout=TIME_LIMIT_S)[0]
    except subprocess.TimeoutExpired as late:
        raise Failure(f"{name}: not done after {TIME_LIMIT_S} s") from late
    finally:
        for end in (server, client):
            if end is not None and end.poll() is None:
                end.kill()
                end.wait()
    for which, command, process, text in (("client", commands[1], client, shown),
                                          ("server", commands[0], server, served)):
        if not ended_well(command, process.returncode, text):
            raise Failure(f"{name}: its {which} ended with {process.returncode}\n{text[-2000:]}")
        if re.search(r"invalid data|Failed status|strict mode|Completion with error|UCX\s+ERROR", text):
            raise Failure(f"{name}: its {which} says\n{text[-2000:]}")
    return shown


def run_pair(library, command, place, more=None):
    """Runs COMMAND as a server and as its client at PLACE; returns what the client printed. MORE:
    settings of both."""
    port = free_port()
    server = [*command, "-p", str(port)]
    return run_ends(library, name_of(command, place, more), place,
                    [server, [*server, place.address]],
                    [{**own, **(more or {})} for own in place.settings(port)],
                    lambda: is_listening(place, port))


def programs(everything):
    return [*pingpongs(), *perftests(everything)]
