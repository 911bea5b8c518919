#!/usr/bin/env python3
"""`./dev bench peers`: Hawser beside Intel MPI, MPICH and Open MPI, in one interleaved run.

    peers.py BUILD --environments DIR [--rounds N] [--only WORD] [--output DIR]

Prints each comparison and writes peers.json, peers.md and pictures into --output (default:
bench/results). WORD chooses the jobs whose names contain it; --only may be given several times. What
was measured before an interrupt (Ctrl-C) is printed and written too.
"""
import argparse
import json
import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import compare  # noqa: E402
import libraries  # noqa: E402
import measure  # noqa: E402
import plan  # noqa: E402
import run  # noqa: E402


def say(text):
    print(text, flush=True)


def working(candidates):
    """The libraries that run a job here, with the version that each says it is."""
    versions, usable = {}, []
    for library in candidates:
        text, _, sentence = measure.run(library, plan.Job("version", 2, ("version",), {}))
        lines = [line for line in text.splitlines() if line.startswith("version ")]
        if sentence is not None or not lines:
            say(f"{library.name} is left out: {sentence or 'it did not say its version'}")
            continue
        versions[library.name] = lines[0].removeprefix("version ").strip()
        usable.append(library)
    return usable, versions


ABOUT_LINES = ('Where a table has a column "line", only figures are compared that were taken while a bare '
               "cache line took so long from one core to the other; a library that was never measured then "
               "is missing in that row.")


def page(samples, names, where, versions, rounds, pictures):
    """The result page."""
    reached, unproven, goals = compare.totals(samples, names[0])
    parts = ["# Hawser beside its peers", "",
             f"{where['processor']}, {where['cores']} cores, {where['system']}; {where['time'][:10]}.",
             f"Medians; whole interleaved rounds: {rounds}. {reached} of {goals} goals reached, "
             f"{unproven} of them without some library. {ABOUT_LINES}", ""]
    parts += [f"- {name}: {versions[name]}" for name in names] + [""]
    parts += [f"![{name}]({name}.svg)" for name in pictures] + [""]
    parts += [compare.table(samples, title, names) for title in samples.groups]
    if samples.failures:
        parts += ["### What did not end well", ""]
        parts += [f"- {library}, {job}: {sentence.splitlines()[0]}"
                  for (job, library), sentence in samples.failures.items()] + [""]
    return "\n".join(parts)


def write(directory, samples, names, where, versions, rounds):
    directory.mkdir(parents=True, exist_ok=True)
    pictures = compare.pictures(samples, names, f"{where['processor']}, {where['cores']} cores")
    for name, svg in pictures.items():
        (directory / f"{name}.svg").write_text(svg)
    text = page(samples, names, where, versions, rounds, pictures)
    (directory / "peers.md").write_text(text)
    results = {"machine": where, "versions": versions, "rounds": rounds,
               "figures": list(compare.records(samples, names[0])),
               "failures": [{"job": job, "library": library, "sentence": sentence}
                            for (job, library), sentence in samples.failures.items()]}
    (directory / "peers.json").write_text(json.dumps(results, indent=1) + "\n")
    say(f"written: {directory}/peers.md, peers.json, {', '.join(f'{name}.svg' for name in pictures)}")


def option_parser(description):
    """Of a comparison with the libraries of others."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--environments", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", default=[], metavar="WORD")
    parser.add_argument("--output", type=pathlib.Path, default=HERE.parent / "results")
    return parser


def chosen(jobs, words):
    """JOBS whose names contain one of WORDS; all of them where there are no words."""
    return [job for job in jobs if not words or any(word in job.name for word in words)]


def main(arguments=None):
    parser = option_parser(__doc__.splitlines()[0])
    options = parser.parse_args(arguments)
    jobs = chosen(plan.jobs(), options.only)
    if not jobs:
        parser.error(f"no job's name contains {' or '.join(options.only)}; there are "
                     + ", ".join(job.name for job in plan.jobs()))
    where = run.machine()
    run.print_machine(where)
    usable, versions = working(libraries.found_libraries(
        options.build.resolve(), options.environments.resolve(), options.build.resolve() / "peers"))
    names = [library.name for library in usable]
    if "Hawser" not in names or len(names) < 2:
        say("there is nothing to compare")
        return 1
    # A shell starts what it puts in the background with interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    samples, rounds = measure.measure_all(
        usable, jobs, options.rounds, say,
        lambda samples, job: compare.is_complete(samples, job, names[0]))
    for title in samples.groups:
        say(compare.table(samples, title, names))
    for (job, library), sentence in samples.failures.items():
        say(f"{library}, {job}: {sentence}")
    reached, unproven, goals = compare.totals(samples, names[0])
    write(options.output, samples, names, where, versions, rounds)
    say(f"{reached} of {goals} goals reached, {unproven} of them without some library")
    return 0


if __name__ == "__main__":
    sys.exit(main())
