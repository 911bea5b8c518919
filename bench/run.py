#!/usr/bin/env python3
"""The figures of `./dev bench`: runs the micro benchmarks, prints each figure beside its goal.

    run.py BUILD [WHAT]                      what BUILD (build/release) holds; WHAT: parts by name
    run.py --mpirun M --program P [WHAT]     bench/micro built with another library

A run of all parts writes results.json and latency.svg into --output (default: build/bench). A part
is a function that yields figures; PARTS lists them.
"""
import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import chart

ROOT = pathlib.Path(__file__).resolve().parents[1]
JOB_SECONDS_MAX = 120


@dataclasses.dataclass
class Figure:
    """One measured number. GOAL: the most it may be, if there is a goal, or (IS_LEAST) the least."""
    name: str
    value: float
    unit: str
    goal: float | None = None
    is_least: bool = False

    @property
    def is_reached(self):
        if self.goal is None:
            return None
        return self.value >= self.goal if self.is_least else self.value <= self.goal

    @property
    def verdict(self):
        return {None: "", True: "reached", False: "NOT REACHED"}[self.is_reached]

    def line(self):
        most = "least" if self.is_least else "most"
        goal = "" if self.goal is None else f"at {most} {self.goal:g}"
        return f"  {self.name:48} {self.value:12.3f} {self.unit:6} {goal:14} {self.verdict}".rstrip()

    def record(self):
        return dataclasses.asdict(self) | {"reached": self.is_reached}


class Bench:
    """Starts jobs; keeps the table of sizes for the picture."""

    def __init__(self, mpirun, program):
        self.mpirun, self.program = mpirun, program
        self.sizes = {}  # bytes -> {"latency_us": …, "bandwidth_mbps": …}

    def start(self, ranks, *arguments, variables=None):
        command = [self.mpirun, "-n", ranks, self.program, *arguments]
        command = [str(word) for word in command]
        run = subprocess.run(command, capture_output=True, text=True, timeout=JOB_SECONDS_MAX,
                             stdin=subprocess.DEVNULL, env=os.environ | (variables or {}))
        if run.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit code {run.returncode}\n{run.stderr}")
        return run.stdout

    def results(self, ranks, *arguments, variables=None):
        """The lines that a job prints: name and numbers. VARIABLES: of its environment."""
        for line in self.start(ranks, *arguments, variables=variables).splitlines():
            name, *numbers = line.split()
            yield name, [float(number) for number in numbers]


# ---------------------------------------------------------------- parts


def latency(bench):
    """Ping-pong between two ranks."""
    for _, (size, microseconds) in bench.results(2, "latency"):
        bench.sizes.setdefault(int(size), {})["latency_us"] = microseconds
        if size == 8:
            yield Figure("8 bytes, one way", microseconds, "us", 0.15)


def stream(bench):
    """One rank sends, the other receives, 64 messages at a time."""
    for _, (size, megabytes) in bench.results(2, "stream"):
        bench.sizes.setdefault(int(size), {})["bandwidth_mbps"] = megabytes
        if size == 8:
            yield Figure("messages of 8 bytes", megabytes / size, "M/s")
    yield Figure("highest bandwidth", 1e-3 * max(row.get("bandwidth_mbps", 0)
                                                 for row in bench.sizes.values()), "GB/s")


def collectives(bench):
    """The time of one call in a row of calls."""
    for ranks in (2, 8, 16):
        for _, (_, microseconds) in bench.results(ranks, "collective", "allreduce", 4):
            yield Figure(f"allreduce of 4 bytes, {ranks} ranks", microseconds, "us",
                         100 if ranks == 16 else None)
        for _, (_, microseconds) in bench.results(ranks, "barrier"):
            yield Figure(f"barrier, {ranks} ranks", microseconds, "us")


def start(bench):
    """mpirun of a program that only initialises and finalises, from start to end."""
    for ranks, repeats, goal in ((2, 15, 40), (64, 7, 1000)):
        times = []
        for _ in range(repeats):
            began = time.monotonic()
            bench.start(ranks, "empty")
            times.append(1e3 * (time.monotonic() - began))
        yield Figure(f"empty job, {ranks} ranks", statistics.median(times), "ms", goal)


def memory(bench):
    """Proportional set size after MPI_Init and MPI_Barrier."""
    for _, (ranks, middle, largest) in bench.results(64, "footprint"):
        yield Figure(f"{ranks:.0f} ranks, largest rank", largest * 1e-6, "MB", 1.5)
        yield Figure(f"{ranks:.0f} ranks, median rank", middle * 1e-6, "MB")


def matching(bench):
    """Receives and messages matched in reverse order, by the depth of the queue."""
    shallow = {}
    for name, (depth, nanoseconds) in bench.results(2, "matching"):
        what = "posted receives" if name == "posted" else "unexpected messages"
        yield Figure(f"{depth:.0f} {what}, each", nanoseconds, "ns")
        if name in shallow:
            goal = 2 if depth == 100000 else None
            yield Figure(f"{depth:.0f} {what}, to 100 of them", nanoseconds / shallow[name], "x",
                         goal)
        else:
            shallow[name] = nanoseconds


def pack(bench):
    """MPI_Pack of a vector of doubles, to the loop that a program would write."""
    for _, (blocks, length, stride, by_mpi, by_hand) in bench.results(1, "pack"):
        yield Figure(f"vector({blocks:.0f}, {length:.0f}, {stride:.0f}), to the loop",
                     by_mpi / by_hand, "x", 1.3)


def blocked(bench):
    """Processor time of ranks that wait in MPI_Recv, the busiest of them."""
    for _, (ranks, seconds, used) in bench.results(9, "blocked", 10):
        yield Figure(f"{ranks:.0f} ranks for {seconds:.0f} s, of one core", 100 * used / seconds,
                     "%", 1)


PROGRESS = ("polling", "blocking", "thread", "two_threads")
TRANSPORTS = {"shm": {}, "verbs": {"HAWSER_TRANSPORT": "verbs", "HAWSER_VERBS_ADAPTER": "softrdma",
                                   "SOFTRDMA_FABRIC": f"bench-{os.getpid()}"}}


def overlap(bench):
    """The part of a rendezvous transfer that a computation of one side hides, by wait.progress."""
    for transport, reached_by in TRANSPORTS.items():
        for mode in PROGRESS:
            for side in ("sender", "receiver"):
                for size in (1 << 20, 4 << 20, 16 << 20):
                    variables = reached_by | {"HAWSER_WAIT_PROGRESS": mode}
                    for _, (_, hidden, *_) in bench.results(2, "overlap", side, size,
                                                        variables=variables):
                        yield Figure(f"{transport}, {mode}, {side}, {human(size)}", hidden, "%",
                                     90 if "thread" in mode else None, is_least=True)


PARTS = (latency, stream, collectives, start, memory, matching, pack, blocked, overlap)


# ---------------------------------------------------------------- what surrounds them


def machine():
    """Where and when the figures were measured."""
    model = platform.machine()
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return {"processor": model, "cores": len(os.sched_getaffinity(0)),
            "system": f"{platform.system()} {platform.release()}",
            "load_average": round(os.getloadavg()[0], 2),
            "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}


def print_machine(where):
    print(f"{where['processor']}, {where['cores']} cores, {where['system']}; "
          f"load average {where['load_average']}")
    if where["load_average"] > 0.5:
        print("Other programs are running: the figures are worse than this machine can do.")


def human(size):
    for unit, power in (("MiB", 20), ("KiB", 10)):
        if size >= 1 << power:
            return f"{size >> power} {unit}"
    return f"{size} B"


def print_sizes(sizes):
    print(f"\n  {'size':>8} {'one way us':>12} {'MB/s':>12}")
    for size, row in sorted(sizes.items()):
        cells = [f"{row[key]:12.2f}" if key in row else " " * 12
                 for key in ("latency_us", "bandwidth_mbps")]
        print(f"  {human(size):>8} {cells[0]} {cells[1]}".rstrip())


def run_part(part, bench, figures):
    """Prints the figures of PART and adds their records; false if it failed."""
    print(f"\n{part.__name__}: {part.__doc__}", flush=True)
    try:
        for figure in part(bench):
            print(figure.line(), flush=True)
            figures.append({"part": part.__name__} | figure.record())
    except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as error:
        print(f"  failed: {error}", flush=True)
        return False
    return True


def write_results(directory, where, figures, sizes):
    rows = [{"bytes": size} | row for size, row in sorted(sizes.items())]
    directory.mkdir(parents=True, exist_ok=True)
    results = {"machine": where, "figures": figures, "sizes": rows}
    written = [directory / "results.json", directory / "latency.svg"]
    written[0].write_text(json.dumps(results, indent=1) + "\n")
    if rows:
        written[1].write_text(chart.sizes_svg(rows,
                                              f"{where['processor']}, {where['cores']} cores"))
    print(f"\nwritten: {', '.join(str(path) for path in written if path.exists())}")


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="BUILD|WHAT",
                        help="the build directory, unless --program is given; then a part of names")
    parser.add_argument("--mpirun", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build" / "bench")
    options = parser.parse_args(arguments)
    words = list(options.words)
    if options.program is None:
        if not words:
            parser.error("give the build directory: bench/run.py build/release")
        build = pathlib.Path(words.pop(0)).resolve()
        options.program = build / "bench" / "micro"
        options.mpirun = options.mpirun or build / "bin" / "mpirun"
    if len(words) > 1:
        parser.error(f"there is an argument too many: {words[1]}")
    options.what = words[0] if words else ""
    options.mpirun = options.mpirun or pathlib.Path("mpirun")
    return options


def main(arguments=None):
    options = parse_arguments(arguments)
    parts = [part for part in PARTS if options.what in part.__name__]
    if not parts:
        return 0  # another program of `./dev bench` has that name
    where = machine()
    print_machine(where)
    bench, figures = Bench(options.mpirun, options.program), []
    worked = [run_part(part, bench, figures) for part in parts]
    if bench.sizes:
        print_sizes(bench.sizes)

    if not options.what:
        write_results(options.output, where, figures, bench.sizes)
    goals = [figure for figure in figures if figure["goal"] is not None]
    if goals:
        print(f"\n{sum(figure['reached'] for figure in goals)} of {len(goals)} goals reached")
    return 0 if all(worked) else 1


if __name__ == "__main__":
    sys.exit(main())
