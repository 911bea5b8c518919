"""The dynamic symbols of libmpi_abi.so.1 are the functions of the ABI and those of mpi-ext.h, each as
MPI_ or MPIX_ (weak) and with a P before it (strong), and nothing else; the library needs the C library alone."""

import argparse
import pathlib
import re
import subprocess
import sys

API = pathlib.Path(__file__).resolve().parents[2] / "api"
sys.path.insert(0, str(API))

import extensions  # noqa: E402

ALLOWED_NEEDS = re.compile(r"(libc|libm|ld-linux[\w-]*)\.so\.\d+")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def wrong_symbols(nm, library):
    wanted = {}
    for name in (API / "functions.txt").read_text().split() + \
            [function.name for function in extensions.FUNCTIONS]:
        wanted[name] = "W"
        wanted["P" + name] = "T"
    found = {}
    for line in output(nm, "-D", "--defined-only", library).splitlines():
        kind, name = line.split()[-2:]
        found[name] = kind
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            yield f"{name}: should be {wanted.get(name)}, is {found.get(name)}"


def wrong_needs(readelf, library):
    dynamic = output(readelf, "-d", library)
    for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic):
        if not ALLOWED_NEEDS.fullmatch(name):
            yield f"the library needs {name}"
    if "SONAME" not in dynamic or "[libmpi_abi.so.1]" not in dynamic:
        yield "the name of the library is not libmpi_abi.so.1"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--readelf", default="readelf")
    parser.add_argument("--self-contained", choices=["yes", "no"], default="yes")
    arguments = parser.parse_args()
    wrong = list(wrong_symbols(arguments.nm, arguments.library))
    if arguments.self_contained == "yes":
        wrong += wrong_needs(arguments.readelf, arguments.library)
    print("\n".join(wrong) or "exports are those of the ABI")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
