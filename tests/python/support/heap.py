"""How much memory something leaves allocated that is done many times."""

import ctypes
import gc
import sys


class Mallinfo(ctypes.Structure):
    """`struct mallinfo2` of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keep".split()
    ]


def heap_bytes():
    """Bytes that are allocated on the C heap; 0 where the C library does not count them."""
    try:
        function = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return 0
    function.restype = Mallinfo
    info = function()
    return info.uordblks + info.hblkhd


def left_by(attempt, attempts):
    """Blocks of Python's allocator and bytes of the C heap that an attempt leaves, on average."""

    def measure():
        gc.collect()
        return sys.getallocatedblocks(), heap_bytes()

    for _ in range(50):
        attempt()
    blocks, heap = measure()
    for _ in range(attempts):
        attempt()
    later_blocks, later_heap = measure()
    return (later_blocks - blocks) / attempts, (later_heap - heap) / attempts


def assert_flat(attempt, attempts=1500):
    """An attempt leaves nothing. What others do meanwhile (the threads of a test's worker) they do not
    do each time."""
    for _ in range(4):
        blocks, heap = left_by(attempt, attempts)
        if blocks < 0.1 and heap < 10:
            return
    raise AssertionError(f"an attempt leaves {blocks} blocks and {heap} bytes of the heap")
