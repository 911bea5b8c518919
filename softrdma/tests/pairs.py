"""Programs that come in two, a server and a client, on softrdma: the pingpongs of libibverbs and
perftest. Both ends run on this host, in one fabric of their own; each pair has a time limit."""
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


def pingpongs():
    """Each kind of queue pair, polling and sleeping; the received bytes are compared."""
    for kind, sleeps in itertools.product(("rc", "uc", "ud", "srq"), (False, True)):
        yield [f"ibv_{kind}_pingpong", "-c", *(["-e"] if sleeps else [])]


def perftests(everything):
    """Each operation with the transports that have it. EVERYTHING: all sizes, in all forms."""
    transports = {"send": ("RC", "UC", "UD"), "write": ("RC", "UC"), "read": ("RC",),
                  "atomic": ("RC",)}
    for operation, kinds in transports.items():
        for kind, measure in itertools.product(kinds, ("lat", "bw")):
            program = [f"ib_{operation}_{measure}", "-c", kind]
            has_sizes = operation != "atomic"
            if not everything:
                yield [*program, "-n", "200"]
                continue
            # At its largest sizes a server that is not driven needs a while.
            yield [*program, "-n", "100", *(["-a"] if has_sizes and kind != "UD" else [])]
            if operation == "send":
                yield [*program, "-n", "200", "-e"]
            if measure == "bw":
                yield [*program, "-n", "200", "-q", "4"]
                yield [*program, "-n", "200", "-b"]
    if not everything:
        yield ["ib_send_lat", "-n", "200", "-e"]
        yield ["ib_send_bw", "-n", "200", "-q", "4", "-b"]
        yield ["ib_write_bw", "-n", "100", "-s", "1048576"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def is_listening(port):
    listening = "0A"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in pathlib.Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == listening and int(fields[1].rsplit(":", 1)[1], 16) == port:
                return True
    return False


def run_pair(library, command, settings=None):
    """Runs COMMAND as a server and as its client; returns what the client printed."""
    port = free_port()
    name = " ".join(command)
    print("started:", name, flush=True)
    environment = {**os.environ, "LD_PRELOAD": str(library),
                   "SOFTRDMA_FABRIC": f"pair.{port}", **(settings or {})}
    options = {"env": environment, "text": True, "stdout": subprocess.PIPE,
               "stderr": subprocess.STDOUT}
    began = time.monotonic()
    server = subprocess.Popen([*command, "-p", str(port)], **options)
    client = None
    try:
        while not is_listening(port):
            if server.poll() is not None or time.monotonic() - began > TIME_LIMIT_S:
                raise Failure(f"{name}: the server did not begin\n{server.communicate()[0][-2000:]}")
            time.sleep(0.01)
        client = subprocess.Popen([*command, "-p", str(port), "localhost"], **options)
        shown = client.communicate(timeout=TIME_LIMIT_S)[0]
        served = server.communicate(timeout=TIME_LIMIT_S)[0]
    except subprocess.TimeoutExpired as late:
        raise Failure(f"{name}: not done after {TIME_LIMIT_S} s") from late
    finally:
        for end in (server, client):
            if end is not None and end.poll() is None:
                end.kill()
                end.wait()
    for end, text in (("client", shown), ("server", served)):
        process = client if end == "client" else server
        if process.returncode != 0:
            raise Failure(f"{name}: its {end} ended with {process.returncode}\n{text[-2000:]}")
        if re.search(r"invalid data|Failed status|Completion with error", text):
            raise Failure(f"{name}: its {end} says\n{text[-2000:]}")
    return shown


def programs(everything):
    return [*pingpongs(), *perftests(everything)]
