//! The C structs of NumPy 2.4 and later, field by field.
//!
//! Names and order are those of `numpy/ndarraytypes.h` and `numpy/dtype_api.h`; [`super::layout()`]
//! compares them with the real headers. Structs that NumPy may lengthen at the end are only ever
//! read through pointers that NumPy handed out.
#![expect(non_camel_case_types, reason = "the names are NumPy's own")]

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

use pyo3::ffi::{PyHeapTypeObject, PyObject, PyType_Slot, PyTypeObject, PyVarObject};

use super::callbacks::*;

/// NumPy's signed size and stride type.
pub type npy_intp = isize;
/// NumPy's boolean: 0 or 1.
pub type npy_bool = u8;

/// Number of cast functions in [`PyArray_ArrFuncs`].
pub const NPY_NTYPES_ABI_COMPATIBLE: usize = 21;
/// Number of sort functions in [`PyArray_ArrFuncs`].
pub const NPY_NSORTS: usize = 3;

/// An `ndarray` (`PyArrayObject_fields`), up to and including its memory handler.
#[repr(C)]
pub struct PyArrayObject {
    /// Reference count and type.
    pub ob_base: PyObject,
    /// First byte of the element at index zero.
    pub data: *mut c_char,
    /// Number of dimensions.
    pub nd: c_int,
    /// `nd` lengths in elements; may be NULL where `nd` is 0.
    pub dimensions: *mut npy_intp,
    /// `nd` strides in bytes.
    pub strides: *mut npy_intp,
    /// The owner of the data, where that is not this array; else NULL.
    pub base: *mut PyObject,
    /// The dtype instance.
    pub descr: *mut PyArray_Descr,
    /// `NPY_ARRAY_*` flags.
    pub flags: c_int,
    /// For weak references.
    pub weakreflist: *mut PyObject,
    /// NumPy's cached buffer information.
    pub _buffer_info: *mut c_void,
    /// The capsule of the handler that made the data; NULL where the array does not own it.
    pub mem_handler: *mut PyObject,
}

/// A structured scalar (`np.void`).
#[repr(C)]
pub struct PyVoidScalarObject {
    /// Reference count, type and size.
    pub ob_base: PyVarObject,
    /// The bytes.
    pub obval: *mut c_char,
    /// The dtype instance.
    pub descr: *mut PyArray_Descr,
    /// `NPY_ARRAY_*` flags.
    pub flags: c_int,
    /// The owner of the bytes, where that is not the scalar itself; else NULL.
    pub base: *mut PyObject,
    /// NumPy's cached buffer information.
    pub _buffer_info: *mut c_void,
}

/// A dtype instance, common part of every dtype since NumPy 2.0.
#[repr(C)]
pub struct PyArray_Descr {
    /// Reference count and type (the DType class).
    pub ob_base: PyObject,
    /// The scalar type.
    pub typeobj: *mut PyTypeObject,
    /// Kind of data, one letter.
    pub kind: c_char,
    /// Letter of this dtype.
    pub r#type: c_char,
    /// `>`, `<`, `=` or, where it does not apply, `|`.
    pub byteorder: c_char,
    /// Unused.
    pub _former_flags: c_char,
    /// Legacy type number, -1 for user dtypes.
    pub type_num: c_int,
    /// `NPY_ITEM_*` and `NPY_NEEDS_*` flags.
    pub flags: u64,
    /// Bytes of one element.
    pub elsize: npy_intp,
    /// Alignment of one element.
    pub alignment: npy_intp,
    /// A dict, or NULL.
    pub metadata: *mut PyObject,
    /// Cached hash, -1 while unknown.
    pub hash: isize,
    /// NULL, for future use.
    pub reserved_null: [*mut c_void; 2],
}

/// A DType class: a Python type with NumPy's members behind it.
///
/// Its size depends on the Python version (`PyHeapTypeObject` does).
#[repr(C)]
pub struct PyArray_DTypeMeta {
    /// The Python type.
    pub super_: PyHeapTypeObject,
    /// The default instance, where the DType has no parameters.
    pub singleton: *mut PyArray_Descr,
    /// Legacy type number, -1 for user DTypes.
    pub type_num: c_int,
    /// The scalar type.
    pub scalar_type: *mut PyTypeObject,
    /// `NPY_DT_ABSTRACT` and friends.
    pub flags: u64,
    /// NumPy's table of slots.
    pub dt_slots: *mut c_void,
    /// For future use.
    pub reserved: [*mut c_void; 3],
}

/// An ArrayMethod; opaque.
#[repr(C)]
pub struct PyArrayMethodObject {
    _opaque: [u8; 0],
    _marker: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// The head of a [`PyArrayMethodObject`], which NumPy's headers do not tell (`array_method.h`): the
/// same since 2.0. `name`, `nin` and `nout` are compared before the rest is read.
#[repr(C)]
pub struct CastMethod {
    pub ob_base: PyObject,
    /// For messages.
    pub name: *const c_char,
    pub nin: c_int,
    pub nout: c_int,
    /// `NPY_CASTING` of a cast.
    pub casting: c_int,
    /// `NPY_METH_*` flags.
    pub flags: c_int,
    pub static_data: *mut c_void,
    pub resolve_descriptors_with_scalars: *mut c_void,
    pub resolve_descriptors: Option<ResolveDescriptors>,
    /// Picks the loop.
    pub get_loop: Option<GetLoop>,
}

/// An ArrayMethod with its DTypes (`PyBoundArrayMethodObject`), which NumPy's headers do not tell.
#[repr(C)]
pub struct BoundArrayMethod {
    pub ob_base: PyObject,
    pub dtypes: *mut *mut PyArray_DTypeMeta,
    pub method: *mut CastMethod,
}

/// The memory of strings of `StringDType`; opaque.
#[repr(C)]
pub struct npy_string_allocator {
    _opaque: [u8; 0],
    _marker: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// An element of an array of `StringDType`; opaque.
#[repr(C)]
pub struct npy_packed_static_string {
    _opaque: [u8; 0],
    _marker: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// The bytes of such an element (`npy_unpacked_static_string`): UTF-8, not terminated.
#[repr(C)]
pub struct npy_static_string {
    /// How many.
    pub size: usize,
    /// Where; may be NULL where there are none.
    pub buf: *const c_char,
}

/// What a loop learns about its call. The tail (from `_reserved`) exists since NumPy 2.4.
#[repr(C)]
pub struct PyArrayMethod_Context {
    /// The ufunc; NULL for casts.
    pub caller: *mut PyObject,
    /// The method; NULL for sorts on NumPy 2.4.
    pub method: *mut PyArrayMethodObject,
    /// One dtype instance per operand.
    pub descriptors: *const *mut PyArray_Descr,
    /// Unused.
    pub _reserved: *mut c_void,
    /// `NPY_SAME_VALUE_CONTEXT_FLAG` or 0.
    pub flags: u64,
    /// For sorts: [`PyArrayMethod_SortParameters`].
    pub parameters: *mut c_void,
}

/// Definition of an ArrayMethod: a cast or a ufunc loop.
#[repr(C)]
pub struct PyArrayMethod_Spec {
    /// For messages.
    pub name: *const c_char,
    /// Number of inputs.
    pub nin: c_int,
    /// Number of outputs.
    pub nout: c_int,
    /// `NPY_CASTING` of a cast.
    pub casting: c_int,
    /// `NPY_METH_*` flags.
    pub flags: c_int,
    /// `nin + nout` DTypes; NULL stands for the DType being made.
    pub dtypes: *mut *mut PyArray_DTypeMeta,
    /// Slots, ended by a zero slot.
    pub slots: *mut PyType_Slot,
}

/// Definition of a DType.
#[repr(C)]
pub struct PyArrayDTypeMeta_Spec {
    /// The scalar type.
    pub typeobj: *mut PyTypeObject,
    /// `NPY_DT_ABSTRACT` and friends.
    pub flags: c_int,
    /// Casts, ended by NULL.
    pub casts: *mut *mut PyArrayMethod_Spec,
    /// Slots, ended by a zero slot.
    pub slots: *mut PyType_Slot,
    /// Base class, or NULL for `np.dtype`.
    pub baseclass: *mut PyTypeObject,
}

/// Parameters of a sort loop.
#[repr(C)]
pub struct PyArrayMethod_SortParameters {
    /// `NPY_SORT_*`.
    pub flags: c_int,
}

/// One entry of `PyUFunc_AddLoopsFromSpecs`; the list ends with a NULL name.
#[repr(C)]
pub struct PyUFunc_LoopSlot {
    /// `module:name` of the ufunc.
    pub name: *const c_char,
    /// The loop.
    pub spec: *mut PyArrayMethod_Spec,
}

/// The functions of a NEP 49 handler.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PyDataMemAllocator {
    /// Handed to every function.
    pub ctx: *mut c_void,
    /// `malloc(ctx, size)`.
    pub malloc: Option<unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void>,
    /// `calloc(ctx, nelem, elsize)`.
    pub calloc: Option<unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void>,
    /// `realloc(ctx, ptr, new_size)`.
    pub realloc: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void>,
    /// `free(ctx, ptr, size)`.
    pub free: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize)>,
}

/// A NEP 49 handler, as found in a capsule named [`MEM_HANDLER`].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PyDataMem_Handler {
    /// NUL-terminated name.
    pub name: [c_char; 127],
    /// 1.
    pub version: u8,
    /// The functions.
    pub allocator: PyDataMemAllocator,
}

/// Name of the capsule around a [`PyDataMem_Handler`].
pub const MEM_HANDLER: &std::ffi::CStr = c"mem_handler";
/// Name of the capsule around a [`Promoter`].
pub const UFUNC_PROMOTER: &std::ffi::CStr = c"numpy._ufunc_promoter";

/// Loop data with its own free and clone; a loop's own data follows this head.
#[repr(C)]
pub struct NpyAuxData {
    /// Destroys the data.
    pub free: Option<unsafe extern "C" fn(*mut NpyAuxData)>,
    /// Copies the data; NULL with an exception on failure.
    pub clone: Option<unsafe extern "C" fn(*mut NpyAuxData) -> *mut NpyAuxData>,
    /// For future use.
    pub reserved: [*mut c_void; 2],
}

/// A shape as some API functions take it.
#[repr(C)]
pub struct PyArray_Dims {
    /// Lengths.
    pub ptr: *mut npy_intp,
    /// How many.
    pub len: c_int,
}

/// The functions of a legacy dtype, which NumPy still calls for some operations of new ones.
#[repr(C)]
pub struct PyArray_ArrFuncs {
    /// Casts to the oldest builtin types.
    pub cast: [Option<VectorUnaryFunc>; NPY_NTYPES_ABI_COMPATIBLE],
    /// Element to object.
    pub getitem: Option<ArrGetItem>,
    /// Object to element.
    pub setitem: Option<ArrSetItem>,
    /// Copy n elements.
    pub copyswapn: Option<CopySwapN>,
    /// Copy one element.
    pub copyswap: Option<CopySwap>,
    /// Order of two elements.
    pub compare: Option<Compare>,
    /// Index of the largest.
    pub argmax: Option<ArgFunc>,
    /// Inner product.
    pub dotfunc: Option<DotFunc>,
    /// Element from a file.
    pub scanfunc: Option<ScanFunc>,
    /// Element from text.
    pub fromstr: Option<FromStrFunc>,
    /// Truth of an element.
    pub nonzero: Option<Nonzero>,
    /// For `arange`.
    pub fill: Option<Fill>,
    /// Fill with one element.
    pub fillwithscalar: Option<FillWithScalar>,
    /// Sorts, one a kind.
    pub sort: [Option<Sort>; NPY_NSORTS],
    /// Index sorts, one a kind.
    pub argsort: [Option<ArgSort>; NPY_NSORTS],
    /// More casts.
    pub castdict: *mut PyObject,
    /// Kind of a scalar.
    pub scalarkind: Option<ScalarKind>,
    /// Safe casts by scalar kind.
    pub cancastscalarkindto: *mut *mut c_int,
    /// Safe casts.
    pub cancastto: *mut c_int,
    /// Unused.
    pub _unused1: *mut c_void,
    /// Unused.
    pub _unused2: *mut c_void,
    /// Unused.
    pub _unused3: *mut c_void,
    /// Index of the smallest.
    pub argmin: Option<ArgFunc>,
}

// What a wrong edit would break first. The full comparison with the headers is a test.
const HEAD: usize = size_of::<PyObject>();
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(offset_of!(PyArrayObject, data) == HEAD);
    assert!(offset_of!(PyArrayObject, dimensions) == HEAD + 16);
    assert!(offset_of!(PyArrayObject, strides) == HEAD + 24);
    assert!(offset_of!(PyArrayObject, base) == HEAD + 32);
    assert!(offset_of!(PyArrayObject, descr) == HEAD + 40);
    assert!(offset_of!(PyArrayObject, flags) == HEAD + 48);
    assert!(offset_of!(PyArrayObject, mem_handler) == HEAD + 72);
    assert!(size_of::<PyArrayObject>() == HEAD + 80);
    assert!(offset_of!(PyArray_Descr, type_num) == HEAD + 12);
    assert!(offset_of!(PyArray_Descr, flags) == HEAD + 16);
    assert!(offset_of!(PyArray_Descr, elsize) == HEAD + 24);
    assert!(offset_of!(PyArray_Descr, hash) == HEAD + 48);
    assert!(size_of::<PyArray_Descr>() == HEAD + 72);
    assert!(offset_of!(PyArray_DTypeMeta, singleton) == size_of::<PyHeapTypeObject>());
    assert!(size_of::<PyArray_DTypeMeta>() == size_of::<PyHeapTypeObject>() + 64);
    assert!(offset_of!(PyArrayMethod_Context, parameters) == 40);
    assert!(size_of::<PyArrayMethod_Spec>() == 40);
    assert!(size_of::<PyArrayDTypeMeta_Spec>() == 40);
    assert!(offset_of!(PyDataMem_Handler, version) == 127);
    assert!(offset_of!(PyDataMem_Handler, allocator) == 128);
    assert!(size_of::<PyDataMem_Handler>() == 168);
    assert!(offset_of!(PyArray_ArrFuncs, getitem) == 168);
    assert!(offset_of!(PyArray_ArrFuncs, argmin) == 368);
};
