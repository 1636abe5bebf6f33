"""Handler mode: which handler is current, where, and for how long."""

import asyncio
import contextvars
import sys
import threading

import numpy as np
import pytest
from support.handler_mode import DEFAULT
from support.handlers import Handler, OwnHandler, get_handler, new_capsule, set_handler

import denizen
from denizen import Integer

pytestmark = pytest.mark.usefixtures("caller_keeps_handler")


def over(own):
    return f"denizen over {own.handler.name.decode()}"


# ---- T26, numpy#27327: what is no handler is refused at once -------------------------------------


@pytest.mark.regression("T26", "numpy/numpy#27327")
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(object(), id="object"),
        pytest.param("mem_handler", id="str"),
        pytest.param(np._core._multiarray_umath._ARRAY_API, id="nameless capsule"),
        pytest.param(new_capsule(Handler(b"x", 1), b"memory_handler"), id="other name"),
        pytest.param(new_capsule(Handler(b"empty", 1)), id="empty"),
        pytest.param(OwnHandler(version=0).capsule, id="version 0"),
        pytest.param(OwnHandler(version=2).capsule, id="version 2"),
        *(
            pytest.param(OwnHandler(without=member).capsule, id=f"no {member}")
            for member in ("malloc", "calloc", "realloc", "free")
        ),
    ],
)
def test_what_is_no_handler_is_a_value_error_at_once(wrong):
    with pytest.raises(ValueError):
        denizen.handler(under=wrong)
    assert denizen.handler_name() == DEFAULT


def test_the_refusal_says_what_is_wrong():
    with pytest.raises(ValueError, match="calloc is NULL"):
        denizen.handler(OwnHandler(without="calloc").capsule)
    with pytest.raises(ValueError, match="version 7"):
        denizen.handler(OwnHandler(version=7).capsule)
    with pytest.raises(ValueError, match='named "memory_handler"'):
        denizen.handler(new_capsule(Handler(b"x", 1), b"memory_handler"))


# ---- the handler before is the handler afterwards ------------------------------------------------


def test_arrays_of_every_dtype_are_ours_inside_and_not_outside():
    with denizen.handler():
        assert denizen.handler_name() == "denizen"
        for dtype in ("f8", "i4", "c16", "O", "U5", "S3", "M8[s]", "f8,O", np.dtypes.StringDType()):
            assert denizen.handler_name(np.zeros(3, dtype)) == "denizen"
    assert denizen.handler_name(np.zeros(3)) == DEFAULT


def test_exactly_the_handler_before_is_restored(own):
    previous = set_handler(own.capsule)
    try:
        for _ in range(3):
            with denizen.handler():
                assert denizen.handler_name() == "denizen"
            assert get_handler() is own.capsule
            with pytest.raises(KeyError), denizen.handler(under=own.capsule):
                assert denizen.handler_name() == "denizen over users_own"
                raise KeyError
            assert get_handler() is own.capsule
    finally:
        set_handler(previous)


def test_a_handler_that_was_left_in_the_block_goes_with_it(own):
    before = get_handler()
    with denizen.handler():
        set_handler(own.capsule)
        a = np.zeros(3)
    assert get_handler() is before
    assert denizen.handler_name(a) == "users_own"


def test_blocks_nest(own):
    with denizen.handler():
        outer = get_handler()
        a = np.arange(10.0)
        with denizen.handler(under=own.capsule):
            b = a + 1
            with denizen.handler():
                c = b + 1
                assert denizen.handler_name() == "denizen"
            assert denizen.handler_name() == "denizen over users_own"
        assert get_handler() is outer
    assert [denizen.handler_name(x) for x in (a, b, c)] == ["denizen", over(own), "denizen"]


def test_a_block_is_entered_once_at_a_time_and_may_be_used_again():
    block = denizen.handler()
    for _ in range(2):
        with block:
            with pytest.raises(RuntimeError, match="entered already"):
                block.__enter__()
            assert denizen.handler_name() == "denizen"
        assert denizen.handler_name() == DEFAULT
    with pytest.raises(RuntimeError, match="not entered"):
        block.__exit__(None, None, None)


def test_blocks_are_left_in_order():
    outer, inner = denizen.handler(), denizen.handler()
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(RuntimeError, match="after the blocks inside"):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)


def test_a_block_is_left_where_it_was_entered():
    block = denizen.handler()
    with block:
        for context in (contextvars.Context(), contextvars.copy_context()):
            with pytest.raises(RuntimeError, match="context"):
                context.run(block.__exit__, None, None, None)
        assert denizen.handler_name() == "denizen"


def test_one_of_our_handlers_over_another_is_that_handler(own):
    with denizen.handler(under=own.capsule):
        inside = get_handler()
        with denizen.handler(under=inside):
            assert get_handler() is inside
    with denizen.handler():
        inside = get_handler()
        with denizen.handler(under=inside):
            assert get_handler() is inside and np.zeros(3).sum() == 0


# ---- T28: threads, tasks, generators -------------------------------------------------------------


def test_threads_have_their_own_handler():
    seen = {}

    def work():
        seen["thread"] = denizen.handler_name(np.zeros(3))
        with denizen.handler():
            seen["block"] = denizen.handler_name(np.zeros(3))
            seen["integers"] = denizen.owner(np.zeros(3, Integer))
        seen["after"] = denizen.handler_name()

    with denizen.handler():
        thread = threading.Thread(target=work, **NO_CONTEXT)
        thread.start()
        thread.join()
        assert denizen.handler_name() == "denizen"
    assert seen == {"thread": DEFAULT, "block": "denizen", "integers": "managed", "after": DEFAULT}


#: A free-threaded interpreter copies the context to threads by default.
NO_CONTEXT = {"context": contextvars.Context()} if sys.version_info >= (3, 14) else {}


def test_many_threads_in_blocks_of_their_own(block):
    errors = []

    def work(seed):
        try:
            rng = np.random.default_rng(seed)
            for _ in range(30):
                with block():
                    a = rng.integers(0, 1000, 500)
                    a.resize(800, refcheck=False)
                    assert (np.sort(a) == sorted(a.tolist())).all()
                assert denizen.handler_name() == DEFAULT
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,), **NO_CONTEXT) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_an_array_may_be_freed_in_another_thread(block):
    with block():
        arrays = [np.arange(1000), np.array([object() for _ in range(10)])]
    thread = threading.Thread(target=arrays.clear)
    thread.start()
    thread.join()
    assert arrays == []


def test_tasks_inherit_the_block_they_were_made_in_and_keep_theirs_to_themselves():
    async def inside(own_block):
        names = [denizen.handler_name()]
        with own_block:
            await asyncio.sleep(0)
            names.append(denizen.handler_name(np.zeros(3)))
            await asyncio.sleep(0)
        names.append(denizen.handler_name())
        return names

    async def main():
        with denizen.handler():
            inheriting = asyncio.create_task(inside(denizen.handler()))
        free = asyncio.create_task(inside(denizen.handler()))
        names = []
        for _ in range(5):
            names.append(denizen.handler_name())
            await asyncio.sleep(0)
        return await inheriting, await free, names

    inheriting, free, names = asyncio.run(main())
    assert inheriting == ["denizen"] * 3
    assert free == [DEFAULT, "denizen", DEFAULT]
    assert names == [DEFAULT] * 5


@pytest.mark.regression("T28", "numpy/numpy#19663")
def test_a_generator_gives_the_handler_back_when_it_ends():
    def generator():
        with denizen.handler():
            yield denizen.handler_name(np.zeros(2))
            yield denizen.handler_name(np.zeros(2))

    assert list(generator()) == ["denizen"] * 2
    assert denizen.handler_name() == DEFAULT
    abandoned = generator()
    next(abandoned)
    abandoned.close()
    assert denizen.handler_name() == DEFAULT
