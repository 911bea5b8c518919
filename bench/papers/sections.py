"""What was measured, as the tables of the papers: each a Section, with the paper's figures beside."""
import dataclasses
import statistics

import plan
import published
from tables import number

KIB = 1024
HALF_A_DIGIT = 0.005  # of what the paper prints
GROWTH_FROM_RANKS = {"silent": 8, "pairwise": 8, "everyone": 32}
FLAT_BYTES_MAX = 16  # of a further peer, of a rank that is silent or talks to another one
HYBRID_BYTES_MAX = 1024
# Counts messages whose data the receiver asked for; what then carries the data counts it as well.
COUNTED_TWICE = "single_copy"


@dataclasses.dataclass
class Section:
    """LINES: rows of cells, the first of them the head. GOALS: whether each that was judged is met."""
    title: str
    notes: list
    lines: list
    goals: list = dataclasses.field(default_factory=list)

    def judge(self, is_met):
        """The cell of a goal."""
        self.goals.append(is_met)
        return "met" if is_met else "**missed**"


def failed_cells(count):
    return ["failed"] * count


def add_job_rows(section, outcomes, cells):
    """A row for each of OUTCOMES: what CELLS(outcome) makes of it, "failed" if it did not end well."""
    width = len(section.lines[0])
    for outcome in outcomes:
        head = [outcome.job.pattern, str(outcome.job.ranks), outcome.job.configuration]
        section.lines.append(head + (failed_cells(width - len(head)) if outcome.sentence else
                                     cells(outcome)))


# ---------------------------------------------------------------- connections


def average_connections(outcome):
    return statistics.mean(rank.connections.opened for rank in outcome.ranks)


def utilisation(outcome):
    """The part of the connections of all ranks that carried a message; None without any."""
    opened = sum(rank.connections.opened for rank in outcome.ranks)
    return sum(rank.connections.used for rank in outcome.ranks) / opened if opened else None


def connection_cells(outcome):
    """Average and use."""
    if outcome is None:
        return ["-", "-"]
    if outcome.sentence:
        return failed_cells(2)
    return [number(average_connections(outcome)), number(utilisation(outcome))]


def on_demand_cells(section, outcome, wanted):
    """Average, most, goal."""
    if outcome is None:
        return ["-"] * 3
    if outcome.sentence:
        return failed_cells(3)
    average = average_connections(outcome)
    most = max(rank.connections.opened for rank in outcome.ranks)
    return [number(average), str(most), section.judge(average <= wanted + HALF_A_DIGIT)]


def partners(outcome):
    """With how many others a rank of the pattern talks, on average."""
    counts = [row[0] for row in outcome.numbers("partners")] if outcome else []
    return number(statistics.mean(counts)) if any(counts) else "-"


def connections(outcomes):
    section = Section("Connections of a process", [
        "Averages over the processes; most: of the one that has the most; use: the part of the "
        "connections that carried a message. Partners: with whom the pattern itself exchanges messages, "
        "those inside of collectives and of starting and ending not counted; this is "
        "what MG should stay near to. Papers: 004, table 2; all that it connects on demand is used."], [
            ["pattern", "ranks", "static: paper", "use", "ours", "use", "on demand: paper", "ours", "most",
             "goal", "partners"]])
    for (pattern, ranks), (wanted, use) in published.CONNECTIONS.items():
        static, on_demand = (outcomes.of("connections", pattern, ranks, name)
                             for name in ("static", "on_demand"))
        if not (static or on_demand):
            continue
        section.lines.append([
            pattern, str(ranks), str(ranks - 1), number(use), *connection_cells(static),
            number(wanted), *on_demand_cells(section, on_demand, wanted), partners(on_demand)])
    return section


# ---------------------------------------------------------------- memory


def ledger_kib(outcome, choose=statistics.median):
    return choose(rank.memory_bytes for rank in outcome.ranks) / KIB


def pss_kib(outcome):
    seen = [each.pss_bytes for each in outcome.seen.values()]
    return statistics.median(seen) / KIB if seen else None


def memory(outcomes):
    """By pattern and ranks: what Hawser accounts for, and what the process has."""
    jobs = outcomes.in_table("memory")
    shown = [name for name in plan.MEMORY_CONFIGURATIONS
             if any(outcome.job.configuration == name for outcome in jobs)]
    section = Section("Memory of a process, KiB", [
        "The median rank: the most that its ledger held, and its proportional set size, without program "
        "and libraries and without the memory of the adapter that softrdma stands in for; other memory of "
        "softrdma is in it.", "", "The papers' curves (000, figures 4 to 6) are "
        "known by their shape only: on demand the silent and the pairwise job are flat, static ones "
        "grow; with every two ranks talking a shared queue grows much less than buffers for each "
        "peer."], [
            ["pattern", "ranks", *(f"{name}: {what}" for name in shown for what in ("ledger", "PSS"))]])
    for pattern in plan.MEMORY_PATTERNS:
        for ranks in plan.MEMORY_RANKS:
            cells = []
            for name in shown:
                outcome = outcomes.of("memory", pattern, ranks, name, ("bytes=1024",))
                if outcome is None:
                    cells += ["-", "-"]
                elif outcome.sentence:
                    cells += failed_cells(2)
                else:
                    cells += [number(ledger_kib(outcome)), number(pss_kib(outcome))]
            if set(cells) - {"-"}:
                section.lines.append([pattern, str(ranks), *cells])
    return section


def growth(outcomes, pattern, configuration, measure):
    """Bytes of each further peer up to the most ranks that were measured, or None."""
    measured = [o for o in outcomes.in_table("memory")
                if (o.job.pattern, o.job.configuration) == (pattern, configuration)
                and o.job.ranks >= GROWTH_FROM_RANKS[pattern] and not o.sentence
                and measure(o) is not None]
    if len(measured) < 2:
        return None
    few, many = (choose(measured, key=lambda o: o.job.ranks) for choose in (min, max))
    return KIB * (measure(many) - measure(few)) / (many.job.ranks - few.job.ranks)


def growth_goal(section, pattern, configuration, largest):
    """Silent and pairwise jobs are flat where nobody is connected beforehand; the hybrid's all-to-all
    grows a little."""
    if configuration.startswith("static"):
        return ""
    if pattern != "everyone":
        return section.judge(largest <= FLAT_BYTES_MAX)
    return section.judge(largest <= HYBRID_BYTES_MAX) if configuration == "hybrid" else ""


def memory_growth(outcomes):
    """Memory per channel of a kind, too: with every two ranks talking a peer is a channel more."""
    section = Section("Memory of each further peer, bytes", [
        "From " + listed(GROWTH_FROM_RANKS, "{} ranks".format) + " on: the hybrid has all the connections "
        "by then that it may have. Ledger and PSS of the median rank; largest: of the ledgers. Goals for "
        f"that: silent and pairwise at most {FLAT_BYTES_MAX}, the hybrid with every two ranks talking at "
        f"most {HYBRID_BYTES_MAX}. Paper 002: a fast path takes {published.FAST_PATH_BYTES}."], [
            ["pattern", "configuration", "ledger", "largest", "PSS", "goal"]])
    for pattern in plan.MEMORY_PATTERNS:
        for name in plan.MEMORY_CONFIGURATIONS:
            median = growth(outcomes, pattern, name, ledger_kib)
            if median is None:
                continue
            largest = growth(outcomes, pattern, name, lambda o: ledger_kib(o, max))
            pss = growth(outcomes, pattern, name, pss_kib)
            section.lines.append([pattern, name, number(median), number(largest), number(pss),
                                  growth_goal(section, pattern, name, largest)])
    return section


# ---------------------------------------------------------------- channels


def channel_names(outcome):
    return sorted({traffic.channel for rank in outcome.ranks for traffic in rank.traffic}
                  - {COUNTED_TWICE})


def shares(outcome, member):
    """channel -> its part of all that was sent."""
    totals = {name: sum(getattr(traffic, member) for rank in outcome.ranks
                        for traffic in rank.traffic if traffic.channel == name)
              for name in channel_names(outcome)}
    whole = sum(totals.values())
    return {name: total / whole for name, total in totals.items()} if whole else {}


def listed(values, form):
    return ", ".join(f"{name} {form(value)}" for name, value in values.items()) or "-"


def channel_cells(outcome):
    """Channels of a task, shares of messages and bytes, misses, the paper's channels."""
    counts = {name: statistics.mean(rank.channel_count(name) for rank in outcome.ranks)
              for name in channel_names(outcome)}
    messages = sum(traffic.messages_sent for rank in outcome.ranks for traffic in rank.traffic
                   if traffic.channel != COUNTED_TWICE)
    misses = [each.context_misses for each in outcome.seen.values()]
    known = misses and None not in misses and messages
    who, theirs = published.CHANNELS[outcome.job.pattern]
    is_hybrid = outcome.job.configuration == "hybrid"
    return [listed(counts, number), listed(shares(outcome, "messages_sent"), "{:.0%}".format),
            listed(shares(outcome, "bytes_sent"), "{:.0%}".format),
            number(1000 * sum(misses) / messages) if known else "-",
            f"{who}: {listed(theirs, number)}" if is_hybrid else ""]


def channels(outcomes):
    section = Section("Channels of a task, and what they carry", [
        f"Misses: queue pairs that are not in the modelled cache of a process's adapter, for 1000 "
        f"messages; the cache holds {plan.CONTEXTS}. Paper 002, table 2: the hybrid with 512 tasks, "
        f"for the program that talks alike; at most 16 connections and 8 fast paths."], [
            ["pattern", "ranks", "configuration", "channels", "messages", "bytes", "misses",
             "paper, hybrid"]])
    add_job_rows(section, outcomes.in_table("channels"), channel_cells)
    return section
