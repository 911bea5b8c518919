"""From samples to a comparison: medians, the best peer, Hawser's ratio to it, goals; as rows, text,
pages and pictures."""
import dataclasses
import statistics

import chart
from tables import markdown, number


@dataclasses.dataclass
class Row:
    """One line of a group's table. MEDIANS: {library: value}. LINE: what a bare cache line took when
    they were measured, in ns, or None. ABSENT: libraries that were measured, but never at such a LINE;
    a goal that is reached without them is not proven."""
    x: int
    medians: dict
    best_peer: str | None
    ratio: float | None
    goal: str
    reached: bool | None
    line: float | None = None
    absent: list = dataclasses.field(default_factory=list)


def comparable(values, lines):
    """The samples {library: list} that were taken while the two cores were equally far apart, and the
    time of a bare cache line then. Of the spans in which that time differs by less than 1.5x, the one
    with the most libraries, and then with the most samples of the one that has the fewest."""
    def inside(least):
        chosen = {name: [value for value, line in zip(list_, lines[name])
                         if least <= line < 1.5 * least] for name, list_ in values.items()}
        return {name: list_ for name, list_ in chosen.items() if list_}

    every = [line for list_ in lines.values() for line in list_]
    spans = {least: inside(least) for least in sorted(set(every))}
    best = max(spans, key=lambda least: (
        len(spans[least]), min(len(list_) for list_ in spans[least].values())))
    return spans[best], statistics.median(line for line in every if best <= line < 1.5 * best)


def row_of(group, x, medians, own):
    peers = {name: value for name, value in medians.items() if name != own}
    choose = max if group.higher_is_better else min
    best = choose(peers, key=peers.get) if peers else None
    ratio = medians[own] / peers[best] if own in medians and best and peers[best] > 0 else None
    wanted = group.goal(x)
    if group.goal_value is not None:
        reached = medians[own] <= group.goal_value if own in medians else None
        return Row(x, medians, best, ratio, f"at most {group.goal_value:g} {group.unit}", reached)
    if wanted is None or ratio is None:
        return Row(x, medians, best, ratio, "", None)
    reached = ratio >= wanted if group.higher_is_better else ratio <= wanted
    return Row(x, medians, best, ratio,
               f"at {'least' if group.higher_is_better else 'most'} {wanted:g}x", reached)


def rows(samples, title, own):
    group = samples.groups[title]
    for x, values in sorted(samples.values[title].items()):
        line = None
        if samples.lines[title][x]:
            values, line = comparable(values, samples.lines[title][x])
        row = row_of(group, x, {name: statistics.median(list_) for name, list_ in values.items()},
                     own)
        row.line = line
        row.absent = sorted(set(samples.values[title][x]) - set(values))
        yield row


def is_complete(samples, job, own):
    """Whether in every row of JOB's groups each library was measured at the same line as the others;
    where no line is measured, nothing is missing."""
    titles = [group.title for group in job.groups.values() if group.title in samples.groups]
    return not job.line or not any(row.absent for title in titles
                                   for row in rows(samples, title, own))


def name_x(group, x):
    return chart.size_label(x) if group.x == "bytes" else str(x)


def cells(group, row, libraries, has_line):
    ratio = "-" if row.ratio is None else f"{number(row.ratio)}x {row.best_peer}"
    verdict = "" if row.reached is None else (" reached" if row.reached else " **missed**")
    if row.reached and row.absent:
        verdict += f", without {', '.join(row.absent)}"
    line = [number(row.line)] if has_line else []
    return [name_x(group, row.x), *line, *(number(row.medians.get(name)) for name in libraries), ratio,
            row.goal + verdict]


def table(samples, title, libraries):
    """The group's table in Markdown, which reads as text too."""
    group = samples.groups[title]
    shown = list(rows(samples, title, libraries[0]))
    has_line = any(row.line is not None for row in shown)
    lines = [[group.x, *(["line, ns"] if has_line else []), *libraries, "to the best peer", "goal"]]
    lines += [cells(group, row, libraries, has_line) for row in shown]
    return "\n".join([f"### {title}, {group.unit}", "", *markdown(lines), ""])


def totals(samples, own):
    """(goals reached, those of them without some library, goals) over all rows."""
    judged = [row for title in samples.groups for row in rows(samples, title, own)
              if row.reached is not None]
    reached = [row for row in judged if row.reached]
    return len(reached), sum(bool(row.absent) for row in reached), len(judged)


def records(samples, own):
    for title, group in samples.groups.items():
        for row in rows(samples, title, own):
            yield {"group": title, "unit": group.unit, "x": group.x} | dataclasses.asdict(row) | {
                "samples": samples.values[title][row.x]}


def pictures(samples, libraries, caption):
    """{name of the picture: SVG}."""
    panels = {}
    for title, group in samples.groups.items():
        if not group.picture:
            continue
        lines = {name: [] for name in libraries}
        for row in rows(samples, title, libraries[0]):
            for name, value in row.medians.items():
                if row.x > 0 and value > 0:
                    lines[name].append((row.x, value))
        panel = chart.Panel(title, group.unit, group.x, lines,
                            lambda x, group=group: name_x(group, x))
        panels.setdefault(group.picture, []).append(panel)
    return {name: chart.page(list_, caption) for name, list_ in panels.items()}
