"""A type in 40 lines of C11: arrays of it, with the sum that it brings."""

from pathlib import Path

import numpy as np
import pytest
import residue


def test_the_whole_client_is_at_most_forty_lines():
    source = Path(__file__).with_name("residue.c").read_text()
    assert len(source.splitlines()) <= 40


@pytest.mark.short
def test_arrays_of_it_are_made_copied_added_and_printed():
    a = np.zeros(3, dtype=residue.Residue)
    assert a.dtype.itemsize == 1
    assert [str(x) for x in a + a.copy()] == ["0", "0", "0"]
    assert repr(a[0]) == "Residue('0')"


def test_what_it_lacks_is_a_type_error():
    a = np.zeros(2, dtype=residue.Residue)
    with pytest.raises(TypeError):
        a * a
    with pytest.raises(TypeError, match="order"):
        np.sort(a)
