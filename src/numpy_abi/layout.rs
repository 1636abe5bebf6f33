//! The numbers of this module by name, for comparison with NumPy's headers.

use std::mem::offset_of;

use pyo3::ffi::{PyHeapTypeObject, PyObject};

use super::flags::*;
use super::functions::{ARRAY_FUNCTIONS, UFUNC_FUNCTIONS};
use super::slots::*;
use super::structs::*;
use super::types::{ARRAY_TYPES, DEFAULT_HANDLER, DTYPES, UFUNC_TYPES};

/// Adds the size of a struct and the offsets of its fields.
macro_rules! fields {
    ($table:ident; $($c_name:literal = $type:ty { $($field:ident),* $(,)? })*) => {
        $(
            $table.push((concat!("sizeof ", $c_name), size_of::<$type>()));
            $($table.push((concat!($c_name, ".", stringify!($field)), offset_of!($type, $field)));)*
        )*
    };
}

/// Adds constants by their C names; a negative one wraps, as a C cast to `size_t` does.
macro_rules! constants {
    ($table:ident; $($name:ident),* $(,)?) => {
        $($table.push((stringify!($name), $name as usize));)*
    };
}

/// Sizes (`sizeof T`), offsets (`T.field`) and constants of these bindings, under the names of
/// NumPy's headers, and the indices of the table entries used.
pub fn layout() -> Vec<(&'static str, usize)> {
    let mut table = Vec::new();
    structs(&mut table);
    slot_numbers(&mut table);
    flag_values(&mut table);
    table.extend(function_indices());
    table
}

/// Table indices by C name, of `PyArray_API` and `PyUFunc_API`.
fn function_indices() -> impl Iterator<Item = (&'static str, usize)> {
    [ARRAY_FUNCTIONS, ARRAY_TYPES, DTYPES, &[DEFAULT_HANDLER], UFUNC_FUNCTIONS, UFUNC_TYPES]
        .into_iter()
        .flatten()
        .copied()
}

fn structs(table: &mut Vec<(&'static str, usize)>) {
    // Not ours, but the others stand on them.
    table.push(("sizeof PyObject", size_of::<PyObject>()));
    table.push(("sizeof PyHeapTypeObject", size_of::<PyHeapTypeObject>()));
    table.push(("sizeof npy_intp", size_of::<npy_intp>()));
    fields! { table;
        "PyArrayObject_fields" = PyArrayObject {
            data, nd, dimensions, strides, base, descr, flags, weakreflist, _buffer_info,
            mem_handler,
        }
        "PyVoidScalarObject" = PyVoidScalarObject { obval, descr, flags, base, _buffer_info }
        "PyArray_Descr" = PyArray_Descr {
            typeobj, kind, byteorder, _former_flags, type_num, flags, elsize, alignment,
            metadata, hash, reserved_null,
        }
        "PyArray_DTypeMeta" = PyArray_DTypeMeta {
            singleton, type_num, scalar_type, flags, dt_slots, reserved,
        }
        "PyArrayMethod_Context" = PyArrayMethod_Context {
            caller, method, descriptors, _reserved, flags, parameters,
        }
        "PyArrayMethod_Spec" = PyArrayMethod_Spec {
            name, nin, nout, casting, flags, dtypes, slots,
        }
        "PyArrayDTypeMeta_Spec" = PyArrayDTypeMeta_Spec {
            typeobj, flags, casts, slots, baseclass,
        }
        "PyArrayMethod_SortParameters" = PyArrayMethod_SortParameters { flags }
        "PyUFunc_LoopSlot" = PyUFunc_LoopSlot { name, spec }
        "PyDataMemAllocator" = PyDataMemAllocator { ctx, malloc, calloc, realloc, free }
        "PyDataMem_Handler" = PyDataMem_Handler { name, version, allocator }
        "NpyAuxData" = NpyAuxData { free, clone, reserved }
        "PyArray_Dims" = PyArray_Dims { ptr, len }
        "PyArray_ArrFuncs" = PyArray_ArrFuncs {
            cast, getitem, setitem, copyswapn, copyswap, compare, argmax, dotfunc, scanfunc,
            fromstr, nonzero, fill, fillwithscalar, sort, argsort, castdict, scalarkind,
            cancastscalarkindto, cancastto, _unused1, _unused2, _unused3, argmin,
        }
    }
    table.push(("PyArray_Descr.type", offset_of!(PyArray_Descr, r#type)));
}

fn slot_numbers(table: &mut Vec<(&'static str, usize)>) {
    constants! { table;
        NPY_DT_discover_descr_from_pyobject, _NPY_DT_is_known_scalar_type, NPY_DT_default_descr,
        NPY_DT_common_dtype, NPY_DT_common_instance, NPY_DT_ensure_canonical, NPY_DT_setitem,
        NPY_DT_getitem, NPY_DT_get_clear_loop, NPY_DT_get_fill_zero_loop, NPY_DT_finalize_descr,
        NPY_DT_get_constant, _NPY_DT_ARRFUNCS_OFFSET, NPY_DT_PyArray_ArrFuncs_getitem,
        NPY_DT_PyArray_ArrFuncs_setitem, NPY_DT_PyArray_ArrFuncs_compare,
        NPY_DT_PyArray_ArrFuncs_argmax, NPY_DT_PyArray_ArrFuncs_dotfunc,
        NPY_DT_PyArray_ArrFuncs_scanfunc, NPY_DT_PyArray_ArrFuncs_fromstr,
        NPY_DT_PyArray_ArrFuncs_nonzero, NPY_DT_PyArray_ArrFuncs_fill,
        NPY_DT_PyArray_ArrFuncs_fillwithscalar, NPY_DT_PyArray_ArrFuncs_sort,
        NPY_DT_PyArray_ArrFuncs_argsort, NPY_DT_PyArray_ArrFuncs_argmin,
        NPY_METH_resolve_descriptors, NPY_METH_get_loop, NPY_METH_get_reduction_initial,
        NPY_METH_strided_loop, NPY_METH_contiguous_loop, NPY_METH_unaligned_strided_loop,
        NPY_METH_unaligned_contiguous_loop, NPY_METH_contiguous_indexed_loop,
        _NPY_METH_static_data,
    }
}

fn flag_values(table: &mut Vec<(&'static str, usize)>) {
    constants! { table;
        NPY_ITEM_REFCOUNT, NPY_LIST_PICKLE, NPY_ITEM_IS_POINTER, NPY_NEEDS_INIT, NPY_NEEDS_PYAPI,
        NPY_USE_GETITEM, NPY_USE_SETITEM, NPY_ALIGNED_STRUCT,
        NPY_METH_REQUIRES_PYAPI, NPY_METH_NO_FLOATINGPOINT_ERRORS, NPY_METH_SUPPORTS_UNALIGNED,
        NPY_METH_IS_REORDERABLE, _NPY_METH_FORCE_CAST_INPUTS, NPY_METH_RUNTIME_FLAGS,
        NPY_SAME_VALUE_CONTEXT_FLAG,
        NPY_DT_ABSTRACT, NPY_DT_PARAMETRIC, NPY_DT_NUMERIC,
        _NPY_ERROR_OCCURRED_IN_CAST, NPY_NO_CASTING, NPY_EQUIV_CASTING, NPY_SAFE_CASTING,
        NPY_SAME_KIND_CASTING, NPY_UNSAFE_CASTING, NPY_SAME_VALUE_CASTING_FLAG,
        NPY_SAME_VALUE_CASTING,
        NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_F_CONTIGUOUS, NPY_ARRAY_OWNDATA, NPY_ARRAY_FORCECAST,
        NPY_ARRAY_ENSURECOPY, NPY_ARRAY_ENSUREARRAY, NPY_ARRAY_ELEMENTSTRIDES, NPY_ARRAY_ALIGNED,
        NPY_ARRAY_NOTSWAPPED, NPY_ARRAY_WRITEABLE, NPY_ARRAY_WRITEBACKIFCOPY,
        NPY_ARRAY_ENSURENOCOPY, NPY_ARRAY_BEHAVED, NPY_ARRAY_CARRAY, NPY_ARRAY_CARRAY_RO,
        NPY_ARRAY_UPDATE_ALL,
        NPY_ANYORDER, NPY_CORDER, NPY_FORTRANORDER, NPY_KEEPORDER,
        NPY_SORT_DEFAULT, NPY_SORT_STABLE, NPY_SORT_DESCENDING,
        NPY_BOOL, NPY_BYTE, NPY_UBYTE, NPY_SHORT, NPY_USHORT, NPY_INT, NPY_UINT, NPY_LONG,
        NPY_ULONG, NPY_LONGLONG, NPY_ULONGLONG, NPY_FLOAT, NPY_DOUBLE, NPY_LONGDOUBLE,
        NPY_CFLOAT, NPY_CDOUBLE, NPY_CLONGDOUBLE, NPY_OBJECT, NPY_STRING, NPY_UNICODE, NPY_VOID,
        NPY_DATETIME, NPY_TIMEDELTA, NPY_HALF, NPY_VSTRING,
        NPY_CONSTANT_zero, NPY_CONSTANT_one, NPY_CONSTANT_all_bits_set,
        NPY_CONSTANT_maximum_finite, NPY_CONSTANT_minimum_finite, NPY_CONSTANT_inf,
        NPY_CONSTANT_ninf, NPY_CONSTANT_nan, NPY_CONSTANT_finfo_radix, NPY_CONSTANT_finfo_eps,
        NPY_CONSTANT_finfo_smallest_normal, NPY_CONSTANT_finfo_smallest_subnormal,
        NPY_CONSTANT_finfo_nmant, NPY_CONSTANT_finfo_min_exp, NPY_CONSTANT_finfo_max_exp,
        NPY_CONSTANT_finfo_decimal_digits,
        NPY_NTYPES_ABI_COMPATIBLE, NPY_NSORTS,
    }
}
