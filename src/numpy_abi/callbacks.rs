//! The functions that NumPy calls: one type a slot.
//!
//! NumPy holds the GIL (has an attached thread) in every one of them except where it says
//! otherwise: [`StridedLoop`] and [`TraverseLoop`] run without it unless their
//! `NPY_METH_REQUIRES_PYAPI` flag was set. `-1` or NULL means that an exception is set.

use std::ffi::{c_char, c_int, c_void};

use pyo3::ffi::{PyObject, PyTypeObject};

use super::structs::*;

// ArrayMethods: casts and ufunc loops.

/// `NPY_METH_resolve_descriptors`: fills `loop_descrs` with new references; returns an
/// `NPY_CASTING`, or -1.
pub type ResolveDescriptors = unsafe extern "C" fn(
    method: *mut PyArrayMethodObject,
    dtypes: *const *mut PyArray_DTypeMeta,
    given_descrs: *const *mut PyArray_Descr,
    loop_descrs: *mut *mut PyArray_Descr,
    view_offset: *mut npy_intp,
) -> c_int;

/// A loop over `dimensions[0]` elements of each operand: 0, or -1.
pub type StridedLoop = unsafe extern "C" fn(
    context: *mut PyArrayMethod_Context,
    data: *const *mut c_char,
    dimensions: *const npy_intp,
    strides: *const npy_intp,
    auxdata: *mut NpyAuxData,
) -> c_int;

/// `NPY_METH_get_loop`: picks the loop; `flags` are `NPY_METH_*`.
pub type GetLoop = unsafe extern "C" fn(
    context: *mut PyArrayMethod_Context,
    aligned: c_int,
    move_references: c_int,
    strides: *const npy_intp,
    out_loop: *mut Option<StridedLoop>,
    out_auxdata: *mut *mut NpyAuxData,
    flags: *mut c_int,
) -> c_int;

/// `NPY_METH_get_reduction_initial`: 1 with `initial` filled, 0 without, or -1.
pub type GetReductionInitial = unsafe extern "C" fn(
    context: *mut PyArrayMethod_Context,
    reduction_is_empty: npy_bool,
    initial: *mut c_void,
) -> c_int;

/// A promoter, in a capsule named [`UFUNC_PROMOTER`]: fills `new_op_dtypes` with new references.
pub type Promoter = unsafe extern "C" fn(
    ufunc: *mut PyObject,
    op_dtypes: *const *mut PyArray_DTypeMeta,
    signature: *const *mut PyArray_DTypeMeta,
    new_op_dtypes: *mut *mut PyArray_DTypeMeta,
) -> c_int;

/// For `PyUFunc_AddWrappingLoop`: descriptors for the wrapped loop.
pub type TranslateGivenDescriptors = unsafe extern "C" fn(
    nin: c_int,
    nout: c_int,
    wrapped_dtypes: *const *mut PyArray_DTypeMeta,
    given_descrs: *const *mut PyArray_Descr,
    new_descrs: *mut *mut PyArray_Descr,
) -> c_int;

/// For `PyUFunc_AddWrappingLoop`: descriptors from the wrapped loop.
pub type TranslateLoopDescriptors = unsafe extern "C" fn(
    nin: c_int,
    nout: c_int,
    new_dtypes: *const *mut PyArray_DTypeMeta,
    given_descrs: *const *mut PyArray_Descr,
    original_descrs: *mut *mut PyArray_Descr,
    loop_descrs: *mut *mut PyArray_Descr,
) -> c_int;

/// A loop over `size` elements of one buffer (clear, fill with zero): 0, or -1.
pub type TraverseLoop = unsafe extern "C" fn(
    traverse_context: *mut c_void,
    descr: *const PyArray_Descr,
    data: *mut c_char,
    size: npy_intp,
    stride: npy_intp,
    auxdata: *mut NpyAuxData,
) -> c_int;

/// `NPY_DT_get_clear_loop`, `NPY_DT_get_fill_zero_loop`: picks the loop.
pub type GetTraverseLoop = unsafe extern "C" fn(
    traverse_context: *mut c_void,
    descr: *const PyArray_Descr,
    aligned: c_int,
    fixed_stride: npy_intp,
    out_loop: *mut Option<TraverseLoop>,
    out_auxdata: *mut *mut NpyAuxData,
    flags: *mut c_int,
) -> c_int;

// DTypes.

/// `NPY_DT_discover_descr_from_pyobject`: a new reference.
pub type DiscoverDescr = unsafe extern "C" fn(
    class: *mut PyArray_DTypeMeta,
    object: *mut PyObject,
) -> *mut PyArray_Descr;
/// `_NPY_DT_is_known_scalar_type`: 1, 0 or -1.
pub type IsKnownScalarType =
    unsafe extern "C" fn(class: *mut PyArray_DTypeMeta, scalar: *mut PyTypeObject) -> c_int;
/// `NPY_DT_default_descr`: a new reference.
pub type DefaultDescr = unsafe extern "C" fn(class: *mut PyArray_DTypeMeta) -> *mut PyArray_Descr;
/// `NPY_DT_common_dtype`: a new reference, to `Py_NotImplemented` where there is none.
pub type CommonDType = unsafe extern "C" fn(
    dtype1: *mut PyArray_DTypeMeta,
    dtype2: *mut PyArray_DTypeMeta,
) -> *mut PyArray_DTypeMeta;
/// `NPY_DT_common_instance`: a new reference.
pub type CommonInstance = unsafe extern "C" fn(
    descr1: *mut PyArray_Descr,
    descr2: *mut PyArray_Descr,
) -> *mut PyArray_Descr;
/// `NPY_DT_ensure_canonical`: a new reference.
pub type EnsureCanonical = unsafe extern "C" fn(descr: *mut PyArray_Descr) -> *mut PyArray_Descr;
/// `NPY_DT_finalize_descr`: a new reference. Called before each new array's allocation.
pub type FinalizeDescr = unsafe extern "C" fn(descr: *mut PyArray_Descr) -> *mut PyArray_Descr;
/// `NPY_DT_setitem`: writes `object` at `data`.
pub type SetItem = unsafe extern "C" fn(
    descr: *mut PyArray_Descr,
    object: *mut PyObject,
    data: *mut c_char,
) -> c_int;
/// `NPY_DT_getitem`: a new reference.
pub type GetItem =
    unsafe extern "C" fn(descr: *mut PyArray_Descr, data: *mut c_char) -> *mut PyObject;
/// `NPY_DT_get_constant`: 1 with `data` (perhaps unaligned) written, 0 without, or -1.
pub type GetConstant =
    unsafe extern "C" fn(descr: *mut PyArray_Descr, id: c_int, data: *mut c_void) -> c_int;

// Functions of `PyArray_ArrFuncs`. `array` is the array, or something with a dtype.

/// Casts `n` contiguous elements.
pub type VectorUnaryFunc = unsafe extern "C" fn(
    from: *mut c_void,
    to: *mut c_void,
    n: npy_intp,
    from_array: *mut c_void,
    to_array: *mut c_void,
);
/// Element to object: a new reference.
pub type ArrGetItem = unsafe extern "C" fn(data: *mut c_void, array: *mut c_void) -> *mut PyObject;
/// Object to element.
pub type ArrSetItem =
    unsafe extern "C" fn(object: *mut PyObject, data: *mut c_void, array: *mut c_void) -> c_int;
/// Copies `n` elements; `source` NULL means swap bytes in place.
pub type CopySwapN = unsafe extern "C" fn(
    destination: *mut c_void,
    destination_stride: npy_intp,
    source: *mut c_void,
    source_stride: npy_intp,
    n: npy_intp,
    swap: c_int,
    array: *mut c_void,
);
/// Copies one element; `source` NULL means swap bytes in place.
pub type CopySwap = unsafe extern "C" fn(
    destination: *mut c_void,
    source: *mut c_void,
    swap: c_int,
    array: *mut c_void,
);
/// Truth of an element.
pub type Nonzero = unsafe extern "C" fn(data: *mut c_void, array: *mut c_void) -> npy_bool;
/// Negative, 0 or positive.
pub type Compare =
    unsafe extern "C" fn(left: *const c_void, right: *const c_void, array: *mut c_void) -> c_int;
/// Index of the largest or smallest of `n`.
pub type ArgFunc = unsafe extern "C" fn(
    data: *mut c_void,
    n: npy_intp,
    index: *mut npy_intp,
    array: *mut c_void,
) -> c_int;
/// Inner product of `n` elements.
pub type DotFunc = unsafe extern "C" fn(
    left: *mut c_void,
    left_stride: npy_intp,
    right: *mut c_void,
    right_stride: npy_intp,
    out: *mut c_void,
    n: npy_intp,
    array: *mut c_void,
);
/// Element from an open file.
pub type ScanFunc = unsafe extern "C" fn(
    file: *mut libc::FILE,
    data: *mut c_void,
    ignore: *mut c_char,
    descr: *mut PyArray_Descr,
) -> c_int;
/// Element from text; `end` is set behind it.
pub type FromStrFunc = unsafe extern "C" fn(
    text: *mut c_char,
    data: *mut c_void,
    end: *mut *mut c_char,
    descr: *mut PyArray_Descr,
) -> c_int;
/// Continues the sequence that the first two of `n` elements start.
pub type Fill = unsafe extern "C" fn(data: *mut c_void, n: npy_intp, array: *mut c_void) -> c_int;
/// Fills `n` elements with the one at `value`.
pub type FillWithScalar = unsafe extern "C" fn(
    data: *mut c_void,
    n: npy_intp,
    value: *mut c_void,
    array: *mut c_void,
) -> c_int;
/// Sorts `n` contiguous elements.
pub type Sort = unsafe extern "C" fn(data: *mut c_void, n: npy_intp, array: *mut c_void) -> c_int;
/// Sorts `n` indices.
pub type ArgSort = unsafe extern "C" fn(
    data: *mut c_void,
    indices: *mut npy_intp,
    n: npy_intp,
    array: *mut c_void,
) -> c_int;
/// Kind of a scalar.
pub type ScalarKind = unsafe extern "C" fn(data: *mut c_void) -> c_int;
