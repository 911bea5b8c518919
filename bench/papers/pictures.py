"""Pictures of the tables where a line says more than its numbers: {name: SVG}."""
import statistics

import chart
import plan
from sections import ledger_kib, pss_kib
from timed_sections import values


def over_ranks(outcomes, value):
    """configuration -> [(ranks, value)], without what failed or has none."""
    lines = {}
    for outcome in outcomes:
        found = None if outcome.sentence else value(outcome)
        if found:
            lines.setdefault(outcome.job.configuration, []).append((outcome.job.ranks, found))
    return {name: sorted(points) for name, points in lines.items()}


def memory(outcomes):
    panels = []
    for pattern in plan.MEMORY_PATTERNS:
        jobs = [o for o in outcomes.in_table("memory") if o.job.pattern == pattern]
        panels += [chart.Panel(f"{pattern}: ledger", "KiB", "ranks", over_ranks(jobs, ledger_kib)),
                   chart.Panel(f"{pattern}: PSS", "KiB", "ranks", over_ranks(jobs, pss_kib))]
    return panels


def polled(outcomes):
    """Over rings: a peer each."""
    lines = over_ranks(outcomes.in_table("polled"), lambda one: values(one, "pingpong")[4][0])
    return [chart.Panel("Latency against polled rings, 4 bytes", "us", "rings", {
        name: [(ranks - 1, value) for ranks, value in points] for name, points in lines.items()})]


def pairs(outcomes):
    def average(outcome):
        found = values(outcome, "pingpong").get(0)
        return statistics.mean(found) if found else None
    return [chart.Panel("Ping-pong of N pairs, empty messages", "us", "ranks",
                        over_ranks(outcomes.in_table("pairs"), average))]


def sizes(outcomes, table, name, title, unit):
    lines = {}
    for outcome in outcomes.in_table(table):
        if outcome.job.ranks == 2 and not outcome.sentence:
            lines[outcome.job.configuration] = sorted(
                (size, statistics.mean(found)) for size, found in values(outcome, name).items())
    return chart.Panel(title, unit, "bytes", lines, chart.size_label)


def channels(outcomes):
    return [sizes(outcomes, "latency", "pingpong", "Latency, one pair", "us"),
            sizes(outcomes, "bandwidth", "stream", "Bandwidth, one pair", "MB/s")]


def pictures(outcomes, caption):
    found = {"papers-memory": memory(outcomes), "papers-pairs": pairs(outcomes) + polled(outcomes),
             "papers-channels": channels(outcomes)}
    return {name: chart.page(panels, caption) for name, panels in found.items()
            if any(panel.lines for panel in panels)}
