"""Looking at a job that is held (hold=FILE of `patterns`): memory of its processes, and what the
softrdma of each counts."""
import collections
import dataclasses
import pathlib
import subprocess

LINE_BYTES = 24  # of the file that ranks write into when they are done
DEVICE_MAPPING = "/memfd:softrdma"  # memory of the adapter that softrdma stands in for
STAT_SECONDS_MAX = 20


@dataclasses.dataclass(frozen=True)
class Seen:
    """Of one process. PSS_BYTES: proportional set size of what it made itself, without program and
    libraries, of which a process has the less the more there are. DEVICE_BYTES: what an adapter of
    hardware would hold instead; not part of that. CONTEXT_MISSES, NOT_READY (its frames that found no
    receive buffer): None if softrdma does not say."""
    pss_bytes: int
    device_bytes: int
    context_misses: int | None
    not_ready: int | None = None


def read_smaps(text):
    """(PSS_BYTES, DEVICE_BYTES) of a Seen, out of a /proc/PID/smaps."""
    by_name = collections.Counter()
    name = ""
    for line in text.splitlines():
        key, _, rest = line.partition(" ")
        if not key.endswith(":"):
            name = rest.split(maxsplit=4)[4] if len(rest.split(maxsplit=4)) > 4 else ""
        elif key == "Pss:":
            by_name[name] += int(rest.split()[0]) * 1024
    device = sum(size for name, size in by_name.items() if name.startswith(DEVICE_MAPPING))
    files = sum(size for name, size in by_name.items()
                if name.startswith("/") and not name.startswith("/memfd:"))
    return sum(by_name.values()) - device - files, device


def read_stat(text):
    """{pid: {column: number}} out of what `softrdma stat` prints."""
    head, *rows = [line.split() for line in text.splitlines() if line.strip()] or [[]]
    if "pid" not in head:
        return {}
    said = [dict(zip(head, map(int, row))) for row in rows if len(row) == len(head)]
    return {row["pid"]: row for row in said}


class Hold:
    """The file by which a job waits, and what was seen of it while it did."""

    def __init__(self, path, ranks, softrdma, environment):
        self.path, self.ranks = pathlib.Path(path), ranks
        self.softrdma, self.environment = softrdma, environment
        self.seen = {}  # rank -> Seen
        self.path.touch()

    def look(self):
        """Called while the job runs: once all ranks are there, looks at them and lets them go."""
        if self.seen or self.path.stat().st_size < self.ranks * LINE_BYTES:
            return
        pids = {int(line.split()[0]): int(line.split()[1])
                for line in self.path.read_text().splitlines()}
        said = self.statistics()
        for rank, pid in pids.items():
            pss, device = read_smaps(pathlib.Path(f"/proc/{pid}/smaps").read_text())
            device_said = said.get(pid, {})
            self.seen[rank] = Seen(pss, device, device_said.get("ctx-miss"),
                                   device_said.get("not-ready"))
        with self.path.open("a") as file:
            file.write(f"{'go':>{LINE_BYTES - 1}}\n")

    def statistics(self):
        fabric = self.environment.get("SOFTRDMA_FABRIC")
        if not fabric:
            return {}
        try:
            run = subprocess.run([self.softrdma, "stat", "--fabric", fabric, "--count", "1"],
                                 capture_output=True, text=True, timeout=STAT_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            return {}
        return read_stat(run.stdout) if run.returncode == 0 else {}
