#!/usr/bin/env python3
"""`./dev bench hosts`: Hawser between hosts, beside Open MPI, MPICH and bare sockets.

    between_hosts.py BUILD --environments DIR [--rounds N] [--only WORD] [--first] [--output DIR]

Hosts are name spaces, so it needs root. Prints each comparison and writes hosts.json, hosts.md and a
picture into --output (default: bench/results). WORD chooses the jobs whose names contain it; --only may
be given several times. With --first jobs of two ranks run before all other programs of this machine
(SCHED_RR), where that is not idle. What was measured before an interrupt (Ctrl-C) is printed and written
too.
"""
import contextlib
import json
import os
import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import figures  # noqa: E402
import launchers  # noqa: E402
import compare  # noqa: E402
import hosts  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402
import run  # noqa: E402


class Results:
    """What was measured. COMPARED: [(Samples, names of libraries, Hawser's first)]."""

    def __init__(self, where, rounds_wanted):
        self.where = where
        self.rounds_wanted = rounds_wanted
        self.compared = []
        self.failures = {}
        self.versions = {}
        self.pictures = {}
        self.rounds = {}

    def measure(self, what, libraries, jobs, rounds=None):
        """The samples of JOBS; WHAT they are, for people."""
        samples, self.rounds[what] = measure.measure_all(libraries, jobs,
                                                         rounds or self.rounds_wanted, peers.say)
        self.failures |= samples.failures
        return samples

    def page(self):
        """The result page."""
        totals = [compare.totals(samples, names[0]) for samples, names in self.compared]
        reached, unproven, goals = (sum(each[i] for each in totals) for i in range(3))
        rounds = ", ".join(f"{number} ({what})" for what, number in self.rounds.items())
        where = self.where
        parts = ["# Hawser between hosts", "",
                 f"{where['processor']}, {where['cores']} cores, {where['system']}; "
                 f"{where['time'][:10]}. Hosts are name spaces: two of one rank, joined by a cable of the "
                 f"kernel's (veth); {figures.MANY_HOSTS} of {figures.RANKS_PER_HOST} ranks, joined by a "
                 f"bridge. Congestion control: {where['congestion_control']}."
                 + (" Jobs of two ranks ran before other programs." if where["is_first"] else ""),
                 f"Medians; whole interleaved rounds: {rounds}. {reached} of {goals} goals reached, "
                 f"{unproven} of them without some library. {peers.ABOUT_LINES}", ""]
        parts += [f"- {name}: {version}" for name, version in self.versions.items()] + [""]
        parts += [f"![{name}]({name}.svg)" for name in self.pictures] + [""]
        parts += [compare.table(samples, title, names) for samples, names in self.compared
                  for title in samples.groups]
        if self.failures:
            parts += ["### What did not end well", ""]
            parts += [f"- {library}, {job}: {sentence.splitlines()[0]}"
                      for (job, library), sentence in self.failures.items()] + [""]
        return "\n".join(parts)

    def write(self, directory):
        directory.mkdir(parents=True, exist_ok=True)
        for name, svg in self.pictures.items():
            (directory / f"{name}.svg").write_text(svg)
        (directory / "hosts.md").write_text(self.page())
        results = {"machine": self.where, "versions": self.versions, "rounds": self.rounds,
                   "figures": [record for samples, names in self.compared
                               for record in compare.records(samples, names[0])],
                   "failures": [{"job": job, "library": library, "sentence": sentence}
                                for (job, library), sentence in self.failures.items()]}
        (directory / "hosts.json").write_text(json.dumps(results, indent=1) + "\n")
        peers.say(self.page())
        peers.say(f"written: {directory}/hosts.md, hosts.json, {', '.join(f'{n}.svg' for n in self.pictures)}")


@contextlib.contextmanager
def before_others(is_wanted):
    """What is started meanwhile runs before all other programs."""
    if is_wanted:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def measure_two(results, places, jobs):
    """Latency and bandwidth. False if Hawser can't run."""
    with (hosts.Hosts(2, is_bridged=False) as two, before_others(results.where["is_first"])):
        *candidates, bare = launchers.on_two_hosts(places, two)
        usable, results.versions = peers.working(candidates)
        if launchers.OWN not in results.versions:
            return False
        samples = results.measure("two ranks", [*usable, bare], jobs)
    names = [library.name for library in [*usable, bare]]
    results.compared += figures.comparisons(samples, names)
    caption = f"{results.where['processor']}, {results.where['cores']} cores, two name spaces"
    results.pictures |= compare.pictures(samples, names, caption)
    return True


def measure_many(results, places, jobs):
    """Connections, and the start of a job."""
    with hosts.Hosts(figures.MANY_HOSTS) as many:
        libraries = launchers.on_many_hosts(places, many, figures.RANKS_PER_HOST)
        names = [library.name for library in libraries]
        for what, rounds in (("start", None), ("connections", 1)):  # they are the same each time
            if wanted := [job for job in jobs if job.name.startswith(what)]:
                what = f"{what} of {figures.MANY_RANKS} ranks"
                results.compared.append((results.measure(what, libraries, wanted, rounds), names))


def congestion_control():
    return pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()


def main(arguments=None):
    parser = peers.option_parser(__doc__.splitlines()[0])
    parser.add_argument("--first", action="store_true")
    options = parser.parse_args(arguments)
    if hosts.why_not():
        peers.say(f"there can be no hosts here: {hosts.why_not()}")
        return 1
    two = peers.chosen(figures.jobs_of_two(), options.only)
    many = peers.chosen(figures.jobs_of_many(), options.only)
    if not two and not many:
        parser.error(f"no job's name contains {' or '.join(options.only)}")
    where = run.machine() | {"congestion_control": congestion_control(), "is_first": options.first}
    run.print_machine(where)
    # A shell starts what it puts in the background with interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    build = options.build.resolve()
    places = launchers.Places(build, options.environments.resolve(), build / "hosts")
    results = Results(where, options.rounds)
    if two and not measure_two(results, places, two):
        return 1
    if many:
        measure_many(results, places, many)
    results.write(options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
