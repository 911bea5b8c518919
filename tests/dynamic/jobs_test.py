"""Jobs that find each other: two launchers, names, sockets, and what goes wrong.

    jobs_test.py MPIRUN PROGRAM
"""
import os
import socket
import subprocess
import sys
import unittest

MPIRUN, PROGRAM = sys.argv[1:3]
SECONDS = 100
SERVICE = f"hawser tests {os.getpid()}"


def start(*words, ranks=None, **keywords):
    launcher = [MPIRUN, "-n", str(ranks)] if ranks else []
    return subprocess.Popen([*launcher, PROGRAM, *map(str, words)], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, **keywords)


class Jobs(unittest.TestCase):
    def end(self, job, code=0):
        """What JOB has said; it ends with CODE."""
        try:
            said, _ = job.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            job.kill()
            said, _ = job.communicate()
            self.fail(f"{job.args} does not end; it said:\n{said}")
        self.assertEqual(job.returncode, code, said)
        return said

    def test_one_after_another_calls_at_a_published_name(self):
        server = start("serve", SERVICE, 3, ranks=2)
        self.assertEqual(server.stdout.readline(), "published\n")
        self.end(start("call", SERVICE, ranks=3))
        clients = [start("call", SERVICE, ranks=1), start("call", SERVICE)]
        for job in [*clients, server]:
            self.end(job)

    def test_without_a_launcher(self):
        server = start("serve", SERVICE, 1)
        self.assertEqual(server.stdout.readline(), "published\n")
        self.end(start("call", SERVICE))
        self.end(server)

    def test_encrypted(self):
        environment = {**os.environ, "HAWSER_TCP_ENCRYPT": "true"}
        server = start("serve", SERVICE, 1, ranks=2, env=environment)
        self.assertEqual(server.stdout.readline(), "published\n")
        self.end(start("call", SERVICE, ranks=2, env=environment))
        self.end(server)

    def test_spawns_without_a_launcher(self):
        self.end(start("spawn"))

    def test_a_port_of_a_process_that_has_ended(self):
        port = self.end(start("show_port")).strip()
        environment = {**os.environ, "HAWSER_TCP_TIMEOUT_S": "2"}
        self.end(start("call_in_vain", port, ranks=2, env=environment))

    def test_a_port_name_that_is_none(self):
        for port in ("", "nonsense", "hawser-port-1:", "hawser-port-1:00ff", "hawser-port-1:zz"):
            self.end(start("call_in_vain", port))

    def test_joined_by_a_socket(self):
        ends = socket.socketpair()
        jobs = [start("join", end.fileno(), pass_fds=[end.fileno()]) for end in ends]
        for end in ends:
            end.close()
        for job in jobs:
            self.end(job)

    def test_a_failed_child_fails_the_job(self):
        said = self.end(start("spawn_in_vain", "/no/such/program", "/bin/true", ranks=2), code=127)
        self.assertIn("/no/such/program", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
