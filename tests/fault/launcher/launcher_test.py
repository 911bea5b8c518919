#!/usr/bin/env python3
"""Runs real jobs under mpirun and looks at what they print, how they end and what they leave.

Usage: launcher_test.py MPIRUN BOOTSTRAP_RANK [unittest arguments]
"""

import os
import pathlib
import pty
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MPIRUN = os.path.abspath(sys.argv[1])
RANK = os.path.abspath(sys.argv[2])

# A wide margin for slow, busy machines; what the tests want is "not forever".
PATIENCE_S = 30


def mpirun(*arguments, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([MPIRUN, *arguments], capture_output=True, text=True, timeout=PATIENCE_S,
                          **options)


def start(*arguments, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([MPIRUN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, **options)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def read_pids(job, count):
    return [int(job.stdout.readline().split()[-1]) for _ in range(count)]


class LauncherTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.directory.name)
        self.addCleanup(self.directory.cleanup)

    def wait_until(self, condition, what):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.01)

    def assert_gone(self, pids):
        for pid in pids:
            self.wait_until(lambda: not is_alive(pid), f"process {pid} is still there")

    def assert_sentence(self, result, pattern):
        """One sentence on standard error, and nothing else."""
        self.assertRegex(result.stderr, rf"\Ampirun: {pattern}\n\Z")


class Endings(LauncherTest):
    def test_success(self):
        result = mpirun("-n", "4", "true")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_exit_code(self):
        begin = time.monotonic()
        result = mpirun("-n", "4", "sh", "-c", '[ $HAWSER_JOB_INDEX = 2 ] && exit 3; exec sleep 60')
        self.assertEqual(result.returncode, 3)
        self.assert_sentence(result, r"rank 2 \(sh, pid \d+ on \S+\) exited with code 3")
        self.assertLess(time.monotonic() - begin, 5)

    def test_signal(self):
        result = mpirun("-n", "3", "sh", "-c",
                        '[ $HAWSER_JOB_INDEX = 1 ] && kill -SEGV $$; exec sleep 60')
        self.assertEqual(result.returncode, 128 + signal.SIGSEGV)
        self.assert_sentence(
            result, r"rank 1 \(sh, pid \d+ on \S+\) died of signal 11 \(Segmentation fault\)")

    def test_a_rank_killed_from_outside(self):
        job = start("-n", "3", "sh", "-c", "echo $$; exec sleep 60")
        pids = read_pids(job, 3)
        os.kill(pids[0], signal.SIGKILL)
        _, error = job.communicate(timeout=PATIENCE_S)
        self.assertEqual(job.returncode, 128 + signal.SIGKILL)
        self.assertRegex(error, r"died of signal 9 \(Killed\)")
        self.assert_gone(pids)

    def test_ranks_that_ignore_sigterm_are_killed(self):
        begin = time.monotonic()
        result = mpirun("-n", "4", "sh", "-c",
                        'trap "" TERM; [ $HAWSER_JOB_INDEX = 0 ] && { sleep 0.3; exit 5; }; '
                        "while :; do sleep 0.1; done")
        self.assertEqual(result.returncode, 5)
        self.assertLess(time.monotonic() - begin, 10)

    def test_a_stopped_rank_does_not_keep_the_job(self):
        result = mpirun("-n", "2", "sh", "-c",
                        '[ $HAWSER_JOB_INDEX = 0 ] && kill -STOP $$; sleep 0.2; exit 4')
        self.assertEqual(result.returncode, 4)

    def test_abort(self):
        result = mpirun("-n", "3", RANK, "abort", "7", "no more bread")
        self.assertEqual(result.returncode, 7)
        self.assert_sentence(
            result, r"rank 1 \(\S+, pid \d+ on \S+\) called MPI_Abort with code 7: no more bread")

    def test_abort_inside_a_script_that_goes_on(self):
        begin = time.monotonic()
        result = mpirun("-n", "2", "sh", "-c", f'{RANK} abort 7 why; sleep 60')
        self.assertEqual(result.returncode, 7)
        self.assertLess(time.monotonic() - begin, 10)

    def test_exit_without_finalize(self):
        result = mpirun("-n", "2", RANK, "vanish")
        self.assertEqual(result.returncode, 1)
        self.assert_sentence(
            result, r"rank 1 \(\S+, pid \d+ on \S+\) exited without calling MPI_Finalize")

    def test_timeout(self):
        begin = time.monotonic()
        result = mpirun("-n", "2", "--timeout", "0.3", "sleep", "60")
        self.assertEqual(result.returncode, 124)
        self.assert_sentence(result, r"the job was still running after 0\.3 s .*")
        self.assertLess(time.monotonic() - begin, 5)

    def test_timeout_that_is_not_reached(self):
        self.assertEqual(mpirun("-n", "2", "--timeout", "20", "true").returncode, 0)


class Programs(LauncherTest):
    def test_missing(self):
        result = mpirun("-n", "2", "no-such-program")
        self.assertEqual(result.returncode, 127)
        self.assert_sentence(result, "the program 'no-such-program' was not found in PATH")
        self.assertEqual(mpirun("./no-such-program").returncode, 127)

    def test_the_second_program_is_missing(self):
        result = mpirun("-n", "2", "sleep", "60", ":", "no-such-program")
        self.assertEqual(result.returncode, 127)
        self.assert_sentence(result, "the program 'no-such-program' was not found in PATH")

    def test_not_executable(self):
        (self.path / "data").write_text("no program")
        result = mpirun(str(self.path / "data"))
        self.assertEqual(result.returncode, 126)
        self.assert_sentence(result, r"the program '.*/data' cannot be started: Permission denied")

    def test_several_programs(self):
        result = mpirun("-l", "-n", "2", "echo", "one", ":", "-n", "1", "echo", "two", ":", "echo",
                        "three")
        self.assertEqual(sorted(result.stdout.splitlines()),
                         ["[0] one", "[1] one", "[2] two", "[3] three"])

    def test_ranks_meet_over_the_segment(self):
        result = mpirun("-n", "3", RANK, "meet", ":", "-n", "2", RANK, "meet")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(result.stdout.splitlines()),
                         [f"{i} of 5, program {0 if i < 3 else 1}" for i in range(5)])

    def test_one_program_per_rank(self):
        result = mpirun("-n", "1", RANK, "twice")
        self.assertEqual(result.returncode, 9)
        self.assertIn("rank 0 of this job was already taken by process", result.stderr)

    def test_a_job_inside_a_job(self):
        result = mpirun("-n", "2", MPIRUN, "-n", "2", RANK, "meet")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(result.stdout.splitlines()),
                         ["0 of 2, program 0"] * 2 + ["1 of 2, program 0"] * 2)

    def test_wdir(self):
        result = mpirun("-wdir", str(self.path), "pwd", ":", "--wdir", "/", "pwd")
        self.assertEqual(sorted(result.stdout.splitlines()), ["/", os.path.realpath(self.path)])
        result = mpirun("--wdir", "/no/such/place", "pwd")
        self.assertEqual(result.returncode, 1)
        self.assert_sentence(result, "the directory '/no/such/place' of --wdir cannot be entered: "
                                     "No such file or directory")

    def test_environment(self):
        result = mpirun("-genv", "A", "0", "--env", "B=1", "-x", "HERE", "sh", "-c",
                        "echo $A$B$HERE", ":", "-env", "A", "5", "sh", "-c", "echo $A$B$HERE",
                        env={**os.environ, "HERE": "h"})
        self.assertEqual(sorted(result.stdout.splitlines()), ["01h", "5h"])

    def test_settings(self):
        result = mpirun("--set", "wait.yields=1", "--set", "p2p.credit_bytes=65536", "sh", "-c",
                        'echo "$HAWSER_SET"')
        self.assertEqual(result.stdout, "wait.yields=1\np2p.credit_bytes=65536\n")

    def test_a_wrong_setting_is_said_once_and_starts_nothing(self):
        for arguments in (["--set", "wait.yield=1"], ["--set", "wait.yields=few"],
                          ["--env", "HAWSER_WAIT_YIELD=1"]):
            result = mpirun("-n", "3", *arguments, "echo", "started")
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assert_sentence(result, ".*(wait.yields|WAIT_YIELDS).*")

    def test_descriptor_limit_is_handed_on(self):
        result = mpirun("-n", "1", "sh", "-c", "ulimit -Sn",
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 2000)))
        self.assertEqual(result.stdout, "200\n")

    def test_ranks_hold_only_what_they_need(self):
        """Three standard streams and the job's memory (and the descriptor that lists them)."""
        result = mpirun("-n", "4", "sh", "-c", "ls /proc/self/fd | wc -l")
        self.assertEqual(result.stdout.split(), ["5"] * 4)

    def test_usage(self):
        for arguments in (["-n", "0", "true"], ["-n", "65537", "true"], [], ["--nonsense", "true"]):
            result = mpirun(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assert_sentence(result, ".*")
        self.assertIn("--bind-to", mpirun("--help").stdout)
        self.assertRegex(mpirun("--version").stdout, r"\Ampirun \(Hawser\) \d")


class Binding(LauncherTest):
    def allowed(self, *arguments):
        result = mpirun("-l", *arguments, "grep", "Cpus_allowed_list", "/proc/self/status")
        lines = sorted(result.stdout.splitlines(), key=lambda l: int(l[1:l.index("]")]))
        return [line.split()[-1] for line in lines]

    def test_none_is_what_mpirun_has(self):
        with open("/proc/self/status") as status:
            here = re.search(r"Cpus_allowed_list:\s*(\S+)", status.read()).group(1)
        self.assertEqual(self.allowed("-n", "2", "--bind-to", "none"), [here, here])
        self.assertEqual(self.allowed("-n", "1"), [here])
        too_many = len(os.sched_getaffinity(0)) + 1
        self.assertEqual(self.allowed("-n", str(too_many)), [here] * too_many)

    def test_core(self):
        cpus = os.sched_getaffinity(0)
        if len(cpus) < 2:
            self.skipTest("one core only")
        masks = self.allowed("-n", "2", "--bind-to", "core")
        self.assertNotEqual(masks[0], masks[1])
        with_wrap = self.allowed("-n", str(2 * len(cpus)), "--bind-to", "core")
        self.assertEqual(with_wrap[:len(cpus)], with_wrap[len(cpus):])

    def test_cores_that_mpirun_may_not_use_are_left_alone(self):
        last = max(os.sched_getaffinity(0))
        result = mpirun("-n", "2", "--bind-to", "core", "grep", "Cpus_allowed_list",
                        "/proc/self/status", preexec_fn=lambda: os.sched_setaffinity(0, {last}))
        self.assertEqual(result.stdout.split()[1::2], [str(last)] * 2)


class Streams(LauncherTest):
    def test_input_goes_to_rank_0(self):
        result = subprocess.run([MPIRUN, "-l", "-n", "3", "sh", "-c", "wc -c"], input="12345",
                                capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(sorted(result.stdout.splitlines()), ["[0] 5", "[1] 0", "[2] 0"])

    def test_input_that_a_job_does_not_read_stays(self):
        result = subprocess.run(
            ["sh", "-c", f"while read x; do {MPIRUN} -n 2 echo $x; done"],
            input="a\nb\n", capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(result.stdout, "a\na\nb\nb\n")

    def test_lines_are_not_mixed(self):
        script = ('import os\n'
                  'rank = os.environ["HAWSER_JOB_INDEX"]\n'
                  'for i in range(300):\n'
                  '    os.write(1, (f"{rank} {i} " + "x" * 50).encode())\n'
                  '    os.write(1, (rank * 50 + "\\n").encode())\n')
        result = mpirun("-l", "-n", "4", sys.executable, "-c", script)
        self.assertEqual(result.returncode, 0, result.stderr)
        count = {str(rank): 0 for rank in range(4)}
        for line in result.stdout.splitlines():
            rank, number = re.fullmatch(r"\[(\d)\] \1 (\d+) x{50}\1{50}", line).groups()
            self.assertEqual(int(number), count[rank])
            count[rank] += 1
        self.assertEqual(set(count.values()), {300})

    def test_both_streams_into_one_pipe(self):
        job = subprocess.run(
            [MPIRUN, "-n", "4", "sh", "-c",
             "for i in 1 2 3 4 5 6 7 8 9; do echo out out out; echo err err err >&2; done"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=PATIENCE_S)
        self.assertEqual(sorted(job.stdout.splitlines()),
                         ["err err err"] * 36 + ["out out out"] * 36)

    def test_large_output_arrives_whole_through_a_slow_reader(self):
        job = start("-n", "2", "sh", "-c", "yes 0123456789abcde | head -n 400000")
        time.sleep(0.3)
        output, _ = job.communicate(timeout=PATIENCE_S)
        self.assertEqual(output, "0123456789abcde\n" * 800000)

    def test_output_into_a_file(self):
        with open(self.path / "out", "w+") as out:
            job = subprocess.run([MPIRUN, "-n", "1", "sh", "-c", "printf 'no end'"], stdout=out,
                                 timeout=PATIENCE_S)
            self.assertEqual(job.returncode, 0)
            self.assertEqual((self.path / "out").read_text(), "no end")

    def test_a_reader_that_leaves_ends_the_job(self):
        result = subprocess.run(["sh", "-c", f"{MPIRUN} -n 2 yes | head -n 1; true"],
                                capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual((result.stdout, result.stderr), ("y\n", ""))

    def test_a_prompt_on_a_terminal(self):
        terminal, other = pty.openpty()
        job = subprocess.Popen([MPIRUN, "-n", "2", "sh", "-c",
                                'if [ $HAWSER_JOB_INDEX = 0 ]; then printf "name? "; read x; '
                                'echo "hello $x"; fi'], stdin=other, stdout=other, stderr=other,
                               start_new_session=True)
        os.close(other)
        seen = b""
        while b"name? " not in seen:
            self.assertTrue(select.select([terminal], [], [], PATIENCE_S)[0])
            seen += os.read(terminal, 1000)
        os.write(terminal, b"bob\n")
        while b"hello bob" not in seen:
            self.assertTrue(select.select([terminal], [], [], PATIENCE_S)[0])
            seen += os.read(terminal, 1000)
        self.assertEqual(job.wait(PATIENCE_S), 0)
        os.close(terminal)


class Signals(LauncherTest):
    def test_forwarding_to_all_ranks(self):
        script = ("trap 'echo usr1' USR1; trap 'echo usr2; exit 0' USR2; echo ready; "
                  "while :; do sleep 0.05; done")
        job = start("-l", "-n", "3", "sh", "-c", script)
        for _ in range(3):
            self.assertIn("ready", job.stdout.readline())
        job.send_signal(signal.SIGUSR1)
        for _ in range(3):
            self.assertIn("usr1", job.stdout.readline())
        job.send_signal(signal.SIGUSR2)
        output, _ = job.communicate(timeout=PATIENCE_S)
        self.assertEqual(sorted(output.split()), sorted(["[0]", "[1]", "[2]"] + ["usr2"] * 3))
        self.assertEqual(job.returncode, 0)

    def test_interrupt(self):
        job = start("-n", "3", "sh", "-c", "echo $$; exec sleep 60")
        pids = read_pids(job, 3)
        job.send_signal(signal.SIGINT)
        _, error = job.communicate(timeout=PATIENCE_S)
        self.assertEqual(job.returncode, 128 + signal.SIGINT)
        self.assertEqual(error, "mpirun: the job was ended by signal 2 (Interrupt)\n")
        self.assert_gone(pids)

    def test_second_interrupt_kills(self):
        job = start("-n", "2", sys.executable, "-c",
                    "import os,signal,time\nsignal.signal(2,signal.SIG_IGN)\n"
                    "print(os.getpid(),flush=True)\ntime.sleep(60)")
        pids = read_pids(job, 2)
        job.send_signal(signal.SIGINT)
        time.sleep(0.3)
        self.assertTrue(all(is_alive(pid) for pid in pids))
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=PATIENCE_S)
        self.assertEqual(job.returncode, 128 + signal.SIGINT)
        self.assert_gone(pids)

    def test_stop_and_continue(self):
        def state(pid):
            with open(f"/proc/{pid}/stat") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0]
        job = start("-n", "2", "sh", "-c", "echo $$; exec sleep 60")
        pids = read_pids(job, 2)
        job.send_signal(signal.SIGTSTP)
        for pid in [job.pid, *pids]:
            self.wait_until(lambda: state(pid) == "T", f"{pid} is not stopped")
        job.send_signal(signal.SIGCONT)
        for pid in [job.pid, *pids]:
            self.wait_until(lambda: state(pid) != "T", f"{pid} is still stopped")
        job.terminate()
        job.communicate(timeout=PATIENCE_S)
        self.assertEqual(job.returncode, 128 + signal.SIGTERM)

    def test_what_was_ignored_stays_ignored(self):
        job = start("-n", "1", "sh", "-c", "echo $$; sleep 0.5",
                    preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        read_pids(job, 1)
        job.send_signal(signal.SIGHUP)
        job.communicate(timeout=PATIENCE_S)
        self.assertEqual(job.returncode, 0)


class Traces(LauncherTest):
    """Nothing stays behind."""

    def test_kill_9_of_mpirun_leaves_no_rank(self):
        for delay in (0, 0.002, 0.005, 0.01, 0.02):
            job = start("-n", "16", "sleep", "60.125")
            time.sleep(delay)
            job.kill()
            job.communicate(timeout=PATIENCE_S)
            self.wait_until(lambda: not processes_of("sleep", "60.125"), "ranks outlived mpirun")

    def test_kill_9_while_ranks_run(self):
        job = start("-n", "8", "sh", "-c", "echo $$; exec sleep 60")
        pids = read_pids(job, 8)
        job.kill()
        self.assert_gone(pids)
        job.communicate(timeout=PATIENCE_S)

    def test_what_a_rank_leaves_behind_is_ended(self):
        begin = time.monotonic()
        result = mpirun("-n", "2", "sh", "-c",
                        "setsid sh -c 'trap \"\" TERM; sleep 60 & echo $!; wait' & echo $!")
        pids = [int(line) for line in result.stdout.split()]
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(pids), 4)
        self.assert_gone(pids)
        self.assertLess(time.monotonic() - begin, 10)

    def test_children_that_were_there_before_are_spared(self):
        """A shell with a child of its own becomes mpirun."""
        out = self.path / "pid"
        subprocess.run(["sh", "-c", f"sleep 60 >/dev/null 2>&1 & echo $! > {out}; "
                                    f"exec {MPIRUN} -n 2 true"], timeout=PATIENCE_S, check=True)
        sibling = int(out.read_text())
        self.assertTrue(is_alive(sibling))
        os.kill(sibling, signal.SIGKILL)

    def test_a_filter_that_ends_by_itself_may_finish(self):
        result = mpirun("-n", "1", "bash", "-c",
                        "exec > >(sleep 0.05; cat); echo through the filter")
        self.assertEqual(result.stdout, "through the filter\n")

    def test_no_files(self):
        places = [pathlib.Path("/dev/shm"), pathlib.Path(tempfile.gettempdir())]

        def hawser_files():
            return [p for place in places if place.is_dir() for p in place.glob("*hawser*")]
        before = hawser_files()
        self.assertEqual(mpirun("-n", "4", RANK, "meet").returncode, 0)
        job = start("-n", "4", RANK, "sleep")
        job.kill()
        job.communicate(timeout=PATIENCE_S)
        self.assertEqual(hawser_files(), before)

    def test_64_ranks(self):
        begin = time.monotonic()
        result = mpirun("-n", "64", "true")
        print(f"mpirun -n 64 true: {1000 * (time.monotonic() - begin):.0f} ms", file=sys.stderr)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        result = mpirun("-l", "-n", "64", RANK, "meet")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(set(result.stdout.splitlines())), 64)

    def test_closed_standard_streams(self):
        result = subprocess.run(["sh", "-c", f"{MPIRUN} -n 2 true <&- >&- 2>&-"],
                                timeout=PATIENCE_S)
        self.assertEqual(result.returncode, 0)


def processes_of(*command):
    """Live processes with exactly this command line."""
    wanted = "\0".join(command).encode() + b"\0"
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cmdline").read_bytes() == wanted:
                found.append(int(entry.name))
        except OSError:
            pass
    return found


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
