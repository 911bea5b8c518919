"""What is compared with what, how jobs are started, and the page."""
import pathlib
import sys
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import figures  # noqa: E402
import launchers  # noqa: E402
import between_hosts  # noqa: E402
import compare  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402

OWN, BARE = launchers.OWN, launchers.BARE
NAMES = [OWN, launchers.OPEN_MPI, BARE]
WHERE = {"processor": "A processor", "cores": 2, "system": "Linux", "time": "2026-01-02T03:04:05",
         "congestion_control": "cubic", "is_first": True}


def library(name):
    return types.SimpleNamespace(name=name)


def samples_of(group, x, **values):
    samples = measure.Samples()
    for name, value in values.items():
        samples.add(group, x, library(name.replace("_", " ")), value)
    return samples


class Comparisons(unittest.TestCase):
    def verdicts(self, samples):
        """{title: (best other, reached)}."""
        return {title: (row.best_peer, row.reached)
                for each, names in figures.comparisons(samples, NAMES) for title in each.groups
                for row in compare.rows(each, title, names[0])}

    def test_libraries_and_bare_sockets_are_apart(self):
        samples = samples_of(figures.LATENCY, 1, Hawser=4.4, Open_MPI=5.0, bare_sockets=4.0)
        self.assertEqual(self.verdicts(samples), {
            "Latency beside other libraries": ("Open MPI", True),
            "Latency beside bare sockets": ("bare sockets", True)})
        samples = samples_of(figures.LATENCY, 1, Hawser=5.1, Open_MPI=5.0, bare_sockets=4.0)
        self.assertEqual([reached for _, reached in self.verdicts(samples).values()], [False, False])

    def test_bandwidth_may_be_lower_by_the_same_ratio(self):
        for value, reached in ((88, True), (86, False)):
            samples = samples_of(figures.BANDWIDTH, 1 << 20, Hawser=value, bare_sockets=100)
            self.assertEqual(self.verdicts(samples)["Bandwidth beside bare sockets"][1], reached)

    def test_only_figures_at_one_distance_of_the_cores_are_compared(self):
        samples = measure.Samples()
        for name, value, line in ((OWN, 7, 250), (OWN, 7, 260), (OWN, 4.4, 60), (BARE, 4, 62)):
            samples.add(figures.LATENCY, 1, library(name), value, line)
        (_, beside_bare) = figures.comparisons(samples, NAMES)
        (row,) = compare.rows(beside_bare[0], "Latency beside bare sockets", OWN)
        self.assertEqual((row.ratio, row.reached), (1.1, True))

    def test_other_sizes_have_no_goal(self):
        samples = samples_of(figures.LATENCY, 8, Hawser=9, Open_MPI=5.0, bare_sockets=4.0)
        self.assertEqual({reached for _, reached in self.verdicts(samples).values()}, {None})

    def test_what_is_missing_is_left_out(self):
        samples = samples_of(figures.LATENCY, 1, Hawser=4.4, bare_sockets=4.0)
        self.assertEqual(self.verdicts(samples)["Latency beside other libraries"], (None, None))


class Jobs(unittest.TestCase):
    def test_names_are_unique(self):
        names = [job.name for job in (*figures.jobs_of_two(), *figures.jobs_of_many())]
        self.assertEqual(len(set(names)), len(names))

    def test_a_pattern_takes_what_its_pairs_are(self):
        self.assertEqual((figures.RING_PAIRS, figures.ALL_PAIRS), (4, 1536))
        for count, reached in ((4, True), (5, False)):
            group = figures.connections("ring", "a ring", figures.RING_PAIRS).groups["connections"]
            samples = samples_of(group, 64, Hawser=count, Open_MPI=4)
            (row,) = compare.rows(samples, group.title, OWN)
            self.assertEqual(row.reached, reached)

    def test_bare_sockets_do_the_same_job_to_an_address(self):
        bare = launchers.BareSockets(BARE, ("start",), pathlib.Path("micro"), {}, "10.0.0.1")
        self.assertEqual(bare.command(2, ("latency", "line")),
                         ["start", "-n", "2", "micro", "raw_tcp", "latency", "line", "10.0.0.1"])

    def test_words_choose_jobs(self):
        jobs = [*figures.jobs_of_two(), *figures.jobs_of_many()]
        self.assertEqual([job.name for job in peers.chosen(jobs, ["start", "lat"])],
                         ["latency", "start"])
        self.assertEqual(peers.chosen(jobs, []), jobs)


class Page(unittest.TestCase):
    def test_says_what_was_reached_and_what_was_not(self):
        results = between_hosts.Results(WHERE, 3)
        results.rounds, results.versions = {"two ranks": 3}, {OWN: "Hawser 1"}
        samples = samples_of(figures.LATENCY, 1, Hawser=4.4, Open_MPI=4.0, bare_sockets=4.0)
        results.compared = figures.comparisons(samples, NAMES)
        results.failures = {("latency", "MPICH"): "exit code 1: why\nmore"}
        text = results.page()
        self.assertIn("1 of 2 goals reached", text)
        self.assertIn("Congestion control: cubic. Jobs of two ranks ran before other programs.", text)
        self.assertIn("rounds: 3 (two ranks)", text)
        self.assertIn("- MPICH, latency: exit code 1: why\n", text)
        self.assertRegex(text, r"1\.1x Open MPI \| +at most 1x \*\*missed\*\*")


if __name__ == "__main__":
    unittest.main()
