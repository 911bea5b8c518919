"""The adapter's own programs (perftest), which do what ours does without MPI: what they find is what
there is to reach."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "softrdma" / "tests"))

import pairs  # noqa: E402

BYTES_PER_MIB = 1.048576e6


def last_row(shown):
    """The figures of perftest's last line of figures."""
    rows = [line.split() for line in shown.splitlines() if re.match(r"\s*\d+\s+\d+\s+[\d.]+", line)]
    if not rows:
        raise pairs.Failure("it printed no figures")
    return [float(figure) for figure in rows[-1]]


# What a program's row says: the line of `patterns` that says the same, and its value.
READ = {"ib_write_lat": lambda row: ("pingpong", row[5]),                      # us, the average
        "ib_write_bw": lambda row: ("stream", row[3] * BYTES_PER_MIB / 1e6)}  # MB/s, the average


def run(library, job):
    """(results, sentence or None) of JOB, whose pattern is one of READ, on the adapter of LIBRARY."""
    try:
        shown = pairs.run_pair(library, [job.pattern, *job.options], pairs.OneHost())
        row = last_row(shown)
    except (OSError, pairs.Failure, subprocess.SubprocessError) as failure:
        return [], f"{job.pattern}: {failure}"
    name, value = READ[job.pattern](row)
    return [(name, [row[0], value])], None
