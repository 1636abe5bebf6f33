"""Registering and finding types through the function table, with what no client would pass."""

import ctypes
import types
from ctypes import addressof, byref, sizeof

import numpy as np
import pytest
from support.c_table import (
    API,
    Cast,
    ErrorOut,
    Identity,
    Loop,
    Operand,
    Spec,
    Stats,
    View,
    VTable,
    address,
    cast_spec,
    constant,
    identity,
    lengths,
    loop,
    operand,
    operands,
    register,
    spec,
    text,
    vtable,
)

import denizen

# ---- registration --------------------------------------------------------------------------------

BAD_VTABLES = [
    ({"struct_size": 0}, "element vtable: `struct_size`, 0"),
    ({"struct_size": 40}, "element vtable: `struct_size`, 40"),
    ({"struct_size": 1 << 40}, "element vtable: `struct_size`, 1099511627776"),
    ({"abi_version": 0}, r"built for element interface 0\.0, this runtime speaks 1\.2"),
    ({"abi_version": 2 << 16 | 5}, r"built for element interface 2\.5, this runtime speaks 1\.2"),
    ({"name": 0}, "`name` is missing"),
    ({"size": 0}, "`size`, 0"),
    ({"size": 12}, "`size`, 12, is not a positive multiple of `align`, 8"),
    ({"size": (1 << 63) + 8}, "`size`"),
    ({"align": 0}, "`align`, 0"),
    ({"align": 3}, "`align`, 3"),
    ({"align": 8192, "size": 8192}, "`align`, 8192"),
    ({"align": 32, "size": 32}, "aligned to 32 bytes"),
    ({"storage": 3}, "`storage` has the unknown value 3"),
    ({"zero_bytes": 3}, "`zero_bytes` has the unknown value 3"),
    ({"zero_bytes": 0}, "no promise about zero bytes"),
    ({"vacancy_size": 0}, "`vacancy_offset` . `vacancy_size`"),
    ({"vacancy_offset": 1}, "`vacancy_offset` . `vacancy_size`"),
    ({"vacancy_offset": (1 << 64) - 4}, "`vacancy_offset` . `vacancy_size`"),
    ({"flags": 0}, "`relocate`"),
    ({"save": 1}, "`save` and `load`"),
    ({"load": 1}, "`save` and `load`"),
    ({"storage": constant("STORAGE_BOXED"), "size": 16}, "boxed, but its cell"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_VTABLES)
def test_a_wrong_member_of_the_vtable_is_named(module, changes, message):
    with pytest.raises(ValueError, match=message):
        register(module, spec(vtable("ctable.Bad", **changes)))
    assert not hasattr(module, "Bad")
    assert "ctable.Bad" not in denizen.types()


def test_names_without_a_module_or_that_are_not_utf8_are_refused(module):
    with pytest.raises(ValueError, match="must be `module.Name`"):
        register(module, spec(vtable("Bad")))
    latin = ctypes.create_string_buffer("ctable.Größe".encode("latin-1"))
    with pytest.raises(ValueError, match="`name` is missing or not UTF-8"):
        register(module, spec(vtable("", name=addressof(latin))))


BAD_SPECS = [
    ({"struct_size": 0}, "element spec: `struct_size`, 0"),
    ({"struct_size": 8}, "element spec: `struct_size`, 8"),
    ({"vtable": 0}, "element vtable: NULL"),
    ({"loop_count": 1}, r"loops\[0\]: NULL"),
    ({"cast_count": 1}, r"casts\[0\]: NULL"),
    ({"identity_count": 1}, r"identities\[0\]: NULL"),
    ({"loops": [loop(struct_size=0)]}, r"loops\[0\]: `struct_size`, 0"),
    ({"loops": [loop(), loop(struct_size=sizeof(Loop) - 8)]}, r"loops\[1\]: `struct_size`"),
    ({"loops": [loop(ufunc=0)]}, r"loops\[0\]: `ufunc` is NULL"),
    ({"loops": [loop(operands=0)]}, r"loops\[0\]: `operands` is NULL"),
    ({"loops": [loop(), loop(function=0)]}, "loop for negative: `function` is NULL, which is for"),
    (
        {"loops": [loop(function=0, operands=operands("self", 12))]},
        "loop for negative: `function` is NULL, which is for",
    ),
    (
        {"loops": [loop(function=0, operands=operands(12, 12))]},
        "loop for negative: NumPy's own loop needs a cast from the type to an input",
    ),
    (
        {
            "loops": [loop(function=0, operands=operands(12, 12))],
            "casts": [cast_spec("self", 12, level=constant("CAST_UNSAFE"))],
        },
        r"loop for negative: NumPy's own loop needs a cast from the type to an input, .*float_functions"
        r".*cast_to\(Casting::SameKind, f\).*cast_to<double>\(denizen::casting::same_kind, f\)",
    ),
    ({"loops": [loop(input_count=2)]}, "loop for negative has 2 inputs and 1 outputs"),
    ({"loops": [loop(output_count=0)]}, "loop for negative has 1 inputs and 0 outputs"),
    ({"loops": [loop(input_count=1 << 31)]}, "loop for negative has 2147483648 inputs"),
    ({"casts": [cast_spec(struct_size=1 << 30)]}, r"casts\[0\]: `struct_size`, 1073741824"),
    ({"casts": [cast_spec(struct_size=24)]}, r"casts\[0\]: `struct_size`, 24"),
    ({"casts": [cast_spec(function=0)]}, r"casts\[0\]: `function` is NULL"),
    ({"casts": [cast_spec(level=1)]}, "1 is no casting level"),
    ({"casts": [cast_spec(level=5)]}, "5 is no casting level"),
    ({"casts": [cast_spec("self", "self")]}, "the type itself at exactly one end"),
    ({"casts": [cast_spec(12, 12)]}, "the type itself at exactly one end"),
    ({"casts": [cast_spec(9999)]}, "type number 9999"),
    ({"casts": [cast_spec(), cast_spec()]}, "given twice"),
    ({"identities": [identity(struct_size=0)]}, r"identities\[0\]: `struct_size`, 0"),
    ({"identities": [identity(ufunc=0)]}, r"identities\[0\]: `ufunc` is NULL"),
    ({"identities": [identity(construct=0)]}, r"identities\[0\]: `construct` is NULL"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_SPECS)
def test_a_wrong_member_of_the_spec_is_named(module, changes, message):
    with pytest.raises(ValueError, match=message):
        register(module, spec(vtable("ctable.Bad"), **changes))
    assert not hasattr(module, "Bad")
    assert "ctable.Bad" not in denizen.types()


@ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.c_void_p,
)
def words_to_doubles(_context, arguments, dimensions, strides, _report):
    for index in range(dimensions[0]):
        word = ctypes.c_int64.from_address(arguments[0] + index * strides[0])
        ctypes.c_double.from_address(arguments[1] + index * strides[1]).value = word.value
    return 0


def test_a_loop_without_a_function_is_numpy_s_own(module):
    """Elements become numbers by the type's cast; other operands and outputs may be wider."""
    changes = {"input_count": 2, "ufunc": text("hypot"), "operands": operands(12, 12, 12)}
    entries = [
        loop(function=0, ufunc=text("sqrt"), operands=operands(12, 12)),
        loop(function=0, **changes),
    ]
    casts = [
        cast_spec(
            "self",
            12,
            level=constant("CAST_SAME_KIND"),
            function=address(words_to_doubles),
        )
    ]
    register(module, spec(vtable("ctable.Number"), loops=entries, casts=casts))
    a = np.zeros(3, dtype=module.Number)
    assert np.sqrt(a).tolist() == np.hypot(a, 0.0).tolist() == [0, 0, 0]
    assert np.hypot([3.0, 4.0, 5.0], a).tolist() == [3, 4, 5]
    assert np.hypot(a, a, dtype=np.float32).dtype == np.float32
    assert np.hypot(np.longdouble(2), a).dtype == np.longdouble
    for refused in (lambda: np.exp(a), lambda: np.hypot(a, 1j), lambda: np.hypot(a, ["x"] * 3)):
        with pytest.raises(TypeError, match=r"ctable\.Number"):
            refused()


def test_operands_of_unknown_kinds_or_types_are_refused(module):
    for strange in [Operand(kind=7), Operand(kind=constant("OPERAND_ELEMENT"), element=64)]:
        both = (Operand * 2)(operand("self"), strange)
        with pytest.raises(ValueError, match="operand"):
            register(module, spec(vtable("ctable.Bad"), [loop(operands=addressof(both))]))
        with pytest.raises(ValueError, match="operand|not registered"):
            register(module, spec(vtable("ctable.Bad"), casts=[cast_spec(**{"from": strange})]))
    with pytest.raises((TypeError, ValueError)):
        register(module, spec(vtable("ctable.Bad"), [loop(operands=operands("self", 9999))]))


def test_a_ufunc_that_is_not_there_is_named(module):
    with pytest.raises(
        AttributeError, match=r"^ctable\.Bad: there is no ufunc 'no_such_ufunc' in numpy$"
    ):
        register(module, spec(vtable("ctable.Bad"), [loop(ufunc=text("no_such_ufunc"))]))
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        register(module, spec(vtable("ctable.Bad"), [loop(ufunc=text("no_such_module:f"))]))
    with pytest.raises((AttributeError, TypeError, ValueError)):
        register(module, spec(vtable("ctable.Bad"), [loop(ufunc=text("ndarray"))]))


def test_what_is_no_module_or_no_class_is_refused():
    with pytest.raises(TypeError, match="registered with a module"):
        register(object(), spec(vtable("ctable.Bad")))
    with pytest.raises(TypeError, match="scalar class is no class"):
        register(
            types.ModuleType("ctable"),
            spec(vtable("ctable.Bad"), scalar_class=id("no class")),
        )


def test_a_name_is_free_again_after_its_registration_failed(module):
    with pytest.raises(AttributeError):
        register(module, spec(vtable("ctable.Second"), [loop(ufunc=text("no_such_ufunc"))]))
    register(module, spec(vtable("ctable.Second"), [loop()]))
    assert np.zeros(3, dtype=module.Second).copy().shape == (3,)


def test_a_name_that_is_taken_names_both_modules():
    first, second = types.ModuleType("the_first"), types.ModuleType("the_second")
    handle = register(first, spec(vtable("shared.Name")))
    with pytest.raises(ValueError, match=r"the_first registered.*shared\.Name.*so the_second"):
        register(second, spec(vtable("shared.Name")))
    with pytest.raises(ValueError, match=r"the_first registered.*shared\.Name already: each type"):
        register(first, spec(vtable("shared.Name")))
    assert not hasattr(second, "Name")
    assert API["find_element"](text("shared.Name"), 8, 8, None) == handle
    assert np.zeros(2, dtype=first.Name).copy().shape == (2,)


def test_members_that_an_older_client_lacks_are_absent(module):
    """Its structs end earlier, and what follows them in memory is not read."""
    size = VTable.compare.offset
    table = vtable("ctable.Older", struct_size=size)
    memory = ctypes.create_string_buffer(b"\xff" * sizeof(VTable))
    ctypes.memmove(memory, addressof(table), size)
    older = spec(vtable(""), vtable=addressof(memory), struct_size=Spec.documentation.offset)
    older.documentation = 1
    register(module, older)
    a = np.zeros(3, dtype=module.Older).copy()
    with pytest.raises(TypeError):
        a.sort()


# ---- looking up ----------------------------------------------------------------------------------


def test_a_type_that_differs_from_what_the_client_has_is_not_found(module):
    register(module, spec(vtable("ctable.Found", language_name=text("struct found"))))
    name, find = text("ctable.Found"), API["find_element"]
    assert find(name, 8, 8, None) == find(name, 8, 8, text("struct found"))
    for size, align in [(16, 8), (8, 4), (0, 0)]:
        message = f"cells of 8 bytes aligned to 8, not {size} aligned to {align}"
        with pytest.raises(TypeError, match=message):
            find(name, size, align, None)
    with pytest.raises(TypeError, match="as the type struct found, not struct other"):
        find(name, 8, 8, text("struct other"))
    with pytest.raises(LookupError, match=r"no element type ctable\.Lost"):
        find(text("ctable.Lost"), 8, 8, None)
    with pytest.raises(ValueError, match="NULL"):
        find(None, 8, 8, None)


@pytest.mark.parametrize(
    "handle", [None, 64, id(object())], ids=["null", "no address", "another object"]
)
def test_what_is_no_handle_is_refused_everywhere(handle):
    view, stats = View(struct_size=sizeof(View)), Stats(struct_size=sizeof(Stats))
    for call in [
        lambda: API["dtype"](handle),
        lambda: API["empty"](handle, 0, None),
        lambda: API["view"](id(handle), handle, 0, byref(view)),
        lambda: API["stats"](handle, byref(stats)),
    ]:
        with pytest.raises(RuntimeError, match="not a handle"):
            call()


# ---- types without a dtype -----------------------------------------------------------------------


@pytest.fixture(scope="session")
def bare():
    """A type of 8 bytes, nothing to destroy, for handler mode."""
    handle = ctypes.c_void_p()
    table = vtable("ctable.Bare", zero_bytes=constant("ZERO_NO_PROMISE"))
    assert API["register_type"](addressof(table), None, byref(handle)) == 0
    return handle.value


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"struct_size": 0}, "element vtable: `struct_size`, 0"),
        ({"zero_bytes": constant("ZERO_DEFAULT")}, "must be DENIZEN_ZERO_NO_PROMISE"),
        ({"name": text("Bare")}, "must be `module.Name`"),
        ({"name": text("ctable.Bare")}, "ctable registered the element type ctable.Bare already"),
    ],
)
def test_a_wrong_type_without_a_dtype_is_refused(bare, changes, message):
    table = vtable("ctable.BadBare", **({"zero_bytes": constant("ZERO_NO_PROMISE")} | changes))
    with pytest.raises(ValueError, match=message):
        API["register_type"](addressof(table), None, None)
    assert "ctable.BadBare" not in denizen.types()


def test_a_type_without_a_dtype_is_found_and_has_no_arrays(bare):
    assert API["find_element"](text("ctable.Bare"), 8, 8, None) == bare
    stats = Stats(struct_size=sizeof(Stats))
    assert API["stats"](bare, byref(stats)) == 0
    assert stats.struct_size == sizeof(Stats)
    for call in (lambda: API["dtype"](bare), lambda: API["empty"](bare, 1, lengths(3))):
        with pytest.raises(TypeError, match="registered for handler mode alone"):
            call()


def test_cells_are_stored_peeked_at_vacated_and_swept(bare):
    cell, value = (ctypes.c_char * constant("CELL_SIZE"))(), ctypes.c_uint64(77)
    object_ = ctypes.c_void_p()
    assert API["peek"](addressof(cell), bare, byref(object_)) == 0
    assert object_.value is None
    with pytest.raises(denizen.VacantError):
        API["touch"](addressof(cell), bare, byref(object_))
    assert API["store"](addressof(cell), bare, addressof(value)) == 0
    assert API["touch"](addressof(cell), bare, byref(object_)) == 0
    assert ctypes.c_uint64.from_address(object_.value).value == 77
    assert denizen.stats()["ctable.Bare"]["lent"] == 1
    assert API["vacate"](addressof(cell), bare) == 0
    assert bytes(cell) == bytes(len(cell))
    assert API["store"](addressof(cell), bare, addressof(value)) == 0
    assert API["sweep"](None) >= 1
    assert API["peek"](addressof(cell), bare, byref(object_)) == constant("STALE")
    assert object_.value is None
    assert denizen.stats()["ctable.Bare"]["lent"] == 0


def test_cells_that_are_none_are_refused(bare, integer):
    cell = (ctypes.c_char * constant("CELL_SIZE"))()
    for name in ("touch", "peek", "store", "vacate"):
        rest = () if name == "vacate" else (None,)
        with pytest.raises(ValueError, match=r"the cell of ctable\.Bare is NULL"):
            API[name](None, bare, *rest)
        with pytest.raises(TypeError, match=r"denizen\.Integer has a dtype of denizen's"):
            API[name](addressof(cell), integer, *rest)
        with pytest.raises(RuntimeError, match="not a handle of a registered element type"):
            API[name](addressof(cell), addressof(cell), *rest)
    with pytest.raises(ValueError, match="to store is NULL"):
        API["store"](addressof(cell), bare, None)
    with pytest.raises(TypeError, match=r"denizen\.Integer has a dtype"):
        API["sweep"](integer)


# ---- reports -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("RUNTIME", RuntimeError),
        ("VALUE", ValueError),
        ("TYPE", TypeError),
        ("OVERFLOW", OverflowError),
        ("ZERO_DIVISION", ZeroDivisionError),
        ("MEMORY", MemoryError),
        ("VACANT", denizen.VacantError),
        ("BORROW", denizen.BorrowError),
        ("INDEX", IndexError),
        ("NOT_IMPLEMENTED", NotImplementedError),
    ],
)
def test_every_kind_of_failure_has_its_exception(kind, error):
    report = ErrorOut(struct_size=sizeof(ErrorOut), message=f"on {kind}".encode())
    report.kind = constant(f"ERROR_{kind}")
    with pytest.raises(error, match=f"on {kind}") as caught:
        API["raise"](byref(report))
    assert caught.type is error


def test_a_report_of_an_unknown_kind_or_without_an_end_is_still_an_error():
    report = ErrorOut(struct_size=sizeof(ErrorOut), kind=99, message=b"x" * 496)
    with pytest.raises(RuntimeError, match="^x{496}$"):
        API["raise"](byref(report))
    report.message = b"not \xff UTF-8"
    with pytest.raises(RuntimeError, match="not \N{REPLACEMENT CHARACTER} UTF-8"):
        API["raise"](byref(report))
    with pytest.raises(RuntimeError, match="NULL"):
        API["raise"](None)


def test_sizes_of_the_lists_entries_are_their_own():
    """The loops above would pass each other's sizes unnoticed if they were the same."""
    assert len({sizeof(Loop), sizeof(Cast), sizeof(Identity), sizeof(Spec), sizeof(VTable)}) == 5
