"""Tells what failed test cases of JUnit files said last.

    failed_cases.py FILE...
"""
import pathlib
import sys
import xml.etree.ElementTree as xml

import tally

LINES_TOLD = 30


def failed_cases(path):
    """Of each test case that failed: its name, and the last lines of what it printed."""
    for case in xml.parse(path).iter("testcase"):
        if tally.outcome(case) == (0, 1, 0):
            yield case.get("name"), (case.findtext("system-out") or "").splitlines()[-LINES_TOLD:]


def main():
    for name in sys.argv[1:]:
        for case, lines in failed_cases(pathlib.Path(name)):
            print(f"\n{case} failed; its last lines:", *lines, sep="\n")


if __name__ == "__main__":
    main()
