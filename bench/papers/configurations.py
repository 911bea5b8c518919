"""The ways in which Hawser is set up for a table, and whether this build knows them."""
import dataclasses
import json
import os
import subprocess

UNLIMITED = "65536"
HAWSER_SECONDS_MAX = 30
CONTEXTS = 16  # queue pairs in the modelled cache of each process: few, as the jobs are small


@dataclasses.dataclass(frozen=True)
class Configuration:
    """NEEDS: kinds of channels ("rc_send") and parameters ("channel.connect") that it uses."""
    name: str
    environment: dict
    needs: tuple = ()


def rules(send, earn, **limits):
    """The variables of two chains of rules, and of limits: NAME=VALUE of `channel.NAME`."""
    return {"HAWSER_CHANNEL_SEND_RULES": send, "HAWSER_CHANNEL_EARN_RULES": earn} | {
        f"HAWSER_CHANNEL_{name.upper()}": str(value) for name, value in limits.items()}


NEVER = ""  # nobody earns anything
SENT = "true -> rc_send; true -> ud_send"
AT_ONCE = "messages >= 1 -> rc_send"
ONLY_CONNECTED = "size <= 8192 -> rc_send; true -> rc_rdma; true -> ud_send"
WITH_FAST_PATH = "size <= 2048 -> rc_fast_path; " + ONLY_CONNECTED
EARN_FAST_PATH = AT_ONCE + "; messages >= 1 -> rc_fast_path"
CONNECTED = {"connections_max": UNLIMITED}
EVERYBODY = CONNECTED | {"fast_paths_max": UNLIMITED}
STATIC = {"HAWSER_CHANNEL_CONNECT": "static"}  # the default is on_demand
POLLING = {"HAWSER_WAIT_SPIN_US": "1000000"}

RC = ("rc_send", "channel.connections_max")
RDMA = (*RC, "rc_rdma")
FULL = (*RDMA, "rc_fast_path", "channel.fast_paths_max")
AT_START = ("channel.connect",)

ALL = (
    Configuration("ud_copy", rules("true -> ud_send", NEVER)),
    Configuration("ud", rules("size <= ud_max -> ud_send; true -> ud_zero_copy; true -> ud_send",
                              NEVER), ("ud_zero_copy",)),
    # Connections are counted with these.
    Configuration("on_demand", rules(SENT, AT_ONCE, **CONNECTED), RC),
    Configuration("static", rules(SENT, AT_ONCE, **CONNECTED) | STATIC, RC + AT_START),
    Configuration("client_server", rules(SENT, AT_ONCE, **CONNECTED)
                  | {"HAWSER_CHANNEL_CONNECT": "client_server"}, RC + AT_START),
    # No MPI at all: the adapter's own programs.
    Configuration("adapter", {}),
    # As it comes.
    Configuration("hybrid", {}, FULL),
    # Whoever talks is connected: by one channel, with buffers that all peers share, or with buffers for
    # each peer as well, which are the fast paths.
    Configuration("rc_send", rules(SENT, AT_ONCE, **CONNECTED), RC),
    *(Configuration(name, rules(ONLY_CONNECTED, AT_ONCE, **CONNECTED), RDMA)
      for name in ("shared_queue", "rc_rdma")),
    Configuration("xrc_send", rules("true -> xrc_send; true -> ud_send", "messages >= 1 -> xrc_send",
                                    xrc_peers_max=UNLIMITED), ("xrc_send", "channel.xrc_peers_max")),
    # Receive buffers for each connection, with credits.
    Configuration("own_queues",
                  rules(ONLY_CONNECTED, AT_ONCE, **CONNECTED) | {"HAWSER_VERBS_SRQ": "off"},
                  (*RDMA, "verbs.srq")),
    *(Configuration(name, rules(WITH_FAST_PATH, EARN_FAST_PATH, **EVERYBODY), FULL)
      for name in ("per_peer", "rc", "rc_fast_path")),
    Configuration("static_per_peer", rules(WITH_FAST_PATH, EARN_FAST_PATH, **EVERYBODY) | STATIC,
                  FULL + AT_START),
    # How a process waits: by the paper's names.
    *(Configuration(name, rules("true -> ud_send", NEVER) | POLLING | {"HAWSER_WAIT_PROGRESS": mode},
                    ("wait.progress",))
      for name, mode in (("polling", "polling"), ("interrupt", "blocking"), ("one_thread", "thread"),
                         ("two_threads", "two_threads"))),
    # Long messages sent at once, or asked for first, whatever their length.
    Configuration("streamed", rules("true -> ud_send", NEVER) | {"HAWSER_P2P_STREAM_BYTES_MAX": "1T"}),
    Configuration("asked_for", rules("true -> ud_send", NEVER) | {"HAWSER_P2P_STREAM_BYTES_MAX": "0"}),
    # How the data of a long message travels.
    *(Configuration(f"rdma_{way}{inline}{chained}",
                    {"HAWSER_P2P_RDMA": way, "HAWSER_P2P_RENDEZVOUS_INLINE": str(not inline).lower(),
                     "HAWSER_P2P_RDMA_CHAINED": str(not chained).lower()},
                    (*RDMA, "p2p.rdma", "p2p.rendezvous_inline", "p2p.rdma_chained"))
      for way in ("get", "put") for inline in ("", "_not_inlined")
      for chained in ("", "_not_chained")),
)

BY_NAME = {each.name: each for each in ALL}


def clean_environment():
    """The environment without what sets up Hawser or softrdma."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("HAWSER_", "SOFTRDMA_", "LD_", "MPI"))}


class Build:
    """What the `hawser` command of a build says that it has."""

    def __init__(self, hawser):
        self.hawser = hawser
        said = self.read_info()
        self.version = said["version"]
        self.parameters = {each["name"] for each in said["parameters"]}
        self.channels = {}  # kind -> whether rules may name it

    def info(self, *options, **variables):
        return subprocess.run([str(self.hawser), "info", *options], capture_output=True, text=True,
                              timeout=HAWSER_SECONDS_MAX, env=clean_environment() | variables)

    def read_info(self):
        run = self.info("--json")
        if run.returncode != 0:
            raise RuntimeError(f"hawser info --json: exit code {run.returncode}\n{run.stderr}")
        return json.loads(run.stdout)

    def has_channel(self, kind):
        if kind not in self.channels:
            run = self.info("--rules", HAWSER_TRANSPORT="verbs",
                            HAWSER_CHANNEL_SEND_RULES=f"size <= 1 -> {kind}; true -> ud_send")
            self.channels[kind] = run.returncode == 0
        return self.channels[kind]

    def missing(self, configuration):
        """What CONFIGURATION needs and this build has not; empty if it can run."""
        return [need for need in configuration.needs
                if not (need in self.parameters if "." in need else self.has_channel(need))]
