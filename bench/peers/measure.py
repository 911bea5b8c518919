"""Running the jobs of the plan: every library in turn, round after round, within time limits."""
import collections
import pathlib
import shutil
import tempfile
import time

import launch


class Samples:
    """What was measured. values[group][x][library]: a list, one entry a round, or a batch.
    lines[group][x][library]: for some groups, how long a bare cache line took at each of them."""

    def __init__(self):
        self.slow = {}  # (library, arguments of a job) -> the fewest ranks that took too long
        self.lines = collections.defaultdict(
            lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
        self.groups = {}  # title -> Group, in the order of the plan
        self.values = collections.defaultdict(
            lambda: collections.defaultdict(lambda: collections.defaultdict(list)))
        self.failures = {}  # (job, library) -> a sentence

    def add(self, group, x, library, value, line=None):
        self.groups.setdefault(group.title, group)
        self.values[group.title][int(x)][library.name].append(value)
        if line is not None:
            self.lines[group.title][int(x)][library.name].append(line)


def run(library, job, wrapper=()):
    """(output, seconds, sentence or None). What a job printed before its time was over counts."""
    return launch.run(library.command(job.ranks, job.arguments, wrapper), library.variables(),
                      job.seconds_max)


def read(job, text):
    """Yields (group, x, value, time of a bare cache line or None) of the lines that JOB printed; one
    that was cut off is none."""
    for line in text.splitlines(keepends=True):
        name, *numbers = line.split() or [""]
        if name in job.groups and line.endswith("\n"):
            numbers = [float(number) for number in numbers]
            x, value = job.read(numbers)
            yield job.groups[name], x, value, numbers[2] if job.line else None


def count(library, job, samples):
    """The instructions of a job.counted function, by callgrind. Returns a sentence or None."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    with tempfile.TemporaryDirectory() as directory:
        text, _, sentence = run(library, job, (
            "valgrind", "--tool=callgrind", "--collect-atstart=no",
            f"--toggle-collect={job.counted}*", f"--callgrind-out-file={directory}/%p"))
        if sentence is not None:
            return sentence
        total = sum(int(line.split()[1]) for path in pathlib.Path(directory).iterdir()
                    for line in path.read_text().splitlines() if line.startswith("totals:"))
    for line in text.splitlines():
        name, function, messages = (line.split() + ["", "", ""])[:3]
        if name == "messages" and function == job.counted:
            samples.add(job.groups[function], 8, library, total / int(messages))
    return None


def measure(library, job, samples):
    """Runs JOB once; one that failed with this library is not tried again, and one that took too long
    not with more ranks either."""
    if (job.name, library.name) in samples.failures:
        return
    slow = samples.slow.get((library.name, job.arguments))
    if slow is not None and slow < job.ranks:
        samples.failures[job.name, library.name] = f"not tried: {slow} ranks took too long"
        return
    if job.counted:
        sentence = count(library, job, samples)
        if sentence is not None:
            samples.failures[job.name, library.name] = sentence
        return
    text, seconds, sentence = run(library, job)
    if sentence is not None:
        samples.failures[job.name, library.name] = sentence
        if seconds >= job.seconds_max:
            samples.slow[library.name, job.arguments] = job.ranks
    elif job.timed:
        samples.add(job.groups[""], job.ranks, library, 1e3 * seconds)
    for group, x, value, line in read(job, text):
        samples.add(group, x, library, value, line)


REPEATS_MAX = 3  # of a job whose libraries never met the same line


def measure_all(libraries, jobs, rounds, say, is_complete=lambda samples, job: True):
    """The samples, and the number of whole rounds: an interrupt ends it early. After the rounds, jobs
    for which IS_COMPLETE(samples, job) does not hold are measured again, up to REPEATS_MAX times."""
    samples = Samples()
    done = 0
    began = time.monotonic()

    def measure_each(chosen, what):
        for job in chosen:
            say(f"[{time.monotonic() - began:5.0f} s] {what}: {job.name}")
            for library in libraries:
                measure(library, job, samples)

    try:
        for number in range(1, rounds + 1):
            measure_each(jobs, f"round {number} of {rounds}")
            done = number
        for number in range(1, REPEATS_MAX + 1):
            incomplete = [job for job in jobs if not is_complete(samples, job)]
            measure_each(incomplete, f"once more, at most {REPEATS_MAX} times ({number})")
    except KeyboardInterrupt:
        say("interrupted: what follows is what was measured until then")
    return samples, done
