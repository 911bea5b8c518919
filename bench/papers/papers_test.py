"""What ranks say is read rightly, jobs are looked at while they wait, and tables judge and omit nothing."""
import dataclasses
import json
import os
import pathlib
import stat
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import configurations  # noqa: E402
import launch  # noqa: E402
import measure  # noqa: E402
import native  # noqa: E402
import native_sections  # noqa: E402
import observe  # noqa: E402
import papers  # noqa: E402
import plan  # noqa: E402
import published  # noqa: E402
import ranks  # noqa: E402
import receive_sections  # noqa: E402
import sections  # noqa: E402
import timed_sections  # noqa: E402

MACHINE = {"processor": "P", "cores": 2, "system": "S", "time": "2026-01-02T03:04:05",
           "hawser": "9.8.7"}


def line(rank=0, peers=(), connections=(), **ledger):
    """A line of statistics. PEERS: (peer, channel, messages sent, bytes sent, messages received)."""
    names = ("peer", "channel", "messages_sent", "bytes_sent", "messages_received")
    record = {"format": 1, "rank": rank, "pid": 100 + rank, "peers": [dict(zip(names, peer))
                                                                     for peer in peers],
              "ledger": {name: {"current_bytes": 0, "peak_bytes": size}
                         for name, size in ledger.items()},
              "connections": list(connections)}
    return json.dumps(record)


def rank(*arguments, **ledger):
    return ranks.read_rank(line(*arguments, **ledger))


def outcome(table, pattern, count, configuration, said=(), options=(), results=(), sentence=None,
            seen=None, repeat=0):
    job = plan.Job(table, pattern, count, configuration, options, repeat=repeat)
    return measure.Outcome(job, list(results), list(said), seen or {}, sentence)


def outcomes(*each):
    return measure.Outcomes({one.job.key: one for one in each})


class Ranks(unittest.TestCase):
    def test_connections_are_the_sum_of_all_channels(self):
        stated = [{"channel": "rc_send", "now": 1, "most": 3, "opened": 4, "used": 2},
                  {"channel": "rc_fast_path", "now": 1, "most": 1, "opened": 1, "used": 1}]
        self.assertEqual(rank(0, [], stated).connections, ranks.Connections(5, 3))

    def test_peers_by_datagrams_are_no_connections(self):
        self.assertEqual(rank(0, [(1, "ud_send", 1, 1, 1)]).connections, ranks.Connections(0, 0))

    def test_the_ledger_is_the_sum_of_the_peaks(self):
        self.assertEqual(rank(0, endpoints=700, requests=24).memory_bytes, 724)

    def test_ranks_are_in_order_and_of_a_known_format(self):
        read = ranks.read_ranks(line(1) + "\n" + line(0) + "\n")
        self.assertEqual([one.number for one in read], [0, 1])
        with self.assertRaises(ValueError):
            ranks.read_rank(line().replace('"format": 1', '"format": 2'))


class Observation(unittest.TestCase):
    SMAPS = """7f00-7f01 r--p 00000000 fe:00 247026                     /usr/lib/libc.so.6
Size:                  8 kB
Pss:                  50 kB
Pss_Dirty:            50 kB
7f02-7f03 rw-p 00000000 00:00 0                          [heap]
Pss:                 100 kB
7f04-7f05 rw-p 00000000 00:00 0
Pss:                   7 kB
7f06-7f07 rw-s 00000000 00:01 9                          /memfd:softrdma (deleted)
Pss:                  30 kB
7f08-7f09 rw-s 00000000 00:01 9                          /memfd:hawser-job (deleted)
Pss:                   2 kB
"""

    def test_memory_of_the_process_and_of_the_device(self):
        self.assertEqual(observe.read_smaps(self.SMAPS), (109 * 1024, 30 * 1024))

    def test_misses_by_process(self):
        text = "     pid    qps   ctx-miss\n      41      1         17\n      42      3          0\n"
        self.assertEqual(observe.read_stat(text), {41: {"pid": 41, "qps": 1, "ctx-miss": 17},
                                                   42: {"pid": 42, "qps": 3, "ctx-miss": 0}})
        self.assertEqual(observe.read_stat("nobody is there\n"), {})

    def test_a_held_job_is_seen_and_let_go(self):
        with tempfile.TemporaryDirectory() as directory:
            path = f"{directory}/hold"
            hold = observe.Hold(path, 1, "softrdma", {})
            script = (f'printf "%11d %11d\\n" 0 $$ >> {path}; '
                      f'while [ $(stat -c %s {path}) -le 24 ]; do sleep 0.01; done; echo done')
            text, _, sentence = launch.run(["sh", "-c", script], dict(os.environ), 20, hold.look)
        self.assertEqual((text, sentence), ("done\n", None))
        self.assertGreater(hold.seen[0].pss_bytes, 0)
        self.assertIsNone(hold.seen[0].context_misses)

    def test_a_job_that_never_ends_is_ended(self):
        text, seconds, sentence = launch.run(["sh", "-c", "echo begun; exec sleep 30"],
                                             dict(os.environ), 1, lambda: None)
        self.assertEqual((text, sentence), ("begun\n", "not done after 1 s"))
        self.assertLess(seconds, 10)


class Builds(unittest.TestCase):
    """A build whose `hawser info` knows the parameter channel.connect and the channel rc_send."""

    SCRIPT = """#!/bin/sh
case "$2" in
  --json) echo '{"version": "9.8.7",
                 "parameters": [{"name": "channel.connect"}, {"name": "channel.connections_max"}]}' ;;
  --rules) case "$HAWSER_CHANNEL_SEND_RULES" in *rc_send*) exit 0 ;; *) exit 1 ;; esac ;;
esac
"""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        hawser = pathlib.Path(self.directory.name) / "hawser"
        hawser.write_text(self.SCRIPT)
        hawser.chmod(hawser.stat().st_mode | stat.S_IXUSR)
        self.build = configurations.Build(hawser)

    def test_its_version(self):
        self.assertEqual(self.build.version, "9.8.7")

    def test_what_is_missing(self):
        of = configurations.BY_NAME
        self.assertEqual(self.build.missing(of["static"]), [])
        self.assertEqual(self.build.missing(of["hybrid"]), ["rc_rdma", "rc_fast_path", "channel.fast_paths_max"])
        self.assertEqual(self.build.missing(of["one_thread"]), ["wait.progress"])

    def test_a_job_that_lacks_something_is_left_out(self):
        runner = measure.Measurement.__new__(measure.Measurement)
        runner.build, found = self.build, measure.Outcomes()
        runner.measure(plan.Job("progress", "pingpong", 2, "one_thread"), found)
        self.assertEqual(found, measure.Outcomes({}, {("progress", "one_thread"): ["wait.progress"]}))


class Running(unittest.TestCase):
    """With an mpirun that is a script."""

    def measured(self, script):
        with tempfile.TemporaryDirectory() as directory:
            mpirun = pathlib.Path(directory) / "mpirun"
            mpirun.write_text("#!/bin/sh\n" + script)
            mpirun.chmod(mpirun.stat().st_mode | stat.S_IXUSR)
            runner = measure.Measurement.__new__(measure.Measurement)
            runner.mpirun, runner.program, runner.softrdma = mpirun, "patterns", "softrdma"
            job = plan.Job("connections", "ring", 1, "ud_copy", seconds_max=20)
            return runner.run(job, configurations.BY_NAME["ud_copy"])

    def test_results_and_statistics_are_read(self):
        found = self.measured(f"echo partners 2; echo '{line()}' >> $HAWSER_STATS\n")
        self.assertIsNone(found.sentence)
        self.assertEqual(found.numbers("partners"), [[2.0]])
        self.assertEqual(found.ranks[0].pid, 100)

    def test_a_line_that_was_cut_off_is_none(self):
        self.assertEqual(measure.read_results("pingpong 8 1.5 0\nno numbers\n\npingpong 16 1."),
                         [("pingpong", [8.0, 1.5, 0.0])])

    def test_a_rank_without_statistics_is_a_failure(self):
        self.assertEqual(self.measured("true\n").sentence, "0 of 1 ranks wrote their statistics")

    def test_an_exit_code_is_a_failure(self):
        self.assertEqual(self.measured("echo wrong byte >&2; exit 1\n").sentence,
                         "exit code 1: wrong byte")


class Tables(unittest.TestCase):
    def test_connections_beside_the_paper(self):
        said, more = ([rank(0, [], [{"channel": "rc_send", "opened": count, "used": count}])] * 2
                      for count in (2, 3))
        section = sections.connections(outcomes(
            outcome("connections", "ring", 16, "on_demand", said, results=[("partners", [2.0])]),
            outcome("connections", "ring", 32, "on_demand", more, results=[("partners", [2.0])])))
        self.assertEqual(section.lines[1][:10],
                         ["ring", "16", "15", "0.13", "-", "-", "2", "2", "2", "met"])
        self.assertEqual(section.lines[2][7:10], ["3", "3", "**missed**"])
        self.assertEqual(section.goals, [True, False])

    def test_use_of_static_connections(self):
        stated = [{"channel": "rc_send", "opened": 15, "used": 2}]
        section = sections.connections(outcomes(
            outcome("connections", "ring", 16, "static", [rank(0, [], stated)])))
        self.assertEqual(section.lines[1][4:6], ["15", "0.133"])

    def test_a_failed_job_is_shown_and_listed(self):
        found = outcomes(outcome("connections", "cg", 16, "on_demand", sentence="exit code 1: why"))
        section = sections.connections(found)
        self.assertEqual(section.lines[1][7:10], ["failed"] * 3)
        self.assertEqual(section.goals, [])
        text = papers.page(found, MACHINE, papers.all_sections(found), {})
        self.assertIn("Hawser 9.8.7", text)
        self.assertIn("- connections cg 16 on_demand: exit code 1: why", text)
        self.assertIn("failed", text)

    def memory(self, pattern, configuration, bytes_of):
        return [outcome("memory", pattern, count, configuration, [rank(0, all=bytes_of(count))],
                        ("bytes=1024",), seen={0: observe.Seen(4096 * count, 0, None)})
                for count in (32, 64, 128)]

    def test_growth_of_memory(self):
        section = sections.memory_growth(outcomes(
            *self.memory("everyone", "hybrid", lambda count: 5000 + 1000 * count),
            *self.memory("silent", "hybrid", lambda count: 20 * count),
            *self.memory("pairwise", "hybrid", lambda count: 9000),
            *self.memory("silent", "static_per_peer", lambda count: 300000 * count)))
        rows = {tuple(row[:2]): row[2:] for row in section.lines[1:]}
        self.assertEqual(rows["everyone", "hybrid"], ["1000", "1000", "4096", "met"])
        self.assertEqual(rows["silent", "hybrid"], ["20", "20", "4096", "**missed**"])
        self.assertEqual(rows["pairwise", "hybrid"][3], "met")
        self.assertEqual(rows["silent", "static_per_peer"][3], "")

    def test_memory_of_a_failed_job(self):
        section = sections.memory(outcomes(outcome("memory", "silent", 2, "hybrid", sentence="why",
                                                   options=("bytes=1024",))))
        self.assertEqual(section.lines[1], ["silent", "2", "failed", "failed"])

    def test_shares_of_channels(self):
        said = [rank(0, [(1, "ud_send", 3, 100, 0), (2, "rc_send", 1, 300, 0),
                         (2, "single_copy", 1, 300, 0)])]
        seen = {0: observe.Seen(0, 0, 8)}
        section = sections.channels(outcomes(
            outcome("channels", "everyone", 32, "hybrid", said, seen=seen),
            outcome("channels", "everyone", 32, "ud_copy", said)))
        self.assertEqual(section.lines[1][3:7], ["rc_send 1, ud_send 1", "rc_send 25%, ud_send 75%",
                                                 "rc_send 75%, ud_send 25%", "2000"])
        self.assertIn("NPB FT", section.lines[1][7])
        self.assertEqual(section.lines[2][6:], ["-", ""])

    def test_times(self):
        found = outcomes(
            outcome("pairs", "pingpong", 4, "ud_copy",
                    results=[("pingpong", [0, 2.0, 0]), ("pingpong", [0, 4.0, 2])]),
            outcome("bandwidth", "stream", 4, "ud_copy",
                    results=[("stream", [64, 2.0, 0]), ("stream", [64, 4.0, 2])]),
            outcome("latency", "pingpong", 2, "rc_send", sentence="why",
                    results=[("pingpong", [1, 2.0, 0])]),
            outcome("latency", "pingpong", 4, "rc_send", sentence="why"))
        self.assertEqual(timed_sections.pairs(found).lines[1][3:], ["3", "2", "4"])
        self.assertEqual(timed_sections.bandwidth(found).lines[1][2:], ["6"])
        self.assertEqual([row[1:] for row in timed_sections.latency(found).lines[1:]],
                         [["rc_send (failed)", "2"], ["rc_send (failed)", "failed"]])

    def test_polled_rings_are_peers(self):
        found = outcomes(outcome("polled", "polled", 2, "ud_copy", options=("bytes=4",),
                                 results=[("pingpong", [4, 1.5, 0])]),
                         outcome("polled", "polled", 257, "ud_copy", options=("bytes=4",),
                                 sentence="why"))
        self.assertEqual(timed_sections.polled(found).lines[1],
                         ["ud_copy", "1.5", *["-"] * 7, "failed"])

    def test_sizes_of_several_jobs_are_one_row(self):
        found = outcomes(*(outcome("rendezvous", "pingpong", 2, "ud_copy", options=(f"bytes={size}",),
                                   results=[("pingpong", [size, float(size), 0])])
                           for size in (64, 128)))
        self.assertEqual(timed_sections.rendezvous(found).lines[1:], [["2", "ud_copy", "64", "128"]])


    def test_shared_receive_queues_against_others(self):
        options = ("bytes=1024", "rounds=200")

        def jobs(configuration, milliseconds, not_ready):
            return [outcome("receives", "alltoall", 8, configuration, [rank(0, connection_buffers=2048)],
                            options, repeat=repeat, seen={0: observe.Seen(0, 0, 0, not_ready)},
                            results=[("collectives", [each])])
                    for repeat, each in enumerate(milliseconds)]
        section = receive_sections.receives(outcomes(
            *jobs("shared_queue", (10.0, 30.0, 11.0), 0), *jobs("own_queues", (10.0, 10.0, 10.0), 2)))
        self.assertEqual(section.lines[1][3:], ["11", "10", "1.1", "met", "0", "6", "2", "2"])
        section = receive_sections.receives(outcomes(
            *jobs("shared_queue", (9.0,), 1), *jobs("own_queues", (10.0,), 0)))
        self.assertEqual(section.lines[1][6], "**missed**", "a frame found no buffer")


class Native(unittest.TestCase):
    def section(self, adapter_us, ours_us):
        size = float(plan.NATIVE_LATENCY_BYTES)
        found = outcomes(*(outcome("native", pattern, 2, name, results=[("pingpong", [size, each])],
                                   repeat=repeat)
                           for pattern, name, times in (("ib_write_lat", "adapter", adapter_us),
                                                        ("pingpong", "rc_fast_path", ours_us))
                           for repeat, each in enumerate(times)))
        return native_sections.native(found)

    def test_medians_are_judged_beside_the_adapter(self):
        self.assertEqual(self.section((1, 0.9, 5), (1.2, 1.25, 9)).lines[1:],
                         [["8 bytes, one way", "1", "1.25", "us", "0.25", "1.25", "met"]])
        self.assertEqual(self.section((1,), (1.4,)).goals, [False])

    def test_figures_of_perftest(self):
        shown = """ #bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec]
 8       20000          0.80           9.99         0.90               0.95             0.10
---
"""
        self.assertEqual(native.READ["ib_write_lat"](native.last_row(shown)), ("pingpong", 0.95))
        with self.assertRaises(native.pairs.Failure):
            native.last_row("no adapter")


class Page(unittest.TestCase):
    def test_what_is_left_out_says_why(self):
        found = measure.Outcomes(left_out={
            ("connections", "on_demand"): ["rc_send"], ("rdma", "a"): ["rc_rdma"],
            ("rdma", "b"): ["rc_rdma"]})
        text = papers.left_out_text(found)
        self.assertRegex(text, r"\| connections \| +rc_send \| +on_demand \|")
        self.assertRegex(text, r"\| +rdma \| +rc_rdma \| +a, b \|")
        self.assertIn("NAS kernels", text)

    def test_files_are_written(self):
        found = outcomes(outcome("pairs", "pingpong", 2, "ud_copy",
                                 results=[("pingpong", [0, 2.0, 0])]))
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory)
            papers.write(path, found, MACHINE, papers.all_sections(found))
            self.assertIn("Ping-pong of N pairs", (path / "papers.md").read_text())
            self.assertIn("<svg", (path / "papers-pairs.svg").read_text())
            results = json.loads((path / "papers.json").read_text())
        self.assertEqual(results["outcomes"][0]["results"], [["pingpong", [0, 2.0, 0]]])


class Plan(unittest.TestCase):
    def test_jobs_are_told_apart_and_their_configurations_are_known(self):
        jobs = plan.jobs()
        self.assertEqual(len({job.key for job in jobs}), len(jobs))
        self.assertLessEqual({job.configuration for job in jobs}, set(configurations.BY_NAME))
        self.assertEqual(len(configurations.BY_NAME), len(configurations.ALL))

    def test_every_connection_count_of_the_paper_is_measured(self):
        measured = {(job.pattern, job.ranks) for job in plan.connections()}
        self.assertEqual(measured, set(published.CONNECTIONS))

    def test_every_table_is_shown(self):
        found = outcomes(*(measure.Outcome(job, [], [], {}, "why") for job in plan.jobs()))
        titles = len(papers.all_sections(found))
        self.assertEqual(titles, len(papers.SECTIONS) - 1)  # growth needs what did not fail
        self.assertEqual(len({dataclasses.astuple(job) for job in plan.jobs()}), len(found.by_key))


if __name__ == "__main__":
    unittest.main()
