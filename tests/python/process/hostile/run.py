"""Many attacks in processes that may crash: each crash is told with the attack that did it."""

import collections
import faulthandler
import itertools
import mmap
import os
import random
import signal
import struct
import sys
import time
from dataclasses import dataclass, field

from denizen.check.runner.process import Task, run_tasks

from .attack import Attack, Range, attacks_on
from .subjects import cells

#: One attack takes milliseconds.
STUCK_SECONDS = 20
#: Attacks on one operation before the next one has its turn.
EACH = 3


@dataclass
class Cell:
    """The attacks on one type in memory of one kind, as far as they have come."""

    module: str
    type: str
    memory: str
    seed: str
    seconds: float
    #: Where to go on: the round, the operation's place in it, the attack on the operation.
    position: tuple[int, int, int] = (0, 0, 0)
    spent: float = 0.0
    done: int = 0
    #: The attack that runs, for the process that looks on.
    page: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, 4096))
    failures: list = field(default_factory=list)
    outcomes: collections.Counter = field(default_factory=collections.Counter)
    ended: bool = False

    def note(self, position, done, text):
        data = text.encode()
        self.page.seek(0)
        self.page.write(struct.pack("5i", *position, done, len(data)) + data)

    def noted(self):
        *position, done, size = struct.unpack_from("5i", self.page)
        return tuple(position), done, self.page[20 : 20 + size].decode()

    def work(self):
        """In a process of its own: failures, outcomes, how many were done, and where to go on, or None
        at the end."""
        prepare()
        end = time.monotonic() + self.seconds - self.spent
        range_ = Range(self.module, self.type)
        titles = sorted(range_.operations)
        random.Random(f"{self.seed}/{self.type}/{self.memory}").shuffle(titles)
        outcomes, done = collections.Counter(), 0
        for position, text in self.attacks(range_, titles):
            if time.monotonic() > end:
                break
            self.note(position, done, str(text))
            signal.alarm(STUCK_SECONDS)
            if not isinstance(text, Attack):
                continue
            faults, (outcome, callbacks) = range_.run(text)
            done += 1
            outcomes[f"operation {outcome}"] += 1
            for name, count in callbacks.items():
                outcomes[f"callback {name}"] += count
            if faults:
                # What is lost stays lost, and what is corrupt strikes later: in another process.
                signal.alarm(0)
                after = (*position[:2], position[2] + 1)
                return [(str(text), faults[:4])], outcomes, done, after
        signal.alarm(0)
        return [], outcomes, done, None

    def attacks(self, range_, titles):
        """A few on each operation, round by round until there are no more, from the position on. In
        front of those on one operation comes what runs without an attack."""
        first_round, first_place, first_number = self.position
        for turn in range(first_round, sys.maxsize):
            rest = False
            for place, title in enumerate(titles):
                if turn == first_round and place < first_place:
                    rest = True
                    continue
                resumed = (turn, place) == (first_round, first_place)
                yield (turn, place, -1), f"{self.type} {self.memory}: {title}, without an attack"
                rng = random.Random(f"{self.seed}/{self.type}/{self.memory}/{title}")
                found = attacks_on(range_, self.memory, title, rng)
                for number, attack in enumerate(itertools.islice(found, EACH * (turn + 1))):
                    rest = rest or number >= EACH * turn
                    if number >= max(EACH * turn, first_number if resumed else 0):
                        yield (turn, place, number), attack
            if not rest:
                return


def prepare():
    # Of panics, which are many.
    os.environ["RUST_BACKTRACE"] = "0"
    faulthandler.enable()
    faulthandler.register(signal.SIGALRM, all_threads=True, chain=True)


def once(text):
    prepare()
    attack = Attack.parse(text)
    range_ = Range(attack.module, attack.type)
    faults = []
    for _ in range(20 if attack.where == "thread" else 1):
        signal.alarm(STUCK_SECONDS)
        faults += range_.run(attack)[0]
    signal.alarm(0)
    return faults


def alone(text):
    """What one attack does in a process of its own."""
    ((_, ending),) = run_tasks([Task(lambda: once(text), 4 * STUCK_SECONDS)], 1)
    if ending.failure is not None:
        return [told(ending)]
    return ending.result


def told(ending):
    failure = "stuck" if ending.failure == "SIGALRM" else ending.failure
    return f"{failure}\n{ending.errors}" if ending.errors else failure


def run(modules, seed, seconds, types=None, memories=None, jobs=2, most=30):
    """Attacks for so long; returns failures as (attack, what, what it does alone), how many attacks
    there were, and what became of operations and callbacks."""
    chosen = [
        (module, name, memory)
        for module in modules
        for name, memory in cells(module)
        if (types is None or name in types) and (memories is None or memory in memories)
    ]
    todo = [Cell(*cell, seed, seconds * jobs / len(chosen)) for cell in chosen]
    failures = []
    while waiting := [cell for cell in todo if not cell.ended]:
        for cell in waiting:
            cell.note(cell.position, 0, "nothing yet")
        tasks = [Task(cell.work, cell.seconds - cell.spent + 2 * STUCK_SECONDS) for cell in waiting]
        for place, ending in run_tasks(tasks, jobs):
            cell = waiting[place]
            cell.spent += ending.seconds
            if ending.failure is None:
                found, outcomes, done, position = ending.result
                cell.failures += [(text, "; ".join(faults)) for text, faults in found]
                cell.outcomes += outcomes
                cell.ended = position is None
            else:
                position, done, text = cell.noted()
                cell.failures.append((text, told(ending)))
                turn, operation, number = position
                # Without an attack, what crashes does so again.
                position = (turn, operation + 1, 0) if number < 0 else (turn, operation, number + 1)
            cell.position = position or cell.position
            cell.done += done
            if cell.spent >= cell.seconds or len(cell.failures) >= most:
                cell.ended = True
    for cell in todo:
        for text, what in cell.failures:
            again = alone(text) if text.count("|") == 8 else None
            failures.append((text, what, again))
    done = sum(cell.done for cell in todo)
    outcomes = sum((cell.outcomes for cell in todo), collections.Counter())
    return failures, done, outcomes


def report(failures, file=sys.stderr):
    for text, what, again in failures:
        print(f"ATTACK {text}\n    {what}", file=file)
        if again is None:
            continue
        alike = "; ".join(again)[:300] if again else "nothing"
        print(f"    alone: {alike}", file=file)
        print(
            f"    again with: cd tests/python/process && python -m hostile --attack '{text}'",
            file=file,
        )
