"""What hosts.py promises."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import hosts

SKIPPED = 77

SEND = """import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=1) as peer:
    peer.sendall(b"hawser")"""
RECEIVE = """import socket, sys
with socket.create_server((sys.argv[1], 0), family=socket.AF_INET6 if ":" in sys.argv[1] else
                          socket.AF_INET) as server:
    print(server.getsockname()[1], flush=True)
    peer, _ = server.accept()
    print(peer.recv(100).decode(), flush=True)"""


def index_of_bridge(number):
    """What the kernel knows the first bridge of hosts NUMBER by; empty if there is none."""
    index = pathlib.Path(f"/sys/class/net/hwb{number}-0/ifindex")
    return index.read_text(encoding="ascii") if index.exists() else ""


class HostsTest(unittest.TestCase):
    """Two hosts with two interfaces."""

    def setUp(self):
        self.hosts = hosts.Hosts(2, interfaces=2)
        self.hosts.__enter__()
        self.addCleanup(self.hosts.close)

    def text_of(self, host, *command):
        """What COMMAND prints on HOST."""
        return self.hosts.run(host, command, stdout=subprocess.PIPE, text=True).stdout.strip()

    def send(self, address):
        """What arrives at ADDRESS of h1 of what h2 sends; nothing if h2 can't."""
        with self.hosts.start("h1", [sys.executable, "-c", RECEIVE, address],
                              stdout=subprocess.PIPE, text=True) as server:
            port = server.stdout.readline().strip()
            sent = self.hosts.run("h2", [sys.executable, "-c", SEND, address, port],
                                  stderr=subprocess.DEVNULL)
            if sent.returncode != 0:
                server.kill()
                return ""
            return server.stdout.readline().strip()

    def test_each_has_its_own_name_and_memory(self):
        self.assertEqual([self.text_of(name, "hostname") for name in self.hosts.names],
                         ["h1", "h2"])
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            self.assertEqual(self.text_of("h1", "ls", "/dev/shm"), "")
            self.assertTrue(pathlib.Path(file.name).exists())

    def test_reach_one_another_by_each_interface(self):
        for interface in range(2):
            self.assertEqual(self.send(self.hosts.address("h1", interface)), "hawser")
            self.assertEqual(self.send(self.hosts.address6("h1", interface)), "hawser")

    def test_all_interfaces_are_up_from_the_start(self):
        for name in self.hosts.names:
            self.assertNotIn("DOWN", self.text_of(name, "ip", "-br", "link"))

    def test_a_cut_cable_carries_nothing_until_it_is_mended(self):
        self.hosts.cut("h2", 1, True)
        self.assertEqual(self.send(self.hosts.address("h1", 1)), "")
        self.assertEqual(self.send(self.hosts.address("h1", 0)), "hawser")
        self.hosts.cut("h2", 1, False)
        self.assertEqual(self.send(self.hosts.address("h1", 1)), "hawser")

    def test_nothing_is_left_behind(self):
        running = self.hosts.start("h1", ["sh", "-c", "echo begun; sleep 1000"],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(running.stdout.close)
        self.assertEqual(running.stdout.readline(), "begun\n")
        folder = self.hosts.folder
        number = self.hosts.number
        self.hosts.close()
        self.assertIsNotNone(running.poll())
        self.assertFalse(folder.exists())
        links = subprocess.run(["ip", "-br", "link"], check=True, capture_output=True,
                               text=True).stdout
        self.assertNotIn(f"hwb{number}-", links)
        self.assertNotIn(f"hwv{number}.", links)

    def test_have_nets_that_no_others_have(self):
        with hosts.Hosts(2) as others:
            self.assertNotEqual(self.hosts.address("h1"), others.address("h1"))
            self.assertEqual(self.send(self.hosts.address("h1")), "hawser")

    def test_of_a_killed_process_end_with_it_and_leave_their_number(self):
        script = ("import hosts; made = hosts.Hosts(1); made.__enter__(); "
                  "print(made.number, made.holders['h1'].pid, made.folder, flush=True); input()")
        with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, text=True,
                              stdout=subprocess.PIPE, cwd=pathlib.Path(__file__).parent) as killed:
            number, holder, folder = killed.stdout.readline().split()
            left = index_of_bridge(number)
            self.assertNotEqual(left, "")
            killed.kill()
        self.addCleanup(shutil.rmtree, folder)
        for _ in range(500):
            if not hosts.has_memory(int(holder)):
                break
            time.sleep(0.01)
        self.assertFalse(hosts.has_memory(int(holder)))
        # Whoever gets the number, this one or a test beside it, ends that bridge.
        with unittest.mock.patch("os.getpid", return_value=int(number)), hosts.Hosts(1):
            self.assertNotEqual(index_of_bridge(number), left)

    def test_two_may_be_joined_by_a_cable_alone(self):
        self.hosts.close()
        self.hosts = hosts.Hosts(2, is_bridged=False)
        self.hosts.__enter__()
        self.addCleanup(self.hosts.close)
        self.assertEqual(self.send(self.hosts.address("h1")), "hawser")
        self.assertEqual(self.send(self.hosts.address6("h1")), "hawser")
        with self.assertRaises(hosts.Failure):
            hosts.Hosts(3, is_bridged=False)

    def test_a_remote_shell_runs_words_as_a_shell_there_would(self):
        shell = pathlib.Path(__file__).parent / "remote_shell"
        done = subprocess.run([shell, "-x", "-o", "Option=yes", "root@h2", "X=7;", "echo", "$X",
                               "$(hostname)"], check=True, capture_output=True, text=True)
        self.assertEqual(done.stdout, "7 h2\n")


if __name__ == "__main__":
    if hosts.why_not():
        print(hosts.why_not())
        sys.exit(SKIPPED)
    unittest.main()
