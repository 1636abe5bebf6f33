"""Tasks in processes of their own, forked from this one, each with a time limit."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import os
import pickle
import resource
import selectors
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

__all__ = ["Ending", "Task", "run_alone", "run_tasks"]

#: How much of what a process wrote to its standard error is kept, in bytes and lines.
_TAIL = 16384
_LINES = 20
#: How the interpreter starts to say where it is.
_DUMPS = ("Fatal Python error", "Current thread", "Thread 0x", "Stack (most recent")
#: The signal at which a process writes where it is, and the seconds that it has for that.
_WHERE = signal.SIGUSR2
#: How a user ends a run.
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
_SAY = 0.2
#: The C library, for what the kernel does and Python has no name for.
_C = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1
#: Room that is read from a pipe at once.
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Task:
    """What runs in a process of its own."""

    #: Gives a result that can be pickled.
    work: Callable[[], Any]
    #: The process is killed after as many seconds.
    seconds: float


@dataclass(frozen=True)
class Ending:
    """How a process ended."""

    #: What its work returned; None where it did not get so far.
    result: Any
    #: Why there is no result: "SIGSEGV", "no end within 20 s", "exit status 3", or the traceback of
    #: an exception that came out of the work.
    failure: str | None
    #: The last lines of its standard error.
    errors: str
    #: Time from fork to end.
    seconds: float


class _Process:
    """One running task."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.started = time.monotonic()
        self.received = bytearray()
        self.timed_out = False
        # Removed at once: the descriptor keeps it.
        self.errors = tempfile.TemporaryFile()
        self.pipe, writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        # What Python runs after a fork swallows the exception that an interrupt raises there.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
        with warnings.catch_warnings():
            # Libraries for linear algebra have threads, and care for forks.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            _child(task, writer, self.errors.fileno())
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(writer)
        os.set_blocking(self.pipe, False)
        self.ended = os.pidfd_open(self.pid)

    @property
    def deadline(self) -> float:
        return self.started + self.task.seconds

    def receive(self) -> bool:
        """Take what the pipe has; whether more may come."""
        while True:
            try:
                data = os.read(self.pipe, _CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.received += data

    def time_out(self) -> None:
        """Have it say where it is, and end it."""
        self.timed_out = True
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, _WHERE)
        time.sleep(_SAY)
        self.kill()

    def kill(self) -> None:
        """End it, and the processes that it started."""
        for kill, target in ((os.killpg, self.pid), (os.kill, self.pid)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(target, signal.SIGKILL)

    def finish(self) -> Ending:
        """Collect it after its end."""
        self.receive()
        seconds = time.monotonic() - self.started
        # What it left running; the number of its group is taken until the next line.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.pipe)
        os.close(self.ended)
        with self.errors as file:
            errors = _last_lines(file)
        result, failure = None, None
        if self.timed_out:
            failure = f"no end within {self.task.seconds:g} s"
        elif os.WIFSIGNALED(status):
            failure = _signal_name(os.WTERMSIG(status))
        elif os.WEXITSTATUS(status) != 0:
            failure = f"exit status {os.WEXITSTATUS(status)}"
        elif not self.received:
            failure = "exit status 0 before the work was done"
        else:
            try:
                result, failure = pickle.loads(bytes(self.received))
            except Exception as error:
                # Other code wrote into the pipe.
                failure = f"no result, but bytes that nobody can read: {error}"
        return Ending(result, failure, errors, seconds)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_lines(file: Any) -> str:
    """The end of what was written, or what surrounds the start of a dump of the stack."""
    file.seek(0, os.SEEK_END)
    file.seek(max(0, file.tell() - _TAIL))
    lines = file.read().decode(errors="replace").splitlines()
    for index, line in enumerate(lines):
        if line.startswith(_DUMPS):
            start = max(0, index - _LINES // 2)
            return "\n".join(lines[start : start + 2 * _LINES])
    return "\n".join(lines[-_LINES:])


def _child(task: Task, writer: int, errors: int) -> NoReturn:
    """What the forked process does; it ends here, without the cleaning up of the interpreter."""
    try:
        os.setpgid(0, 0)
        # Not to be left running when this process's parent is killed.
        _C.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in _INTERRUPTS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        # A caller may have replaced these.
        sys.stdin = open(0, closefd=False)
        sys.stdout = open(1, "w", closefd=False)
        sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)
        faulthandler.enable(file=2)
        faulthandler.register(_WHERE, file=2)
        # Collections look at what is made from here on.
        gc.freeze()
        try:
            message = pickle.dumps((task.work(), None))
        except BaseException:
            message = pickle.dumps((None, traceback.format_exc()))
        view = memoryview(message)
        while view:
            view = view[os.write(writer, view) :]
    except BaseException:
        os._exit(70)
    os._exit(0)


def run_tasks(tasks: Iterable[Task], jobs: int) -> Iterator[tuple[int, Ending]]:
    """Run tasks, at most `jobs` at a time; yields the index and the ending of each as it ends."""
    waiting = deque(enumerate(tasks))
    running: dict[int, _Process] = {}
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    index, task = waiting.popleft()
                    process = _Process(task)
                    running[index] = process
                    selector.register(process.pipe, selectors.EVENT_READ, (index, False))
                    selector.register(process.ended, selectors.EVENT_READ, (index, True))
                soonest = min(process.deadline for process in running.values())
                ready = selector.select(max(0.0, soonest - time.monotonic()))
                for key, _ in ready:
                    index, ended = key.data
                    if index not in running:
                        continue  # ended a line ago
                    process = running[index]
                    if not ended:
                        if not process.receive():
                            selector.unregister(process.pipe)
                        continue
                    selector.unregister(process.ended)
                    if process.pipe in selector.get_map():
                        selector.unregister(process.pipe)
                    del running[index]
                    yield index, process.finish()
                for process in running.values():
                    if time.monotonic() >= process.deadline and not process.timed_out:
                        process.time_out()
        finally:
            for process in running.values():
                process.kill()
                process.finish()


def run_alone(work: Callable[[], Any], seconds: float) -> Ending:
    """Run one piece of work in a process of its own."""
    ((_, ending),) = run_tasks([Task(work, seconds)], 1)
    return ending
