//! The functions of NumPy's tables, as methods of [`NumpyApi`].
//!
//! An index never changes: NumPy only appends. `test_numpy_layout.py` compares each with NumPy's
//! generated headers.

use std::ffi::{c_char, c_int, c_void};

use pyo3::ffi::{PyObject, PyTypeObject};

use super::api::NumpyApi;
use super::callbacks::{TranslateGivenDescriptors, TranslateLoopDescriptors};
use super::structs::*;

/// Defines one method a table entry, and the list of (C name, index).
macro_rules! functions {
    ($list:ident, $entry:ident;
     $($(#[$attribute:meta])* $c_name:ident = $index:literal,
       fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        impl NumpyApi {
            $(
                $(#[$attribute])*
                ///
                /// # Safety
                #[doc = concat!("The rules of `", stringify!($c_name), "`: pointers are valid objects of their C type (or NULL where NumPy takes it), and the thread is attached to Python.")]
                pub unsafe fn $name(&self, $($arg: $type),*) $(-> $result)? {
                    // SAFETY: entry `$index` is `$c_name` since NumPy 2.4, with this signature.
                    let function = unsafe {
                        std::mem::transmute::<
                            *const c_void,
                            unsafe extern "C" fn($($type),*) $(-> $result)?,
                        >(self.$entry($index))
                    };
                    // SAFETY: the caller keeps the function's rules.
                    unsafe { function($($arg),*) }
                }
            )*
        }

        /// C names and table indices of the functions above.
        pub(super) const $list: &[(&str, usize)] = &[$((stringify!($c_name), $index)),*];
    };
}

functions! { ARRAY_FUNCTIONS, array_entry;
    /// The ABI version, `0x02000000` for all NumPy 2.x.
    PyArray_GetNDArrayCVersion = 0, fn get_ndarray_c_version() -> u32;
    /// The feature version, larger with each release that adds to the API.
    PyArray_GetNDArrayCFeatureVersion = 211, fn get_ndarray_c_feature_version() -> u32;

    // Dtypes.
    /// New reference to a builtin dtype.
    PyArray_DescrFromType = 45, fn descr_from_type(type_num: c_int) -> *mut PyArray_Descr;
    /// New reference to the dtype of a scalar.
    PyArray_DescrFromScalar = 57, fn descr_from_scalar(scalar: *mut PyObject) -> *mut PyArray_Descr;
    /// New copy of a dtype.
    PyArray_DescrNew = 95, fn descr_new(descr: *mut PyArray_Descr) -> *mut PyArray_Descr;
    /// What `np.dtype(object)` gives, `None` included: 1 with a new reference in `out`, else 0.
    PyArray_DescrConverter = 174,
    fn descr_converter(object: *mut PyObject, out: *mut *mut PyArray_Descr) -> c_int;
    /// Whether two dtypes are equivalent.
    PyArray_EquivTypes = 182,
    fn equiv_types(left: *mut PyArray_Descr, right: *mut PyArray_Descr) -> npy_bool;
    /// Whether a cast is allowed at a level.
    PyArray_CanCastTypeTo = 275,
    fn can_cast_type_to(
        from: *mut PyArray_Descr,
        to: *mut PyArray_Descr,
        casting: c_int,
    ) -> npy_bool;
    /// New reference to the default instance of a DType.
    PyArray_GetDefaultDescr = 361,
    fn get_default_descr(dtype: *mut PyArray_DTypeMeta) -> *mut PyArray_Descr;
    /// Finishes a new DType class: 0, or -1.
    PyArrayInitDTypeMeta_FromSpec = 362,
    fn init_dtype_meta_from_spec(
        dtype: *mut PyArray_DTypeMeta,
        spec: *mut PyArrayDTypeMeta_Spec,
    ) -> c_int;
    /// New reference to the DType that two promote to.
    PyArray_CommonDType = 363,
    fn common_dtype(
        dtype1: *mut PyArray_DTypeMeta,
        dtype2: *mut PyArray_DTypeMeta,
    ) -> *mut PyArray_DTypeMeta;
    /// New reference to the DType that several promote to.
    PyArray_PromoteDTypeSequence = 364,
    fn promote_dtype_sequence(
        n: npy_intp,
        dtypes: *mut *mut PyArray_DTypeMeta,
    ) -> *mut PyArray_DTypeMeta;
    /// The legacy functions of a dtype; its DType owns them.
    _PyDataType_GetArrFuncs = 365,
    fn get_arrfuncs(descr: *const PyArray_Descr) -> *mut PyArray_ArrFuncs;

    // Elements.
    /// New scalar from an element; `base` owns the data of structured ones.
    PyArray_Scalar = 60,
    fn scalar(data: *mut c_void, descr: *mut PyArray_Descr, base: *mut PyObject) -> *mut PyObject;
    /// Writes a Python object as an element at `item`, with discovery and cast: 0, or -1.
    PyArray_Pack = 65,
    fn pack(descr: *mut PyArray_Descr, item: *mut c_void, value: *mut PyObject) -> c_int;

    // Making arrays. Functions with a dtype argument steal the reference to it.
    /// Array from any object. Steals `descr`, which may be NULL.
    PyArray_FromAny = 69,
    fn from_any(
        object: *mut PyObject,
        descr: *mut PyArray_Descr,
        min_depth: c_int,
        max_depth: c_int,
        requirements: c_int,
        context: *mut PyObject,
    ) -> *mut PyObject;
    /// Array from an array. Steals `descr`, which may be NULL.
    PyArray_FromArray = 109,
    fn from_array(
        array: *mut PyObject,
        descr: *mut PyArray_Descr,
        requirements: c_int,
    ) -> *mut PyObject;
    /// Scalar from a 0-d array, else the array. Steals `array`.
    PyArray_Return = 76, fn array_return(array: *mut PyObject) -> *mut PyObject;
    /// Copy in an `NPY_ORDER`.
    PyArray_NewCopy = 85, fn new_copy(array: *mut PyObject, order: c_int) -> *mut PyObject;
    /// The general constructor. Steals `descr`; `strides`, `data` and `object` may be NULL. An
    /// array over `data` does not own it: see [`NumpyApi::set_base_object`].
    #[expect(clippy::too_many_arguments, reason = "NumPy's signature")]
    PyArray_NewFromDescr = 94,
    fn new_from_descr(
        subtype: *mut PyTypeObject,
        descr: *mut PyArray_Descr,
        nd: c_int,
        shape: *const npy_intp,
        strides: *const npy_intp,
        data: *mut c_void,
        flags: c_int,
        object: *mut PyObject,
    ) -> *mut PyObject;
    /// View with another dtype (steals it; may be NULL) or subtype (may be NULL).
    PyArray_View = 137,
    fn view(
        array: *mut PyObject,
        descr: *mut PyArray_Descr,
        subtype: *mut PyTypeObject,
    ) -> *mut PyObject;
    /// `np.zeros`. Steals `descr`, which may be NULL.
    PyArray_Zeros = 183,
    fn zeros(
        nd: c_int,
        shape: *const npy_intp,
        descr: *mut PyArray_Descr,
        fortran: c_int,
    ) -> *mut PyObject;
    /// `np.empty`. Steals `descr`, which may be NULL.
    PyArray_Empty = 184,
    fn empty(
        nd: c_int,
        shape: *const npy_intp,
        descr: *mut PyArray_Descr,
        fortran: c_int,
    ) -> *mut PyObject;
    /// `np.empty_like`. Steals `descr`, which may be NULL.
    PyArray_NewLikeArray = 277,
    fn new_like_array(
        prototype: *mut PyObject,
        order: c_int,
        descr: *mut PyArray_Descr,
        subok: c_int,
    ) -> *mut PyObject;

    // Working on arrays.
    /// Cast to a new array. Steals `descr`.
    PyArray_CastToType = 49,
    fn cast_to_type(
        array: *mut PyObject,
        descr: *mut PyArray_Descr,
        fortran: c_int,
    ) -> *mut PyObject;
    /// Assigns with broadcasting and cast: 0, or -1.
    PyArray_CopyInto = 50,
    fn copy_into(destination: *mut PyObject, source: *mut PyObject) -> c_int;
    /// Assigns element by element in C order, for shapes of equal size: 0, or -1.
    PyArray_CopyAnyInto = 51,
    fn copy_any_into(destination: *mut PyObject, source: *mut PyObject) -> c_int;
    /// `ndarray.resize`: a new reference to `None`.
    PyArray_Resize = 80,
    fn resize(
        array: *mut PyObject,
        shape: *mut PyArray_Dims,
        refcheck: c_int,
        order: c_int,
    ) -> *mut PyObject;
    /// Recomputes flags from shape, strides and data.
    PyArray_UpdateFlags = 92, fn update_flags(array: *mut PyObject, flags: c_int);
    /// `ndarray.fill`: 0, or -1.
    PyArray_FillWithScalar = 104,
    fn fill_with_scalar(array: *mut PyObject, value: *mut PyObject) -> c_int;
    /// Gives an array over foreign data the owner of that data. Steals `base`, on failure too.
    PyArray_SetBaseObject = 282,
    fn set_base_object(array: *mut PyObject, base: *mut PyObject) -> c_int;

    // Strings of `StringDType`. The descriptor is one of that DType. These four work without the
    // GIL; the thread that has the allocator must neither wait for the GIL nor run Python code.
    /// Locks the memory of the strings of a descriptor's arrays.
    NpyString_acquire_allocator = 316,
    fn acquire_string_allocator(descr: *const PyArray_Descr) -> *mut npy_string_allocator;
    /// Unlocks it.
    NpyString_release_allocator = 318,
    fn release_string_allocator(allocator: *mut npy_string_allocator);
    /// Points `out` to a string's bytes, valid while the allocator is locked: 0; 1 where the
    /// string is missing; -1 without an exception on failure.
    NpyString_load = 313,
    fn load_string(
        allocator: *mut npy_string_allocator,
        packed: *const npy_packed_static_string,
        out: *mut npy_static_string,
    ) -> c_int;
    /// Puts a copy of `size` bytes into a string in place of what it holds: 0, or -1 without an
    /// exception.
    NpyString_pack = 314,
    fn pack_string(
        allocator: *mut npy_string_allocator,
        packed: *mut npy_packed_static_string,
        bytes: *const c_char,
        size: usize,
    ) -> c_int;

    // Memory handlers.
    /// Sets the context's handler (NULL: the default one): a new reference to the one before.
    PyDataMem_SetHandler = 304, fn set_handler(capsule: *mut PyObject) -> *mut PyObject;
    /// New reference to the context's handler.
    PyDataMem_GetHandler = 305, fn get_handler() -> *mut PyObject;
}

functions! { UFUNC_FUNCTIONS, ufunc_entry;
    /// Clears the floating point status.
    PyUFunc_clearfperr = 27, fn clear_floating_point_errors();
    /// Clears and returns the floating point status.
    PyUFunc_getfperr = 28, fn get_floating_point_errors() -> c_int;
    /// Adds a loop to a ufunc: 0, or -1.
    PyUFunc_AddLoopFromSpec = 43,
    fn add_loop_from_spec(ufunc: *mut PyObject, spec: *mut PyArrayMethod_Spec) -> c_int;
    /// Adds a promoter (a capsule named [`UFUNC_PROMOTER`]) for a tuple of DTypes: 0, or -1.
    PyUFunc_AddPromoter = 44,
    fn add_promoter(
        ufunc: *mut PyObject,
        dtypes: *mut PyObject,
        promoter: *mut PyObject,
    ) -> c_int;
    /// Adds a loop that reuses the one for `wrapped_dtypes`: 0, or -1.
    PyUFunc_AddWrappingLoop = 45,
    fn add_wrapping_loop(
        ufunc: *mut PyObject,
        new_dtypes: *mut *mut PyArray_DTypeMeta,
        wrapped_dtypes: *mut *mut PyArray_DTypeMeta,
        translate_given: Option<TranslateGivenDescriptors>,
        translate_loop: Option<TranslateLoopDescriptors>,
    ) -> c_int;
    /// Warns, raises or calls as `np.errstate` asks for floating point errors: 0, or -1.
    PyUFunc_GiveFloatingpointErrors = 46,
    fn give_floating_point_errors(name: *const c_char, errors: c_int) -> c_int;
    /// Adds loops to ufuncs by name, sorts included (`numpy:sort`, `numpy:argsort`): 0, or -1.
    PyUFunc_AddLoopsFromSpecs = 47,
    fn add_loops_from_specs(slots: *mut PyUFunc_LoopSlot) -> c_int;
}
