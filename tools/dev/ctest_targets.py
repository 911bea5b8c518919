"""Prints the ninja targets that certain tests of a build directory run.

    ctest_targets.py BUILD --labels LABEL...
    ctest_targets.py BUILD --name REGULAR-EXPRESSION

A sanitizer build that needs the threads tests alone should not build everything. ctest itself
does not tell the command of a program that is not built yet, so this reads its input files. A test
that runs no target (a script) may need anything: "all".
"""
import argparse
import pathlib
import re
import subprocess

NAME = r"(?:\[=*\[(?P<bracket>.*?)\]=*\]|(?P<plain>\S+))"
ADD_TEST = re.compile(rf"^add_test\({NAME} (?P<command>.*)\)$", re.MULTILINE)
# A variable of the environment may have several lines.
PROPERTIES = re.compile(rf"^set_tests_properties\({NAME} PROPERTIES (?P<rest>.*?)\)$",
                        re.MULTILINE | re.DOTALL)
LABELS = re.compile(r'\bLABELS "([^"]*)"')


def tests_of(build):
    """Yields (name, words of the command, labels) of every test."""
    commands, labels = {}, {}
    for file in build.rglob("CTestTestfile.cmake"):
        text = file.read_text()
        for found in ADD_TEST.finditer(text):
            name = found["bracket"] or found["plain"]
            commands[name] = re.findall(r'"((?:[^"\\]|\\.)*)"', found["command"])
        for found in PROPERTIES.finditer(text):
            name = found["bracket"] or found["plain"]
            if values := LABELS.search(found["rest"]):
                labels[name] = set(values[1].split(";"))
    for name, command in commands.items():
        yield name, command, labels.get(name, set())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--labels", nargs="+", default=[])
    parser.add_argument("--name")
    options = parser.parse_args()
    build = options.build.resolve()
    listing = subprocess.run(["ninja", "-C", str(build), "-t", "targets", "all"],
                             check=True, capture_output=True, text=True).stdout
    known = {line.rsplit(": ", 1)[0] for line in listing.splitlines() if ": " in line}
    needed = set()
    for name, command, labels in tests_of(build):
        if labels & set(options.labels) or (options.name and re.search(options.name, name)):
            words = {word.removeprefix(f"{build}/") for word in command}
            needed |= words & known or {"all"}
    print(*sorted(needed), sep="\n", end="\n" if needed else "")


if __name__ == "__main__":
    main()
