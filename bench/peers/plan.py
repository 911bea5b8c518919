"""What is measured: groups of figures, their goals, and the jobs that yield them."""
import dataclasses

KIB, MIB = 1 << 10, 1 << 20
RANKS = (2, 4, 8, 16, 32)


def at_most_one(_):
    return 1.0


@dataclasses.dataclass(frozen=True)
class Group:
    """Figures of one kind. X: what tells its rows apart. GOAL(x): the most (the least, if higher is
    better) that Hawser's ratio to the best peer shall be; none if it returns None. GOAL_VALUE: the
    same for Hawser's own value, whatever the peers do."""
    title: str
    unit: str
    x: str = "bytes"
    higher_is_better: bool = False
    goal: callable = at_most_one
    goal_value: float | None = None
    picture: str = ""


def first_two(numbers):
    return numbers[0], numbers[1]


@dataclasses.dataclass(frozen=True)
class Job:
    """One start of `micro ARGUMENTS`. GROUPS: {name of a line: its group}; READ turns the numbers of
    a line into x and value. TIMED: the value is the time from start to end instead, in ms, and
    GROUPS has one group under ""."""
    name: str
    ranks: int
    arguments: tuple
    groups: dict
    read: callable = first_two
    timed: bool = False
    seconds_max: int = 60
    counted: str = ""  # instead, the instructions of the functions whose names begin so, each message

    @property
    def line(self):
        """The third number of each line is the time of a bare cache line in ns."""
        return "line" in self.arguments


def latency_goal(size):
    if size == 8:
        return 0.65
    return 0.8 if 4 * KIB <= size <= 256 * KIB else 1.0


def bandwidth_goal(size):
    return 1.5 if 4 * KIB <= size <= 256 * KIB else 1.0


def point_to_point():
    for fresh in ("", "fresh"):
        where = ", out of cache" if fresh else ""
        words = ("line", fresh) if fresh else ("line",)
        yield Job(f"latency{where}", 2, ("latency", *words), {
            "latency": Group(f"Latency{where}", "us", goal=latency_goal, picture="latency")})
        yield Job(f"bandwidth{where}", 2, ("stream", *words), {
            "bandwidth": Group(f"Bandwidth{where}", "MB/s", higher_is_better=True,
                               goal=bandwidth_goal, picture="bandwidth")})
        yield Job(f"bidirectional{where}", 2, ("stream", "both", *words), {
            "bidirectional": Group(f"Bandwidth, both ways{where}", "MB/s", higher_is_better=True,
                                   goal=bandwidth_goal, picture="bandwidth")})
    rate = Group("Message rate, 8 bytes", "1/s", "pairs", higher_is_better=True,
                 goal=lambda _: 1.5, picture="rate")
    for ranks in (2, 4, 8):
        yield Job(f"rate {ranks}", ranks, ("rate", "line"), {"pairs": rate})
    yield Job("queue", 2, ("queue", "line"), {
        "posted": Group("Latency behind posted receives", "us", "receives", picture="queue"),
        "unexpected": Group("Latency behind unexpected messages", "us", "messages",
                            picture="queue")})
    yield Job("matching", 2, ("matching", 10000), {
        "posted": Group("Posted receives matched in reverse order, each", "ns", "receives"),
        "unexpected": Group("Unexpected messages received in reverse order, each", "ns", "messages",
                            goal=lambda _: 0.8)})
    yield Job("strided", 2, ("strided", "line"), {
        "strided": Group("Latency of every second double", "us",
                         goal=lambda size: 0.8 if size >= MIB else 1.0, picture="latency")})
    yield Job("overlap", 2, ("overlap",), {
        "overlap": Group("Part of a message that a computation hides", "%", higher_is_better=True)})
    yield Job("threads", 2, ("threads", "line"), {
        "threads": Group("Latency of threads, MPI_THREAD_MULTIPLE", "us", "threads")})


def instructions():
    for function, what in (("counted_send", "MPI_Send"), ("counted_recv", "MPI_Recv"),
                           ("counted_isends", "MPI_Isend with its part of MPI_Waitall"),
                           ("counted_irecvs", "MPI_Irecv with its part of MPI_Waitall")):
        yield Job(f"instructions {what}", 2, ("instructions",), {
            function: Group(f"Instructions of {what}", "instructions", goal=lambda _: None)},
                  counted=function)


def allreduce_goal(ranks):
    if ranks == 2:
        return lambda size: 0.8 if size <= 64 else 1.0
    if ranks in (8, 16):
        return lambda size: 0.6 if size == 8 else 1.0
    return at_most_one


def collectives():
    for name in ("bcast", "reduce", "allreduce", "allgather", "alltoall", "reduce_scatter"):
        for ranks in RANKS:
            goal = allreduce_goal(ranks) if name == "allreduce" else at_most_one
            yield Job(f"{name} {ranks}", ranks, ("collective", name, "line"), {
                name: Group(f"{name}, {ranks} ranks", "us", goal=goal, picture=name)})
    barrier = Group("barrier", "us", "ranks", goal=lambda ranks: 0.6 if ranks in (8, 16) else 1.0,
                    picture="barrier")
    for ranks in RANKS:
        yield Job(f"barrier {ranks}", ranks, ("barrier", "line"), {"barrier": barrier},
                  read=lambda numbers, ranks=ranks: (ranks, numbers[1]))


def whole_jobs():
    empty = Group("Empty job, start to end", "ms", "ranks",
                  goal=lambda ranks: 0.3 if ranks == 64 else 1.0, picture="launch")
    for ranks in (2, 16, 64, 256):
        yield Job(f"empty {ranks}", ranks, ("empty",), {"": empty}, timed=True)
    for pattern in ("silent", "pairwise", "all"):
        goal = at_most_one if pattern == "pairwise" else (lambda ranks: 0.4 if ranks == 64 else 1.0)
        group = Group(f"Memory of a rank, {pattern}", "MB", "ranks", goal=goal, picture="memory")
        for ranks in (2, 8, 32, 64, 128):
            yield Job(f"memory {pattern} {ranks}", ranks, ("footprint", pattern),
                      {"footprint": group}, read=lambda numbers: (numbers[0], numbers[2] * 1e-6))
    yield Job("blocked", 9, ("blocked", 10), {
        "blocked": Group("Processor time of blocked ranks", "% of a core", "ranks",
                         goal=lambda _: None, goal_value=1.0)},
              read=lambda numbers: (numbers[0], 100 * numbers[2] / numbers[1]))


def jobs():
    return [*point_to_point(), *instructions(), *collectives(), *whole_jobs()]
