"""Adds up results: prints "PASSED FAILED SKIPPED" of JUnit files and of *.counts files.

    tally.py FILE...

A .counts file holds lines of the same three numbers. In ctest's JUnit a test whose program is
missing looks like a skipped one; it is a failure.
"""
import pathlib
import sys
import xml.etree.ElementTree as xml


def outcome(case):
    """One test case of a JUnit file as (passed, failed, skipped)."""
    skipped = case.find("skipped")
    if skipped is not None and not skipped.get("message", "").startswith("Unable to find"):
        return (0, 0, 1)
    if case.get("status") == "disabled":
        return (0, 0, 1)
    if skipped is not None or case.find("failure") is not None or case.find("error") is not None:
        return (0, 1, 0)
    return (1, 0, 0)


def outcomes(path):
    """Every result in a file."""
    if path.suffix == ".counts":
        return [tuple(map(int, line.split())) for line in path.read_text().splitlines()]
    return [outcome(case) for case in xml.parse(path).iter("testcase")]


def main():
    results = [one for name in sys.argv[1:] for one in outcomes(pathlib.Path(name))]
    print(*(sum(column) for column in zip((0, 0, 0), *results)))


if __name__ == "__main__":
    main()
