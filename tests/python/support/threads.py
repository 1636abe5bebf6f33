"""Threads that start together and must end."""

import sys
import threading
import time


def in_threads(works, seconds=30):
    """Runs all at once; the first exception of each thread. Fails where one does not end."""
    start, errors = threading.Barrier(len(works)), []

    def run(work):
        start.wait()
        try:
            work()
        except BaseException as error:  # what it is is for the test to say
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        end = time.monotonic() + seconds
        for thread in threads:
            thread.join(max(0.1, end - time.monotonic()))
        assert not any(thread.is_alive() for thread in threads), "threads wait for each other"
    finally:
        sys.setswitchinterval(interval)
    return errors
