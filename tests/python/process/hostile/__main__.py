"""Elements that attack the runtime: `python -m hostile --seconds 60`, in the folder above.

Each operation of NumPy's, each hook that it comes through, each thing that a hook can do with the
array at hand, in memory of each kind, alone and beside a thread: as many of these as there is time for,
in an order of chance, so that each operation has its turn early. The seed that is printed gives the same
order again; `--attack` repeats one.
"""

import argparse
import importlib.util
import random
import sys

from . import callbacks
from .run import alone, report, run
from .subjects import MODULES


def main():
    parser = argparse.ArgumentParser(prog="python -m hostile", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="in all")
    parser.add_argument("--seed", default=f"{random.SystemRandom().getrandbits(32):x}")
    parser.add_argument("--modules", help="names, separated by commas; all that are there")
    parser.add_argument("--types", help="names, separated by commas")
    parser.add_argument("--memory", help="kinds of memory, separated by commas")
    parser.add_argument("--callbacks", help="what hooks do: names, separated by commas")
    parser.add_argument("--most", type=int, default=30, help="failures of a type and memory")
    parser.add_argument("--attack", help="this one only, as a report names it")
    given = parser.parse_args()
    if given.attack:
        faults = alone(given.attack)
        print("\n".join(faults) or "held")
        return 1 if faults else 0
    modules = [module for module in MODULES if importlib.util.find_spec(module)]
    if given.modules:
        modules = given.modules.split(",")
    types = given.types.split(",") if given.types else None
    memories = given.memory.split(",") if given.memory else None
    if given.callbacks:
        for name in set(callbacks.CALLBACKS) - set(given.callbacks.split(",")):
            del callbacks.CALLBACKS[name]
    print(f"seed {given.seed}, {' and '.join(modules)}", flush=True)
    failures, done, outcomes = run(
        modules, given.seed, given.seconds, types, memories, most=given.most
    )
    report(failures, sys.stdout)
    print(f"{done} attacks, {len(failures)} failures; {dict(outcomes.most_common(12))}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
