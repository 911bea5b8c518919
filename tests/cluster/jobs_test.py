"""Jobs on two hosts that MPICH's hydra starts, and what happens to the network between them.

    jobs_test.py BUILD MPIEXEC [TEST…]     (BUILD has the programs of tests/multirank and tests/dynamic)
"""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import hosts

SKIPPED = 77
SECONDS_MAX = 90
HERE = pathlib.Path(__file__).resolve().parent
ALL_FRAMES = 3  # ETH_P_ALL of linux/if_ether.h
RECEIVE_BYTES = 16 << 20
SECRET = b"this must not be read by others"
VERBS = {"HAWSER_VERBS_ADAPTER": "softrdma", "SOFTRDMA_FABRIC": "hawser-cluster-jobs"}


class Capture(threading.Thread):
    """Looks for TEXT in everything that crosses INTERFACE, until stop()."""

    def __init__(self, interface, text):
        super().__init__()
        self.text = text
        self.frames = 0
        self.found = 0
        self.is_over = threading.Event()
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_FRAMES))
        self.socket.bind((interface, 0))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
        self.socket.settimeout(0.1)

    def run(self):
        while not self.is_over.is_set():
            try:
                frame = self.socket.recv(65536)
            except TimeoutError:
                continue
            self.frames += 1
            self.found += self.text in frame

    def stop(self):
        """Frames that came, and how many had the text."""
        self.is_over.set()
        self.join()
        self.socket.close()
        return self.frames, self.found


class Finishing(unittest.TestCase):
    """Waits for jobs no longer than a job may take."""

    def finish(self, job):
        """Exit code and output of JOB."""
        try:
            output, _ = job.communicate(timeout=SECONDS_MAX)
        except subprocess.TimeoutExpired:
            job.kill()
            self.fail(f"not done after {SECONDS_MAX} s: {job.communicate()[0]}")
        return job.returncode, output


class Jobs(Finishing):
    """Jobs on h1 and h2, which are joined by INTERFACES nets; they are started by net0."""

    INTERFACES = 2

    def setUp(self):
        self.hosts = hosts.Hosts(2, interfaces=self.INTERFACES)
        self.hosts.__enter__()
        self.addCleanup(self.hosts.close)

    def start(self, program, *arguments, ranks=4, **settings):
        """The job, with SETTINGS as environment; its output is one text."""
        command = [MPIEXEC, "-launcher", "ssh", "-launcher-exec", HERE / "remote_shell", "-iface",
                   self.hosts.bridge(0), "-hosts", "h1,h2", "-ppn", str(ranks // 2), "-n",
                   str(ranks), program, *arguments]
        return subprocess.Popen(list(map(str, command)), env=os.environ | settings, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def compile(self, name, *flags):
        """NAME.c of this folder, compiled with FLAGS, which the launcher does not tell the hosts."""
        program = pathlib.Path(self.hosts.folder) / name
        subprocess.run([BUILD / "bin/mpicc", *flags, HERE / f"{name}.c", "-o", program], check=True)
        return program


class TwoHosts(Jobs):
    """They have net0 and net1."""

    def run_program(self, name, **settings):
        """A program of tests/multirank, which must pass."""
        code, output = self.finish(self.start(BUILD / "tests/multirank" / name, **settings))
        self.assertEqual(code, 0, output)
        self.assertIn(f"{name}: passed", output)

    def test_programs_pass(self):
        for name in ("p2p", "collectives", "requests", "intercollectives"):
            with self.subTest(name):
                self.run_program(name)

    def test_programs_pass_encrypted(self):
        for name in ("p2p", "stress"):
            with self.subTest(name):
                self.run_program(name, HAWSER_TCP_ENCRYPT="true")

    def test_an_address_that_both_hosts_have_leads_to_nobody(self):
        for host in self.hosts.names:
            for words in ("link add docker0 type bridge", "addr add 172.17.0.1/16 dev docker0",
                          "link set docker0 up"):
                self.assertEqual(self.hosts.run(host, ["ip", *words.split()]).returncode, 0)
        self.run_program("p2p")

    def test_an_interface_that_is_down_is_not_used(self):
        self.hosts.set_link("h2", 1, False)
        self.run_program("p2p")

    def test_a_cable_that_carries_nothing_is_gone_around(self):
        self.hosts.cut("h2", 1, True)
        self.run_program("p2p")

    def test_without_ipv6_or_names(self):
        self.hosts.run("h1", ["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"])
        for host in self.hosts.names:
            self.hosts.run(host, ["mount", "--bind", "/dev/null", "/etc/resolv.conf"])
        self.run_program("p2p")

    def test_nothing_is_lost_when_the_network_fails_for_a_while(self):
        job = self.start(BUILD / "tests/multirank/stress", HAWSER_TCP_INCLUDE="net1")
        for _ in range(3):
            time.sleep(0.4)
            self.hosts.cut("h2", 1, True)
            time.sleep(1)
            self.hosts.cut("h2", 1, False)
        code, output = self.finish(job)
        self.assertEqual(code, 0, output)
        self.assertIn("stress: passed", output)

    def test_a_host_that_is_gone_is_noticed(self):
        job = self.start(BUILD / "tests/multirank/stress", HAWSER_TCP_INCLUDE="net1",
                         HAWSER_TCP_TIMEOUT_S="2")
        time.sleep(0.6)
        self.hosts.cut("h2", 1, True)
        began = time.monotonic()
        code, output = self.finish(job)
        self.assertNotEqual(code, 0)
        self.assertRegex(output, r"process \d is not reachable: ")
        self.assertLess(time.monotonic() - began, 15)

    def test_what_is_encrypted_is_not_read_on_its_way(self):
        program = self.compile("secret", f'-DTEXT="{SECRET.decode()}"')
        found = {}
        for encrypt in ("false", "true"):
            capture = Capture(self.hosts.cable("h1", 0), SECRET)
            capture.start()
            code, output = self.finish(self.start(program, ranks=2, HAWSER_TCP_INCLUDE="net0",
                                                  HAWSER_TCP_ENCRYPT=encrypt))
            frames, found[encrypt] = capture.stop()
            self.assertEqual(code, 0, output)
            self.assertGreater(frames, 100)
        self.assertGreater(found["false"], 0)
        self.assertEqual(found["true"], 0)

    def test_spawned_processes_land_on_both_hosts(self):
        for what in ("spawn", "spawn_multiple", "family"):
            with self.subTest(what):
                code, output = self.finish(self.start(BUILD / "tests/dynamic/dynamic", what,
                                                      ranks=2))
                self.assertEqual(code, 0, output)

    def test_spawned_processes_talk_over_the_network(self):
        sent = self.hosts.sent_bytes("h2", 0)
        code, output = self.finish(self.start(BUILD / "tests/dynamic/dynamic", "spawn", ranks=2,
                                              HAWSER_TCP_INCLUDE="net0",
                                              HAWSER_TCP_ENCRYPT="true"))
        self.assertEqual(code, 0, output)
        # Twice, its rank sends 3 MB to each of the two children on the other host.
        self.assertGreater(self.hosts.sent_bytes("h2", 0) - sent, 6_000_000)

    def test_no_address_left_is_said_with_what_there_is(self):
        code, output = self.finish(self.start(BUILD / "tests/multirank/p2p",
                                              HAWSER_TCP_INCLUDE="net7"))
        self.assertNotEqual(code, 0)
        self.assertIn("leave no address to be reached by; this host has: ", output)
        self.assertIn("(net1", output.replace("net1 ", "(net1 "))


class AHostThatVanishes(Jobs):
    """While a rank of the other one waits for its rank."""

    INTERFACES = 1
    LIMIT_S = 30  # of a job, so that a failure is told before the time of all cases is over

    def wait_in_vain(self, how="receive", **settings):
        """What rank 0 says, and after how many seconds of the other host's absence."""
        # Nobody but rank 0 notices: the launcher would wait for the other one for ever.
        job = self.start(self.compile("awaited"), "1000", how, ranks=2, **settings)
        limit = threading.Timer(self.LIMIT_S, job.kill)
        limit.start()
        self.addCleanup(job.communicate)
        self.addCleanup(job.kill)
        self.addCleanup(limit.cancel)
        self.assertEqual(job.stdout.readline(), "waiting\n")
        time.sleep(2)
        self.hosts.cut("h2", 0, True)
        began = time.monotonic()
        return job.stdout.readline(), time.monotonic() - began

    def expect_notice(self, how="receive", **settings):
        said, seconds = self.wait_in_vain(how, **settings)
        self.assertIn("MPIX_ERR_PROC_FAILED", said)
        self.assertLess(seconds, 15)

    def test_is_noticed_over_tcp(self):
        self.expect_notice(HAWSER_TRANSPORT="shm,tcp", HAWSER_TCP_TIMEOUT_S="2")

    def test_is_noticed_over_tcp_at_rest(self):
        self.expect_notice(HAWSER_TRANSPORT="shm,tcp", HAWSER_TCP_TIMEOUT_S="2",
                           HAWSER_TCP_IDLE_S="1")

    def test_is_noticed_over_verbs_with_tcp_behind_it(self):
        self.expect_notice(HAWSER_TRANSPORT="shm,verbs,tcp", HAWSER_TCP_TIMEOUT_S="2", **VERBS)

    def test_is_noticed_over_verbs_where_silence_has_a_limit(self):
        self.expect_notice(HAWSER_TRANSPORT="shm,verbs", HAWSER_DELIVERY_SILENCE_S="4", **VERBS)

    def test_is_noticed_by_who_waits_for_any_rank(self):
        self.expect_notice("receive any", HAWSER_TRANSPORT="shm,tcp", HAWSER_TCP_TIMEOUT_S="2",
                           HAWSER_TCP_IDLE_S="1")

    def test_is_noticed_by_who_probes(self):
        self.expect_notice("probe", HAWSER_TRANSPORT="shm,verbs", HAWSER_DELIVERY_SILENCE_S="4",
                           **VERBS)

    def test_is_noticed_by_who_probes_for_any_rank(self):
        self.expect_notice("probe any", HAWSER_TRANSPORT="shm,verbs,tcp", HAWSER_TCP_TIMEOUT_S="2",
                           **VERBS)

    def test_who_computes_has_not_vanished(self):
        code, said = self.finish(self.start(self.compile("awaited"), "12", ranks=2,
                                            HAWSER_TRANSPORT="shm,verbs,tcp",
                                            HAWSER_TCP_TIMEOUT_S="2", **VERBS))
        self.assertEqual(code, 0, said)
        self.assertIn("it has come", said)


class TwoJobs(Finishing):
    """On two hosts that share nothing but a net; each has a launcher of its own."""

    def setUp(self):
        self.hosts = hosts.Hosts(2)
        self.hosts.__enter__()
        self.addCleanup(self.hosts.close)

    def start(self, host, *words, ranks=2, **settings):
        """dynamic, of tests/dynamic, on HOST with SETTINGS as environment."""
        return self.hosts.start(host, [BUILD / "bin/mpirun", "-n", ranks,
                                       BUILD / "tests/dynamic/dynamic", *words],
                                env=os.environ | settings, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def expect_success(self, *jobs):
        for job in jobs:
            code, said = self.finish(job)
            self.assertEqual(code, 0, said)

    def test_they_connect_by_a_port(self):
        for encrypt in ("false", "true"):
            with self.subTest(encrypt=encrypt):
                server = self.start("h1", "answer", HAWSER_TCP_ENCRYPT=encrypt)
                port = server.stdout.readline().strip()
                client = self.start("h2", "dial", port, ranks=3, HAWSER_TCP_ENCRYPT=encrypt)
                self.expect_success(client, server)

    def test_a_stranger_with_another_key_is_not_let_in(self):
        server = self.start("h1", "answer")
        port = server.stdout.readline().strip()
        at_key = len("hawser-port-1:") + 16  # behind the number of the port, two digits a byte
        wrong = port[:at_key] + ("0" if port[at_key] != "0" else "1") + port[at_key + 1:]
        stranger = self.start("h2", "call_in_vain", wrong, HAWSER_TCP_TIMEOUT_S="2")
        self.expect_success(stranger)
        self.expect_success(self.start("h2", "dial", port, ranks=1), server)


class TwoCables(Jobs):
    """net1 and net2 are for messages alone."""

    INTERFACES = 3
    MESSAGES = (1, 2)
    MUCH = 20_000_000
    PATIENCE_S = 20  # for what takes about 2 s on an idle machine

    def sent(self):
        """What both hosts have sent by each net of messages."""
        return {net: sum(self.hosts.sent_bytes(host, net) for host in self.hosts.names)
                for net in self.MESSAGES}

    def seconds_until_much_was_sent_by(self, *nets):
        """How long it takes, at most PATIENCE_S."""
        before, began = self.sent(), time.monotonic()
        while True:
            now = self.sent()
            if all(now[net] - before[net] >= self.MUCH for net in nets):
                return time.monotonic() - began
            if time.monotonic() - began > self.PATIENCE_S:
                self.fail(f"by {nets}: {before} -> {now}")
            time.sleep(0.05)

    def go_through(self, ranks, fail, mend, **settings):
        """A job with each net in turn failing and coming back."""
        with tempfile.NamedTemporaryFile() as flag:
            job = self.start(BUILD / "tests/multirank/cables", flag.name, ranks=ranks,
                             HAWSER_TCP_INCLUDE="net1,net2", **settings)
            try:
                self.seconds_until_much_was_sent_by(*self.MESSAGES)
                for net, other in ((1, 2), (2, 1)):
                    fail(net)
                    time.sleep(0.2)
                    self.seconds_until_much_was_sent_by(other)
                    before = self.sent()[net]
                    self.seconds_until_much_was_sent_by(other)
                    self.assertLess(self.sent()[net] - before, self.MUCH / 4)
                    mend(net)
                    self.seconds_until_much_was_sent_by(*self.MESSAGES)
            except BaseException:
                job.kill()
                print(job.communicate()[0])
                raise
        code, output = self.finish(job)
        self.assertEqual(code, 0, output)
        self.assertIn("cables: passed", output)

    def test_messages_go_around_a_cable_that_carries_nothing_and_return(self):
        for ranks in (2, 4):
            with self.subTest(ranks):
                self.go_through(ranks, lambda net: self.hosts.cut("h2", net, True),
                                lambda net: self.hosts.cut("h2", net, False))

    def test_messages_go_around_an_interface_that_is_down_and_return(self):
        self.go_through(2, lambda net: self.hosts.set_link("h1", net, False),
                        lambda net: self.hosts.set_link("h1", net, True),
                        HAWSER_TCP_ENCRYPT="true")

    def test_a_quiet_peer_has_one_connection(self):
        before = self.sent()
        code, output = self.finish(self.start(BUILD / "tests/multirank/connections", "ring",
                                              HAWSER_TRANSPORT="tcp",
                                              HAWSER_TCP_INCLUDE="net1,net2"))
        self.assertEqual(code, 0, output)
        after = self.sent()
        self.assertLess(min(after[net] - before[net] for net in self.MESSAGES), 10_000)

    def test_one_interface_is_used_if_the_user_wants_no_more(self):
        with tempfile.NamedTemporaryFile() as flag:
            before = self.sent()
            job = self.start(BUILD / "tests/multirank/cables", flag.name, ranks=2,
                             HAWSER_TCP_INCLUDE="net1,net2", HAWSER_TCP_RAILS="1")
            time.sleep(3)
            after = self.sent()
        self.assertEqual(self.finish(job)[0], 0)
        sent = sorted(after[net] - before[net] for net in self.MESSAGES)
        self.assertLess(sent[0], 1_000_000)
        self.assertGreater(sent[1], self.MUCH)


if __name__ == "__main__":
    BUILD, MPIEXEC = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    REASON = hosts.why_not() or ("" if shutil.which(MPIEXEC) else f"there is no {MPIEXEC}")
    if REASON:
        print(REASON)
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
