"""Threads under stress: `python -m stress --seconds 60`, in the folder above.

Each type has a process of its own, two at a time, and an equal share of the seconds. The seed that is
printed gives each thread the same choices again; how they meet is up to the machine.
"""

import argparse
import os
import random
import subprocess
import sys
import time

from .crew import PATIENCE, run
from .subjects import SUBJECTS

AT_ONCE = 2


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stress", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="in all; at least 1 a type")
    parser.add_argument("--seed", default=f"{random.SystemRandom().getrandbits(32):x}")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--types", help="names, separated by commas; all: " + ",".join(SUBJECTS))
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    given = arguments()
    if given.alone:
        return run(SUBJECTS[given.alone], given.seed, given.seconds, given.threads)
    names = given.types.split(",") if given.types else list(SUBJECTS)
    each = max(1.0, given.seconds * AT_ONCE / len(names))
    print(f"seed {given.seed}, {given.threads} threads, {each:.1f} s a type", flush=True)
    waiting, at_work, failed = list(names), {}, []
    while waiting or at_work:
        while waiting and len(at_work) < AT_ONCE:
            name = waiting.pop(0)
            command = [
                *(sys.executable, "-m", "stress", "--alone", name, "--seed", given.seed),
                *("--seconds", str(each), "--threads", str(given.threads)),
            ]  # fmt: skip
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
            )
            at_work[name] = (process, command, time.monotonic() + each + 5 * PATIENCE)
        for name, (process, command, end) in list(at_work.items()):
            try:
                output, _ = process.communicate(timeout=0.2)
            except subprocess.TimeoutExpired:
                if time.monotonic() > end:
                    process.kill()
                continue
            del at_work[name]
            print(output, end="", flush=True)
            if process.returncode != 0:
                failed.append(name)
                print(
                    f"FAILED: {name}, exit status {process.returncode}; again with: "
                    f"cd tests/python/process && python {' '.join(command[1:])}",
                    flush=True,
                )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
