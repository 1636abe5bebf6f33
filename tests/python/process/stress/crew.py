"""Eight threads at work on one element type, a thread that watches them, and one that forks.

Runs in a process of its own. Its last line says what was done; anything wrong is a text on stderr and
another exit status than 0.
"""

import collections
import faulthandler
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from dataclasses import dataclass, field

import denizen

from .hands import Hand, Pool
from .subjects import Subject
from .work import is_expected, operations_for

#: Without progress for so long, a thread is stuck. Machines are busy, and collections take long.
PATIENCE = 120.0
#: What `faulthandler` and the watcher end the process with.
STUCK = 3
#: A child of a fork has so long.
CHILD_SECONDS = 100


@dataclass
class Worker:
    """One thread: what it is at, and how far it has come."""

    number: int
    done: int = 0
    at: str = "start"
    since: float = 0.0
    refused: collections.Counter[str] = field(default_factory=collections.Counter)
    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    thread: threading.Thread | None = None


class Crew:
    def __init__(self, subject: Subject, seed: str, threads: int) -> None:
        self.subject, self.seed = subject, seed
        self.pool = Pool(subject, random.Random(f"{seed}/pool"))
        self.operations = operations_for(subject)
        self.workers = [Worker(number) for number in range(threads)]
        self.stop = threading.Event()
        self.failures: list[str] = []
        #: Who forks is watched like the others.
        self.forker = Worker(threads, at="fork")

    def run(self, seconds: float) -> None:
        self.warm_up()
        end = time.monotonic() + seconds
        for worker in self.everybody():
            work = self.fork_on_and_on if worker is self.forker else self.work
            worker.since = time.monotonic()
            worker.thread = threading.Thread(target=work, args=(worker,), daemon=True)
            worker.thread.start()
        while time.monotonic() < end and not self.failures:
            self.watch()
            time.sleep(0.1)
        self.stop.set()
        for worker in self.everybody():
            assert worker.thread is not None
            while worker.thread.is_alive():
                self.watch()
                worker.thread.join(0.2)
        faulthandler.cancel_dump_traceback_later()

    def warm_up(self) -> None:
        """Each operation in this thread alone: what they import, codecs too, is there before a fork
        can find the lock of a module held by a thread that its child does not have."""
        hand = Hand(self.pool, random.Random(f"{self.seed}/warm up"))
        for name in sorted(self.operations.keys() - {"light_a_fuse"}):
            for _ in range(4):
                try:
                    self.operations[name](hand)
                except Exception as error:
                    if not is_expected(error):
                        raise

    def everybody(self) -> list[Worker]:
        return [*self.workers, self.forker]

    def watch(self) -> None:
        """Ends the process where a thread is stuck; where this one is, `faulthandler` does."""
        faulthandler.dump_traceback_later(2 * PATIENCE, exit=True)
        now = time.monotonic()
        for worker in self.everybody():
            alive = worker.thread is not None and worker.thread.is_alive()
            if alive and now - worker.since > PATIENCE:
                print(
                    f"STUCK: thread {worker.number} in {worker.at} for {now - worker.since:.0f} s, "
                    f"after {worker.done} operations",
                    file=sys.stderr,
                )
                faulthandler.dump_traceback(all_threads=True)
                os._exit(STUCK)

    def work(self, worker: Worker) -> None:
        rng = random.Random(f"{self.seed}/{worker.number}")
        hand = Hand(self.pool, rng)
        names = list(self.operations)
        while not self.stop.is_set():
            worker.at = rng.choice(names)
            worker.since = time.monotonic()
            try:
                self.operations[worker.at](hand)
            except Exception as error:
                if not is_expected(error):
                    self.fail(f"thread {worker.number}, {worker.at}:\n{traceback.format_exc()}")
                    return
                worker.refused[type(error).__name__] += 1
            worker.counts[worker.at] += 1
            worker.done += 1

    def fail(self, what: str) -> None:
        self.failures.append(what)
        self.stop.set()

    # ---- forks -----------------------------------------------------------------------------------

    def fork_on_and_on(self, worker: Worker) -> None:
        rng = random.Random(f"{self.seed}/forks")
        while not self.stop.wait(0.15):
            worker.since = time.monotonic()
            try:
                if rng.random() < 0.25:
                    ended = subprocess.run(["true"], timeout=CHILD_SECONDS, check=False)
                    status = ended.returncode
                else:
                    status = self.fork(rng)
            except Exception:
                self.fail(f"a fork:\n{traceback.format_exc()}")
                return
            worker.done += 1
            if status != 0:
                self.fail(f"a child ended with status {status}")

    def fork(self, rng: random.Random) -> int:
        seed = rng.random()
        child = os.fork()
        if child == 0:
            try:
                # Not by a thread of faulthandler's: its cancelling waits for one of the parent's.
                signal.alarm(CHILD_SECONDS)
                self.live_as_a_child(random.Random(seed))
            except BaseException:
                traceback.print_exc()
                os._exit(4)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)

    def live_as_a_child(self, rng: random.Random) -> None:
        """Other threads of the parent stopped in the middle of writing the shared arrays, so the
        child keeps to the one that is only read, and to new ones. Nothing that is locked in the
        parent is locked here."""
        gc.disable()
        if self.subject.fuse is not None:
            for name in self.subject.fuses:
                self.subject.fuse(name, -1)
        quiet = self.pool.quiet
        pool = Pool.__new__(Pool)
        pool.subject, pool.quiet, pool.graves = self.subject, quiet, []
        copies = [quiet.copy(), quiet[::-1].copy()] if self.subject.copies else []
        pool.bases = [*copies, self.subject.make(rng, 600)]
        pool.holders = [self.subject.make(rng, 600)]
        hand = Hand(pool, rng)
        names = [name for name in self.operations if name != "light_a_fuse"]

        def some(count: int) -> None:
            for name in rng.choices(names, k=count):
                try:
                    self.operations[name](hand)
                except denizen.BorrowError:
                    pass

        some(10)
        failures: list[BaseException] = []

        def in_a_thread() -> None:
            try:
                some(5)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=in_a_thread) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        hand.look(quiet)
        # Not the array before: it is the parent's as well, and was counted there.
        pool.bases.clear()


def live(subject: Subject) -> dict[str, int]:
    for _ in range(3):
        gc.collect()
    figures = {name: counters["live"] for name, counters in denizen.stats().items()}
    return figures | {f"own {name}": count for name, count in subject.counters().items()}


def run(
    make: "collections.abc.Callable[[], Subject]", seed: str, seconds: float, threads: int
) -> int:
    """One type under stress for so long; the exit status of the process."""
    faulthandler.enable()
    # A child that hangs shows where, and is killed by its alarm.
    faulthandler.register(signal.SIGALRM, all_threads=True, chain=True)
    sys.setswitchinterval(1e-5)
    # Of forks beside threads, resizes and files of such types; no thread may change filters later.
    warnings.simplefilter("ignore")
    subject = make()
    before = live(subject)
    crew = Crew(subject, seed, threads)

    def died(what: threading.ExceptHookArgs) -> None:
        crew.fail("".join(traceback.format_exception(what.exc_value)))

    # Of threads that threads make.
    threading.excepthook = died
    crew.run(seconds)
    if subject.fuse is not None:
        for name in subject.fuses:
            subject.fuse(name, -1)
    if not crew.failures:
        crew.pool.check()
    crew.pool.clear()
    if crew.failures:
        print(*crew.failures, sep="\n", file=sys.stderr)
        return 1
    after = live(subject)
    if changed := {
        name: (before.get(name, 0), n) for name, n in after.items() if n != before.get(name, 0)
    }:
        print(f"live objects before and after: {changed}", file=sys.stderr)
        return 1
    counts = sum((worker.counts for worker in crew.workers), collections.Counter())
    refused = sum((worker.refused for worker in crew.workers), collections.Counter())
    if not_run := sorted(set(crew.operations) - set(counts)):
        if seconds > 20:
            print(f"operations that never ran: {not_run}", file=sys.stderr)
            return 1
    errors = ", ".join(f"{count} {name}" for name, count in refused.most_common())
    print(
        f"{subject.name}: {counts.total()} operations of {len(crew.operations)} kinds, "
        f"{crew.forker.done} forks{', refused or failed as told: ' + errors if errors else ''}"
    )
    return 0
