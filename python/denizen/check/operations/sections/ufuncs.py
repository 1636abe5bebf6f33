"""Elementwise functions, with every way to call them."""

from typing import Any

import numpy as np

from ...subject import Subject
from ..inputs import COUNTS, NUMBERS, Array, counts, numbers, raised, rounded, small_buffers
from ..operation import Table

TABLE = Table("ufuncs")
add = TABLE.add

NUMERIC = frozenset({"counting", "arithmetic"})
ARITHMETIC = frozenset({"arithmetic"})
ORDERED = frozenset({"ordering"})

for ufunc in (np.add, np.subtract, np.multiply):
    add(
        ufunc.__name__,
        lambda s, f=ufunc: (f(s.a, s.b), f(s.h, s.a[::-1])),
        needs={"arithmetic", "default"},
    )
    add(
        f"{ufunc.__name__} of numbers",
        lambda s, f=ufunc: (f(numbers(s), np.array(COUNTS)), f(np.array(COUNTS), numbers(s))),
        lambda s, f=ufunc: (f(numbers(s), counts(s)), f(counts(s), numbers(s))),
        needs=NUMERIC,
    )
for ufunc in (np.true_divide, np.floor_divide, np.remainder):
    add(
        ufunc.__name__,
        lambda s, f=ufunc: f(numbers(s), counts(s)[::-1]),
        needs={"counting", "division"},
    )
add(
    "fmod",
    lambda s: np.fmod(numbers(s), counts(s)[::-1]),
    lambda s: numbers(s, np.fmod(NUMBERS, COUNTS[::-1])),
    needs={"counting", "division"},
)
add(
    "divmod",
    lambda s: np.divmod(numbers(s), counts(s)[::-1]),
    lambda s: (
        np.floor_divide(numbers(s), counts(s)[::-1]),
        np.remainder(numbers(s), counts(s)[::-1]),
    ),
    needs={"counting", "division"},
)
for ufunc in (np.negative, np.positive, np.absolute, np.sign, np.square):
    add(ufunc.__name__, lambda s, f=ufunc: f(numbers(s)), needs=NUMERIC)
add(
    "fabs",
    lambda s: _float32(np.fabs(numbers(s))),
    lambda s: _float32(np.fabs(NUMBERS)),
    needs=NUMERIC,
)
add("conjugate", lambda s: np.conjugate(numbers(s)), lambda s: numbers(s), needs=NUMERIC)
add(
    "reciprocal",
    lambda s: np.reciprocal(counts(s)),
    lambda s: numbers(s, [1]) / counts(s),
    needs={"counting", "division"},
)
add(
    "power",
    lambda s: np.power(numbers(s), np.arange(10)),
    lambda s: np.power(numbers(s), numbers(s, np.arange(10))),
    needs=NUMERIC,
)
add("power of elements", lambda s: np.power(numbers(s), counts(s)), needs=NUMERIC)
add(
    "float_power",
    lambda s: rounded(np.float_power(counts(s), 2)),
    lambda s: np.float_power(COUNTS, 2),
    needs=NUMERIC,
)
add(
    "powers by numbers",
    lambda s: (numbers(s) ** 2, numbers(s) ** 3, numbers(s) ** 0),
    needs=NUMERIC,
)
for ufunc in (np.gcd, np.lcm, np.bitwise_and, np.bitwise_or, np.bitwise_xor):
    add(
        ufunc.__name__,
        lambda s, f=ufunc: (f(numbers(s), counts(s)[::-1]), f(numbers(s), 6)),
        needs={"counting"},
    )
for ufunc in (np.left_shift, np.right_shift):
    add(
        ufunc.__name__,
        lambda s, f=ufunc: (f(numbers(s), counts(s)), f(numbers(s), 2)),
        needs={"counting"},
    )
add("invert", lambda s: np.invert(numbers(s)), needs={"counting"})
add("bitwise_count", lambda s: np.bitwise_count(numbers(s)), needs={"counting"})
for ufunc in (np.less, np.less_equal, np.greater, np.greater_equal):
    add(ufunc.__name__, lambda s, f=ufunc: (f(s.a, s.b), f(s.m, s.a[:5])), needs=ORDERED)
for ufunc in (np.equal, np.not_equal):
    add(ufunc.__name__, lambda s, f=ufunc: (f(s.a, s.b), f(s.m, s.a[:5])), needs={"equality"})
    add(
        f"{ufunc.__name__} of half-built arrays",
        lambda s, f=ufunc: f(s.h, s.h[::-1]),
        needs={"equality", "default"},
    )
    add(
        f"{ufunc.__name__} of numbers",
        lambda s, f=ufunc: (f(numbers(s), 5), f(numbers(s), np.array(COUNTS))),
        lambda s, f=ufunc: (f(np.array(NUMBERS), 5), f(np.array(NUMBERS), np.array(COUNTS))),
        needs={"counting", "equality"},
    )
add(
    "less of numbers",
    lambda s: (numbers(s) < 5, numbers(s) <= np.array(COUNTS), 5 > numbers(s)),
    lambda s: (np.array(NUMBERS) < 5, np.array(NUMBERS) <= np.array(COUNTS), 5 > np.array(NUMBERS)),
    needs={"counting", "ordering"},
)
for ufunc in (np.maximum, np.minimum, np.fmax, np.fmin):
    add(ufunc.__name__, lambda s, f=ufunc: f(s.a, s.b), needs=ORDERED)
add(
    "clip",
    lambda s: (np.clip(numbers(s), 2, 9), numbers(s).clip(min=counts(s)[1])),
    lambda s: (numbers(s, np.clip(NUMBERS, 2, 9)), numbers(s, np.clip(NUMBERS, 3, None))),
    needs={"counting", "ordering"},
)
add("clip with elements", lambda s: np.clip(s.a, min(s.b[:2]), max(s.b[:2])), needs=ORDERED)
add(
    "clip with out=",
    lambda s: (np.clip(s.a, min(s.b[:2]), max(s.b[:2]), out=s.h), s.h),
    needs=ORDERED,
)
for ufunc in (np.logical_and, np.logical_or, np.logical_xor):
    add(
        ufunc.__name__,
        lambda s, f=ufunc: f(numbers(s, [0, 0, 3, 4]), numbers(s, [0, 1, 0, 2])),
        lambda s, f=ufunc: f([False, False, True, True], [False, True, False, True]),
        needs={"counting"},
    )
add(
    "logical_not",
    lambda s: np.logical_not(numbers(s, [0, 3])),
    lambda s: np.array([True, False]),
    needs={"counting"},
)
for ufunc, value in ((np.isnan, False), (np.isinf, False), (np.isfinite, True)):
    add(
        ufunc.__name__,
        lambda s, f=ufunc: f(numbers(s)),
        lambda s, v=value: np.full(10, v),
        needs={"counting"},
    )
add(
    "signbit",
    lambda s: np.signbit(numbers(s)),
    lambda s: np.signbit(np.array(NUMBERS, float)),
    needs={"counting"},
)
for ufunc in (np.floor, np.ceil, np.trunc, np.rint):
    add(ufunc.__name__, lambda s, f=ufunc: f(numbers(s)), lambda s: numbers(s), needs={"counting"})
add(
    "floor, ceil and trunc of quotients",
    lambda s: [
        f(numbers(s, [-7, 7, 5]) / numbers(s, [2])).tolist()
        for f in (np.floor, np.ceil, np.trunc, np.rint)
    ],
    lambda s: [
        numbers(s, values).tolist() for values in ([-4, 3, 2], [-3, 4, 3], [-3, 3, 2], [-4, 4, 2])
    ],
    needs={"counting", "division"},
)
add(
    "round",
    lambda s: (np.round(numbers(s)), numbers(s).round(0)),
    lambda s: (numbers(s),) * 2,
    needs={"counting"},
)
add("fix", lambda s: np.fix(numbers(s)), lambda s: numbers(s), needs={"counting"})
for ufunc in (
    np.sqrt,
    np.cbrt,
    np.exp,
    np.exp2,
    np.expm1,
    np.log,
    np.log2,
    np.log10,
    np.log1p,
    np.sin,
    np.cos,
    np.tan,
    np.arctan,
    np.sinh,
    np.cosh,
    np.tanh,
    np.arcsinh,
):
    add(
        ufunc.__name__,
        lambda s, f=ufunc: _float32(f(_roots(s))),
        lambda s, f=ufunc: _float32(f(np.array([1.0, 4.0, 9.0]))),
        needs={"counting"},
    )
for ufunc in (np.arcsin, np.arccos):
    add(
        ufunc.__name__,
        lambda s, f=ufunc: _float32(f(_roots(s)[:1])),
        lambda s, f=ufunc: _float32(f(np.array([1.0]))),
        needs={"counting"},
    )
add(
    "arccosh",
    lambda s: _float32(np.arccosh(_roots(s))),
    lambda s: _float32(np.arccosh([1.0, 4.0, 9.0])),
    needs={"counting"},
)
add(
    "arctanh",
    lambda s: _float32(np.arctanh(numbers(s, [0]))),
    lambda s: _float32([0.0]),
    needs={"counting"},
)
for ufunc in (
    np.arctan2,
    np.hypot,
    np.copysign,
    np.logaddexp,
    np.logaddexp2,
    np.nextafter,
    np.heaviside,
):
    add(
        ufunc.__name__,
        lambda s, f=ufunc: _float32(f(numbers(s), counts(s))),
        lambda s, f=ufunc: _float32(f(np.array(NUMBERS, float), np.array(COUNTS, float))),
        needs={"counting"},
    )
add(
    "degrees and radians",
    lambda s: (
        _float32(np.degrees(_roots(s))),
        _float32(np.rad2deg(_roots(s))),
        _float32(np.radians(_roots(s))),
        _float32(np.deg2rad(_roots(s))),
    ),
    lambda s: tuple(
        _float32(f(np.array([1.0, 4.0, 9.0])))
        for f in (np.degrees, np.rad2deg, np.radians, np.deg2rad)
    ),
    needs={"counting"},
)
add(
    "ldexp",
    lambda s: _float32(np.ldexp(numbers(s), 2)),
    lambda s: _float32(np.ldexp(np.array(NUMBERS, float), 2)),
    needs={"counting"},
)
add(
    "frexp",
    lambda s: tuple(map(_float32, np.frexp(numbers(s)))),
    lambda s: tuple(map(_float32, np.frexp(np.array(NUMBERS, float)))),
    needs={"counting"},
)
add(
    "modf",
    lambda s: tuple(map(_float32, np.modf(numbers(s)))),
    lambda s: tuple(map(_float32, np.modf(np.array(NUMBERS, float)))),
    needs={"counting"},
)
add(
    "spacing",
    lambda s: _float32(np.spacing(numbers(s))),
    lambda s: _float32(np.spacing(np.array(NUMBERS, float))),
    needs={"counting"},
)
add(
    "sinc and i0",
    lambda s: (_float32(np.sinc(numbers(s))), _float32(np.i0(numbers(s)))),
    lambda s: (
        _float32(np.sinc(np.array(NUMBERS, float))),
        _float32(np.i0(np.array(NUMBERS, float))),
    ),
    needs={"counting"},
)
add(
    "angle and imag",
    lambda s: (_float32(np.angle(counts(s))), _float32(np.imag(counts(s)))),
    lambda s: (_float32(np.zeros(10)),) * 2,
    needs={"counting"},
)
add(
    "iscomplexobj and isrealobj",
    lambda s: (np.iscomplexobj(s.a), np.isrealobj(s.a)),
    lambda s: (False, True),
)
add(
    "iscomplex and isreal",
    lambda s: (np.iscomplex(numbers(s)), np.isreal(numbers(s))),
    lambda s: (np.zeros(10, bool), np.ones(10, bool)),
    needs={"counting"},
)
add("with out=", lambda s: (np.add(s.a, s.b, out=s.h), s.h), needs=ARITHMETIC)
add("with out= a tuple", lambda s: (np.add(s.a, s.b, out=(s.h,)), s.h), needs=ARITHMETIC)
add(
    "with out= a view",
    lambda s: _out_of_a_view(s),
    needs=ARITHMETIC,
)
add(
    "with where",
    lambda s: (np.add(s.a, s.b, out=s.h, where=s.mask), s.h),
    needs={"arithmetic", "default"},
)
add(
    "with where and no output",
    lambda s: np.add(s.a, s.b, where=s.mask, out=None)[s.mask],
    needs=ARITHMETIC,
)
add(
    "skipped outputs are defaults",
    lambda s: np.add(s.a, s.b, where=s.mask, out=None)[~s.mask],
    lambda s: s.zeros(4),
    needs={"arithmetic", "default"},
)
add("with dtype=", lambda s: np.add(s.a, s.b, dtype=s.dtype), needs=ARITHMETIC)
add(
    "with dtype= its DType class", lambda s: np.add(s.a, s.b, dtype=type(s.dtype)), needs=ARITHMETIC
)
add(
    "with signature= of DType classes",
    lambda s: np.add(s.a, s.b, signature=(type(s.dtype),) * 3),
    needs=ARITHMETIC,
)
add("with dtype=object", lambda s: np.add(s.a, s.b, dtype=object), needs=ARITHMETIC)
add(
    "with dtype= of numbers",
    lambda s: np.add(np.array(NUMBERS), np.array(COUNTS), dtype=s.dtype),
    lambda s: np.add(numbers(s), counts(s)),
    needs=NUMERIC,
)
add(
    "with signature=",
    lambda s: np.add(s.a, s.b, signature=(s.dtype, s.dtype, s.dtype)),
    needs=ARITHMETIC,
)
add("with casting='no'", lambda s: np.add(s.a, s.b, casting="no"), needs=ARITHMETIC)
add(
    "with casting='unsafe' into floats",
    lambda s: np.add(numbers(s), counts(s), out=np.zeros(10), casting="unsafe"),
    lambda s: np.add(np.array(NUMBERS), np.array(COUNTS)).astype(float),
    needs=NUMERIC,
)
add("with order='F'", lambda s: np.add(s.m, s.m[::-1], order="F"), needs=ARITHMETIC)
add("with subok=False", lambda s: np.add(s.a, s.b, subok=False), needs=ARITHMETIC)
add(
    "in small buffers",
    lambda s: small_buffers(lambda: np.add(numbers(s, np.arange(100)), np.arange(100))),
    lambda s: numbers(s, 2 * np.arange(100)),
    needs=NUMERIC,
)
add(
    "in small buffers with where",
    lambda s: small_buffers(
        lambda: np.add(
            numbers(s, np.arange(100)),
            np.arange(100),
            out=numbers(s, np.arange(100)),
            where=np.arange(100) % 7 > 2,
        )
    ),
    lambda s: numbers(s, np.where(np.arange(100) % 7 > 2, 2 * np.arange(100), np.arange(100))),
    needs=NUMERIC,
)
add(
    "of more than one block",
    lambda s: np.add(np.tile(s.a, 1000), np.tile(s.b, 1000))[::97],
    needs=ARITHMETIC,
)
add("that broadcasts", lambda s: s.a[:4, None] + s.m + s.b[:5], needs=ARITHMETIC)
add(
    "that broadcasts in three dimensions",
    lambda s: s.m[:, None, :] + s.m[None, :, :],
    needs=ARITHMETIC,
)
add(
    "of shapes that do not fit",
    lambda s: raised(lambda: s.a + s.m, ValueError),
    lambda s: "ValueError",
)
add(
    "of scalars",
    lambda s: (s.a[1] + s.b[2], s.a + s.values[3], s.values[3] + s.a),
    needs=ARITHMETIC,
)
add(
    "of 0-d arrays",
    lambda s: np.add(np.array(s.a[1]), np.array(s.b[2], dtype=s.dtype)),
    needs=ARITHMETIC,
)
add("of empty arrays", lambda s: (s.a[:0] + s.b[:0], s.m[:, :0] + s.b[:0]), needs=ARITHMETIC)
add("operators in place", lambda s: _in_place(s), needs=NUMERIC)
add(
    "operators beside lists", lambda s: (s.a + s.values[:10], s.values[:10] + s.a), needs=ARITHMETIC
)
add("operators beside objects", lambda s: (s.a + s.b.astype(object)).tolist(), needs=ARITHMETIC)
for number in (
    np.int8,
    np.uint8,
    np.int16,
    np.uint16,
    np.int32,
    np.uint32,
    np.int64,
    np.uint64,
    np.bool_,
):
    name = np.dtype(number).name
    add(
        f"beside {name}",
        lambda s, t=number: (
            numbers(s) + t(1),
            np.ones(10, t) + numbers(s),
            numbers(s) * np.ones(10, t),
        ),
        lambda s: (numbers(s) + 1, numbers(s) + 1, numbers(s)),
        needs=NUMERIC,
    )
for number in (np.float16, np.float32, np.float64):
    name = np.dtype(number).name
    add(
        f"beside {name}",
        lambda s, t=number: _float32(numbers(s) + np.ones(10, t) / 2),
        lambda s: _float32(np.array(NUMBERS) + 0.5),
        needs=NUMERIC,
    )
add(
    "beside Python numbers",
    lambda s: (numbers(s) + 1, 2 - numbers(s), numbers(s) * True, _float32(numbers(s) + 0.5)),
    lambda s: (
        *(
            numbers(s, values)
            for values in ([n + 1 for n in NUMBERS], [2 - n for n in NUMBERS], NUMBERS)
        ),
        _float32(np.array(NUMBERS) + 0.5),
    ),
    needs=NUMERIC,
)
add(
    "beside complex numbers",
    lambda s: (numbers(s) + 1j).astype(np.complex64),
    lambda s: (np.array(NUMBERS) + 1j).astype(np.complex64),
    needs=NUMERIC,
)
add("np.frompyfunc", lambda s: np.frompyfunc(lambda x, y: (y, x), 2, 2)(s.a, s.b))
add("np.vectorize", lambda s: np.vectorize(lambda x: str(x))(s.a).tolist(), needs={"text"})
add("np.vectorize into elements", lambda s: np.vectorize(lambda x: x, otypes=[s.dtype])(s.a))
add(
    "np.vectorize with a signature",
    lambda s: np.vectorize(lambda x: x[::-1], signature="(n)->(n)")(s.m),
)
add(
    "np.interp",
    lambda s: np.interp([2.5], np.arange(10), numbers(s)),
    lambda s: np.interp([2.5], np.arange(10), NUMBERS),
    needs={"counting"},
)
add(
    "np.unwrap",
    lambda s: rounded(np.unwrap(numbers(s))),
    lambda s: rounded(np.unwrap(np.array(NUMBERS, float))),
    needs={"counting", "division"},
)
add("np.polyval", lambda s: np.polyval(numbers(s)[:4], numbers(s)[4:8]), needs=NUMERIC)
add("np.convolve", lambda s: np.convolve(numbers(s), counts(s)[:3]), needs=NUMERIC)
add("np.correlate", lambda s: np.correlate(numbers(s), counts(s)[:3]), needs=NUMERIC)
add(
    "np.fft.fft",
    lambda s: np.fft.fft(numbers(s)),
    lambda s: np.fft.fft(np.array(NUMBERS)),
    needs=NUMERIC,
)
add(
    "result_type and can_cast",
    lambda s: (
        np.result_type(s.a, s.b) == s.dtype,
        np.can_cast(s.dtype, s.dtype, "no"),
        np.promote_types(s.dtype, s.dtype) == s.dtype,
    ),
)
add(
    "common type with numbers",
    lambda s: np.result_type(s.element_dtype, np.int64) == s.element_dtype,
    lambda s: True,
    needs=NUMERIC,
)


def _roots(s: Subject) -> Array:
    return numbers(s, [1, 4, 9])


def _float32(values: Any) -> Any:
    """Six digits, relative to the size: what two ways of rounding agree on."""
    array = np.asarray(values).astype(np.float64)
    return [f"{x + 0.0:.6g}" for x in array.ravel()]


def _in_place(s: Subject) -> Array:
    x = numbers(s)
    x += counts(s)
    x -= x[0]
    x *= 3
    x += np.array(COUNTS)
    return x


def _out_of_a_view(s: Subject) -> Any:
    x = s.empty((8, 5))
    x[:] = s.b[:5]
    return np.add(s.m, s.a[:5], out=x[::-2, ::-1]), x
