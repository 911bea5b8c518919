"""Builds mpi4py against an MPI installation and runs its test-suite at several numbers of ranks.

    run.py --mpi PREFIX --environment VENV [--ranks 1,2,3,4] [--variant NAME] [--counts FILE]
           [MODULE...]

PREFIX holds bin/mpicc and bin/mpirun: a build directory, an installation, or another MPI to compare
with. What later.txt lists is left out unless a MODULE names it. NAME is one of VARIANTS. Prints one
table and says which tests failed; build/mpi4py keeps the sources and, per number of ranks, all
output.
"""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

VERSION = "4.1.2"
LINES_TOLD = 40
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORK = ROOT / "build" / "mpi4py"
SOURCE = WORK / f"mpi4py-{VERSION}"

# Modules in which each rank computes by itself, for half a minute: run at one rank only.
SOLITARY = ["test_util_dtlib"]

# Over queue pairs of softrdma, which stands in for an RDMA adapter; processes of other jobs, which
# only TCP reaches, over that.
ON_VERBS = {
    "HAWSER_TRANSPORT": "verbs,tcp",
    "HAWSER_VERBS_ADAPTER": "softrdma",
    "SOFTRDMA_FABRIC": "hawser-tests-mpi4py",
}

# What the ranks find in their environment besides.
VARIANTS = {
    "": {},
    "verbs": ON_VERBS,
    # Everything is earned soon, so that most messages travel by connections.
    "verbs_earned": ON_VERBS | {
        "HAWSER_CHANNEL_EARN_RULES": "messages >= 2 -> rc_send\nmessages >= 2 -> rc_fast_path",
    },
}


def say(text):
    print(text, flush=True)


def run(*command, **keywords):
    subprocess.run([str(word) for word in command], check=True, **keywords)


# ---------------------------------------------------------------- build


def unpack(environment):
    """Fetches and unpacks the source package, once."""
    if (SOURCE / "setup.py").exists():
        return
    say(f"fetch mpi4py {VERSION}")
    run(environment / "bin/pip", "download", "--quiet", "--disable-pip-version-check",
        "--no-deps", "--no-build-isolation", "--no-binary", "mpi4py", "--dest", WORK,
        f"mpi4py=={VERSION}")
    shutil.unpack_archive(WORK / f"mpi4py-{VERSION}.tar.gz", WORK)


def compiler_flags(extensions):
    """What mpi4py must be told of EXTENSIONS, mpi-ext.h: it looks there with Open MPI only, and
    else does without."""
    names = sorted(set(re.findall(r"\bMPIX_\w+", extensions.read_text())) - {"MPIX_HAVE_ULFM"})
    defined = [f"-DPyMPI_HAVE_{name}=1" for name in names]
    return " ".join(["-O0", "-include", extensions.name, *defined])


def build(prefix, environment):
    """Installs mpi4py, compiled with PREFIX's mpicc, into the environment, if anything changed."""
    unpack(environment)
    mpicc = prefix / "bin/mpicc"
    headers = [prefix / "include" / name for name in ("mpi.h", "mpi-ext.h")]
    flags = compiler_flags(headers[1])
    key = hashlib.sha256(b"\0".join([
        VERSION.encode(), str(prefix).encode(), flags.encode(), mpicc.read_bytes(),
        *(header.read_bytes() for header in headers)
    ])).hexdigest()
    stamp = environment / ".mpi4py"
    if stamp.exists() and stamp.read_text() == key:
        return
    say(f"build mpi4py {VERSION} with {mpicc}")
    began = time.monotonic()
    # Objects of another MPI must go; the C file that Cython wrote stays, it is the slow part.
    shutil.rmtree(SOURCE / "build", ignore_errors=True)
    variables = dict(os.environ, MPICC=str(mpicc), CFLAGS=flags)
    log = WORK / "build.log"
    with open(log, "w") as output:
        done = subprocess.run(
            [environment / "bin/pip", "install", "--verbose", "--disable-pip-version-check",
             "--no-deps", "--no-build-isolation", "--force-reinstall", SOURCE],
            env=variables, stdout=output, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise SystemExit(f"{log.read_text()[-4000:]}\nmpi4py: the build failed; see {log}")
    stamp.write_text(key)
    say(f"built in {time.monotonic() - began:.0f} s")


# ---------------------------------------------------------------- run


def read_later():
    """later.txt as (modules, patterns of single tests)."""
    modules, tests = [], []
    for line in (HERE / "later.txt").read_text().splitlines():
        words = line.split("#")[0].split()
        if words:
            (tests if "." in words[0] else modules).append(words[0])
    return modules, tests


def selection(names, ranks):
    """Arguments of mpi4py's main.py that choose the tests."""
    if names:
        return ["-i", "|".join(rf"^{name}\.py$" for name in names)]
    modules, tests = read_later()
    modules += SOLITARY if ranks > 1 else []
    if not pathlib.Path("/etc/hosts").exists():
        say("left out: TestProfile.testProfile, which looks for /etc/hosts; this host has none")
        tests.append("TestProfile.testProfile")
    arguments = ["-e", "|".join(rf"^{name}\.py$" for name in modules)] if modules else []
    for test in tests:
        arguments += ["-x", test]
    return arguments


def module_of(test):
    """The test module that a unittest id belongs to."""
    if held := re.search(r"\((\w+)", test):  # "setUpClass (test_x.TestY)"
        return held[1]
    if ".loader." in test:  # a module that skipped itself or failed to load
        return test.rsplit(".", 1)[1]
    return test.split(".")[0]


def outcomes(folder, ranks):
    """{test: outcome} over all ranks. A test that some rank began and never ended has failed."""
    seen = collections.defaultdict(list)
    for rank in range(ranks):
        path = folder / f"{rank}.jsonl"
        running = None
        for line in path.read_text().splitlines() if path.exists() else []:
            record = json.loads(line)
            if record["event"] == "start":
                running = record["test"]
            else:
                seen[record["test"]].append(record["event"])
                running = None if record["test"] == running else running
        if running is not None:
            seen[running].append("unfinished")
    verdicts = {}
    for test, events in seen.items():
        verdicts[test] = next((bad for bad in ("failed", "unfinished") if bad in events),
                              "passed" if "passed" in events else "skipped")
    return verdicts


def folder_of(options, ranks):
    """Where the output of a run goes."""
    return WORK / options.variant / f"ranks-{ranks}"


def run_suite(options, ranks, chosen):
    """One run of the whole suite; returns ({test: outcome}, sentence about a bad end or None)."""
    folder = folder_of(options, ranks)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [options.mpi / "bin/mpirun", "-n", ranks, options.environment / "bin/python",
               HERE / "rank.py", SOURCE / "test", folder, "--no-builddir", *chosen]
    variables = dict(os.environ, OPENBLAS_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1",
                     **VARIANTS[options.variant])
    with open(folder / "output.log", "w") as output:
        process = subprocess.Popen([str(word) for word in command], cwd=folder, env=variables,
                                   stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(timeout=options.timeout)
            end = f"mpirun ended with status {status}" if status else None
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            end = f"not done after {options.timeout} s"
    verdicts = outcomes(folder, ranks)
    if not verdicts and end is None:
        end = "no test ran"
    return verdicts, end


# ---------------------------------------------------------------- report


def expected_modules(names):
    later = set() if names else set(read_later()[0])
    found = {path.stem for path in (SOURCE / "test").glob("test_*.py")}
    return sorted((set(names) or found) - later)


def tell_output(log):
    """The end of what a failed run printed, and where the rest is."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    say(f"the last lines of {log.relative_to(ROOT)}:")
    say("\n".join(lines[-LINES_TOLD:]))


def report(options, runs, modules):
    """Prints the table and the failures; returns totals (passed, failed, skipped)."""
    totals = collections.Counter()
    table = collections.defaultdict(collections.Counter)
    for ranks, (verdicts, _) in runs.items():
        for test, verdict in verdicts.items():
            table[module_of(test), ranks]["failed" if verdict == "unfinished" else verdict] += 1
    say(f"\n{'passed/failed/skipped':24}" + "".join(f"{f'{n} ranks':>16}" for n in runs))
    for module in sorted(set(modules) | {module for module, _ in table}):
        row = f"{module:24}"
        for ranks in runs:
            counts = table[module, ranks]
            totals += counts
            row += f"{counts['passed']}/{counts['failed']}/{counts['skipped']}".rjust(16) \
                if counts else f"{'not run':>16}"
        say(row)
    say("")
    for ranks, (verdicts, end) in runs.items():
        bad = {test: verdict for test, verdict in verdicts.items()
               if verdict in ("failed", "unfinished")}
        for test, verdict in sorted(bad.items()):
            say(f"{ranks} ranks: {verdict}: {test}")
        ran = {module_of(test) for test in verdicts}
        for module in modules:
            if end and module not in ran and not (ranks > 1 and module in SOLITARY):
                totals["failed"] += 1
        if end:
            say(f"{ranks} ranks: {end}")
            totals["failed"] += not bad
        if bad or end:
            tell_output(folder_of(options, ranks) / "output.log")
    return totals["passed"], totals["failed"], totals["skipped"]


def main():
    parser = argparse.ArgumentParser(description="mpi4py's test-suite on an MPI installation")
    parser.add_argument("--mpi", type=pathlib.Path, required=True,
                        help="holds bin/mpicc, bin/mpirun")
    parser.add_argument("--environment", type=pathlib.Path, required=True, help="a Python venv")
    parser.add_argument("--ranks", default="1,2,3,4")
    parser.add_argument("--variant", default="", choices=VARIANTS, help="how the ranks are set")
    parser.add_argument("--timeout", type=int, default=240, help="seconds per number of ranks")
    parser.add_argument("--counts", type=pathlib.Path, help="append the totals to this file")
    parser.add_argument("modules", nargs="*", help="run these only, for example test_p2p_buf")
    options = parser.parse_args()
    options.mpi = options.mpi.absolute()
    options.environment = options.environment.absolute()
    if options.counts:
        options.counts = options.counts.absolute()
    WORK.mkdir(parents=True, exist_ok=True)
    build(options.mpi, options.environment)
    runs = {}
    for ranks in map(int, options.ranks.split(",")):
        began = time.monotonic()
        runs[ranks] = run_suite(options, ranks, selection(options.modules, ranks))
        say(f"{ranks} ranks: {len(runs[ranks][0])} tests in {time.monotonic() - began:.1f} s")
    totals = report(options, runs, expected_modules(options.modules))
    variant = options.variant and f" ({options.variant})"
    say(f"\nmpi4py{variant}: {totals[0]} passed, {totals[1]} failed, {totals[2]} skipped")
    if options.counts:
        with open(options.counts, "a") as file:
            print(*totals, file=file)
    return 1 if totals[1] else 0


if __name__ == "__main__":
    sys.exit(main())
