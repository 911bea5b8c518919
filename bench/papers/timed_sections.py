"""The tables whose figures are times."""
import statistics

import chart
import plan
import published
from sections import Section, add_job_rows, failed_cells
from tables import number


def values(outcome, name):
    """{bytes: the values of all pairs} of the lines NAME."""
    by_size = {}
    for size, value, *_ in outcome.numbers(name):
        by_size.setdefault(int(size), []).append(value)
    return by_size


def pairs(outcomes):
    """Ping-pong of all pairs at once."""
    section = Section("Ping-pong of N pairs at once, empty messages, us", [
        "One way; the average of the pairs, and the fastest and slowest of them. Paper 000, table 1, one "
        "pair between two nodes: " + ", ".join(
            f"{who} {value}" for who, value in published.PING_PONG_US.values())
        + "; figure 7: with fast paths it grows with the ranks, without them it stays. Here ranks share "
        "the host's cores: with more ranks than cores the scheduler is measured as well."], [
            ["pattern", "ranks", "configuration", "average", "fastest", "slowest"]])

    def cells(outcome):
        found = values(outcome, "pingpong")[0]
        return [number(statistics.mean(found)), number(min(found)), number(max(found))]
    add_job_rows(section, outcomes.in_table("pairs"), cells)
    return section


def initialization(outcomes):
    """MPI_Init by ranks."""
    section = Section("Time of MPI_Init, ms", [
        "The median of all ranks and jobs, and the slowest rank. Paper 004, figure 5: on demand it takes "
        "less than with all connections made beforehand, and these less as peers (static) than as "
        "clients and servers."],
                      [["ranks", "configuration", "jobs", "median", "slowest"]])
    for ranks in plan.PAIR_RANKS:
        for name in plan.INIT_CONFIGURATIONS:
            jobs = [o for o in outcomes.in_table("initialization")
                    if (o.job.ranks, o.job.configuration) == (ranks, name)]
            times = [row[0] for o in jobs if not o.sentence for row in o.numbers("init")]
            if not jobs:
                continue
            section.lines.append([str(ranks), shown_name(jobs[0])] + (
                [str(len(jobs)), number(statistics.median(times)), number(max(times))] if times
                else failed_cells(3)))
    return section


def shown_name(outcome):
    """The configuration, and whether it failed."""
    return outcome.job.configuration + (" (failed)" if outcome.sentence else "")


def by_size(title, notes, table, name, combine, outcomes):
    """A row for each job, a column for each size."""
    jobs = outcomes.in_table(table)
    found = {id(outcome): values(outcome, name) for outcome in jobs}
    sizes = sorted({size for each in found.values() for size in each})
    head = ["ranks", "configuration"]
    section = Section(title, notes, [head + [chart.size_label(size) for size in sizes]])
    for outcome in jobs:
        cells = [str(outcome.job.ranks), shown_name(outcome)]
        measured = found[id(outcome)]
        missing = "failed" if outcome.sentence else "-"
        section.lines.append(cells + [number(combine(measured[size])) if size in measured else missing
                                      for size in sizes])
    return section


def latency(outcomes):
    said = ", ".join(f"{name} {text}" for name, text in published.LATENCY_US.items())
    return by_size("Latency by channel and pairs, us", [
        f"One way, the average of ranks/2 pairs at once. Paper 002, small messages, us: {said}."],
                   "latency", "pingpong", statistics.mean, outcomes)


def bandwidth(outcomes):
    return by_size("Bandwidth by channel and pairs, MB/s", [
        "The sum of ranks/2 pairs at once, each with 64 messages at a time. Paper 002, figure 2: with 4 and "
        "8 pairs datagrams keep their bandwidth for small messages and connections lose some; for large "
        "ones RDMA is first."], "bandwidth", "stream", sum, outcomes)


def polled(outcomes):
    """A row for each configuration, a column for each number of peers."""
    section = Section("Latency against the number of polled rings, us", [
        "4 bytes, one way, while a rank has a channel for each of so many peers, all but one of which "
        "sleep. Paper 002, figure 3b: with more than 100 fast paths latency is worse than without any."],
                      [["configuration", *map(str, plan.POLLED)]])
    for name in plan.POLLED_CONFIGURATIONS:
        jobs = [outcomes.of("polled", "polled", rings + 1, name, ("bytes=4",))
                for rings in plan.POLLED]
        if any(jobs):
            section.lines.append([name, *map(polled_cell, jobs)])
    return section


def polled_cell(outcome):
    if outcome is None:
        return "-"
    return "failed" if outcome.sentence else number(values(outcome, "pingpong")[4][0])


def first(outcomes):
    """Static against on demand, what connecting takes included."""
    section = Section("Static against on demand, the first message included", [
        "1000 messages or calls from the first one on, so that on demand pays for connecting. Paper 004, "
        "figures 1 and 2: hardly a difference."],
                      [["measured", "ranks", "configuration", "bytes", "value", "unit"]])
    units = {"pingpong": ("pingpong", "us"), "stream": ("stream", "MB/s"),
             "timed_allreduce": ("allreduce", "us")}
    for outcome in outcomes.in_table("first"):
        name, unit = units[outcome.job.pattern]
        for size, found in values(outcome, name).items() or [("-", None)]:
            section.lines.append([
                name, str(outcome.job.ranks), shown_name(outcome), str(size),
                "failed" if outcome.sentence else number(statistics.mean(found)), unit])
    return section


def progress(outcomes):
    """Ways to progress, at two sizes."""
    section = Section("Latency by way of progress, us", [
        "Paper 001, table 1, over Quadrics/Elan4. Ours: `wait.progress`, datagrams; a rank that waits polls, "
        "but with interrupts. Beside a program that waits our progress threads step aside, so that they cost "
        "a ping-pong the locks alone."],
                      [["way", "bytes", "paper", "ours"]])
    for outcome in outcomes.in_table("progress"):
        size = int(outcome.job.options[0].split("=")[1])
        paper = published.PROGRESS_US[outcome.job.configuration][plan.PROGRESS_BYTES.index(size)]
        found = values(outcome, "pingpong").get(size)
        section.lines.append([outcome.job.configuration, str(size), number(paper),
                              "failed" if outcome.sentence else number(statistics.mean(found))])
    return section


def rdma(outcomes):
    return by_size("RDMA read against write, us", [
        "One way. Paper 001, figure 7: reading is faster than writing by a control message, and not "
        "inlining data faster than inlining it; figure 8: chaining gains a little."],
                   "rdma", "pingpong", statistics.mean, outcomes)


def rendezvous(outcomes):
    section = by_size("Latency around the rendezvous threshold, us", [
        "One way. Up to `p2p.stream_bytes_max`, 128K by default, a message is sent at once; streamed and "
        "asked_for: all of them are, or none. Paper 001, figure 11: bandwidth dips where the rendezvous "
        "begins, at 1984 bytes there."],
                      "rendezvous", "pingpong", statistics.mean, outcomes)
    return merged(section)


def merged(section):
    """One row for rows that begin alike: each has some of the cells."""
    rows = {}
    for ranks, name, *cells in section.lines[1:]:
        row = rows.setdefault((ranks, name), ["-"] * len(cells))
        rows[ranks, name] = [old if new == "-" else new for old, new in zip(row, cells)]
    section.lines[1:] = [[*key, *cells] for key, cells in rows.items()]
    return section
