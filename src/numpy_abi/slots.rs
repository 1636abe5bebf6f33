//! Slot numbers of DTypes and ArrayMethods, and slots made from functions of the right type.
#![expect(non_upper_case_globals, reason = "the names are NumPy's own")]

use std::ffi::{c_int, c_void};

use pyo3::ffi::PyType_Slot;

/// Ends a list of slots.
pub const END: PyType_Slot = PyType_Slot { slot: 0, pfunc: std::ptr::null_mut() };

/// Number of the first `PyArray_ArrFuncs` slot. It was `1 << 10` before NumPy 2.4, which
/// [`super::import`] refuses.
pub const _NPY_DT_ARRFUNCS_OFFSET: c_int = 1 << 11;

/// Defines slot numbers and, for each, a function that makes the slot from a function pointer.
macro_rules! slots {
    ($(#[$module_doc:meta])* $module:ident, $offset:expr;
     $($name:ident = $constant:ident, $number:expr, $callback:ident;)*) => {
        $(
            #[doc = concat!("Slot number of a [`", stringify!($callback), "`](super::callbacks::", stringify!($callback), ").")]
            pub const $constant: c_int = $offset + $number;
        )*

        $(#[$module_doc])*
        pub mod $module {
            use super::{PyType_Slot, c_void};
            use crate::numpy_abi::callbacks;
            $(
                #[doc = concat!("A `", stringify!($constant), "` slot.")]
                pub const fn $name(function: callbacks::$callback) -> PyType_Slot {
                    PyType_Slot { slot: super::$constant, pfunc: function as *mut c_void }
                }
            )*
        }
    };
}

slots! {
    /// Slots of a DType.
    dtype, 0;
    discover_descr_from_pyobject = NPY_DT_discover_descr_from_pyobject, 1, DiscoverDescr;
    is_known_scalar_type = _NPY_DT_is_known_scalar_type, 2, IsKnownScalarType;
    default_descr = NPY_DT_default_descr, 3, DefaultDescr;
    common_dtype = NPY_DT_common_dtype, 4, CommonDType;
    common_instance = NPY_DT_common_instance, 5, CommonInstance;
    ensure_canonical = NPY_DT_ensure_canonical, 6, EnsureCanonical;
    setitem = NPY_DT_setitem, 7, SetItem;
    getitem = NPY_DT_getitem, 8, GetItem;
    get_clear_loop = NPY_DT_get_clear_loop, 9, GetTraverseLoop;
    get_fill_zero_loop = NPY_DT_get_fill_zero_loop, 10, GetTraverseLoop;
    finalize_descr = NPY_DT_finalize_descr, 11, FinalizeDescr;
    get_constant = NPY_DT_get_constant, 12, GetConstant;
}

slots! {
    /// Slots of a DType's `PyArray_ArrFuncs`. `copyswapn` and `copyswap` stand in no public
    /// header, but NumPy 2.4 and 2.5 accept them (`dtypemeta.c`).
    arrfuncs, _NPY_DT_ARRFUNCS_OFFSET;
    getitem = NPY_DT_PyArray_ArrFuncs_getitem, 1, ArrGetItem;
    setitem = NPY_DT_PyArray_ArrFuncs_setitem, 2, ArrSetItem;
    copyswapn = NPY_DT_PyArray_ArrFuncs_copyswapn, 3, CopySwapN;
    copyswap = NPY_DT_PyArray_ArrFuncs_copyswap, 4, CopySwap;
    compare = NPY_DT_PyArray_ArrFuncs_compare, 5, Compare;
    argmax = NPY_DT_PyArray_ArrFuncs_argmax, 6, ArgFunc;
    dotfunc = NPY_DT_PyArray_ArrFuncs_dotfunc, 7, DotFunc;
    scanfunc = NPY_DT_PyArray_ArrFuncs_scanfunc, 8, ScanFunc;
    fromstr = NPY_DT_PyArray_ArrFuncs_fromstr, 9, FromStrFunc;
    nonzero = NPY_DT_PyArray_ArrFuncs_nonzero, 10, Nonzero;
    fill = NPY_DT_PyArray_ArrFuncs_fill, 11, Fill;
    fillwithscalar = NPY_DT_PyArray_ArrFuncs_fillwithscalar, 12, FillWithScalar;
    sort = NPY_DT_PyArray_ArrFuncs_sort, 13, Sort;
    argsort = NPY_DT_PyArray_ArrFuncs_argsort, 14, ArgSort;
    argmin = NPY_DT_PyArray_ArrFuncs_argmin, 22, ArgFunc;
}

slots! {
    /// Slots of an ArrayMethod.
    method, 0;
    resolve_descriptors = NPY_METH_resolve_descriptors, 2, ResolveDescriptors;
    get_loop = NPY_METH_get_loop, 3, GetLoop;
    get_reduction_initial = NPY_METH_get_reduction_initial, 4, GetReductionInitial;
    strided_loop = NPY_METH_strided_loop, 5, StridedLoop;
    contiguous_loop = NPY_METH_contiguous_loop, 6, StridedLoop;
    unaligned_strided_loop = NPY_METH_unaligned_strided_loop, 7, StridedLoop;
    unaligned_contiguous_loop = NPY_METH_unaligned_contiguous_loop, 8, StridedLoop;
    contiguous_indexed_loop = NPY_METH_contiguous_indexed_loop, 9, StridedLoop;
}

/// Slot number of data that NumPy keeps with the method, for `get_loop`.
pub const _NPY_METH_static_data: c_int = 10;
