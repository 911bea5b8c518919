"""A Slurm of our own on this machine: two nodes, no systemd, nothing outside of its folder.

    with Slurm.start(folder) as slurm:
        subprocess.run(["srun", …], env=dict(os.environ, **slurm.environment))
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

NODES = 2
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo")
START_SECONDS_MAX = 30
STOP_SECONDS_MAX = 10

CONFIGURATION = """
ClusterName=hawser
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
TmpFS={folder}/scratch/%n
ReturnToService=2
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
InactiveLimit=0
MinJobAge=10
KillWait=2
"""


class Unavailable(Exception):
    """There can be no Slurm here; the text says why."""


def free_ports(count):
    """Numbers of ports that nobody uses now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


class Slurm:
    """Owns its processes; a context manager that ends them."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = []
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}

    @classmethod
    def start(cls, folder):
        missing = [name for name in PROGRAMS if not shutil.which(name, path=search_path())]
        if missing:
            raise Unavailable(f"{missing[0]} is missing (Debian: slurm-wlm munge)")
        if os.geteuid() != 0:
            raise Unavailable("a Slurm of our own needs root")
        slurm = cls(pathlib.Path(folder))
        try:
            slurm.start_authentication()
            slurm.write_configuration()
            slurm.start_daemons()
            slurm.wait_until_idle()
        except BaseException:
            slurm.stop()
            raise
        return slurm

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def spawn(self, *command):
        """Starts a daemon in the foreground, which is a child of ours and so ended by its number."""
        log = open(self.folder / f"{command[0]}.{len(self.processes)}.out", "w")
        with log:
            self.processes.append(subprocess.Popen(
                [shutil.which(command[0], path=search_path()), *command[1:]], stdout=log,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
                env=dict(os.environ, **self.environment)))

    def start_authentication(self):
        munge = self.folder / "munge"
        munge.mkdir(mode=0o711, parents=True)
        key = munge / "key"
        key.touch(mode=0o400)
        key.write_bytes(os.urandom(1024))
        self.spawn("munged", "--foreground", "--force", f"--key-file={key}",
                   f"--socket={munge}/socket", f"--pid-file={munge}/pid",
                   f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        wait_for((munge / "socket").exists, "munged opens no socket")

    def write_configuration(self):
        host = socket.gethostname().split(".")[0]
        control, *ports = free_ports(1 + NODES)
        text = CONFIGURATION.format(host=host, port=control, folder=self.folder)
        for number, port in enumerate(ports, 1):
            text += (f"NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} "
                     "CPUs=64 RealMemory=1000 State=UNKNOWN\n")
            (self.folder / "scratch" / f"n{number}").mkdir(parents=True)
            (self.folder / "spool" / f"n{number}").mkdir(parents=True)
        text += f"PartitionName=all Nodes=n[1-{NODES}] Default=YES MaxTime=INFINITE State=UP\n"
        (self.folder / "state").mkdir()
        (self.folder / "slurm.conf").write_text(text)
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")

    def start_daemons(self):
        configuration = str(self.folder / "slurm.conf")
        self.spawn("slurmctld", "-D", "-f", configuration)
        for number in range(1, NODES + 1):
            self.spawn("slurmd", "-D", "-f", configuration, "-N", f"n{number}")

    def wait_until_idle(self):
        def is_idle():
            told = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True,
                                  env=dict(os.environ, **self.environment), check=False)
            return told.stdout.split() == ["idle"]
        wait_for(is_idle, f"its nodes do not come up; see {self.folder}/slurmctld.log")

    def stop(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS_MAX
        for process in reversed(self.processes):
            try:
                process.wait(max(deadline - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for pid in self.stray_steps():
            os.kill(pid, signal.SIGKILL)
        self.processes = []

    def stray_steps(self):
        """Step daemons of this Slurm that are still there: those that hold a file of its folder."""
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if not (entry / "comm").read_text().startswith("slurmstepd"):
                    continue
                files = [os.readlink(file) for file in (entry / "fd").iterdir()]
            except (OSError, ValueError):
                continue
            if any(file.startswith(f"{self.folder}/") for file in files):
                yield int(entry.name)


def search_path():
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def wait_for(condition, sentence):
    deadline = time.monotonic() + START_SECONDS_MAX
    while not condition():
        if time.monotonic() > deadline:
            raise Unavailable(f"Slurm does not start: {sentence}")
        time.sleep(0.1)
