"""Starting a job within a time limit, and ending what does not end."""
import os
import signal
import subprocess
import tempfile
import time

LOOK_SECONDS = 0.02


def end(process):
    """Ends a launcher and gives it time to end its ranks."""
    for number, seconds in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=seconds)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def wait(process, seconds_max, meanwhile):
    """False if PROCESS is not done in time. MEANWHILE, if not None, is called again and again."""
    if meanwhile is None:
        meanwhile, step = (lambda: None), seconds_max
    else:
        step = LOOK_SECONDS
    began = time.monotonic()
    while True:
        left = seconds_max - (time.monotonic() - began)
        try:
            process.wait(timeout=max(0, min(step, left)))
            return True
        except subprocess.TimeoutExpired:
            if left <= 0:
                return False
            meanwhile()


def run(command, environment, seconds_max, meanwhile=None):
    """(output, seconds, sentence or None). What a job printed before its time was over counts."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        began = time.monotonic()
        process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=errors,
                                   stdin=subprocess.DEVNULL, text=True, env=environment,
                                   start_new_session=True)
        sentence = None
        try:
            if not wait(process, seconds_max, meanwhile):
                sentence = f"not done after {seconds_max} s"
            elif process.returncode != 0:
                errors.seek(0)
                sentence = f"exit code {process.returncode}: {errors.read().strip()[-300:]}"
        finally:
            if process.poll() is None:
                end(process)
        seconds = time.monotonic() - began
        output.seek(0)
        return output.read(), seconds, sentence
