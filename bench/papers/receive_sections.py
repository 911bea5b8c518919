"""The tables about receive queues: what all connections share against what each has of its own."""
import statistics

import plan
from sections import Section
from tables import number
from timed_sections import values

TIME_MAX = 1.1   # of a shared queue's time, by that of queues of their own
RATE_MIN = 0.8   # of its message rate, likewise
SHARED, OWN = plan.RECEIVE_CONFIGURATIONS


def of_repeats(outcomes, table, pattern, ranks, configuration, options):
    """The jobs that were measured, or None if one of them failed."""
    found = [outcomes.of(table, pattern, ranks, configuration, options, repeat)
             for repeat in range(plan.RECEIVE_REPEATS)]
    found = [outcome for outcome in found if outcome is not None]
    return None if any(outcome.sentence for outcome in found) else found


def milliseconds(outcome):
    """In collectives, of the average rank."""
    return statistics.mean(row[0] for row in outcome.numbers("collectives"))


def messages_a_second(outcome):
    """Of all pairs, in millions."""
    return sum(values(outcome, "stream")[plan.RATE_BYTES]) / plan.RATE_BYTES


def not_ready(jobs):
    """Frames that found no buffer, of all jobs and ranks; None if nobody counted them."""
    counts = [seen.not_ready for outcome in jobs for seen in outcome.seen.values()]
    return sum(counts) if counts and None not in counts else None


def most_buffers(jobs):
    """Bytes of connections, of the rank that had most of them."""
    return max((rank.ledger_bytes.get("connection_buffers", 0) for outcome in jobs
                for rank in outcome.ranks), default=0)


def cells(section, jobs, measured, is_good):
    """Medians of both, the median of their ratios, goal, frames that found no buffer, memory."""
    if None in jobs:
        return ["failed"] * 8
    if not all(jobs):
        return ["-"] * 8
    found = [[measured(outcome) for outcome in each] for each in jobs]
    ratio = statistics.median(ours / theirs for ours, theirs in zip(*found))
    lost = [not_ready(each) for each in jobs]
    return [*(number(statistics.median(each)) for each in found), number(ratio),
            section.judge(is_good(ratio) and not lost[0]),
            *("-" if count is None else str(count) for count in lost),
            *(number(most_buffers(each) / 1024) for each in jobs)]


HEAD = ["pattern", "ranks", "options", "shared", "own", "ratio", "goal", "not ready: shared", "own",
        "buffers, KiB: shared", "own"]


def receives(outcomes):
    section = Section("Shared receive queues against receive queues of each connection, ms", [
        f"Time in collectives of the average rank; medians of up to {plan.RECEIVE_REPEATS} jobs of each, "
        "which take turns. Not ready: frames that found no receive buffer (RNR NAK), of all jobs. The "
        f"goal: at most {TIME_MAX} of the time, and no such frame. Shared receive queues cost 2 to 42 "
        "times the time where nothing bounded what was on its way, and 1.5 to 21 times with the flow "
        "control of the paper that reports it."], [HEAD])
    for ranks in plan.RECEIVE_RANKS:
        for pattern, *options in plan.RECEIVE_PATTERNS:
            jobs = [of_repeats(outcomes, "receives", pattern, ranks, each, tuple(options))
                    for each in plan.RECEIVE_CONFIGURATIONS]
            if any(each is None or each for each in jobs):
                section.lines.append([pattern, str(ranks), " ".join(options), *cells(
                    section, jobs, milliseconds, lambda ratio: ratio <= TIME_MAX)])
    return section


def rate(outcomes):
    section = Section("Message rate with shared receive queues, millions a second", [
        f"Messages of {plan.RATE_BYTES} bytes, 64 at a time, the sum of ranks/2 pairs; otherwise as "
        f"above. The goal: at least {RATE_MIN} of the rate."], [HEAD])
    options = (f"bytes={plan.RATE_BYTES}", "rounds=200")
    for ranks in plan.RATE_RANKS:
        jobs = [of_repeats(outcomes, "rate", "stream", ranks, each, options)
                for each in plan.RECEIVE_CONFIGURATIONS]
        if any(each is None or each for each in jobs):
            section.lines.append(["stream", str(ranks), " ".join(options), *cells(
                section, jobs, messages_a_second, lambda ratio: ratio >= RATE_MIN)])
    return section
