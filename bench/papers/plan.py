"""What is measured: the jobs of each table."""
import dataclasses

import published
from configurations import CONTEXTS

KIB = 1 << 10
MEMORY_CONFIGURATIONS = ("static_per_peer", "per_peer", "shared_queue", "hybrid", "ud_copy")
MEMORY_RANKS = (2, 4, 8, 16, 32, 64, 128)
MEMORY_PATTERNS = ("silent", "pairwise", "everyone")
CHANNEL_CONFIGURATIONS = ("hybrid", "rc", "ud", "ud_copy")
CHANNEL_RANKS = 32
PAIR_RANKS = (2, 4, 8, 16, 32, 64)
PAIR_CONFIGURATIONS = ("rc_fast_path", "rc_send", "ud_copy")
INIT_CONFIGURATIONS = ("client_server", "static", "on_demand")
INIT_REPEATS = 3
EACH_CHANNEL = ("rc_fast_path", "rc_send", "xrc_send", "rc_rdma", "ud", "ud_copy")
PAIRS = (1, 2, 4, 8)
FIRST_RANKS = 8
PROGRESS = tuple(published.PROGRESS_US)
PROGRESS_BYTES = (4, 4 * KIB)
RDMA = tuple(f"rdma_{way}{inline}{chained}" for way in ("get", "put")
             for inline in ("", "_not_inlined") for chained in ("", "_not_chained"))
# Receive queues: a pattern and its options.
RECEIVE_CONFIGURATIONS = ("shared_queue", "own_queues")
RECEIVE_RANKS = (8, 16)
RECEIVE_PATTERNS = (("alltoall", "bytes=1024", "rounds=200"), ("alltoall", "bytes=8192", "rounds=60"),
                    ("is", "rounds=30"), ("ft", "rounds=10"))
RECEIVE_REPEATS = 7
RATE_RANKS = (2, 8)
RATE_BYTES = 8
# What the adapter does by itself, and MPI by the same operation: name, program, and pattern.
NATIVE_CONFIGURATIONS = ("adapter", "rc_fast_path", "rdma_put")
NATIVE_LATENCY_BYTES = 8
NATIVE_BANDWIDTH_BYTES = 1024 * KIB
NATIVE_REPEATS = 7
RENDEZVOUS = ("hybrid", "ud", "ud_copy", "streamed", "asked_for")
RENDEZVOUS_BYTES = tuple(size * KIB for size in (2, 8, 32, 64, 96, 128, 129, 160, 256, 512))
POLLED = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # rings
POLLED_CONFIGURATIONS = ("rc_fast_path", "rc_send", "ud_copy")


@dataclasses.dataclass(frozen=True)
class Job:
    """One start of `patterns PATTERN OPTIONS`. TABLE: the table that wants it. IS_HELD: the job is
    looked at before it ends. REPEAT: which of several equal jobs. VARIABLES: of the environment, beside
    the configuration's."""
    table: str
    pattern: str
    ranks: int
    configuration: str
    options: tuple = ()
    is_held: bool = False
    repeat: int = 0
    variables: tuple = ()
    seconds_max: int = 120

    @property
    def key(self):
        return self.table, self.pattern, self.ranks, self.configuration, self.options, self.repeat

    @property
    def name(self):
        words = (self.table, self.pattern, str(self.ranks), self.configuration, *self.options)
        return " ".join(words)


@dataclasses.dataclass(frozen=True)
class Absent:
    """What the papers measured and no job here can, with the reason."""
    what: str
    reason: str


ABSENT = (
    Absent("Conversion of data in the copy engine (001, figure 7a)",
           "no parameter turns the engine off; `./dev bench pack` has it beside a loop"),
    Absent("Times of the NAS kernels and of other programs", "the patterns here compute nothing"),
)


def connections():
    for pattern, ranks in published.CONNECTIONS:
        for configuration in ("static", "on_demand"):
            yield Job("connections", pattern, ranks, configuration)


def memory():
    for pattern in MEMORY_PATTERNS:
        for ranks in MEMORY_RANKS:
            for configuration in MEMORY_CONFIGURATIONS:
                yield Job("memory", pattern, ranks, configuration, ("bytes=1024",), is_held=True,
                          seconds_max=240)


def channels():
    for pattern in published.CHANNELS:
        for configuration in CHANNEL_CONFIGURATIONS:
            yield Job("channels", pattern, CHANNEL_RANKS, configuration, ("rounds=40",), is_held=True,
                      variables=(("SOFTRDMA_CONTEXTS", str(CONTEXTS)),))


def pairs():
    for ranks in PAIR_RANKS:
        for configuration in PAIR_CONFIGURATIONS:
            yield Job("pairs", "pingpong", ranks, configuration)


def initialization():
    for ranks in PAIR_RANKS:
        for configuration in INIT_CONFIGURATIONS:
            for repeat in range(INIT_REPEATS):
                yield Job("initialization", "silent", ranks, configuration, repeat=repeat)


def latency():
    for configuration in EACH_CHANNEL:
        for count in PAIRS:
            yield Job("latency", "pingpong", 2 * count, configuration, ("bytes=1", "bytes_max=16384"))
            yield Job("bandwidth", "stream", 2 * count, configuration,
                      ("bytes=4", "bytes_max=1048576", "rounds=4"))


def polled():
    """All but two ranks sleep."""
    for configuration in POLLED_CONFIGURATIONS:
        for rings in POLLED:
            yield Job("polled", "polled", rings + 1, configuration, ("bytes=4",))


def first():
    """The first message, and with it what it takes to connect, is measured as well."""
    cold = ("warm_up=0", "rounds=1000")
    for configuration in ("static", "on_demand"):
        yield Job("first", "pingpong", 2, configuration, ("bytes=8", *cold))
        yield Job("first", "stream", 2, configuration, ("bytes=16384", "warm_up=0", "rounds=20"))
        for ranks in (2, FIRST_RANKS):
            yield Job("first", "timed_allreduce", ranks, configuration, ("bytes=1024", *cold))


def progress():
    for configuration in PROGRESS:
        for size in PROGRESS_BYTES:
            yield Job("progress", "pingpong", 2, configuration, (f"bytes={size}", "rounds=2000"))


def rdma():
    for configuration in RDMA:
        yield Job("rdma", "pingpong", 2, configuration, ("bytes=1024", "bytes_max=1048576"))


def receives():
    """One after the other, so that whatever else the machine does meets both alike."""
    for ranks in RECEIVE_RANKS:
        for pattern, *options in RECEIVE_PATTERNS:
            for repeat in range(RECEIVE_REPEATS):
                for configuration in RECEIVE_CONFIGURATIONS:
                    yield Job("receives", pattern, ranks, configuration, tuple(options),
                              is_held=True, repeat=repeat)


def rate():
    for ranks in RATE_RANKS:
        for repeat in range(RECEIVE_REPEATS):
            for configuration in RECEIVE_CONFIGURATIONS:
                yield Job("rate", "stream", ranks, configuration,
                          (f"bytes={RATE_BYTES}", "rounds=200"), is_held=True, repeat=repeat)


def native():
    """One after the other, as receives()."""
    adapter, short, long = NATIVE_CONFIGURATIONS
    for repeat in range(NATIVE_REPEATS):
        yield Job("native", "ib_write_lat", 2, adapter,
                  ("-s", str(NATIVE_LATENCY_BYTES), "-n", "20000"), repeat=repeat)
        yield Job("native", "pingpong", 2, short,
                  (f"bytes={NATIVE_LATENCY_BYTES}", "rounds=20000"), repeat=repeat)
        yield Job("native", "ib_write_bw", 2, adapter,
                  ("-s", str(NATIVE_BANDWIDTH_BYTES), "-n", "2000"), repeat=repeat)
        yield Job("native", "stream", 2, long,
                  (f"bytes={NATIVE_BANDWIDTH_BYTES}", "rounds=30", "reuse"), repeat=repeat)


def rendezvous():
    for configuration in RENDEZVOUS:
        for size in RENDEZVOUS_BYTES:
            yield Job("rendezvous", "pingpong", 2, configuration, (f"bytes={size}",))


TABLES = (connections, memory, channels, pairs, initialization, latency, polled, first, progress, rdma,
          rendezvous, receives, rate, native)


def jobs():
    return [job for table in TABLES for job in table()]
