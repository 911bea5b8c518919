"""Programs of librdmacm on softrdma, a server and a client each: those of rdmacm-utils, perftest by
its -R, and libfabric. They find one another by IP addresses; the library is the system's."""
import re
import subprocess

import pairs
from pairs import Failure

UDADDY_PORT = 7174  # it takes no other


def commands(everything, place):
    """Server, client (both without the server's address), the port, and what the client has to show."""
    port = 7471
    yield (["rping", "-s", "-p", f"{port}", "-C", "10"],
           ["rping", "-c", "-p", f"{port}", "-v", "-V", "-C", "10", "-a"], port, "rdma-ping-9: ")
    yield (["ucmatose", "-p", f"{port}", "-c", "10"],
           ["ucmatose", "-p", f"{port}", "-c", "10", "-s"], port, "return status 0")
    yield ["udaddy", "-c", "5"], ["udaddy", "-c", "5", "-s"], UDADDY_PORT, "return status 0"
    yield (["rdma_server", "-p", f"{port}"], ["rdma_client", "-p", f"{port}", "-s"], port,
           "rdma_client: end 0")
    for program in ("ib_send_lat", "ib_write_bw", *(["ib_read_bw", "ib_send_bw"] if everything else [])):
        command = [program, "-R", "-n", "200", "-p", f"{port}"]
        yield command, command, port, "#bytes"
    # Its server tells its client where it listens: at 127.0.0.1.
    for kind in ("msg", "rdm") if place.name == pairs.OneHost.name else ():
        yield (["fi_pingpong", "-p", "verbs", "-e", kind, "-c", "-B", f"{port}"],
               ["fi_pingpong", "-p", "verbs", "-e", kind, "-c", "-P", f"{port}"], port, "1m ")


def lossy():
    """What has to be made and ended though messages of the connection manager are lost."""
    port = 7471
    yield (["rping", "-s", "-p", f"{port}", "-C", "50"],
           ["rping", "-c", "-p", f"{port}", "-v", "-V", "-C", "50", "-a"], port, "rdma-ping-49: ")
    yield (["ucmatose", "-p", f"{port}", "-c", "10"],
           ["ucmatose", "-p", f"{port}", "-c", "10", "-s"], port, "return status 0")


def listens_by_softrdma(place, port):
    """Whoever listens holds a socket with a name that says so."""
    shown = subprocess.run([*place.server, "cat", "/proc/net/unix"], text=True, capture_output=True,
                           check=True).stdout
    return re.search(rf"@softrdma\.port\.\w+\.\w+\.{port}\.listening$", shown, re.MULTILINE) is not None


def by_links(place, everything):
    """Programs and their settings. libfabric finds no RoCE on hosts that have loopback alone."""
    for program in commands(everything, place):
        yield program, None
        if program[0][0] != "fi_pingpong":
            yield program, {"SOFTRDMA_LINK": "roce"}
    for program in lossy():
        yield program, {"SOFTRDMA_LOSS": "0.01"}


def is_ready(place, port):
    return listens_by_softrdma(place, port) or pairs.is_listening(place, port)


def run(library, program, place, more=None):
    """Runs a server and its client at PLACE. MORE: settings of both."""
    server_command, client_command, port, wanted = program
    name = pairs.name_of(client_command, place, more)
    settings = [{**own, **(more or {})} for own in place.settings(pairs.free_port())]
    address = settings[0].get("SOFTRDMA_ADDRESS", place.address)
    shown = pairs.run_ends(library, name, place, [server_command, [*client_command, address]],
                           settings, lambda: is_ready(place, port))
    if wanted not in shown:
        raise Failure(f"{name}: its client shows no '{wanted}'\n{shown[-2000:]}")
