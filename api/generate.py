#!/usr/bin/env python3
"""Writes include/mpi.h, include/mpi-ext.h, src/binding/generated/ and docs/coverage.md.

    python3 api/generate.py                 write them
    python3 api/generate.py --check         exit with 1 if a file on disk differs
    python3 api/generate.py --show MPI_X    print the declaration of the call behind MPI_X
"""

import argparse
import pathlib
import sys

import bindings
import chapters
import coverage
import extensions
import header
import standard

ROOT = standard.HERE.parent
GENERATED = "src/binding/generated"


def read_implemented():
    names = (standard.HERE / "implemented.txt").read_text().split()
    known = set(standard.read_names())
    for name in names:
        if name not in known or (name.endswith("_c") and name[:-2] in known):
            raise SystemExit(f"api/implemented.txt: {name} is no function of the standard "
                             "(write names without _c)")
    if names != sorted(names):
        raise SystemExit("api/implemented.txt is not sorted")
    return set(names)


def render_all():
    """Path (relative to the project) -> contents."""
    functions = standard.read_functions()
    constants = standard.read_constants()
    implemented = read_implemented()
    files = {
        "include/mpi.h": header.render(functions, constants),
        "include/mpi-ext.h": extensions.render_header(),
        "docs/coverage.md": coverage.render(functions, implemented),
        f"{GENERATED}/error_names.cpp": bindings.render_error_names(
            constants + extensions.CONSTANTS),
    }
    everything = functions + extensions.FUNCTIONS
    implemented = implemented | {f.name for f in extensions.FUNCTIONS}
    for chapter in chapters.TITLES:
        own = [f for f in everything if chapters.chapter_of(f) == chapter]
        files[f"{GENERATED}/{chapter}.cpp"] = bindings.render_source(chapter, own, implemented)
        files[f"{GENERATED}/{chapter}.hpp"] = bindings.render_header(chapter, own, implemented)
    return files


def differing(files):
    """Paths whose contents on disk are not as rendered, stale generated files included."""
    changed = [path for path, text in files.items()
               if not (ROOT / path).exists() or (ROOT / path).read_text() != text]
    on_disk = (str(p.relative_to(ROOT)) for p in (ROOT / GENERATED).glob("*.[ch]pp"))
    return changed, [path for path in on_disk if path not in files]


def show(name):
    for function in standard.read_functions() + extensions.FUNCTIONS:
        if function.name == name:
            print(bindings.make_binding(function).declaration())
            return 0
    print(f"{name} is no function of the standard", file=sys.stderr)
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--show", metavar="MPI_X")
    arguments = parser.parse_args()
    if arguments.show:
        return show(arguments.show)
    files = render_all()
    changed, stale = differing(files)
    if arguments.check:
        for path in changed + stale:
            print(f"{path} is not what api/generate.py writes", file=sys.stderr)
        return 1 if changed or stale else 0
    for path in changed:
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(ROOT / path).write_text(files[path])
    for path in stale:
        (ROOT / path).unlink()
    print(f"{len(changed)} of {len(files)} files written, {len(stale)} removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
