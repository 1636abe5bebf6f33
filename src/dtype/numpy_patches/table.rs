//! What is wrong in NumPy, and what is put in its place: one row a patch. `docs/numpy.md` shows the same
//! table, and `denizen info --patches` what became of each row in the running process.

use super::{
    buffers, bytes, copyswap, einsum, interface, linalg, printing, put, raw, resize, results,
    sorts, state, structures, to_object, ufunc_methods,
};
use crate::{erased::ElementType, numpy_abi::NumpyVersion};
use pyo3::prelude::*;

/// Puts a patch in place; says whether NumPy is made as it expects. Idempotent.
pub type Install = fn(Python<'_>) -> PyResult<bool>;

/// When a patch is placed, and by what.
pub enum When {
    /// At the import.
    Import(Install),
    /// Once a type is registered that needs it.
    Type(fn(&ElementType) -> bool, Install),
    /// At the import, by `denizen._numpy_patches`.
    Python,
    /// With each type: nothing of NumPy's is replaced, the type brings slots or loops of its own.
    Slots,
}

/// What a patch keeps right. Where one that keeps memory safe cannot be placed, denizen is not
/// imported.
#[derive(PartialEq)]
pub enum Keeps {
    /// Memory: without it objects are made of bytes, lost or used after their end.
    Memory,
    /// Results and messages.
    Results,
}

/// One patch. All texts are Markdown.
pub struct Patch {
    pub name: &'static str,
    pub replaces: &'static str,
    /// What NumPy does.
    pub wrong: &'static str,
    /// What denizen does.
    pub instead: &'static str,
    /// The first NumPy that is right.
    pub until: Option<NumpyVersion>,
    pub keeps: Keeps,
    pub when: When,
    /// The tests that would notice.
    pub tests: &'static str,
    /// The public thread.
    pub thread: &'static str,
}

const NEVER: Option<NumpyVersion> = None;
const V2_5_0: Option<NumpyVersion> = Some(NumpyVersion::new(2, 5, 0));
const V2_5_2: Option<NumpyVersion> = Some(NumpyVersion::new(2, 5, 2));
use Keeps::{Memory, Results};
use When::{Import, Python as InPython, Slots, Type};

/// The patches, in the order in which they are placed.
#[rustfmt::skip]
pub static PATCHES: &[Patch] = &[
    Patch {
        name: "foreign-buffers", until: NEVER, keeps: Memory, when: Import(buffers::install),
        replaces: "`ndarray.__new__`",
        wrong: "A foreign buffer is taken for cells: `np.ndarray(shape, dtype, buffer)`, \
            `np.memmap`, `np.recarray(buf=)`. From 2.5.2 on NumPy refuses it by itself, but for \
            structures with such a field. `strides=` without a buffer makes cells that overlap.",
        instead: "`tp_new` of `ndarray`, and of classes derived from it before, is wrapped: \
            TypeError, also for strides that are not those of C or Fortran order. NumPy gets the \
            arguments as they were looked at. `np.empty`, results and views do not come that way (`ndarray(3)` costs 2-4 \
            ns more).",
        tests: "`numpy_patches/test_guards.py`, `numpy_patches/test_refused_ways.py`", thread: "numpy#32156",
    },
    Patch {
        name: "buffer-protocol", until: NEVER, keeps: Memory, when: Import(bytes::install_buffer),
        replaces: "`bf_getbuffer` of `ndarray` and `np.void`",
        wrong: "The buffer protocol gives bytes of cells away where no format is asked for \
            (`readinto`, `recv_into`, `struct.pack_into`, `hashlib`, `zlib`, `write`), and, with \
            a format, the holes of a view of some fields of records (`a[[\"n\"]]`).",
        instead: "The slot is wrapped, in classes derived from them before too (1 ns a call): \
            TypeError.",
        tests: "`arrays/test_bytes.py`", thread: "none found",
    },
    Patch {
        name: "raw-bytes", until: NEVER, keeps: Memory, when: Import(bytes::install_raw),
        replaces: "`ndarray.tobytes`, `__array_struct__` of `ndarray` and `np.generic`, \
            `ndarray.strides`",
        wrong: "`tobytes` copies bytes of pointers out; `__array_struct__` of records is taken \
            for raw bytes; `a.strides = ..` finds cells where none begins.",
        instead: "Wrapped: TypeError, AttributeError (`hasattr` says no), TypeError.",
        tests: "`arrays/test_bytes.py`", thread: "none found",
    },
    Patch {
        name: "scalar-pickle", until: NEVER, keeps: Results, when: Import(bytes::install_pickle),
        replaces: "`np.generic.__reduce__`",
        wrong: "`np.void.__reduce__` asks for the scalar's buffer before it pickles an array.",
        instead: "Wrapped for structures with elements.",
        tests: "`arrays/test_bytes.py`", thread: "none found",
    },
    Patch {
        name: "scalar-byteswap", until: NEVER, keeps: Memory, when: Import(bytes::install_byteswap),
        replaces: "`np.generic.byteswap`",
        wrong: "`np.void.byteswap` swaps into memory that is not zeroed, where bytes of a field are \
            taken for an element, and gives the memory back without an end of those that it made.",
        instead: "Wrapped for structures with elements: an array of the scalar is swapped.",
        tests: "`numpy_patches/test_refused_ways.py`", thread: "none found",
    },
    Patch {
        name: "array-interface", until: NEVER, keeps: Memory, when: Import(interface::install),
        replaces: "`np.array`, `np.asarray`, `np.asanyarray`, `np.ascontiguousarray`, \
            `np.asfortranarray`",
        wrong: "An object with an `__array_interface__` whose `descr` names our dtype makes cells \
            of any bytes.",
        instead: "The functions refuse it (TypeError), also in lists and tuples. An object whose \
            class answers by code is asked once: NumPy gets its buffer, the result of its \
            `__array__`, its items or an array with it instead. What stays open: docs/numpy.md.",
        tests: "`arrays/test_bytes.py`, `numpy_patches/test_refused_ways.py`", thread: "none found",
    },
    Patch {
        name: "dtype-state", until: NEVER, keeps: Memory, when: Import(structures::install),
        replaces: "`dtype.__setstate__`, `dtype.__reduce__`",
        wrong: "`dtype.__setstate__` changes a dtype under the arrays that have it; the dict of \
            fields that it takes, and that `__reduce__` gives, is the dtype's own from then on.",
        instead: "Both are wrapped for structures: the state is read once, fields are copied, a \
            state with fields of elements is a TypeError, and a structure with elements is \
            pickled as what `np.dtype` makes it of.",
        tests: "`arrays/test_bytes.py`, `numpy_patches/test_refused_ways.py`", thread: "none found",
    },
    Patch {
        name: "array-state", until: NEVER, keeps: Memory, when: Import(state::install),
        replaces: "`ndarray.__setstate__`",
        wrong: "`__setstate__` reads behind the end of a list of elements that is shorter than \
            the shape, or becomes so while it is read; takes memory of the caller's handler; \
            frees the old memory under views, flat iterators and functions that are at work \
            (`putmask`, `take`, `repeat`).",
        instead: "Where elements come in or go, only an array without items takes a state, as in \
            unpickling; another is a ValueError, or `denizen.BorrowError` while it is in use. A \
            new array takes a copy of the state, with our handler armed; a list of another length \
            is refused (ValueError). Then the two exchange what they have. A state that fails \
            leaves the array as it was.",
        tests: "`arrays/test_set_state.py`, `numpy_patches/test_refused_ways.py`, `regressions/test_changed_data.py`", thread: "none found",
    },
    Patch {
        name: "resize", until: NEVER, keeps: Memory, when: Import(resize::install),
        replaces: "`ndarray.resize`",
        wrong: "`resize` ends what is in the tail that goes before it asks the handler, and says \
            `MemoryError` for each refusal.",
        instead: "`denizen.BorrowError` where the cells are in use, once the new shape is known: \
            a number's `__index__` may have begun to use them.",
        tests: "`arrays/test_move_only.py`, `numpy_patches/test_refused_ways.py`", thread: "none",
    },
    Patch {
        name: "flat-assignment", until: V2_5_2, keeps: Memory, when: Import(copyswap::install_flat),
        replaces: "the setter of `ndarray.flat`",
        wrong: "`a.flat = x` duplicates 8 raw bytes an element.",
        instead: "The setter is wrapped for arrays of our dtypes: they are assigned through the \
            flat iterator.",
        tests: "`numpy_patches/test_guards.py`", thread: "numpy#32151, numpy#32221",
    },
    Patch {
        name: "copyswap-slot", until: V2_5_2, keeps: Memory, when: Slots,
        replaces: "nothing",
        wrong: "`np.place`, `byteswap`, structured scalar assignment call a NULL `copyswap`.",
        instead: "The slots are filled.",
        tests: "`numpy_patches/test_guards.py`", thread: "numpy#30795, numpy#32151",
    },
    Patch {
        name: "put", until: NEVER, keeps: Memory, when: Import(put::install),
        replaces: "`ndarray.put`, `np.putmask`",
        wrong: "`put` and `putmask` work on a copy of an array that is not contiguous or overlaps \
            with the values, and do not look whether there is one (a crash below 2.5.0 where an \
            element cannot be copied) or whether it could be written back (a `SystemError` from \
            there on).",
        instead: "Both are wrapped: the copy is made and assigned back here.",
        tests: "`numpy_patches/test_guards.py`, `memory/test_failures.py`", thread: "none found",
    },
    Patch {
        name: "fill", until: NEVER, keeps: Results, when: Import(put::install_fill),
        replaces: "`ndarray.fill`",
        wrong: "`records.fill(x)` makes the item in memory that it frees as bytes where a field \
            fails: the fields made before are lost.",
        instead: "The item of records with elements is made in an array.",
        tests: "`casts/test_objects.py`", thread: "none found",
    },
    Patch {
        name: "quicksort", until: NEVER, keeps: Memory, when: Import(sorts::install),
        replaces: "`ndarray.sort`, `argsort`, `partition`, `argpartition`",
        wrong: "Quicksort trusts comparisons: one that contradicts itself sends it out of the \
            array. It sorts structures, and `partition` falls back to it. 2.6 has a partition of \
            its own.",
        instead: "Arrays with our elements go through `denizen._numpy_patches`: merge sorts, and \
            a sort for a partition.",
        tests: "`regressions/test_order.py`", thread: "none found",
    },
    Patch {
        name: "raw-comparisons", until: NEVER, keeps: Memory,
        when: Import(raw::install),
        replaces: "`ndarray.argmax`, `argmin`, `searchsorted`, `np.lexsort`",
        wrong: "Items of structures, and keys that are not contiguous, are compared by copies of \
            their bytes, which a comparison may outlive. A result is returned beside the \
            exception of a comparison.",
        instead: "The memory is locked for reading meanwhile; a result that comes with an \
            exception is given up (1-2 ns a call).",
        tests: "`regressions/test_order.py`, `arrays/test_arrfuncs.py`", thread: "none found",
    },
    Patch {
        name: "compare-slot", until: V2_5_0, keeps: Memory, when: Slots,
        replaces: "nothing",
        wrong: "Sorts of structures call the NULL `compare` of a field that has no order: a crash.",
        instead: "The slot is filled below 2.5; a type without an order raises TypeError.",
        tests: "`regressions/test_records.py`", thread: "numpy#29737",
    },
    Patch {
        name: "nonzero-slot", until: NEVER, keeps: Memory, when: Slots,
        replaces: "nothing",
        wrong: "`nonzero` is called though it is NULL.",
        instead: "The slot is filled; a type without truth raises.",
        tests: "`arrays/test_arrfuncs.py`", thread: "",
    },
    Patch {
        name: "void-cast", until: NEVER, keeps: Memory, when: Slots,
        replaces: "nothing",
        wrong: "The cast from raw bytes (`V`, a `np.void` scalar) to a user dtype looks up its \
            loop at index -1, the `type_num` of every user dtype, and calls what stands there: a \
            crash.",
        instead: "Each type brings a cast from `V` of its own, which refuses (TypeError), also of \
            a structure with one field.",
        tests: "`arrays/test_dtype.py`", thread: "none found",
    },
    Patch {
        name: "at-alignment", until: NEVER, keeps: Memory, when: Slots,
        replaces: "nothing",
        wrong: "`ufunc.at` judges whether elements are aligned by the first that it meets, and \
            hands a loop the others of a packed record as they are.",
        instead: "A loop's operands are looked at; unaligned cells visit aligned memory.",
        tests: "`check/test_tracers.py`", thread: "none found",
    },
    Patch {
        name: "cast-to-object", until: NEVER, keeps: Memory, when: Import(to_object::install_cast),
        replaces: "what chooses the loop of the cast to `object`",
        wrong: "The cast gives up the object in the destination before it asks for the new one: \
            Python code that runs meanwhile, in this thread or another, finds a pointer to an \
            object that has ended.",
        instead: "Where it reads elements of ours, each object is put into memory of its own \
            first, and exchanged with what is in the destination.",
        tests: "`casts/test_objects.py`", thread: "none found",
    },
    Patch {
        name: "record-tuples", until: NEVER, keeps: Memory, when: Import(to_object::install_records),
        replaces: "`getitem` of `np.void`'s dtype",
        wrong: "The tuple of a record has NULL where a field could not be read: a result with it \
            beside the exception, or `SystemError`.",
        instead: "The tuple is given up, the exception arrives as it is.",
        tests: "`casts/test_objects.py`", thread: "none found",
    },
    Patch {
        name: "broadcast-tuples", until: NEVER, keeps: Memory,
        when: Import(results::install_broadcast),
        replaces: "`np.broadcast.__next__`",
        wrong: "The tuple has NULL where an element could not be read: a crash.",
        instead: "The tuple is given up, the exception arrives as it is.",
        tests: "`casts/test_objects.py`", thread: "none found",
    },
    Patch {
        name: "einsum", until: NEVER, keeps: Memory, when: Import(einsum::install),
        replaces: "`c_einsum` in `numpy._core.multiarray` and `einsumfunc`",
        wrong: "`np.einsum` looks up its loop at index -1, the `type_num` of every user dtype, \
            and calls what stands there: a crash, or zeros.",
        instead: "`c_einsum` is replaced by one that refuses our elements (TypeError).",
        tests: "`numpy_patches/test_guards.py`", thread: "none found",
    },
    Patch {
        name: "flat-slices", until: V2_5_2, keeps: Results, when: Import(copyswap::install_slices),
        replaces: "the subscript of `np.flatiter`",
        wrong: "`a.flat[1:3]` copies with `copyswap`, which cannot report: a failure surfaces \
            later, somewhere else.",
        instead: "The subscript is wrapped: a result that comes with an exception is given up.",
        tests: "`memory/test_failures.py` (measured on 2.4.6; 2.5.5 is right)", thread: "",
    },
    Patch {
        name: "structure-assignment", until: V2_5_2, keeps: Results,
        when: Import(copyswap::install_assignment),
        replaces: "`__setitem__` of `ndarray` and `np.flatiter`",
        wrong: "`records[0] = other[0]` succeeds beside the exception of a field, which surfaces \
            somewhere else.",
        instead: "The assignment slots, also of classes derived from them before, are wrapped: it \
            has failed.",
        tests: "`regressions/test_records.py`", thread: "numpy#32151",
    },
    Patch {
        name: "results-beside-exceptions", until: NEVER, keeps: Results,
        when: Import(results::install),
        replaces: "`ndarray.item`, `tolist`, `__reduce__`, `__reduce_ex__`, `np.place`",
        wrong: "The functions return a result beside the exception of an element: `SystemError` \
            with it as its cause.",
        instead: "They are wrapped (1-2 ns a call): the result is given up, the exception arrives \
            as it is.",
        tests: "`memory/test_failures.py`, `memory/test_bad_input.py`", thread: "none found",
    },
    Patch {
        name: "cumulative-dtype", until: NEVER, keeps: Results,
        when: Import(ufunc_methods::install_cumulative),
        replaces: "`ndarray.cumsum`, `cumprod`",
        wrong: "`cumsum` and `cumprod` look `dtype=` up by its `type_num`, -1: `SystemError`; of \
            a DType class they make `object`.",
        instead: "Wrapped: `accumulate` is called.",
        tests: "`ufuncs/test_mixed_operands.py`", thread: "none found",
    },
    Patch {
        name: "ufunc-at", until: NEVER, keeps: Results, when: Import(ufunc_methods::install_at),
        replaces: "`np.ufunc.at`",
        wrong: "`ufunc.at` casts unsafely: `np.add.at(fractions, i, 0.5)` would round. Of arrays \
            that overlap it returns a result beside the exception of an element.",
        instead: "Wrapped: results that cast to the elements unsafely are a TypeError.",
        tests: "`ufuncs/test_reductions.py`, `memory/test_failures.py`", thread: "none found",
    },
    Patch {
        name: "linalg", until: NEVER, keeps: Results, when: Import(linalg::install),
        replaces: "`_commonType` and `issubclass` in `numpy.linalg._linalg`",
        wrong: "`numpy.linalg` computes in `float64` whatever it does not know: `solve`, `inv`, \
            `det`, `eig`, `svd`, .. ask `_commonType`; `norm` asks `issubclass(.., (inexact, \
            object_))`. The casts have the level 'unsafe', so exact values are rounded silently.",
        instead: "The functions refuse our elements (TypeError) and name their counterpart in \
            `denizen.linalg`; `norm` gives `float64` of the bundled numbers, as irrational \
            functions do, and refuses other types.",
        tests: "`ufuncs/test_linalg.py`", thread: "none found",
    },
    Patch {
        name: "long-array-text", until: NEVER, keeps: Results,
        when: Type(printing::only_moves, printing::install_ends),
        replaces: "`_leading_trailing` in `numpy._core.arrayprint`",
        wrong: "To print an array beyond the threshold NumPy copies its first and last elements, \
            and looks at nothing but their dtype.",
        instead: "Once a type without copies is registered, it is replaced by one that copies \
            none of its elements.",
        tests: "`arrays/test_move_only.py`", thread: "none",
    },
    Patch {
        name: "empty-text", until: NEVER, keeps: Results,
        when: Type(printing::may_be_empty, printing::install_empty),
        replaces: "`_extendLine_pretty` in `numpy._core.arrayprint`",
        wrong: "To lay out an element whose text is empty, NumPy takes the longest of its lines, \
            of which there are none: a `ValueError` from 2.5 on.",
        instead: "Once a type of a client's has text, it is replaced by one that takes an empty \
            text for one line.",
        tests: "`clients/test_regressions.py`", thread: "none found",
    },
    Patch {
        name: "mean-and-variance", until: NEVER, keeps: Results, when: InPython,
        replaces: "`asanyarray` in `numpy._core._methods`",
        wrong: "`mean` and `var` put quotients where the sums were, in the sums' type, and cut \
            them off where `dtype=` or `out=` is of an integer type (NumPy does so to its own \
            integers, too).",
        instead: "`asanyarray`, as `_mean` and `_var` call it, gives an array of the type of the \
            quotients, and looks at their variables: integers are a TypeError.",
        tests: "`ufuncs/test_reductions.py`", thread: "none found",
    },
    Patch {
        name: "deviations", until: NEVER, keeps: Results, when: InPython,
        replaces: "the code of `_std` and `np.nanstd`",
        wrong: "`std` and `nanstd` put roots where the variances were. The C methods keep the \
            Python functions that they called first, so the code is replaced.",
        instead: "Deviations are of the type of `sqrt`.",
        tests: "`ufuncs/test_reductions.py`", thread: "none found",
    },
    Patch {
        name: "linspace", until: NEVER, keeps: Results, when: InPython,
        replaces: "the code of `np.linspace`",
        wrong: "`linspace` (and with it `pad` with ramps, `histogram`) computes with floats and \
            puts the results into an array of the operands' type, where the exact type takes each \
            float for what it is.",
        instead: "Between exact numbers `linspace` is exact.",
        tests: "`ufuncs/test_mixed_operands.py`", thread: "none found",
    },
    Patch {
        name: "unwrap", until: NEVER, keeps: Results, when: InPython,
        replaces: "the code of `np.unwrap`",
        wrong: "`unwrap` computes with floats as well.",
        instead: "Of exact numbers it is a TypeError.",
        tests: "`ufuncs/test_float_functions.py`", thread: "none found",
    },
    Patch {
        name: "histogram-edges", until: NEVER, keeps: Results, when: InPython,
        replaces: "`_get_bin_edges` in `numpy.lib._histograms_impl`",
        wrong: "`histogram` and `histogram_bin_edges` compute edges in the type of the elements, \
            and indices of bins with floats that they cast to it.",
        instead: "Edges of exact numbers are of the type of their quotients, and elements of ours \
            are sorted in between them.",
        tests: "`arrays/test_histograms.py`", thread: "none found",
    },
    Patch {
        name: "histogram-estimators", until: V2_5_0, keeps: Results, when: InPython,
        replaces: "`_unsigned_subtract` in `numpy.lib._histograms_impl`",
        wrong: "`_unsigned_subtract` of histograms names a user dtype by its instance, which \
            ufuncs refuse: no estimators of bins.",
        instead: "It is replaced by a subtraction.",
        tests: "`arrays/test_histograms.py`", thread: "none found",
    },
    Patch {
        name: "no-loop-text", until: NEVER, keeps: Results, when: InPython,
        replaces: "`_UFuncNoLoopError.__str__`",
        wrong: "The text of \"no loop\" names classes only.",
        instead: "It names our type and the ufunc first.",
        tests: "`ufuncs/test_mixed_operands.py`", thread: "",
    },
];
