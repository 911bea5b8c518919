"""A rank that dies under the default error handler and without --with-ft ends the job: within a
second, with its signal in the exit code, and with one sentence that says who it was, where, of what."""

import argparse
import platform
import re
import subprocess
import time

SECONDS_MAX = 2.0  # a second, and the time that the job takes to start on a busy host


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    began = time.monotonic()
    done = subprocess.run([arguments.mpirun, "-n", "4", "--timeout", "50", arguments.program,
                           "--die-at", "1:20", "--fatal", "--steps", "1000000"],
                          capture_output=True, text=True)
    seconds = time.monotonic() - began
    sentence = rf"rank 1 \(.*, pid \d+ on {re.escape(platform.node())}\) died of signal 9"
    wrong = []
    if len(re.findall(sentence, done.stderr)) != 1:
        wrong.append(f"'{sentence}' does not stand once in:\n{done.stderr}")
    if done.returncode != 137:
        wrong.append(f"the exit code is {done.returncode}, not 137")
    if seconds > SECONDS_MAX:
        wrong.append(f"the job took {seconds:.1f} s to end")
    print("\n".join(wrong) or f"ended after {seconds:.2f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
