"""Jobs on two hosts that MPICH's hydra starts, and what happens to the network between them.

    jobs_test.py BUILD MPIEXEC [TEST…]     (BUILD has the programs of tests/multirank)
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


class TwoHosts(unittest.TestCase):
    """h1 and h2, joined by net0, by which they are started, and net1."""

    def setUp(self):
        self.hosts = hosts.Hosts(2, interfaces=2)
        self.hosts.__enter__()
        self.addCleanup(self.hosts.close)

    def start(self, program, ranks=4, **settings):
        """The job, with SETTINGS as environment; its output is one text."""
        command = [MPIEXEC, "-launcher", "ssh", "-launcher-exec", HERE / "remote_shell", "-iface",
                   self.hosts.bridge(0), "-hosts", "h1,h2", "-ppn", str(ranks // 2), "-n",
                   str(ranks), program]
        return subprocess.Popen(list(map(str, command)), env=os.environ | settings, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def finish(self, job):
        """Exit code and output of JOB."""
        try:
            output, _ = job.communicate(timeout=SECONDS_MAX)
        except subprocess.TimeoutExpired:
            job.kill()
            self.fail(f"not done after {SECONDS_MAX} s: {job.communicate()[0]}")
        return job.returncode, output

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
        program = pathlib.Path(self.hosts.folder) / "secret"
        # Not an argument: the launcher would tell it the other host.
        subprocess.run([BUILD / "bin/mpicc", f'-DTEXT="{SECRET.decode()}"', HERE / "secret.c", "-o",
                        program], check=True)
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

    def test_no_address_left_is_said_with_what_there_is(self):
        code, output = self.finish(self.start(BUILD / "tests/multirank/p2p",
                                              HAWSER_TCP_INCLUDE="net7"))
        self.assertNotEqual(code, 0)
        self.assertIn("leave no address to be reached by; this host has: ", output)
        self.assertIn("(net1", output.replace("net1 ", "(net1 "))


if __name__ == "__main__":
    BUILD, MPIEXEC = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    REASON = hosts.why_not() or ("" if shutil.which(MPIEXEC) else f"there is no {MPIEXEC}")
    if REASON:
        print(REASON)
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
