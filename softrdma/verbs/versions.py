#!/usr/bin/env python3
"""Writes a linker's version script that gives the functions of our library the versions that they
have in libibverbs, for programs that load it under that name.

    versions.py LIBIBVERBS.so.1 OUR-LIBRARY.so OUTPUT.map

The versions are read from the libibverbs of this system: an interface, which is the same wherever
the library is. A function of ours that it does not have gets none.
"""
import collections
import pathlib
import re
import subprocess
import sys


def symbols(library):
    """Name and default version (or None) of each exported function."""
    shown = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                           check=True).stdout
    return re.findall(r"^\S+ T ([^@\s]+)(?:@@(\S+))?$", shown, re.MULTILINE)


def number(version):
    """Versions in their order; the private one last."""
    found = re.fullmatch(r"IBVERBS_(\d+)\.(\d+)", version)
    return (0, int(found[1]), int(found[2])) if found else (1, 0, 0)


def main():
    theirs, ours, output = sys.argv[1:]
    version_of = {name: version for name, version in symbols(theirs) if version}
    named = collections.defaultdict(list)
    for name, _ in symbols(ours):
        if name in version_of:
            named[version_of[name]].append(name)
    text, before = "", ""
    for version in sorted(set(version_of.values()), key=number):
        names = "".join(f"    {name};\n" for name in sorted(named[version]))
        hidden = "" if before else "  local:\n    *;\n"
        text += f"{version} {{\n  global:\n{names or '    softrdma_nothing;' + chr(10)}{hidden}}}{before};\n"
        before = f" {version}"
    pathlib.Path(output).write_text(text)


if __name__ == "__main__":
    main()
