"""Running the jobs of the plan, each within its time, and reading what they and their ranks say."""
import dataclasses
import os
import pathlib
import tempfile
import time

import configurations
import launch
import native
import observe
import plan
import ranks

# Only this adapter, and nothing of shared memory. By its address, and with a fabric for each run, the
# MTU and the neighbours are the same whatever else runs on the host: an adapter without one has the MTU
# of the host's network, or the largest if another program has the network's port.
ADAPTER = {"HAWSER_TRANSPORT": "verbs", "HAWSER_VERBS_ADAPTER": "softrdma",
           "SOFTRDMA_ADDRESS": "127.0.0.2"}


@dataclasses.dataclass
class Outcome:
    """What a job yielded. RESULTS: (name, numbers) of the lines that it printed. RANKS: what they said
    at their end. SEEN: rank -> what was seen while it was held. SENTENCE: why it failed, or None."""
    job: plan.Job
    results: list
    ranks: list
    seen: dict
    sentence: str | None

    def numbers(self, name):
        """The numbers of all lines NAME."""
        return [numbers for found, numbers in self.results if found == name]


@dataclasses.dataclass
class Outcomes:
    """LEFT_OUT: (table, configuration) -> what the build lacks."""
    by_key: dict = dataclasses.field(default_factory=dict)
    left_out: dict = dataclasses.field(default_factory=dict)

    def of(self, table, pattern, count, configuration, options=(), repeat=0):
        return self.by_key.get((table, pattern, count, configuration, tuple(options), repeat))

    def in_table(self, table):
        return [outcome for outcome in self.by_key.values() if outcome.job.table == table]

    def failures(self):
        return [outcome for outcome in self.by_key.values() if outcome.sentence is not None]


def read_results(text):
    """(name, numbers) of each whole line."""
    results = []
    for line in text.splitlines(keepends=True):
        name, *numbers = line.split() or [""]
        try:
            if name and line.endswith("\n"):
                results.append((name, [float(number) for number in numbers]))
        except ValueError:
            continue
    return results


class Measurement:
    """Runs jobs of one BUILD directory."""

    def __init__(self, build):
        self.mpirun = build / "bin" / "mpirun"
        self.program = build / "bench" / "patterns"
        self.softrdma = build / "bin" / "softrdma"
        self.library = build / "lib" / "libsoftrdma.so"
        self.build = configurations.Build(build / "bin" / "hawser")

    def environment(self, job, configuration, directory):
        return configurations.clean_environment() | configuration.environment | ADAPTER | {
            "SOFTRDMA_FABRIC": f"papers-{os.getpid()}",
            "HAWSER_STATS": str(pathlib.Path(directory) / "stats.json")} | dict(job.variables)

    def run(self, job, configuration):
        with tempfile.TemporaryDirectory() as directory:
            environment = self.environment(job, configuration, directory)
            command = [self.mpirun, "-n", job.ranks, self.program, job.pattern, *job.options]
            hold = None
            if job.is_held:
                path = pathlib.Path(directory) / "hold"
                hold = observe.Hold(path, job.ranks, self.softrdma, environment)
                command.append(f"hold={path}")
            text, _, sentence = launch.run(command, environment, job.seconds_max,
                                           hold and hold.look)
            found = pathlib.Path(environment["HAWSER_STATS"])
            said = ranks.read_ranks(found.read_text()) if found.exists() else []
        if sentence is None and len(said) != job.ranks:
            sentence = f"{len(said)} of {job.ranks} ranks wrote their statistics"
        return Outcome(job, read_results(text), said, hold.seen if hold else {}, sentence)

    def run_native(self, job):
        results, sentence = native.run(self.library, job)
        return Outcome(job, results, [], {}, sentence)

    def measure(self, job, outcomes):
        """Runs JOB, or notes what the build lacks for it."""
        configuration = configurations.BY_NAME[job.configuration]
        missing = self.build.missing(configuration)
        if missing:
            outcomes.left_out[job.table, job.configuration] = missing
        else:
            outcomes.by_key[job.key] = (self.run_native(job) if job.pattern in native.READ
                                        else self.run(job, configuration))

    def measure_all(self, jobs, say):
        """The outcomes of JOBS; an interrupt ends it early."""
        outcomes = Outcomes()
        began = time.monotonic()
        measured = [job for job in jobs
                    if not self.build.missing(configurations.BY_NAME[job.configuration])]
        try:
            for job in jobs:
                if job in measured:
                    number = measured.index(job) + 1
                    say(f"[{time.monotonic() - began:5.0f} s] {number} of {len(measured)}: {job.name}")
                self.measure(job, outcomes)
        except KeyboardInterrupt:
            say("interrupted: what follows is what was measured until then")
        return outcomes
