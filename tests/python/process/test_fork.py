"""Processes that come out of others: forks beside threads at work, new programs, pools of workers.

A child uses the arrays that it got and new ones, in the thread that it has and in new ones, and ends
with the status it chose. The parent goes on, and counts as if there had been no child.
"""

import sys
import textwrap

import pytest
from support.process import ARRAYS, PREAMBLE, run, run_command

#: Threads that allocate, hold locks and wait for them, all the time.
CROWD = """
import gc, os, threading, time, warnings
warnings.simplefilter("ignore")
quiet = np.array([2**100, 3] * 2000, dtype=denizen.Integer)
shared = np.array(["5", "-3"] * 1000, dtype=raw.Bomb)
numbers = np.array(["5", "-3"] * 1000, dtype=sorting.Number)
going = True

def write():
    while going:
        shared[:1500] = shared[500:][::-1]
        shared[500:] = shared[:1500]

def read():
    while going:
        quiet + quiet
        np.sort(quiet)

def allocate():
    while going:
        kept = [np.array(["5"] * n, dtype=raw.Bomb) for n in (1, 10, 200, 9000)]
        kept[2].resize(4000, refcheck=False)

def hold():
    while going:
        np.sort(numbers)
        numbers[::3] = numbers[1::3][: len(numbers[::3])]
        with denizen.handler():
            np.arange(300.0)

def crowd():
    threads = [threading.Thread(target=work, daemon=True) for work in (write, read, allocate, hold)]
    for thread in threads: thread.start()
    time.sleep(0.05)
    return threads

def check_child():
    # What no other thread was writing is whole; what one was is not read, but no lock is held on it.
    total = quiet + quiet
    assert sorted(total.tolist()) == [6] * 2000 + [2**101] * 2000
    quiet[:] = np.sort(quiet)
    mine = make_arrays()
    for array in mine: use(array)
    thread = threading.Thread(target=lambda: [use(array) for array in make_arrays()])
    thread.start(); thread.join()
    mine[6].resize(5000, refcheck=False)

def child(work):
    pid = os.fork()
    if pid == 0:
        signal.alarm(150)
        try:
            work()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(3)
        os._exit(0)
    return pid

def status(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


@pytest.mark.regression("T44", "numpy/numpy#31682")
@pytest.mark.unsanitized
def test_children_of_a_process_whose_threads_are_at_work_use_arrays_and_end():
    run(
        CROWD
        + """
before = denizen.stats()["denizen.Integer"]["live"]
threads = crowd()
for round in range(12):
    assert status(child(check_child)) == 0
# From another thread than the main one, and out of a child.
results = []
thread = threading.Thread(target=lambda: results.append(status(child(check_child))))
thread.start(); thread.join()
def again():
    check_child()
    assert status(child(check_child)) == 0
assert status(child(again)) == 0 and results == [0]
# Several at once.
children = [child(check_child) for _ in range(3)]
assert [status(pid) for pid in children] == [0, 0, 0]
going = False
for thread in threads: thread.join()
gc.collect()
assert denizen.stats()["denizen.Integer"]["live"] == before
assert raw.misused_bombs() == 0
"""
    )


@pytest.mark.unsanitized
def test_a_child_may_write_to_what_another_thread_of_the_parent_had_locked():
    """The lock is the parent's. Elements of `Number` are one pointer each: the child takes none over,
    as it cannot know how far the other thread had come, but fills the array anew."""
    run(
        CROWD
        + """
floats = np.zeros(3000, dtype=example.BigDecimal)
def sums():
    while going: np.add(floats, floats, out=floats)
threads = [threading.Thread(target=sums, daemon=True) for _ in range(4)]
for thread in threads: thread.start()
def work():
    # Zero for all threads, all the time: nothing is torn.
    floats.copy()
    np.add(floats, floats, out=floats)
    floats[:] = 5
    assert (floats == 5).all()
for round in range(15): assert status(child(work)) == 0
going = False
for thread in threads: thread.join()
assert (floats == 0).all()
"""
    )


@pytest.mark.unsanitized
def test_a_child_ends_as_any_python_process_does():
    """With finalisation: atexit, destructors, arrays of the parent that it holds too."""
    printed = run(
        CROWD
        + """
import atexit
def parent_only(pid=os.getpid()):
    print("parent" if os.getpid() == pid else "child", flush=True)
atexit.register(parent_only)
arrays = make_arrays()
threads = [threading.Thread(target=work, daemon=True) for work in (read, allocate)]
for thread in threads: thread.start()
time.sleep(0.05)
for round in range(4):
    pid = os.fork()
    if pid == 0:
        signal.alarm(150)
        check_child()
        arrays[0][:] = 5
        del arrays[2]
        sys.exit(9)
    assert status(pid) == 9
going = False
for thread in threads: thread.join()
assert arrays[0][0] == 2**100
"""
    )
    assert printed.split() == ["child"] * 4 + ["parent"]


@pytest.mark.unsanitized
def test_new_programs_start_beside_threads_at_work():
    run(
        CROWD
        + """
import subprocess
threads = crowd()
for round in range(8):
    assert subprocess.run(["true"]).returncode == 0
    assert subprocess.run(["true"], preexec_fn=lambda: quiet[:5].copy()).returncode == 0
    assert status(os.posix_spawn("/bin/sh", ["sh", "-c", "exit 4"], os.environ)) == 4
    pid = os.fork()
    if pid == 0: os.execv("/bin/sh", ["sh", "-c", "exit 6"])
    assert status(pid) == 6
    assert os.system("exit 2") == 512
code = "import numpy as np, denizen; print(np.array([2**80], dtype=denizen.Integer)[0])"
found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
assert (found.stdout, found.stderr) == (f"{2**80}\\n", "")
"""
    )


@pytest.mark.unsanitized
def test_what_is_lent_to_client_code_is_given_back_in_parent_and_child():
    run(
        CROWD
        + """
a, _ = example.adopt_duals([1.0, 2.0, 3.0, 4.0], [4])
def fork_inside():
    # Lent to read right now, in both.
    return os.fork()
for round in range(5):
    pid = example.while_reading(a, fork_inside)
    if pid == 0:
        signal.alarm(150)
        a[:] = 7.0
        assert example.slice_of(a) == [7, 7, 7, 7]
        del a
        os._exit(0)
    assert status(pid) == 0
    a[:] = a[::-1].copy()
"""
    )


def test_the_first_import_may_be_in_a_child_or_a_thread():
    run(
        """
        import os, threading, warnings
        warnings.simplefilter("ignore")
        pid = os.fork()
        if pid == 0:
            import denizen
            import numpy as np
            assert np.zeros(3, dtype=denizen.Integer).sum() == 0
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        made = []
        def work():
            import denizen
            import numpy as np
            made.append(np.array([1, 2], dtype=denizen.Integer))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert len(made) == 4 and str(made[0] + made[1]) == "[2 4]"
        pid = os.fork()
        if pid == 0:
            made[2].sort()
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        """,
        arrays=False,
    )


@pytest.mark.unsanitized
def test_os_register_at_fork_may_use_arrays():
    run(
        CROWD
        + """
kept = make_arrays()
for when in ("before", "after_in_parent", "after_in_child"):
    os.register_at_fork(**{when: lambda: [use(array) for array in kept] and make_arrays()})
threads = crowd()
for round in range(4): assert status(child(check_child)) == 0
"""
    )


# ---- multiprocessing -----------------------------------------------------------------------------

POOL = """
import multiprocessing, os, threading, warnings
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

def double(array):
    return array + array

def total(array):
    return array.sum()

def divide(array):
    return array // 0

def refuse(array):
    array[0] = "nonsense"

def die(array):
    os._exit(11)

def end(array):
    sys.exit(0)

def first_of(arrays):
    return [array[:3].copy() for array in arrays]

kept = []
def begin(array):
    kept.append(array)

def with_what_is_kept(array):
    return kept[0] * array

def serve(connection):
    array = connection.recv()
    connection.send((array[::-1].copy(), array[0], array.dtype))
    connection.close()

def put(queue, array):
    for _ in range(3): queue.put(array * array)

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    context = multiprocessing.get_context(METHOD)
    integers = np.array([2**100, -3, 7] * 100, dtype=denizen.Integer)
    fractions = np.array(["1/3", "-7/2"] * 100, dtype=denizen.Rational)
    numbers = np.array(["5", "-3"] * 100, dtype=sorting.Number)
    bombs = np.array(["5", "-3"] * 100, dtype=raw.Bomb)
    arrays = [integers, fractions, numbers, bombs]
    live = {name: counters["live"] for name, counters in denizen.stats().items()}
    if METHOD == "fork":
        going = True
        def busy():
            while going: np.sort(integers), bombs.copy()
        threads = [threading.Thread(target=busy) for _ in range(2)]
        for thread in threads: thread.start()

    with context.Pool(2, initializer=begin, initargs=(integers,), maxtasksperchild=5) as pool:
        assert [(x == a + a).all() for x, a in zip(pool.map(double, arrays), arrays)] == [True] * 4
        assert pool.apply(total, (integers,)) == sum(integers.tolist())
        for x in pool.imap_unordered(with_what_is_kept, [integers[::-1]] * 6, chunksize=2):
            assert (x == integers * integers[::-1]).all()
        assert [len(a) for a in pool.apply(first_of, (arrays,))] == [3, 3, 3, 3]
        try: pool.apply(divide, (integers,))
        except ZeroDivisionError: pass
        else: raise AssertionError
        try: pool.apply(refuse, (fractions,))
        except ValueError as error: assert "nonsense" in str(error)
        else: raise AssertionError
        assert (pool.apply(double, (bombs,)) == bombs + bombs).all()

    with ProcessPoolExecutor(2, mp_context=context) as executor:
        results = [executor.submit(double, array) for array in arrays * 2]
        assert all((x.result() == a + a).all() for x, a in zip(results, arrays * 2))
        assert isinstance(executor.submit(divide, integers).exception(), ZeroDivisionError)
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        assert isinstance(executor.submit(die, integers).exception(), BrokenProcessPool)

    here, there = context.Pipe()
    process = context.Process(target=serve, args=(there,))
    process.start()
    here.send(fractions)
    back, element, dtype = here.recv()
    assert (back == fractions[::-1]).all() and element == fractions[0] and dtype == fractions.dtype
    process.join()
    queue = context.Queue()
    writer = context.Process(target=put, args=(queue, integers))
    writer.start()
    for _ in range(3): assert (queue.get() == integers * integers).all()
    writer.join()
    ended = context.Process(target=end, args=(integers,))
    ended.start(); ended.join()
    dead = context.Process(target=die, args=(bombs,))
    dead.start(); dead.join()
    assert (process.exitcode, writer.exitcode, ended.exitcode, dead.exitcode) == (0, 0, 0, 11)

    if METHOD == "fork":
        going = False
        for thread in threads: thread.join()
        del threads, thread
    del back, element, results, x
    import gc
    gc.collect()
    after = {name: counters["live"] for name, counters in denizen.stats().items()}
    assert after == live, (live, after)
    print("done")
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_arrays_go_to_worker_processes_and_back(method, tmp_path):
    script = tmp_path / "pool.py"
    script.write_text(PREAMBLE + ARRAYS + POOL.replace("METHOD", repr(method)))
    assert run_command([sys.executable, str(script)]) == "done\n"


def test_a_worker_that_is_killed_in_the_middle_of_a_loop_leaves_the_parent_whole(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(
        PREAMBLE
        + ARRAYS
        + textwrap.dedent("""
        import multiprocessing, time, warnings
        warnings.simplefilter("ignore")
        arrays = make_arrays()
        def work():
            while True:
                for array in arrays: use(array)
        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            workers = [context.Process(target=work) for _ in range(3)]
            for worker in workers: worker.start()
            time.sleep(0.2)
            workers[0].kill(); workers[1].terminate(); workers[2].kill()
            for worker in workers: worker.join()
            assert [worker.exitcode for worker in workers] == [-9, -15, -9]
            for array in arrays: use(array)
        """)
    )
    run_command([sys.executable, str(script)])
