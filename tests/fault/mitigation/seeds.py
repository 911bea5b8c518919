#!/usr/bin/env python3
"""Runs heat (heat.cpp) with many seeds: each says who dies when, and by which transport the ranks
talk. All must end in time, with the right temperatures.

    seeds.py --build build/release --seeds 500 [--first 0] [--jobs 2] [--counts FILE]
    seeds.py --build build/release --seed 123     one of them again, with what it prints
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

RANKS = 4
SECONDS_MAX = 40
OF_A_RANK_THAT_WAS_KILLED = 137
FAILURES_SHOWN_MAX = 5

SHM = {"HAWSER_TRANSPORT": "shm"}
TCP = {"HAWSER_TRANSPORT": "tcp"}
RINGS = {"HAWSER_CHANNEL_EARN_RULES": "messages >= 2 -> ring"}
TEAMS = {"HAWSER_COLLECTIVE_SHARED_AFTER": "1"}
MESSAGES = {"HAWSER_COLLECTIVE_SHARED_AFTER": "0"}
VERBS = {"HAWSER_TRANSPORT": "verbs", "HAWSER_VERBS_ADAPTER": "softrdma"}
# One after the other, seed by seed: half of them over shared memory, in all ways.
VARIANTS = [SHM, TCP, SHM | TEAMS, TCP | TEAMS, SHM | RINGS | MESSAGES, TCP, SHM | RINGS | TEAMS,
            TCP, SHM | MESSAGES, VERBS]


def variant_of(seed, has_verbs):
    variant = VARIANTS[seed % len(VARIANTS)]
    if variant is not VERBS:
        return variant
    return VERBS | {"SOFTRDMA_FABRIC": f"hawser-tests-heat-{seed}"} if has_verbs else TCP


def run(build, seed):
    """Whether it went well, and what to show if not."""
    has_verbs = (build / "lib/hawser/verbs.so").exists() and (build / "lib/libsoftrdma.so").exists()
    variant = variant_of(seed, has_verbs)
    command = [str(build / "bin/mpirun"), "--with-ft", "ulfm", "--timeout", str(SECONDS_MAX), "-n",
               str(RANKS), str(build / "tests/fault/mitigation/mitigation_heat"), "--seed",
               str(seed)]
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0", **variant})
    is_right = "heat: right" in done.stdout  # of one rank at least, which never dies
    went_well = is_right and done.returncode in (0, OF_A_RANK_THAT_WAS_KILLED)
    settings = " ".join(f"{name}='{value}'" for name, value in variant.items())
    return went_well, (f"seed {seed}: code {done.returncode}\n{done.stdout}{done.stderr}"
                       f"which was: {settings} {' '.join(command)}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--counts", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.seed is not None:
        went_well, text = run(arguments.build, arguments.seed)
        print(text)
        return 0 if went_well else 1
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda seed: run(arguments.build, seed), seeds))
    failures = [text for went_well, text in results if not went_well]
    for text in failures[:FAILURES_SHOWN_MAX]:
        print(text, file=sys.stderr)
    print(f"{len(results) - len(failures)} of {len(results)} seeds came to the right temperatures")
    if arguments.counts:
        with open(arguments.counts, "a") as file:
            print(len(results) - len(failures), len(failures), 0, file=file)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
