"""Runs a program that was built for one library of the ABI on another one.

theirs_on_ours: compiled by the mpicc_abi of the PyPI package mpich, run by our mpirun on our
library.
ours_on_theirs: compiled by our mpicc, run by the package's mpiexec on the package's library."""

import argparse
import os
import pathlib
import subprocess
import sys

RANKS = "3"


def compile_program(compiler, source, program):
    subprocess.run([compiler, source, "-o", program], check=True)


def run(launcher, library_folder, program):
    environment = dict(os.environ, LD_LIBRARY_PATH=str(library_folder))
    done = subprocess.run([launcher, "-n", RANKS, program], env=environment, timeout=60,
                          capture_output=True, text=True)
    print(done.stdout, done.stderr, sep="", end="")
    return done.returncode == 0 and "passed" in done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--direction", choices=["theirs_on_ours", "ours_on_theirs"], required=True)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--mpich", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    program = arguments.scratch / f"{arguments.program.stem}.{arguments.direction}"
    if arguments.direction == "theirs_on_ours":
        compile_program(arguments.mpich / "bin/mpicc_abi", arguments.program, program)
        passed = run(arguments.build / "bin/mpirun", arguments.build / "lib", program)
    else:
        compile_program(arguments.build / "bin/mpicc", arguments.program, program)
        passed = run(arguments.mpich / "bin/mpiexec", arguments.mpich / "lib", program)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
