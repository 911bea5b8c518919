"""What one rank says of itself when it finalizes: a line of HAWSER_STATS (src/tool/README.md)."""
import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Traffic:
    """What a rank exchanged with PEER over CHANNEL."""
    peer: int
    channel: str
    messages_sent: int
    bytes_sent: int
    messages_received: int

    @property
    def is_used(self):
        return self.messages_sent + self.messages_received > 0


@dataclasses.dataclass(frozen=True)
class Connections:
    """How many a rank opened in its life, and how many of those carried a message."""
    opened: int
    used: int


@dataclasses.dataclass(frozen=True)
class Rank:
    """LEDGER_BYTES: the most that each account of the memory ledger held. BY_CHANNEL: its connections,
    by channel."""
    number: int
    pid: int
    traffic: tuple
    ledger_bytes: dict
    by_channel: dict

    @property
    def connections(self):
        """All that it made."""
        return Connections(sum(each.opened for each in self.by_channel.values()),
                           sum(each.used for each in self.by_channel.values()))

    def channel_count(self, channel):
        """Peers with traffic over CHANNEL."""
        return sum(traffic.channel == channel and traffic.is_used for traffic in self.traffic)

    @property
    def memory_bytes(self):
        return sum(self.ledger_bytes.values())


def read_rank(line):
    """The rank whose statistics LINE holds."""
    record = json.loads(line)
    if record["format"] != 1:
        raise ValueError(f"statistics of format {record['format']}, not 1")
    traffic = tuple(Traffic(peer["peer"], peer["channel"], peer["messages_sent"], peer["bytes_sent"],
                            peer["messages_received"])
                    for peer in record["peers"] if peer["peer"] != record["rank"])
    ledger = {name: account["peak_bytes"] for name, account in record["ledger"].items()}
    by_channel = {each["channel"]: Connections(each["opened"], each["used"])
                  for each in record["connections"]}
    return Rank(record["rank"], record["pid"], traffic, ledger, by_channel)


def read_ranks(text):
    """All ranks of one job, in order."""
    return sorted((read_rank(line) for line in text.splitlines() if line), key=lambda r: r.number)
