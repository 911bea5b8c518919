#!/usr/bin/env python3
"""`./dev bench papers`: the tables of the published systems, measured with Hawser on softrdma.

    papers.py BUILD [--only WORD] [--output DIR]

Prints each table with the papers' own figures beside ours, and writes papers.md, papers.json and
pictures into --output (default: bench/results). WORD chooses the jobs whose names contain it; --only
may be given several times. What was measured before an interrupt (Ctrl-C) is printed and written too.
"""
import argparse
import dataclasses
import json
import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import measure  # noqa: E402
import native_sections  # noqa: E402
import pictures  # noqa: E402
import plan  # noqa: E402
import receive_sections  # noqa: E402
import run  # noqa: E402
import sections  # noqa: E402
import timed_sections  # noqa: E402
from tables import markdown  # noqa: E402

SECTIONS = (sections.connections, sections.memory, sections.memory_growth, sections.channels,
            timed_sections.pairs, timed_sections.initialization, timed_sections.latency,
            timed_sections.bandwidth, timed_sections.polled, timed_sections.first,
            timed_sections.progress, timed_sections.rdma, timed_sections.rendezvous,
            receive_sections.receives, receive_sections.rate, native_sections.native)


def say(text):
    print(text, flush=True)


def all_sections(outcomes):
    """The sections that have a row."""
    made = [make(outcomes) for make in SECTIONS]
    return [section for section in made if len(section.lines) > 1]


def text_of(section):
    return "\n".join([f"## {section.title}", "", *section.notes, "", *markdown(section.lines), ""])


def left_out_text(outcomes):
    """What the papers measured and is not measured here, and why."""
    alike = {}  # (table, missing) -> configurations
    for (table, name), missing in outcomes.left_out.items():
        alike.setdefault((table, ", ".join(missing)), []).append(name)
    lines = [["table", "missing in this build", "configurations"]]
    lines += [[*key, ", ".join(names)] for key, names in alike.items()]
    absent = [f"- {each.what}: {each.reason}." for each in plan.ABSENT]
    table = markdown(lines) if len(lines) > 1 else ["Nothing."]
    return "\n".join(["## Left out", "", *table, "", *absent, ""])


def failures_text(outcomes):
    failed = outcomes.failures()
    if not failed:
        return ""
    lines = [f"- {outcome.job.name}: {(outcome.sentence.splitlines() or ['?'])[0]}"
             for outcome in failed]
    return "\n".join(["## What did not end well", "", *lines, ""])


def page(outcomes, where, shown, names):
    """The result page."""
    goals = [goal for section in shown for goal in section.goals]
    parts = ["# The papers' tables, with Hawser", "",
             f"{where['processor']}, {where['cores']} cores, {where['system']}; {where['time'][:10]}; "
             f"Hawser {where['hawser']}; one host, queue pairs of softrdma, MTU 4096. Counts and bytes "
             "compare with the papers; times were measured on other machines. "
             f"{sum(goals)} of {len(goals)} goals met.", "",
             *[f"![{name}]({name}.svg)" for name in names], ""]
    parts += [text_of(section) for section in shown]
    return "\n".join([*parts, left_out_text(outcomes), failures_text(outcomes)]).rstrip() + "\n"


def record(outcome):
    """OUTCOME for papers.json, its ranks summed up."""
    return {"job": dataclasses.asdict(outcome.job), "sentence": outcome.sentence,
            "results": outcome.results,
            "connections": [dataclasses.asdict(rank.connections) for rank in outcome.ranks],
            "ledger_bytes": [rank.ledger_bytes for rank in outcome.ranks],
            "seen": {rank: dataclasses.asdict(seen) for rank, seen in sorted(outcome.seen.items())}}


def write(directory, outcomes, where, shown):
    directory.mkdir(parents=True, exist_ok=True)
    drawn = pictures.pictures(outcomes, f"{where['processor']}, {where['cores']} cores")
    for name, svg in drawn.items():
        (directory / f"{name}.svg").write_text(svg)
    (directory / "papers.md").write_text(page(outcomes, where, shown, drawn))
    results = {"machine": where, "outcomes": [record(each) for each in outcomes.by_key.values()],
               "left_out": [{"table": table, "configuration": name, "missing": missing}
                            for (table, name), missing in outcomes.left_out.items()]}
    (directory / "papers.json").write_text(json.dumps(results, indent=1) + "\n")
    say(f"written: {directory}/papers.md, papers.json, {', '.join(f'{name}.svg' for name in drawn)}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", action="append", default=[], metavar="WORD")
    parser.add_argument("--output", type=pathlib.Path, default=HERE.parent / "results")
    options = parser.parse_args(arguments)
    jobs = [job for job in plan.jobs()
            if not options.only or any(word in job.name for word in options.only)]
    if not jobs:
        parser.error(f"no job's name contains {' or '.join(options.only)}; they begin with "
                     + ", ".join(dict.fromkeys(job.table for job in plan.jobs())))
    measurement = measure.Measurement(options.build.resolve())
    where = run.machine() | {"hawser": measurement.build.version}
    run.print_machine(where)
    # A shell starts what it puts in the background with interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    outcomes = measurement.measure_all(jobs, say)
    shown = all_sections(outcomes)
    for section in shown:
        say(text_of(section))
    say(left_out_text(outcomes))
    say(failures_text(outcomes))
    write(options.output, outcomes, where, shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
