"""Compiles a program against mpi.h that prints every constant, the layout of MPI_Status, the sizes
of types, and the types of all functions and callbacks; compares what it prints with the data of the
ABI, and with another header of the same ABI if there is one.

The types are compared by the compiler itself: a C++ program includes both headers in namespaces of
their own and names each type by typeid."""

import argparse
import csv
import pathlib
import subprocess
import sys
import tempfile

API = pathlib.Path(__file__).resolve().parents[2] / "api"
TYPES = ["MPI_Aint", "MPI_Count", "MPI_Offset", "MPI_Status", "MPI_Comm", "MPI_Datatype",
         "MPI_Errhandler", "MPI_File", "MPI_Group", "MPI_Info", "MPI_Message", "MPI_Op",
         "MPI_Request", "MPI_Session", "MPI_Win", "MPI_T_cb_safety", "MPI_T_source_order",
         "MPI_T_enum", "MPI_T_cvar_handle", "MPI_T_pvar_handle", "MPI_T_pvar_session",
         "MPI_T_event_registration", "MPI_T_event_instance"]
CALLBACKS = ["MPI_User_function", "MPI_User_function_c", "MPI_Grequest_query_function",
             "MPI_Grequest_free_function", "MPI_Grequest_cancel_function", "MPI_Copy_function",
             "MPI_Delete_function", "MPI_Datarep_extent_function",
             "MPI_Datarep_conversion_function", "MPI_Datarep_conversion_function_c",
             "MPI_T_event_cb_function", "MPI_T_event_free_cb_function",
             "MPI_T_event_dropped_cb_function"]
for _kind in ("Comm", "Type", "Win"):
    CALLBACKS += [f"MPI_{_kind}_copy_attr_function", f"MPI_{_kind}_delete_attr_function"]
for _kind in ("Comm", "Win", "File", "Session"):
    CALLBACKS += [f"MPI_{_kind}_errhandler_function", f"MPI_{_kind}_errhandler_fn"]
FIELDS = ["MPI_SOURCE", "MPI_TAG", "MPI_ERROR", "MPI_internal"]


def constants():
    with open(API / "constants.tsv", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def functions(present=None):
    return [f for f in (API / "functions.txt").read_text().split()
            if present is None or f in present]


def c_program():
    rows = ["#include <stddef.h>", "#include <stdio.h>", "#include <mpi.h>", "int main(void) {"]
    rows += [f'  printf("{c["name"]} %#llx\\n", (unsigned long long)(long long)({c["name"]}));'
             for c in constants()]
    rows += [f'  printf("sizeof {t} %zu\\n", sizeof({t}));' for t in TYPES]
    rows += [f'  printf("offsetof {f} %zu\\n", offsetof(MPI_Status, {f}));' for f in FIELDS]
    return "\n".join(rows + ["  return 0;", "}", ""])


def cxx_program(names):
    rows = ["#include <cstdio>", "#include <typeinfo>", "#include <mpi.h>", "int main() {"]
    rows += [f'  std::printf("{t} %s\\n", typeid({t}*).name());' for t in CALLBACKS]
    rows += [f'  std::printf("{n} %s\\n", typeid(&{n}).name());' for n in names]
    return "\n".join(rows + ["}", ""])


def run(compiler, text, suffix, include, *options):
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch) / f"layout{suffix}"
        program = pathlib.Path(scratch) / "layout"
        source.write_text(text)
        subprocess.run([compiler, *options, f"-I{include}", source, "-o", program], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def values(text):
    return dict(line.rsplit(" ", 1) for line in text.splitlines())


def number(text):
    return int(text, 0) & 0xffffffffffffffff


def check_data(printed):
    """Constants as in constants.tsv; aliases have the value of what they name."""
    for constant in constants():
        name, value = constant["name"], constant["value"]
        if constant["c_type"] == "alias":
            value = printed.get(value, "0")
        if number(printed[name]) != number(value):
            yield f"{name} is {printed[name]}, should be {value}"
    if printed["sizeof MPI_Status"] != "32" or printed["offsetof MPI_internal"] != "12":
        yield "MPI_Status has not the layout of the ABI"


def differences(ours, theirs):
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            yield f"{name}: {ours.get(name)} here, {theirs.get(name)} there"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--include", required=True)
    parser.add_argument("--reference", help="a header of another library of the ABI")
    arguments = parser.parse_args()
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    ours = values(run(arguments.cc, c_program(), ".c", arguments.include, "-std=c99",
                      *strict[:2], "-Werror"))
    wrong = list(check_data(ours))
    names = functions()
    if arguments.reference:
        text = pathlib.Path(arguments.reference).read_text()
        names = [n for n in names if f" {n}(" in text]
    ours_cxx = values(run(arguments.cxx, cxx_program(names), ".cpp", arguments.include, "-O0",
                          "-std=c++17", *strict))
    if arguments.reference:
        with tempfile.TemporaryDirectory() as scratch:
            header = pathlib.Path(scratch) / "mpi.h"
            header.write_text(pathlib.Path(arguments.reference).read_text())
            theirs = values(run(arguments.cc, c_program(), ".c", scratch))
            theirs_cxx = values(run(arguments.cxx, cxx_program(names), ".cpp", scratch, "-O0"))
        wrong += differences(ours, theirs)
        wrong += differences(ours_cxx, theirs_cxx)
    print("\n".join(wrong) or f"{len(ours)} values and {len(ours_cxx)} types are as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
