#!/usr/bin/env python3
"""Whether what softrdma sends between hosts is RoCEv2: captures the packets of perftest and pingpongs
between two network name spaces (needs root), has tshark dissect each, and computes every ICRC again
with scapy, for IPv4 and IPv6.

    wire.py --library LIBSOFTRDMA --work DIR --scapy PYTHON [--counts FILE]

PYTHON: an interpreter that has scapy. Run with --recompute FILE by that one, this prints how many
packets the capture FILE has, and how many of them have a wrong ICRC.
"""
import argparse
import collections
import os
import pathlib
import subprocess
import sys
import time

import pairs

# Operations of the low five bits of an opcode (IBA table 38), by service; what must be seen.
SERVICES = {0: "RC", 1: "UC", 3: "UD", 5: "XRC"}
SEND, WRITE, READ, ATOMIC = ({0, 1, 2}, {6, 7, 8}, {12, 13, 14, 15}, {18, 20})
ACKNOWLEDGE, SEND_ONLY, WRITE_ONLY, READ_ONLY, FETCH_ADD = 17, 4, 10, 16, 20
IMMEDIATE, SEND_ONLY_IMMEDIATE, INVALIDATE = {3, 5, 9, 11}, 5, {22, 23}
WANTED = {
    "RC": {*SEND, *WRITE, *READ, ACKNOWLEDGE, SEND_ONLY, WRITE_ONLY, READ_ONLY, *ATOMIC, *IMMEDIATE,
           *INVALIDATE},
    "UC": {*SEND, *WRITE, SEND_ONLY, WRITE_ONLY, *IMMEDIATE},
    "UD": {SEND_ONLY, SEND_ONLY_IMMEDIATE},
    "XRC": {*SEND, *WRITE, *READ, ACKNOWLEDGE, SEND_ONLY, WRITE_ONLY, READ_ONLY, FETCH_ADD,
            *IMMEDIATE},
}


def programs(work, group):
    """Short and long messages of every operation and service; datagrams to the multicast GROUP."""
    yield from pairs.operations(work)
    if group:
        yield ["ib_send_bw", "-g", "-c", "UD", "-n", "5", "-s", "64", *group]
    for kind in ("RC", "UC", "UD", "XRC"):
        for size in ("64", "4000") if kind != "UD" else ("64",):
            yield ["ib_send_lat", "-c", kind, "-n", "5", "-s", size]
    for kind in ("RC", "UC", "XRC"):
        for size in ("64", "4000"):
            yield ["ib_write_lat", "-c", kind, "-n", "5", "-s", size]
    for kind in ("RC", "XRC"):
        for size in ("64", "4000"):
            yield ["ib_read_lat", "-c", kind, "-n", "5", "-s", size]
        yield ["ib_atomic_lat", "-c", kind, "-n", "5"]
    yield ["ib_atomic_lat", "-A", "CMP_AND_SWAP", "-n", "5"]


def capture(place, file):
    """tshark on the server's side, once it captures."""
    end = f"sr{os.getpid()}-1"
    process = subprocess.Popen([*place.server, "tshark", "-q", "-i", end, "-w", file, "-f",
                                "udp port 4791"], stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "Capturing on" in line:
            break
    # It says so a moment before it does.
    time.sleep(1)
    return process


def dissect(file):
    """Packets by service and operation; a packet that tshark can't make sense of is a failure."""
    shown = subprocess.run(["tshark", "-r", file, "-T", "fields", "-e", "infiniband.bth.opcode",
                            "-e", "_ws.malformed", "-e", "frame.number"], capture_output=True,
                           text=True, check=True).stdout
    seen = collections.defaultdict(collections.Counter)
    for line in shown.splitlines():
        opcode, malformed, number = line.split("\t")
        if not opcode or malformed:
            raise pairs.Failure(f"tshark: packet {number} of {file} is no RoCE packet: {line}")
        seen[SERVICES.get(int(opcode) >> 5, "other")][int(opcode) & 31] += 1
    return seen


def check(library, work, scapy, place, name, settings, group):
    file = work / f"{name}.pcapng"
    file.unlink(missing_ok=True)
    process = capture(place, file)
    try:
        for command in programs(work, group):
            pairs.run_pair(library, command, place, settings)
    finally:
        time.sleep(0.5)
        process.terminate()
        process.communicate()
    seen = dissect(file)
    for service, operations in WANTED.items():
        missing = sorted(operations - set(seen[service]))
        if missing:
            raise pairs.Failure(f"{name}: no packet of {service} with operation {missing} was seen")
    told = subprocess.run([scapy, __file__, "--recompute", file], capture_output=True, text=True,
                          check=True).stdout
    packets, wrong = map(int, told.split())
    total = sum(sum(counts.values()) for counts in seen.values())
    if wrong or packets != total:
        raise pairs.Failure(f"{name}: of {packets} packets (tshark: {total}) {wrong} have an ICRC "
                            f"that scapy computes otherwise; see {file}")
    print(f"  {name}: {total} packets, "
          + ", ".join(f"{service}: {len(counts)} operations" for service, counts in seen.items()))


def recompute(file):
    from scapy.all import UDP, PcapNgReader, raw  # of the private environment
    from scapy.contrib.roce import BTH
    packets = wrong = 0
    for packet in PcapNgReader(file):
        if UDP not in packet:
            continue
        packets += 1
        if BTH not in packet:
            wrong += 1
            continue
        sent = raw(packet[UDP])[:packet[UDP].len][-4:]
        wrong += packet[BTH].compute_icrc(raw(packet[BTH])) != sent
    print(packets, wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--scapy", type=pathlib.Path)
    parser.add_argument("--counts", type=pathlib.Path, help="append 'passed failed skipped'")
    parser.add_argument("--recompute", metavar="FILE")
    options = parser.parse_args()
    if options.recompute:
        recompute(options.recompute)
        return 0
    passed = failed = skipped = 0
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    # tshark drops its rights before it writes.
    work.chmod(0o777)
    roce = {"SOFTRDMA_LINK": "roce"}
    networks = [("infiniband", {}, None, None),
                ("roce-ipv4", roce, ("10.94.0.1", "10.94.0.2"), pairs.IPV4_GROUP),
                ("roce-ipv6", roce, ("fd94::1", "fd94::2"), pairs.IPV6_GROUP)]
    if os.geteuid() != 0:
        print("skipped: captures between network name spaces need root")
        skipped = len(networks)
    else:
        with pairs.TwoNamespaces() as place:
            for name, settings, place.roce_addresses, group in networks:
                try:
                    check(options.library.resolve(), work, options.scapy.absolute(), place, name,
                          settings, group)
                    passed += 1
                except pairs.Failure as failure:
                    print(f"FAILED: {failure}", file=sys.stderr)
                    failed += 1
    if options.counts:
        with options.counts.open("a") as file:
            file.write(f"{passed} {failed} {skipped}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
