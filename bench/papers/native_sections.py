"""The table of MPI beside the adapter alone."""
import statistics

import plan
from sections import Section
from tables import number
from timed_sections import values

LATENCY_MAX = 1.3    # of the adapter's own
BANDWIDTH_MIN = 0.9  # likewise
ADAPTER, SHORT, LONG = plan.NATIVE_CONFIGURATIONS
HEAD = ["measured", "adapter", "MPI", "unit", "above it", "ratio", "goal"]


def medians(outcomes, configuration, line, size):
    """Of all repeats by CONFIGURATION; None if there is none, or one failed."""
    jobs = [outcome for outcome in outcomes.in_table("native")
            if outcome.job.configuration == configuration and values(outcome, line)]
    failed = any(outcome.sentence for outcome in outcomes.in_table("native")
                 if outcome.job.configuration == configuration)
    if failed or not jobs:
        return None
    return statistics.median(values(outcome, line)[size][0] for outcome in jobs)


def native(outcomes):
    """The adapter's RDMA writes by its own programs, and MPI by the same operation."""
    section = Section("The layers above the adapter", [
        "perftest's ib_write_lat and ib_write_bw, and MPI: a ping-pong by `rc_fast_path`, whose frames are "
        "RDMA writes, too, and 64 messages at a time by `rc_rdma` with `p2p.rdma=put`, both of one place in "
        "memory to another. Medians of "
        f"{plan.NATIVE_REPEATS} runs, one after the other. Paper 001, figure 9: matching and what is above "
        "it take 0.5 us, and its transport as long as the network's own operation."], [HEAD])
    rows = (("8 bytes, one way", SHORT, "pingpong", plan.NATIVE_LATENCY_BYTES, "us",
             lambda ratio: ratio <= LATENCY_MAX),
            ("1 MiB, one after another", LONG, "stream", plan.NATIVE_BANDWIDTH_BYTES, "MB/s",
             lambda ratio: ratio >= BANDWIDTH_MIN))
    for what, configuration, line, size, unit, is_good in rows:
        if not any(outcome.job.configuration == configuration
                   for outcome in outcomes.in_table("native")):
            continue
        theirs, ours = (medians(outcomes, each, line, size) for each in (ADAPTER, configuration))
        if theirs is None or ours is None:
            section.lines.append([what, *["failed"] * (len(HEAD) - 1)])
            continue
        ratio = ours / theirs
        above = number(ours - theirs) if unit == "us" else "-"
        section.lines.append([what, number(theirs), number(ours), unit, above, number(ratio),
                              section.judge(is_good(ratio))])
    return section
