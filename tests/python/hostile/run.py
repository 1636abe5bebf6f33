"""Many attacks in processes that may crash: each crash is told with the attack that did it."""

import collections
import faulthandler
import mmap
import random
import signal
import struct
import sys
import time
from dataclasses import dataclass, field

from denizen.check.process import Task, run_tasks

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
    #: Attacks on each operation; None for all.
    each: int | None
    operation: int = 0
    skip: int = 0
    spent: float = 0.0
    done: int = 0
    #: The attack that runs, for the process that looks on.
    page: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, 4096))
    failures: list = field(default_factory=list)
    outcomes: collections.Counter = field(default_factory=collections.Counter)
    ended: bool = False

    def note(self, operation, number, done, text):
        data = text.encode()
        self.page.seek(0)
        self.page.write(struct.pack("iiii", operation, number, done, len(data)) + data)

    def noted(self):
        operation, number, done, size = struct.unpack_from("iiii", self.page)
        return operation, number, done, self.page[16 : 16 + size].decode()

    def work(self):
        """In a process of its own: failures, outcomes, how many were done."""
        prepare()
        end = time.monotonic() + self.seconds - self.spent
        range_ = Range(self.module, self.type)
        titles = sorted(range_.operations)
        random.Random(f"{self.seed}/{self.type}/{self.memory}").shuffle(titles)
        failures, outcomes, done = [], collections.Counter(), 0
        for place in range(self.operation, len(titles)):
            title = titles[place]
            self.note(place, -1, done, f"{self.module}|{self.type}|{self.memory}|{title}, unarmed")
            rng = random.Random(f"{self.seed}/{self.type}/{self.memory}/{title}")
            signal.alarm(STUCK_SECONDS)
            for number, attack in enumerate(attacks_on(range_, self.memory, title, rng)):
                if self.each is not None and number >= self.each:
                    break
                if place == self.operation and number < self.skip:
                    continue
                if time.monotonic() > end:
                    return failures, outcomes, done, True
                self.note(place, number, done, str(attack))
                signal.alarm(STUCK_SECONDS)
                faults, (outcome, callbacks) = range_.run(attack)
                done += 1
                outcomes[f"operation {outcome}"] += 1
                for name, count in callbacks.items():
                    outcomes[f"callback {name}"] += count
                if faults:
                    failures.append((str(attack), faults[:4]))
                    # What is lost stays lost, and what is corrupt strikes later.
                    signal.alarm(0)
                    return failures, outcomes, done, (place, number + 1)
        signal.alarm(0)
        return failures, outcomes, done, True


def prepare():
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


def run(modules, seed, seconds, types=None, each=EACH, jobs=2, most=30, memories=None):
    """Attacks for so long; returns failures as (attack, what, whether it happens alone too)."""
    chosen = [
        (module, name, memory)
        for module in modules
        for name, memory in cells(module)
        if (types is None or name in types) and (memories is None or memory in memories)
    ]
    share = seconds * jobs / len(chosen)
    todo = [Cell(*cell, seed, share, each) for cell in chosen]
    failures = []
    while waiting := [cell for cell in todo if not cell.ended]:
        for cell in waiting:
            # A process that dies before it says anything has done nothing.
            cell.note(cell.operation, cell.skip, 0, "nothing yet")
        tasks = [Task(cell.work, cell.seconds - cell.spent + 2 * STUCK_SECONDS) for cell in waiting]
        for place, ending in run_tasks(tasks, jobs):
            cell = waiting[place]
            cell.spent += ending.seconds
            if ending.failure is None:
                found, outcomes, done, position = ending.result
                cell.failures += [(text, "; ".join(faults)) for text, faults in found]
                cell.outcomes += outcomes
                cell.done += done
                if position is True:
                    cell.ended = True
                else:
                    cell.operation, cell.skip = position
            else:
                operation, number, done, text = cell.noted()
                cell.done += done
                cell.failures.append((text, told(ending)))
                cell.operation, cell.skip = operation, number + 1
                if number < 0:
                    cell.operation, cell.skip = operation + 1, 0
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
        print(f"    again with: cd tests/python && python -m hostile --attack '{text}'", file=file)
