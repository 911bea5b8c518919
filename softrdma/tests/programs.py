#!/usr/bin/env python3
"""Programs of others, unmodified, on softrdma; and of ours that link it.

    programs.py --library LIBSOFTRDMA --work DIR [--all] [--only WORD] [--counts FILE]

Each runs with LD_PRELOAD, says what was started, and has a time limit. Debian has them: ibv_devices,
ibv_devinfo and the pingpongs (ibverbs-utils), perftest, the tests of pyverbs (python3-pyverbs, among
its documents). --all: the long forms, with all sizes. --only: those whose command has WORD in it.
"""
import argparse
import collections
import contextlib
import gzip
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys

import connections
import pairs
from pairs import Failure

# What the tests of pyverbs may skip, and why. A skip for any other reason fails.
SKIPS = {
    r"non MLX5 device|not an MLX5 device|non EFA device|Converting timestamp": "tests of other devices",
    r"ODP implicit": "a key to all memory would let a peer crash the program",
    r"dmabuf|/dev/dri": "there are no GPUs here",
    r"doesn't have net interface": "the device shows no network interface",
    r"Must be run by root on Ethernet|RAW QP|QP type 8|Raw Packet QP": "raw packets: no such queue pairs",
    r"Extended QP is not supported": "atomic writes: not there yet",
    r"Parent Domain": "queues in memory of the program's allocators: not there",
    r"huge pages": "this machine has no huge pages",
    r"CUDA|GPU": "there are no GPUs here",
    r"PCI device": "this is no PCI device",
    r"skip RoCE test": "tests of RoCE, on InfiniBand",
    r"bad flow|No supported port is up": "tests of RoCE, on InfiniBand",
    r"Importing a device|object imports": "importing objects of another context: not there yet",
}
PASSED_MIN = 125  # of the tests of pyverbs; fewer is a step back
TIME_LIMIT_S = 120


def run(library, command, **options):
    print("started:", " ".join(map(str, command)), flush=True)
    try:
        done = subprocess.run(command, env={**os.environ, "LD_PRELOAD": str(library)}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=TIME_LIMIT_S, **options)
    except subprocess.TimeoutExpired as late:
        raise Failure(f"{command[0]}: not done after {TIME_LIMIT_S} s") from late
    if done.returncode < 0:
        raise Failure(f"{command[0]}: ended by signal {-done.returncode}\n{done.stdout[-2000:]}")
    return done


def check_listing(library):
    done = run(library, ["ibv_devices"])
    if not re.search(r"^\s+softrdma0\s+[0-9a-f]{16}$", done.stdout, re.MULTILINE):
        raise Failure(f"ibv_devices shows no softrdma0:\n{done.stdout}")
    done = run(library, ["ibv_devinfo", "-v"])
    for wanted in (r"hca_id:\s+softrdma0", r"state:\s+PORT_ACTIVE", r"GID\[\s+0\]:\s+fe80:"):
        if done.returncode != 0 or not re.search(wanted, done.stdout):
            raise Failure(f"ibv_devinfo -v shows no '{wanted}':\n{done.stdout}")


def check_by_name(library):
    """The library under the name of libibverbs, for programs that load that."""
    folder = library.parent / "softrdma"
    done = subprocess.run(["ibv_devinfo", "-l"], env={**os.environ, "LD_LIBRARY_PATH": str(folder)},
                          capture_output=True, text=True, timeout=TIME_LIMIT_S)
    if "softrdma0" not in done.stdout or done.stderr:
        raise Failure(f"ibv_devinfo with LD_LIBRARY_PATH={folder}:\n{done.stdout}{done.stderr}")


def check_command(library):
    """softrdma run and softrdma stat."""
    command = library.parent.parent / "bin/softrdma"
    settings = ["--fabric", f"command.{os.getpid()}"]
    holder = subprocess.Popen([command, "run", *settings, "--ports", "2", "--", "/usr/bin/python3", "-c",
                               "import pyverbs.device as d, time; c = d.Context(name='softrdma0');"
                               "print(c.query_device().phys_port_cnt, flush=True); time.sleep(60)"],
                              stdout=subprocess.PIPE, text=True)
    try:
        ports = holder.stdout.readline().strip()
        shown = subprocess.run([command, "stat", *settings, "--count", "1"], capture_output=True,
                               text=True, timeout=TIME_LIMIT_S).stdout
        if ports != "2" or not re.search(rf"^\s*{holder.pid}\s", shown, re.MULTILINE):
            raise Failure(f"softrdma run gave {ports} ports instead of 2; softrdma stat:\n{shown}")
    finally:
        holder.kill()
        holder.wait()
    wrong = subprocess.run([command, "run", "--loss", "2", "ibv_devices"], capture_output=True, text=True,
                           timeout=TIME_LIMIT_S).stderr
    if 'SOFTRDMA_LOSS is "2"; it has to be a number from 0 to 1' not in wrong:
        raise Failure(f"softrdma run --loss 2 says:\n{wrong}")


def build_linked(library, work, name):
    """A program of ours that links the library, as it is installed."""
    prefix = work / "prefix"
    build = library.parent.parent
    subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--component", "softrdma"],
                   check=True, stdout=subprocess.DEVNULL)
    shown = subprocess.run(["pkg-config", "--cflags", "--libs", "softrdma"], check=True, text=True,
                           capture_output=True, env={**os.environ, "PKG_CONFIG_PATH":
                                                     str(prefix / "lib/pkgconfig")}).stdout
    sources = [pathlib.Path(__file__).parent / source for source in (f"{name}.c", "end.c")]
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", work / name, *sources,
                    *shown.split()], check=True)
    needed = subprocess.run(["readelf", "-d", work / name], check=True, text=True,
                            capture_output=True).stdout
    if "libibverbs" in needed or "libsoftrdma.so" not in needed:
        raise Failure(f"{name} is linked with other libraries than softrdma:\n{needed}")
    return work / name


def run_linked(program, *arguments):
    print("started:", program.name, *arguments, flush=True)
    done = subprocess.run([program, *arguments], capture_output=True, text=True,
                          timeout=TIME_LIMIT_S)
    if done.returncode != 0:
        raise Failure(f"{program.name} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def check_linked(library, work):
    """Two devices of one process, by UDP."""
    host = f"127.0.{os.getpid() % 250}"
    shown = run_linked(build_linked(library, work, "linked"), f"{host}.1", f"{host}.2", "500")
    if not shown.startswith("500 messages each way between LID "):
        raise Failure(f"linked says:\n{shown}")


def check_simulation(library, work):
    """The same seed is the same run; another one is another."""
    program = build_linked(library, work, "simulation")
    once, again, other = (run_linked(program, seed) for seed in ("1", "1", "2"))
    if once.count(": success") != 16 or once != again or once == other:
        raise Failure(f"simulation 1, 1 and 2 say:\n{once}\n{again}\n{other}")


def check_strict(library):
    """A registration cache that misses a change: unseen as it is, an error in strict mode."""
    command = [library.parent.parent / "bin/softrdma", "run", "--fabric", f"stale.{os.getpid()}"]
    program = ["--", "/usr/bin/python3", pathlib.Path(__file__).parent / "stale.py"]
    good, protection_error = "0", "4"
    for options, last, said in [([], good, ""), (["--strict"], protection_error, "strict mode: ")]:
        done = subprocess.run([*command, *options, *program], text=True, capture_output=True,
                              timeout=TIME_LIMIT_S)
        if done.stdout.split() != [good, last] or said not in done.stderr:
            raise Failure(f"stale.py with {options}:\n{done.stdout}{done.stderr}")


# Numbers of <infiniband/verbs.h>.
SUCCESS, FLUSHED, RETRIES_EXCEEDED = 0, 5, 12
QUEUE_PAIR_FATAL, PORT_ACTIVE_AGAIN, PORT_ERROR = 1, 9, 10
PORT_DOWN, PORT_ACTIVE = 1, 4


def check_faults(library):
    """softrdma fault: a port that goes down and up, a queue pair that fails."""
    command = library.parent.parent / "bin/softrdma"
    fabric = ["--fabric", f"fault.{os.getpid()}"]
    program = subprocess.Popen([command, "run", *fabric, "--", "/usr/bin/python3",
                                pathlib.Path(__file__).parent / "faulty.py"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def does(what, wanted=None):
        program.stdin.write(what + "\n")
        got = int(program.stdout.readline())
        if wanted is not None and got != wanted:
            raise Failure(f"'{what}' in faulty.py gives {got} instead of {wanted}")
        return got

    def fault(*arguments, code=0, said=""):
        done = subprocess.run([command, "fault", *fabric, *map(str, arguments)], text=True,
                              capture_output=True, timeout=TIME_LIMIT_S)
        if done.returncode != code or said not in done.stderr:
            raise Failure(f"softrdma fault {arguments}: {done.returncode}\n{done.stdout}{done.stderr}")

    try:
        does("write", SUCCESS)
        fault("port-down", 1)
        does("port", PORT_DOWN)
        does("event", PORT_ERROR)
        does("write", RETRIES_EXCEEDED)
        fault("--pid", program.pid, "port-up", 1)
        does("port", PORT_ACTIVE)
        does("event", PORT_ACTIVE_AGAIN)
        number = does("connect")
        does("write", SUCCESS)
        fault("qp-error", number)
        does("event", QUEUE_PAIR_FATAL)
        does("write", FLUSHED)
        fault("port-down", 2, code=1, said=f"process {program.pid} has no port 2")
        fault("--pid", 1, "port-down", 1, code=1, said="has no process 1 on this host")
        fault("qp-error", 1, code=1, said="has queue pair 1")
        fault("smoke", 1, code=1, said="there is no fault 'smoke'")
    finally:
        program.kill()
        program.wait()


def pyverbs_tests(work):
    """The tests as Debian ships them, unpacked to a folder of ours."""
    documents = pathlib.Path("/usr/share/doc/rdma-core/tests")
    if not documents.is_dir():
        # Where dpkg leaves documents out, the package still has them.
        subprocess.run(["apt-get", "download", "-qq", "python3-pyverbs"], cwd=work, check=True)
        package = next(work.glob("python3-pyverbs_*.deb"))
        subprocess.run(["dpkg", "-x", package, work / "pyverbs"], check=True)
        documents = work / "pyverbs/usr/share/doc/rdma-core/tests"
    tests = work / "tests"
    shutil.rmtree(tests, ignore_errors=True)
    shutil.copytree(documents, tests)
    for packed in tests.glob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
    return tests


def check_pyverbs(library, work):
    """Returns passed and skipped; prints each reason to skip and how often it was given."""
    tests = pyverbs_tests(work)
    done = run(library, ["/usr/bin/python3", tests / "run_tests.py", "-v"], cwd=work)
    log = work / "pyverbs.log"
    log.write_text(done.stdout)
    ran = re.search(r"^Ran (\d+) tests", done.stdout, re.MULTILINE)
    skipped = re.search(r"^OK \(skipped=(\d+)\)", done.stdout, re.MULTILINE)
    reasons = collections.Counter()
    for given in re.findall(r"\.\.\. skipped (.*)$", done.stdout, re.MULTILINE):
        known = [why for pattern, why in SKIPS.items() if re.search(pattern, given, re.IGNORECASE)]
        if not known:
            raise Failure(f"a test of pyverbs was skipped: {given}; SKIPS has no reason for that")
        reasons[known[0]] += 1
    for why, times in reasons.most_common():
        print(f"  {times:4} skipped: {why}")
    failed = re.findall(r"^(?:FAIL|ERROR): .*$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or failed or not ran or not skipped:
        raise Failure("\n".join(["tests of pyverbs failed:", *failed, f"see {log}"]))
    passed = int(ran[1]) - int(skipped[1])
    if passed < PASSED_MIN:
        raise Failure(f"{passed} tests of pyverbs passed; {PASSED_MIN} did before; see {log}")
    print(f"  {passed} tests of pyverbs passed")
    return passed, int(skipped[1])


# How Open MPI is told to use the device.
OPEN_MPI = {
    "openib": ["--mca", "pml", "ob1", "--mca", "btl", "openib,self", "--mca", "btl_openib_allow_ib",
               "1", "--mca", "btl_openib_warn_no_device_params_found", "0"],
    "UCX": ["--mca", "pml", "ucx", "-x", "UCX_TLS=rc_verbs,ud_verbs,self", "-x",
            "UCX_NET_DEVICES=softrdma0:1"],
}


def check_open_mpi(library, work, way):
    program = work / "open_mpi"
    source = pathlib.Path(__file__).parent / "open_mpi.c"
    subprocess.run(["mpicc.openmpi", "-O2", "-o", program, source], check=True)
    command = ["mpirun.openmpi", "--oversubscribe", "-n", "2", *OPEN_MPI[way], "-x",
               f"LD_PRELOAD={library}", "-x", f"SOFTRDMA_FABRIC=mpi.{os.getpid()}", program]
    print("started:", *command, flush=True)
    done = subprocess.run(command, text=True, capture_output=True, timeout=TIME_LIMIT_S,
                          env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    if done.returncode != 0 or done.stdout.count(": 0 wrong") != 2:
        raise Failure(f"Open MPI over {way}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def check_xrc(library, work, hosts):
    """A target queue pair that outlives its process, and receive queues of two others."""
    program = pairs.build(work, "xrc")
    done = run(library, [program, hosts])
    if done.returncode != 0 or not re.search(r"^done: 2000 and 2000 messages$", done.stdout, re.MULTILINE):
        raise Failure(f"{program} {hosts}:\n{done.stdout[-2000:]}")


def check_pair(library, command, place, more=None):
    shown = pairs.run_pair(library, command, place, more)
    if command[0] == "ucx_perftest" and "Final:" not in shown:
        raise Failure(f"{' '.join(map(str, command))} shows no result:\n{shown[-2000:]}")


def run_checks(checks, only):
    """Passed, failed and skipped of those whose name has ONLY in it."""
    passed = failed = skipped = 0
    for name, check in checks.items():
        if only not in name:
            continue
        try:
            more, left_out = check() or (1, 0)
            passed += more
            skipped += left_out
        except Failure as failure:
            print(f"FAILED: {failure}", file=sys.stderr)
            failed += 1
    return passed, failed, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--all", action="store_true", help="the long forms")
    parser.add_argument("--only", default="", help="programs whose command has this in it")
    parser.add_argument("--counts", type=pathlib.Path, help="append 'passed failed skipped'")
    options = parser.parse_args()
    library = options.library.resolve()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)

    skipped = 0
    checks = {"ibv_devices": lambda: check_listing(library),
              "LD_LIBRARY_PATH": lambda: check_by_name(library),
              "softrdma run": lambda: check_command(library),
              "linked": lambda: check_linked(library, work),
              "simulation": lambda: check_simulation(library, work),
              "softrdma fault": lambda: check_faults(library),
              "softrdma run --strict": lambda: check_strict(library),
              "pyverbs": lambda: check_pyverbs(library, work)}
    for way in OPEN_MPI:
        checks[f"Open MPI over {way}"] = lambda way=way: check_open_mpi(library, work, way)
    for hosts in ("one-host", "two-hosts"):
        checks[f"xrc {hosts}"] = lambda hosts=hosts: check_xrc(library, work, hosts)
    with contextlib.ExitStack() as held:
        places = [pairs.OneHost(), pairs.TwoFabrics()]
        programs = [(command, None)
                    for command in (*pairs.programs(options.all), *pairs.operations(work))]
        programs += [(command, pairs.UCX_SETTINGS) for command in pairs.ucx()]
        programs += [(command, {**settings, **pairs.STRICT}) for command, settings in pairs.strict()]
        programs += [(command, pairs.DELAY) for command in pairs.late()]
        loss = {"SOFTRDMA_LOSS": "0.01"}
        programs += [(command, loss) for command in pairs.lossy(options.all)]
        programs += [(command, {**pairs.UCX_SETTINGS, **loss}) for command in pairs.ucx()]
        if os.geteuid() == 0:
            places.append(held.enter_context(pairs.TwoNamespaces()))
        else:
            skipped += len(programs)
            print("skipped: everything between network name spaces, which needs root")
        every = [(place, command, settings)
                 for place, (command, settings) in itertools.product(places, programs)
                 if place.suits(command)]
        every += [(place, command, pairs.MULTICAST_SETTINGS)
                  for place in places for command in pairs.multicast(place)]
        for place, command, settings in every:
            checks[f"{' '.join(map(str, command))} ({place.name}) {settings or ''}"] = \
                lambda place=place, command=command, settings=settings: \
                check_pair(library, command, place, settings)
        for place, program, settings in [(place, *one) for place in places
                                         for one in connections.by_links(place, options.all)]:
            checks[f"{' '.join(program[1])} ({place.name}) {settings or ''} librdmacm"] = \
                lambda place=place, program=program, settings=settings: \
                connections.run(library, program, place, settings)
        more = run_checks(checks, options.only)
    passed, failed, skipped = (sum(both) for both in zip(more, (0, 0, skipped)))
    if options.counts:
        with options.counts.open("a") as file:
            file.write(f"{passed} {failed} {skipped}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
