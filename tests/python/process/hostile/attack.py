"""One attack: an operation, a hook in it, and what the hook does."""

import gc
import importlib
import os
import random
import sys
import threading
import warnings
from dataclasses import dataclass

import numpy as np

import denizen

from . import callbacks, operations
from .subjects import Target, element


@dataclass(frozen=True)
class Attack:
    """Everything that decides what happens, but for the scheduling of threads."""

    module: str
    type: str
    memory: str
    operation: str
    hook: str
    #: The hook's calls before the one that does it.
    after: int
    callback: str
    #: "alone": the hook does it once. "nested": and again, from within what it does. "storm": all hooks
    #: that the operation comes through do, too. "thread": another thread does it all the time, and the
    #: hook lets it run.
    where: str
    #: Which of the arrays at hand, and whether the hook fails then.
    seed: int

    def __str__(self):
        return "|".join(str(value) for value in vars(self).values())

    @classmethod
    def parse(cls, text):
        values = text.split("|")
        return cls(*values[:5], int(values[5]), *values[6:8], int(values[8]))


class Hand:
    """What callbacks have: arrays of the operation, and values."""

    def __init__(self, module, subject, attack):
        self.module, self.attack = module, attack
        self.rng = random.Random(attack.seed)
        self.subject = subject
        self.values = subject.values
        # Not where NumPy buffers cells that are not aligned: what it has copied when a copy fails
        # stays in the buffers, whatever the dtype.
        buffered = attack.memory in ("packed", "aligned")
        self.fails = attack.where != "thread" and not buffered and self.rng.random() < 0.15
        #: Whether this is a forked child, in the middle of the operation; the children of this process.
        self.is_child, self.children = False, []
        #: What the callback made, until the end of the attack.
        self.kept = []
        self.faults = []
        self.outcomes = {}

    def array(self):
        arrays = [array for array in self.subject.sources() if array.size]
        if not arrays:
            return None
        first = arrays[0]
        if self.attack.callback in callbacks.FREEING or self.rng.random() < 0.6:
            return first
        return self.rng.choice(arrays)

    def act(self):
        array = self.array()
        if array is not None:
            self.quietly(callbacks.CALLBACKS[self.attack.callback], array)
        return "told to fail" if self.fails else None

    def quietly(self, work, array):
        """Runs it; it may raise, but for what says that the interpreter was misused."""
        try:
            work(self, array)
            outcome = "works"
        except Exception as error:
            outcome = type(error).__name__
            if isinstance(error, SystemError | MemoryError):
                self.faults.append(f"the callback raised {error!r}")
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def drop(self):
        self.subject.forget()


class Range:
    """Where the attacks on one type take place."""

    def __init__(self, module, name):
        self.module_name, self.name = module, name
        self.module = importlib.import_module(module)
        self.element = element(module, name)
        self.operations = operations.operations(self.module, name)
        self.unraisable = []
        sys.unraisablehook = self.unraised
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        sys.setswitchinterval(1e-5)
        self.counters()
        gc.collect()
        gc.freeze()

    def unraised(self, what):
        """Destructors that fail as they were told to have no other way to say so."""
        if "told to fail" not in str(what.exc_value):
            self.unraisable.append(repr(what.exc_value))

    def counters(self):
        """What is alive of each type of the module: by its own count, and by denizen's."""
        stats = denizen.stats()
        return {
            name: (count, stats[f"{self.module_name}.{name}"]["live"])
            for name, count in self.module.live()
        }

    def balanced(self, before):
        if self.counters() == before:
            return True
        gc.collect()
        return self.counters() == before

    def profile(self, title, memory):
        """How often an operation comes through each hook when nothing is armed; None where it cannot
        run, or keeps objects."""
        before = self.counters()
        self.module.violations()
        try:
            subject = Target(self.element, memory)
            subject.prime(title)
            self.module.calls()
            try:
                self.operations[title].run(subject)
            except Exception:
                pass
            counts = {hook: count for hook, count, _ in self.module.calls() if count}
        except Exception:
            counts = None
        subject = None
        return counts if self.balanced(before) and not self.module.violations() else None

    def run(self, attack):
        """What was wrong, as texts, and what became of operation and callback."""
        module = self.module
        before = self.counters()
        module.violations()
        self.unraisable.clear()
        subject = Target(self.element, attack.memory)
        subject.prime(attack.operation)
        hand = Hand(module, subject, attack)
        outcome = self.fight(attack, subject, hand)
        faults = [*module.violations(), *hand.faults]
        if outcome in ("SystemError", "MemoryError"):
            faults.append(f"the operation raised {outcome}")
        faults += self.look(subject)
        outcomes = dict(hand.outcomes)
        if hasattr(module, "release_views"):
            module.release_views()
        is_child, children = hand.is_child, hand.children
        subject = hand = None
        if not self.balanced(before):
            after = self.counters()
            changed = {
                name: (before[name], after[name]) for name in after if after[name] != before[name]
            }
            faults.append(f"objects (own count, stats) before and after: {changed}")
        faults += module.violations()
        faults += [f"unraisable: {what}" for what in self.unraisable]
        if is_child:
            print(*faults, sep="\n", file=sys.stderr, flush=True)
            os._exit(1 if faults else 0)
        for child in children:
            _, status = os.waitpid(child, 0)
            if status != 0:
                faults.append(f"a child ended with {os.waitstatus_to_exitcode(status)}")
        return faults, (outcome, outcomes)

    def fight(self, attack, subject, hand):
        module, run = self.module, self.operations[attack.operation].run
        stop = None
        if attack.where == "thread":
            stop, started = threading.Event(), threading.Event()

            def work():
                started.set()
                while not stop.is_set():
                    hand.act()

            thread = threading.Thread(target=work, daemon=True)
            # Of products of matrices some do it, not each of a million.
            module.on(attack.hook, callbacks.let_others_run_alone, after=0, times=1000)
            thread.start()
            started.wait()
        elif attack.where == "alone":
            module.on(attack.hook, hand.act, after=attack.after, times=1)
        else:
            module.set_depth(3)
            hooks = module.hooks() if attack.where == "storm" else [attack.hook]
            for hook in hooks:
                module.on(hook, hand.act, after=attack.after, times=4)
        try:
            for _ in range(1 if stop is None else 3):
                run(subject)
            return "works"
        except Exception as error:
            return type(error).__name__
        finally:
            if stop is not None:
                stop.set()
                thread.join()
            module.off()
            module.set_depth(1)

    def look(self, subject):
        """The arrays that are left are sound."""
        faults = []
        for array in subject.sources():
            try:
                array.tolist()
                str(array)
                if array.size and array.flags.writeable:
                    array[...] = np.flip(array)
            except denizen.BorrowError:
                pass  # a view is kept
            except Exception as error:
                if self.name != "Only":
                    faults.append(f"afterwards the array raises {error!r}")
        return faults


def attacks_on(range_, memory, title, rng):
    """Attacks on one operation, in an order of chance: each hook that it comes through, early, in the
    middle and late, with each callback."""
    counts = range_.profile(title, memory)
    if not counts:
        return
    direct = title.startswith("direct: ") and title not in operations.HOLD_VIEWS
    resizable = direct and memory in ("managed", "unpickled")
    # pyo3 counts attachments by thread, and does not see that NumPy let the GIL go in between: a hook of
    # a type without the GIL must not use Python below another one of its module that does.
    counted = range_.module_name == "denizen_hostile" and range_.name.startswith("Free")
    places = ("alone",) if counted else ("alone", "nested", "storm")
    chosen = []
    for hook, count in counts.items():
        for after in sorted({0, count // 2, count - 1}):
            for name in callbacks.CALLBACKS:
                if name in callbacks.FREEING and not resizable:
                    continue
                for where in places:
                    chosen.append((hook, after, name, where))
        for name in callbacks.CALLBACKS:
            if name not in callbacks.UNTHREADED:
                chosen.append((hook, 0, name, "thread"))
    rng.shuffle(chosen)
    for hook, after, name, where in chosen:
        yield Attack(
            range_.module_name, range_.name, memory, title, hook, after, name, where,
            rng.getrandbits(30),
        )  # fmt: skip
