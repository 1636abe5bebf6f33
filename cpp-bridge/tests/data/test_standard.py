"""Views, adoption and single values of standard types, registered with the builder."""

import gc

import cpp_data_standard as module
import numpy as np
import pytest

import denizen


def test_strings_are_taken_changed_in_place_and_read():
    a = module.texts()
    assert module.lengths(a[::-1]) == [0, 100, 5]
    module.append(a[:2], "!")
    assert module.lengths(a) == [6, 101, 0] and str(a[0]) == "short!"
    assert module.lengths(np.empty(2, dtype=module.Text)) == [0, 0]
    assert module.length(module.text("four")) == 4 and module.length(a[1]) == 101


@pytest.mark.parametrize("adopted", [False, True])
def test_owning_pointers_are_taken_or_adopted(adopted):
    a = module.pointers(5, adopted)
    assert denizen.owner(a) == ("adopted" if adopted else "managed")
    assert module.pointed(a) == 10 and module.pointed(a[3:]) == 7


def test_owning_pointers_are_moved_out_of_a_view():
    a = module.pointers(5, False)
    assert denizen.inspect(a).live == 4, "a null pointer is zero"
    assert module.move_out(a, 3) == 3 and module.move_out(a, 3) == 0
    assert module.pointed(a) == 7 and denizen.inspect(a).live == 3
    with pytest.raises(IndexError):
        module.move_out(a, 5)


def test_objects_of_an_owner_are_in_no_figures_however_they_are_moved():
    name = str(np.dtype(module.pointers(1, False).dtype))
    before = denizen.stats()[name]
    a = module.pointers(5, True)
    assert module.move_out(a, 3) == 3 and module.pointed(a) == 7
    del a
    gc.collect()
    after = denizen.stats()[name]
    assert after == before


def test_figures_follow_what_a_view_writes_to_cells_whose_zero_is_the_default():
    live = denizen.stats()["cpp_data_standard.Series"]["live"]
    a = np.zeros((2, 3), dtype=module.Series)
    assert denizen.stats()["cpp_data_standard.Series"]["live"] == live
    module.grow(a[:, ::2])
    assert denizen.stats()["cpp_data_standard.Series"]["live"] == live + 4
    assert denizen.inspect(a).live == 4


def test_vectors_of_numbers_grow_in_place():
    a = np.zeros((2, 3), dtype=module.Series)
    module.grow(a)
    module.grow(a[:, 1])
    assert module.total(a) == 8 * 1.5
    b = a.copy()
    del a
    gc.collect()
    assert module.total(b) == 8 * 1.5


def test_a_storage_that_the_author_chose_is_followed():
    a = np.zeros(3, dtype=module.Chosen)
    assert a.dtype.itemsize == 8
    assert module.chosen_values(a) == 3 and module.chosen_values(a[::2]) == 4
    with pytest.raises(TypeError, match="is registered with a storage that is not inline"):
        module.chosen_data(a)
    with pytest.raises(ValueError, match="is not stored inline"):
        module.chosen_adopt()
