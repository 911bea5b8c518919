"""What each rank runs: mpi4py's own test/main.py, with every outcome written down as it happens.

    rank.py TEST-FOLDER RESULTS-FOLDER ARGUMENTS-OF-MAIN...

A line of RESULTS-FOLDER/RANK.jsonl is {"test": id, "event": what, "seconds": s}; a "start" without
an outcome after it names the test in which a rank died or hung.
"""
import faulthandler
import json
import os
import pathlib
import sys
import time
import unittest

# The workers that a test spawns run this file too, under another name: they want its functions.
is_rank = __name__ == "__main__"
results_folder = None

if is_rank:
    faulthandler.enable()
    sys.dont_write_bytecode = True
    test_folder, results_folder = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    sys.path.insert(0, str(test_folder))
    os.environ["PYTHONPATH"] = str(test_folder)  # workers find the modules of their tests
    sys.argv = [str(test_folder / "main.py"), *sys.argv[3:]]


class Recorder(unittest.TextTestResult):
    """Writes each event at once, so that nothing is lost with a killed process."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        from mpi4py import MPI  # not earlier: main.py chooses how MPI is initialised
        self.file = open(results_folder / f"{MPI.COMM_WORLD.Get_rank()}.jsonl", "w", buffering=1)
        self.began = time.monotonic()

    def write(self, test, event):
        seconds = round(time.monotonic() - self.began, 3)
        print(json.dumps({"test": test.id(), "event": event, "seconds": seconds}), file=self.file)

    def startTest(self, test):
        self.began = time.monotonic()
        self.write(test, "start")
        super().startTest(test)

    def addSuccess(self, test):
        self.write(test, "passed")
        super().addSuccess(test)

    def addSkip(self, test, reason):
        self.write(test, "skipped")
        super().addSkip(test, reason)

    def addExpectedFailure(self, test, err):
        self.write(test, "passed")
        super().addExpectedFailure(test, err)

    def addFailure(self, test, err):
        self.write(test, "failed")
        super().addFailure(test, err)

    def addError(self, test, err):
        self.write(test, "failed")
        super().addError(test, err)

    def addUnexpectedSuccess(self, test):
        self.write(test, "failed")
        super().addUnexpectedSuccess(test)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.write(test, "failed")
        super().addSubTest(test, subtest, err)


class Runner(unittest.TextTestRunner):
    resultclass = Recorder


if is_rank:
    import main  # mpi4py's, found by the path set above

    main.main(module=None, testRunner=Runner)
