"""Figures of the papers, beside which ours stand.

004: Wu, Liu, Wyckoff, Panda: on-demand connections for MPI over VIA, 2002.
000: Shipman, Woodall, Graham, Maccabe: InfiniBand scalability in Open MPI, 2006.
002: Koop, Jones, Panda: MVAPICH-Aptus, 2008.
001: Yu, Woodall, Graham, Panda: Open MPI over Quadrics/Elan4, 2005.
"""

# 004, table 2: (pattern, ranks) -> connections per process on demand, utilisation of the static ones.
# The static mode has one connection per peer, and on demand all are used.
CONNECTIONS = {
    ("ring", 16): (2, 0.13), ("ring", 32): (2, 0.06),
    ("barrier", 16): (4, 0.27), ("barrier", 32): (5, 0.16),
    ("bcast", 16): (4, 0.27), ("bcast", 32): (5, 0.16),
    ("allreduce", 16): (4, 0.27), ("allreduce", 32): (5, 0.16),
    ("allgather", 16): (5, 0.33), ("allgather", 32): (6, 0.19),
    ("alltoall", 16): (15, 1.0), ("alltoall", 32): (31, 1.0),
    ("cg", 16): (4.75, 0.32), ("cg", 32): (5.78, 0.19),
    ("mg", 16): (15, 1.0), ("mg", 32): (31, 1.0),
    ("is", 16): (15, 1.0), ("is", 32): (31, 1.0),
    ("sp", 16): (8, 0.53), ("sp", 36): (9.83, 0.28),
    ("bt", 16): (8, 0.53), ("bt", 36): (9.83, 0.28),
}

# 002, table 2, 512 tasks of which 8 share a host: channels of a task, by our names. Patterns of ours
# beside programs of theirs that talk alike.
CHANNELS = {
    "nearest_neighbour": ("NPB MG", {"ud_send": 9.00, "rc_send": 5.63, "rc_fast_path": 5.63}),
    "everyone": ("NPB FT", {"ud_send": 504.0, "rc_send": 16.0, "rc_fast_path": 8.0}),
    "many_peers": ("NAMD", {"ud_send": 120.8, "rc_send": 16.47, "rc_fast_path": 8.0}),
}

# 000, table 1: microseconds of a ping-pong between two nodes.
PING_PONG_US = {"rc_fast_path": ("MVAPICH, RDMA", 4.19), "rc_send": ("Open MPI, default", 5.94)}

# 001, table 1: microseconds by way of progress, at 4 bytes and 4 KiB.
PROGRESS_US = {"polling": (3.87, 15.25), "interrupt": (14.70, 27.16), "one_thread": (22.76, 32.80),
               "two_threads": (27.50, 47.72)}

# 002: what the text says of the channels.
LATENCY_US = {"rc_fast_path": "just below 3", "rc_send": "about 5", "ud_copy": "as RC up to 2 KiB"}
FAST_PATH_BYTES = "more than 300 KB for each"
