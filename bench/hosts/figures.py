"""What is measured between hosts, and what it is compared with: the best other library, bare sockets,
and the least that a pattern takes."""
import dataclasses

import launchers
import measure
import plan

LATENCY = plan.Group("Latency", "us", picture="hosts")
BANDWIDTH = plan.Group("Bandwidth", "MB/s", higher_is_better=True, picture="hosts")
GOAL_BYTES = {LATENCY.title: 1, BANDWIDTH.title: plan.MIB}
BARE_RATIO = 1.15
MANY_HOSTS, RANKS_PER_HOST = 4, 16
MANY_RANKS = MANY_HOSTS * RANKS_PER_HOST
# Neighbours on different hosts; all pairs of ranks on different hosts.
RING_PAIRS = MANY_HOSTS
ALL_PAIRS = MANY_RANKS * (MANY_RANKS - RANKS_PER_HOST) // 2


def jobs_of_two():
    return [plan.Job("latency", 2, ("latency", "line"),
                     {"latency": LATENCY, "raw_latency": LATENCY}),
            plan.Job("bandwidth", 2, ("stream", "line"),
                     {"bandwidth": BANDWIDTH, "raw_bandwidth": BANDWIDTH})]


def connections(pattern, words, goal_value=None):
    group = plan.Group(f"Connections of {words}", "connections", "ranks", goal_value=goal_value)
    return plan.Job(f"connections {pattern}", MANY_RANKS, ("connections", pattern),
                    {"connections": group}, seconds_max=120)


def jobs_of_many():
    start = plan.Group("Empty job by the same launcher, start to end", "ms", "ranks")
    return [plan.Job("start", MANY_RANKS, ("empty",), {"": start}, timed=True, seconds_max=120),
            connections("ring", "a ring", RING_PAIRS),
            connections("everybody", "everybody with everybody", ALL_PAIRS),
            connections("barrier", "a barrier")]


def goal_of(group, title, ratio):
    """GROUP under TITLE: at the size that counts Hawser's figure shall be at most RATIO times as bad
    as the other's."""
    size = GOAL_BYTES[group.title]
    factor = 1 / ratio if group.higher_is_better else ratio
    return dataclasses.replace(group, title=f"{group.title} {title}",
                               goal=lambda x: factor if x == size else None)


def beside(samples, names, title, ratio):
    """Those of SAMPLES that are NAMES', to be compared with one another."""
    chosen = measure.Samples()
    for group in samples.groups.values():
        judged = goal_of(group, title, ratio)
        for x, values in samples.values[group.title].items():
            for name in names:
                if name in values:
                    chosen.groups.setdefault(judged.title, judged)
                    chosen.values[judged.title][x][name] = values[name]
                    if name in samples.lines[group.title][x]:
                        chosen.lines[judged.title][x][name] = samples.lines[group.title][x][name]
    return chosen


def comparisons(samples, names):
    """[(Samples, names)]: beside the other libraries, and beside bare sockets."""
    own, bare = launchers.OWN, launchers.BARE
    others = [name for name in names if name != bare]
    pairs = [(others, "beside other libraries", 1.0)]
    if bare in names:
        pairs.append(([own, bare], "beside bare sockets", BARE_RATIO))
    return [(beside(samples, list_, title, ratio), list_) for list_, title, ratio in pairs]
