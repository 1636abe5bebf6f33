"""`matmul`, `vecdot`, `matvec` and `vecmat` of Integer and Rational, also with operands of other
types, against sums of products of Python's numbers."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support import strategies as draw
from support.outcomes import agree, outcome
from support.ufunc_table import PRODUCTS

from denizen import Integer, Rational

BOTH = pytest.mark.parametrize("element", [Integer, Rational])
VALUES = {Integer: draw.integers, Rational: draw.fractions}


def sum_of_products(name: str, a: np.ndarray, b: np.ndarray) -> Any:
    """The function by its definition, over object arrays."""
    if name == "vecdot":
        return np.add.reduce(a * b, axis=-1, initial=0)
    if name == "matvec":
        return np.add.reduce(a * b[..., None, :], axis=-1, initial=0)
    if name == "vecmat":
        return np.add.reduce(a[..., :, None] * b, axis=-2, initial=0)
    if a.ndim == 1:
        return sum_of_products("vecdot" if b.ndim == 1 else "vecmat", a, b)
    if b.ndim == 1:
        return sum_of_products("matvec", a, b)
    return np.add.reduce(a[..., :, :, None] * b[..., None, :, :], axis=-2, initial=0)


@BOTH
@pytest.mark.parametrize("name", PRODUCTS)
@given(data=st.data())
def test_products_are_sums_of_products(element: type, name: str, data: Any) -> None:
    drawn = data.draw(
        hnp.mutually_broadcastable_shapes(
            signature=PRODUCTS[name], max_dims=2, max_side=4, min_side=0
        )
    )
    operands = [data.draw(draw.filled(shape, VALUES[element])) for shape in drawn.input_shapes]
    target = data.draw(
        st.none() | draw.filled(drawn.result_shape, draw.small_integers, readonly=False)
    )
    plain = sum_of_products(name, *(operand.build(object) for operand in operands))
    out = target and target.build(element)
    result = outcome(getattr(np, name), *(one.build(element) for one in operands), out=out)
    agree(result, plain, element)


@BOTH
@pytest.mark.parametrize("name", PRODUCTS)
@given(data=st.data())
def test_products_with_other_types_meet_in_the_wider_one(
    element: type, name: str, data: Any
) -> None:
    drawn = data.draw(
        hnp.mutually_broadcastable_shapes(signature=PRODUCTS[name], max_dims=1, max_side=4)
    )
    kinds = {
        Integer: Integer,
        Rational: Rational,
        **dict.fromkeys(["bool", "i1", ">u8", "<i8"], element),
        # Small, so that every sum is exact.
        **dict.fromkeys(["f2", ">f4", "f8"], np.float64),
    }
    kind = data.draw(st.sampled_from(list(kinds)))
    meeting = Rational if Rational in (kind, element) else kinds[kind]
    if kinds[kind] is np.float64:
        meeting = np.float64
    limits = st.integers(0, 1) if kind == "bool" else st.integers(0, 100)
    first, second = (data.draw(draw.filled(shape, limits)) for shape in drawn.input_shapes)
    types = data.draw(st.permutations([element, kind]))
    plain = sum_of_products(name, first.build(object), second.build(object))
    if meeting is np.float64:
        plain = np.asarray(plain).astype(np.float64)
    result = outcome(getattr(np, name), first.build(types[0]), second.build(types[1]))
    agree(result, plain, meeting)


@BOTH
@given(data=st.data())
def test_functions_of_matrices_are_sums_of_products(element: type, data: Any) -> None:
    rows, shared, columns = (data.draw(st.integers(0, 4)) for _ in range(3))
    a, b = (
        data.draw(draw.filled(shape, VALUES[element]))
        for shape in ((rows, shared), (shared, columns))
    )
    ours, plain = ([operand.build(dtype) for operand in (a, b)] for dtype in (element, object))
    product = sum_of_products("matmul", *plain)
    agree(ours[0] @ ours[1], product, element)
    agree(np.outer(*ours), np.multiply.outer(plain[0].ravel(), plain[1].ravel()), element)
    agree(np.kron(*ours), np.kron(*plain), element)
    agree(np.trace(ours[0]), sum(np.diag(plain[0]).tolist()), element)
    if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        agree(np.dot(*ours), product, element)
        agree(np.inner(ours[0], ours[1].T), product, element)
        agree(np.tensordot(*ours, axes=1), product, element)
        agree(np.tensordot(*ours, axes=0), np.multiply.outer(*plain), element)
