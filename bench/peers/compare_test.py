"""What is measured is read, compared and judged rightly."""
import dataclasses
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import compare  # noqa: E402
import libraries  # noqa: E402
import measure  # noqa: E402
import plan  # noqa: E402

LATENCY = plan.Group("Latency", "us", goal=lambda size: 0.65 if size == 8 else 1.0, picture="l")
BANDWIDTH = plan.Group("Bandwidth", "MB/s", higher_is_better=True, goal=lambda _: 1.5)
BLOCKED = plan.Group("Blocked", "%", "ranks", goal=lambda _: None, goal_value=1.0)


def library(name):
    return libraries.Library(name, ("mpirun",), pathlib.Path("micro"), {})


def script(text, timeout=20):
    """A job of a "library" whose launcher is the shell."""
    shell = libraries.Library("Shell", ("sh", "-c", text, "sh"), pathlib.Path("micro"), {})
    return shell, plan.Job("job", 2, (), {"latency": LATENCY}, seconds_max=timeout)


class Comparison(unittest.TestCase):
    def test_the_best_peer_is_the_quickest(self):
        row = compare.row_of(LATENCY, 8, {"Hawser": 0.6, "A": 2.0, "B": 1.0}, "Hawser")
        self.assertEqual((row.best_peer, row.ratio, row.reached), ("B", 0.6, True))
        self.assertFalse(compare.row_of(LATENCY, 8, {"Hawser": 0.7, "B": 1.0}, "Hawser").reached)
        self.assertTrue(compare.row_of(LATENCY, 16, {"Hawser": 0.7, "B": 1.0}, "Hawser").reached)

    def test_more_bandwidth_is_better(self):
        row = compare.row_of(BANDWIDTH, 8, {"Hawser": 15.0, "A": 10.0, "B": 5.0}, "Hawser")
        self.assertEqual((row.best_peer, row.ratio, row.reached), ("A", 1.5, True))
        self.assertFalse(compare.row_of(BANDWIDTH, 8, {"Hawser": 14, "A": 10}, "Hawser").reached)

    def test_a_goal_of_its_own(self):
        for value, reached in ((0.5, True), (1.5, False)):
            row = compare.row_of(BLOCKED, 8, {"Hawser": value, "A": 100.0}, "Hawser")
            self.assertEqual((row.goal, row.reached), ("at most 1 %", reached))

    def test_who_has_no_value_is_not_judged(self):
        self.assertIsNone(compare.row_of(LATENCY, 8, {"A": 1.0}, "Hawser").reached)
        self.assertIsNone(compare.row_of(LATENCY, 8, {"Hawser": 1.0}, "Hawser").reached)

    def test_medians_of_rounds_in_tables_and_totals(self):
        samples = measure.Samples()
        for value in (9.0, 0.5, 0.6):
            samples.add(LATENCY, 8.0, library("Hawser"), value)
        samples.add(LATENCY, 8.0, library("A"), 1.0)
        samples.add(LATENCY, 1024.0, library("Hawser"), 3.0)
        samples.add(LATENCY, 1024.0, library("A"), 1.0)
        text = compare.table(samples, "Latency", ["Hawser", "A"])
        self.assertRegex(text, r"\| +8 \| +0\.6 \| +1 \| +0\.6x A \| +at most 0\.65x reached \|")
        self.assertRegex(text, r"\| +1K \| +3 \| +1 \| +3x A \| +at most 1x \*\*missed\*\* \|")
        self.assertEqual(compare.totals(samples, "Hawser"), (1, 0, 2))
        self.assertIn("<svg", compare.pictures(samples, ["Hawser", "A"], "here")["l"])


    def test_only_equal_distances_are_compared(self):
        samples = measure.Samples()
        for name, pairs in {"Hawser": [(0.2, 60), (0.2, 62), (0.4, 250), (0.1, 20)],
                            "A": [(0.3, 65), (0.3, 70), (0.5, 255)],
                            "B": [(0.25, 61), (0.2, 22)]}.items():
            for value, line in pairs:
                samples.add(LATENCY, 8.0, library(name), value, line)
        (row,) = compare.rows(samples, "Latency", "Hawser")
        self.assertEqual(row.medians, {"Hawser": 0.2, "A": 0.3, "B": 0.25})
        self.assertEqual(row.line, 62)
        text = compare.table(samples, "Latency", ["Hawser", "A", "B"])
        self.assertRegex(text, r"\| +8 \| +62 \| +0\.2 \| +0\.3 \| +0\.25 \| +0\.8x B \|")

    def test_a_goal_reached_without_a_library_says_so(self):
        samples = measure.Samples()
        for name, pairs in {"Hawser": [(0.2, 60), (0.2, 62)], "A": [(0.9, 61), (0.8, 62)],
                            "B": [(0.1, 250)]}.items():
            for value, line in pairs:
                samples.add(LATENCY, 8.0, library(name), value, line)
        text = compare.table(samples, "Latency", ["Hawser", "A", "B"])
        self.assertRegex(text, r"at most 0\.65x reached, without B \|")
        self.assertEqual(compare.totals(samples, "Hawser"), (1, 1, 1))

    def test_the_span_with_most_libraries_counts(self):
        values, line = compare.comparable({"H": [1, 1, 1, 5], "A": [2]},
                                          {"H": [20, 20, 20, 200], "A": [210]})
        self.assertEqual((values, line), ({"H": [5], "A": [2]}, 205))


class Measurement(unittest.TestCase):
    def measured(self, text, timeout=20):
        samples = measure.Samples()
        shell, job = script(text, timeout)
        measure.measure(shell, job, samples)
        return samples

    def test_lines_are_read(self):
        samples = self.measured("echo latency 8 0.5; echo other 1 2; echo latency 16 0.7")
        self.assertEqual(dict(samples.values["Latency"][8]), {"Shell": [0.5]})
        self.assertEqual(dict(samples.values["Latency"][16]), {"Shell": [0.7]})
        self.assertEqual(samples.failures, {})

    def test_the_time_of_a_bare_line_is_read_where_it_is_printed(self):
        samples = measure.Samples()
        shell, job = script("echo latency 8 0.5 61.5; echo latency 8 0.6 62")
        measure.measure(shell, dataclasses.replace(job, arguments=("line",)), samples)
        self.assertEqual(samples.values["Latency"][8]["Shell"], [0.5, 0.6])
        self.assertEqual(samples.lines["Latency"][8]["Shell"], [61.5, 62.0])

    def test_a_failed_job_is_said_and_not_tried_again(self):
        samples = self.measured("echo latency 8 0.5; echo why >&2; exit 3")
        self.assertEqual(samples.failures, {("job", "Shell"): "exit code 3: why"})
        shell, job = script("echo latency 8 0.1")
        measure.measure(shell, job, samples)
        self.assertEqual(samples.values["Latency"][8]["Shell"], [0.5])

    def test_what_took_too_long_is_not_tried_with_more_ranks(self):
        samples = self.measured("exec sleep 30", 1)
        shell, job = script("echo latency 8 0.1")
        measure.measure(shell, dataclasses.replace(job, name="more", ranks=4), samples)
        self.assertEqual(samples.failures["more", "Shell"], "not tried: 2 ranks took too long")
        measure.measure(shell, dataclasses.replace(job, name="fewer", ranks=1), samples)
        self.assertEqual(samples.values["Latency"][8]["Shell"], [0.1])

    def test_what_was_printed_in_time_counts(self):
        samples = self.measured("echo latency 8 0.5; printf 'latency 16 0.'; exec sleep 30", 1)
        self.assertEqual(samples.failures, {("job", "Shell"): "not done after 1 s"})
        self.assertEqual(list(samples.values["Latency"]), [8])


    def test_a_job_whose_libraries_never_met_the_same_line_is_measured_again(self):
        shells = [libraries.Library(name, ("sh", "-c", text, "sh"), pathlib.Path("micro"), {})
                  for name, text in (("Near", "echo latency 8 0.5 60"), ("Far", "echo latency 8 0.5 250"))]
        job = plan.Job("job", 2, ("line",), {"latency": LATENCY})
        said = []
        samples, rounds = measure.measure_all(
            shells,
            [job, dataclasses.replace(job, name="no line", arguments=(), groups={"latency": BLOCKED})], 2,
            said.append, lambda samples, job: compare.is_complete(samples, job, "Near"))
        self.assertEqual(rounds, 2)
        self.assertEqual([line.split(": ")[1] for line in said],
                         ["job", "no line"] * 2 + ["job"] * measure.REPEATS_MAX)
        self.assertEqual(len(samples.lines["Latency"][8]["Far"]), 2 + measure.REPEATS_MAX)

    def test_a_complete_job_is_not_measured_again(self):
        shell, job = script("echo latency 8 0.5 60")
        said = []
        measure.measure_all([shell], [dataclasses.replace(job, arguments=("line",))], 1,
                            said.append, lambda samples, job: compare.is_complete(samples, job, "Shell"))
        self.assertEqual(len(said), 1)


class Plan(unittest.TestCase):
    def test_names_and_titles_are_unique(self):
        jobs = plan.jobs()
        self.assertEqual(len({job.name for job in jobs}), len(jobs))
        titles = {}
        for job in jobs:
            for group in job.groups.values():
                self.assertIs(titles.setdefault(group.title, group), group)

    def test_goals(self):
        self.assertEqual([plan.latency_goal(size) for size in (0, 8, 4096, 1 << 20)],
                         [1.0, 0.65, 0.8, 1.0])
        self.assertEqual(plan.allreduce_goal(16)(8), 0.6)


if __name__ == "__main__":
    unittest.main()
