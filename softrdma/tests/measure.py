#!/usr/bin/env python3
"""The numbers that softrdma is to reach, measured: on one host, and between two network name spaces
(needs root) beside plain UDP datagrams of the same size, interleaved.

    measure.py --library LIBSOFTRDMA --work DIR [--rounds N]

Prints for each the median of the rounds, the least and the most, and the goal.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys

import pairs

# What a packet of 1024 bytes has beside its payload, so that both send datagrams of one size.
PACKET_BYTES = 1024 + 12 + 4


def last_row(shown):
    """The figures of perftest's last line of figures."""
    rows = [line.split() for line in shown.splitlines() if re.match(r"\s*\d+\s+\d+\s+[\d.]+", line)]
    return [float(figure) for figure in rows[-1]]


def latency_us(library, place, size, program="ib_send_lat"):
    shown = pairs.run_pair(library, [program, "-n", "10000", "-s", str(size)], place)
    return last_row(shown)[4]  # typical


def bandwidth_mb(library, place, program, size, count):
    shown = pairs.run_pair(library, [program, "-n", str(count), "-s", str(size)], place)
    return last_row(shown)[3] * 1.048576  # perftest counts MiB


def plain(program, place, what, size):
    server = subprocess.Popen([*place.server, program, "server", what, str(size)], text=True,
                              stdout=subprocess.PIPE)
    try:
        server.stdout.readline()
        client = subprocess.run([*place.client, program, "client", what, str(size), place.address],
                                text=True, capture_output=True, timeout=pairs.TIME_LIMIT_S)
        served = server.communicate(timeout=pairs.TIME_LIMIT_S)[0]
    finally:
        server.kill()
        server.wait()
    return float(client.stdout if what == "latency" else served)


def show(name, values, unit, goal):
    print(f"{name:58} {statistics.median(values):9.2f} {unit:5} "
          f"({min(values):.2f} to {max(values):.2f}; goal {goal})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    library, work = options.library.resolve(), options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    rounds = range(options.rounds)

    host = pairs.OneHost()
    show("RC send, 8 bytes, one way", [latency_us(library, host, 8) for _ in rounds], "us",
         "at most 1.5")
    for operation in ("write", "read"):
        show(f"RDMA {operation}, 8 bytes, {'one way' if operation == 'write' else 'done'}",
             [latency_us(library, host, 8, f"ib_{operation}_lat") for _ in rounds], "us", "-")
    show("RDMA write, 1 MiB",
         [bandwidth_mb(library, host, "ib_write_bw", 1 << 20, 3000) / 1000 for _ in rounds], "GB/s",
         "at least 8")
    queue_pairs = subprocess.run([pairs.build(work, "queue_pairs")], text=True, check=True,
                                 capture_output=True,
                                 env={**os.environ, "LD_PRELOAD": str(library)}).stdout
    show("memory of each of 10,000 RC queue pairs", [float(queue_pairs)], "bytes", "at most 2048")
    if os.geteuid() != 0:
        print("skipped: between network name spaces, which needs root")
        return 0
    udp = pairs.build(work, "udp")
    with pairs.TwoNamespaces() as place:
        latencies = [(latency_us(library, place, 8), plain(udp, place, "latency", 28))
                     for _ in rounds]
        rates = [(bandwidth_mb(library, place, "ib_send_bw", 65536, 3000),
                  plain(udp, place, "bandwidth", PACKET_BYTES)) for _ in rounds]
    show("between name spaces: RC send, 8 bytes, one way", [ours for ours, _ in latencies], "us", "-")
    show("  plain UDP", [theirs for _, theirs in latencies], "us", "-")
    show("  ratio", [ours / theirs for ours, theirs in latencies], "", "at most 1.5")
    show("between name spaces: RC send, 64 KiB", [ours for ours, _ in rates], "MB/s", "-")
    show("  plain UDP, datagrams of the same size", [theirs for _, theirs in rates], "MB/s", "-")
    show("  ratio", [ours / theirs for ours, theirs in rates], "", "at least 0.7")
    return 0


if __name__ == "__main__":
    sys.exit(main())
