/* Prints the sizes, offsets and constants of NumPy's headers that src/numpy_abi repeats, one
 * `name value` a line, under the names of `numpy_abi::layout()`. test_numpy_layout.py compiles it
 * for the running NumPy and compares both tables. It needs no Python to run.
 */
#include <Python.h>

#include <stddef.h>
#include <stdio.h>

#define NPY_TARGET_VERSION NPY_2_4_API_VERSION
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <numpy/arrayscalars.h>
#include <numpy/dtype_api.h>

/* Macros of the headers are not all parenthesized. */
#define NUMBER(name, value) printf("%s %zu\n", name, (size_t)(value))
#define SIZE(type) NUMBER("sizeof " #type, sizeof(type))
#define FIELD(type, field) NUMBER(#type "." #field, offsetof(type, field))
#define CONSTANT(name) NUMBER(#name, name)

static void structs(void)
{
    SIZE(PyObject);
    SIZE(PyHeapTypeObject);
    SIZE(npy_intp);

    SIZE(PyArrayObject_fields);
    FIELD(PyArrayObject_fields, data);
    FIELD(PyArrayObject_fields, nd);
    FIELD(PyArrayObject_fields, dimensions);
    FIELD(PyArrayObject_fields, strides);
    FIELD(PyArrayObject_fields, base);
    FIELD(PyArrayObject_fields, descr);
    FIELD(PyArrayObject_fields, flags);
    FIELD(PyArrayObject_fields, weakreflist);
    FIELD(PyArrayObject_fields, _buffer_info);
    FIELD(PyArrayObject_fields, mem_handler);

    SIZE(PyVoidScalarObject);
    FIELD(PyVoidScalarObject, obval);
    FIELD(PyVoidScalarObject, descr);
    FIELD(PyVoidScalarObject, flags);
    FIELD(PyVoidScalarObject, base);
    FIELD(PyVoidScalarObject, _buffer_info);

    SIZE(PyArray_Descr);
    FIELD(PyArray_Descr, typeobj);
    FIELD(PyArray_Descr, kind);
    FIELD(PyArray_Descr, type);
    FIELD(PyArray_Descr, byteorder);
    FIELD(PyArray_Descr, _former_flags);
    FIELD(PyArray_Descr, type_num);
    FIELD(PyArray_Descr, flags);
    FIELD(PyArray_Descr, elsize);
    FIELD(PyArray_Descr, alignment);
    FIELD(PyArray_Descr, metadata);
    FIELD(PyArray_Descr, hash);
    FIELD(PyArray_Descr, reserved_null);

    SIZE(PyArray_DTypeMeta);
    FIELD(PyArray_DTypeMeta, singleton);
    FIELD(PyArray_DTypeMeta, type_num);
    FIELD(PyArray_DTypeMeta, scalar_type);
    FIELD(PyArray_DTypeMeta, flags);
    FIELD(PyArray_DTypeMeta, dt_slots);
    FIELD(PyArray_DTypeMeta, reserved);

    SIZE(PyArrayMethod_Context);
    FIELD(PyArrayMethod_Context, caller);
    FIELD(PyArrayMethod_Context, method);
    FIELD(PyArrayMethod_Context, descriptors);
    FIELD(PyArrayMethod_Context, _reserved);
    FIELD(PyArrayMethod_Context, flags);
    FIELD(PyArrayMethod_Context, parameters);

    SIZE(PyArrayMethod_Spec);
    FIELD(PyArrayMethod_Spec, name);
    FIELD(PyArrayMethod_Spec, nin);
    FIELD(PyArrayMethod_Spec, nout);
    FIELD(PyArrayMethod_Spec, casting);
    FIELD(PyArrayMethod_Spec, flags);
    FIELD(PyArrayMethod_Spec, dtypes);
    FIELD(PyArrayMethod_Spec, slots);

    SIZE(PyArrayDTypeMeta_Spec);
    FIELD(PyArrayDTypeMeta_Spec, typeobj);
    FIELD(PyArrayDTypeMeta_Spec, flags);
    FIELD(PyArrayDTypeMeta_Spec, casts);
    FIELD(PyArrayDTypeMeta_Spec, slots);
    FIELD(PyArrayDTypeMeta_Spec, baseclass);

    SIZE(PyArrayMethod_SortParameters);
    FIELD(PyArrayMethod_SortParameters, flags);

    SIZE(PyUFunc_LoopSlot);
    FIELD(PyUFunc_LoopSlot, name);
    FIELD(PyUFunc_LoopSlot, spec);

    SIZE(PyDataMemAllocator);
    FIELD(PyDataMemAllocator, ctx);
    FIELD(PyDataMemAllocator, malloc);
    FIELD(PyDataMemAllocator, calloc);
    FIELD(PyDataMemAllocator, realloc);
    FIELD(PyDataMemAllocator, free);

    SIZE(PyDataMem_Handler);
    FIELD(PyDataMem_Handler, name);
    FIELD(PyDataMem_Handler, version);
    FIELD(PyDataMem_Handler, allocator);

    SIZE(NpyAuxData);
    FIELD(NpyAuxData, free);
    FIELD(NpyAuxData, clone);
    FIELD(NpyAuxData, reserved);

    SIZE(PyArray_Dims);
    FIELD(PyArray_Dims, ptr);
    FIELD(PyArray_Dims, len);

    SIZE(PyArray_ArrFuncs);
    FIELD(PyArray_ArrFuncs, cast);
    FIELD(PyArray_ArrFuncs, getitem);
    FIELD(PyArray_ArrFuncs, setitem);
    FIELD(PyArray_ArrFuncs, copyswapn);
    FIELD(PyArray_ArrFuncs, copyswap);
    FIELD(PyArray_ArrFuncs, compare);
    FIELD(PyArray_ArrFuncs, argmax);
    FIELD(PyArray_ArrFuncs, dotfunc);
    FIELD(PyArray_ArrFuncs, scanfunc);
    FIELD(PyArray_ArrFuncs, fromstr);
    FIELD(PyArray_ArrFuncs, nonzero);
    FIELD(PyArray_ArrFuncs, fill);
    FIELD(PyArray_ArrFuncs, fillwithscalar);
    FIELD(PyArray_ArrFuncs, sort);
    FIELD(PyArray_ArrFuncs, argsort);
    FIELD(PyArray_ArrFuncs, castdict);
    FIELD(PyArray_ArrFuncs, scalarkind);
    FIELD(PyArray_ArrFuncs, cancastscalarkindto);
    FIELD(PyArray_ArrFuncs, cancastto);
    FIELD(PyArray_ArrFuncs, _unused1);
    FIELD(PyArray_ArrFuncs, _unused2);
    FIELD(PyArray_ArrFuncs, _unused3);
    FIELD(PyArray_ArrFuncs, argmin);
}

static void slot_numbers(void)
{
    CONSTANT(NPY_DT_discover_descr_from_pyobject);
    CONSTANT(_NPY_DT_is_known_scalar_type);
    CONSTANT(NPY_DT_default_descr);
    CONSTANT(NPY_DT_common_dtype);
    CONSTANT(NPY_DT_common_instance);
    CONSTANT(NPY_DT_ensure_canonical);
    CONSTANT(NPY_DT_setitem);
    CONSTANT(NPY_DT_getitem);
    CONSTANT(NPY_DT_get_clear_loop);
    CONSTANT(NPY_DT_get_fill_zero_loop);
    CONSTANT(NPY_DT_finalize_descr);
    CONSTANT(NPY_DT_get_constant);
    CONSTANT(_NPY_DT_ARRFUNCS_OFFSET);
    CONSTANT(NPY_DT_PyArray_ArrFuncs_getitem);
    CONSTANT(NPY_DT_PyArray_ArrFuncs_setitem);
    CONSTANT(NPY_DT_PyArray_ArrFuncs_compare);
    CONSTANT(NPY_DT_PyArray_ArrFuncs_argmax);
    CONSTANT(NPY_DT_PyArray_ArrFuncs_dotfunc);
    CONSTANT(NPY_DT_PyArray_ArrFuncs_scanfunc);
    CONSTANT(NPY_DT_PyArray_ArrFuncs_fromstr);
    CONSTANT(NPY_DT_PyArray_ArrFuncs_nonzero);
    CONSTANT(NPY_DT_PyArray_ArrFuncs_fill);
    CONSTANT(NPY_DT_PyArray_ArrFuncs_fillwithscalar);
    CONSTANT(NPY_DT_PyArray_ArrFuncs_sort);
    CONSTANT(NPY_DT_PyArray_ArrFuncs_argsort);
    CONSTANT(NPY_DT_PyArray_ArrFuncs_argmin);
    CONSTANT(NPY_METH_resolve_descriptors);
    CONSTANT(NPY_METH_get_loop);
    CONSTANT(NPY_METH_get_reduction_initial);
    CONSTANT(NPY_METH_strided_loop);
    CONSTANT(NPY_METH_contiguous_loop);
    CONSTANT(NPY_METH_unaligned_strided_loop);
    CONSTANT(NPY_METH_unaligned_contiguous_loop);
    CONSTANT(NPY_METH_contiguous_indexed_loop);
    CONSTANT(_NPY_METH_static_data);
}

static void flag_values(void)
{
    CONSTANT(NPY_ITEM_REFCOUNT);
    CONSTANT(NPY_LIST_PICKLE);
    CONSTANT(NPY_ITEM_IS_POINTER);
    CONSTANT(NPY_NEEDS_INIT);
    CONSTANT(NPY_NEEDS_PYAPI);
    CONSTANT(NPY_USE_GETITEM);
    CONSTANT(NPY_USE_SETITEM);
    CONSTANT(NPY_ALIGNED_STRUCT);
    CONSTANT(NPY_METH_REQUIRES_PYAPI);
    CONSTANT(NPY_METH_NO_FLOATINGPOINT_ERRORS);
    CONSTANT(NPY_METH_SUPPORTS_UNALIGNED);
    CONSTANT(NPY_METH_IS_REORDERABLE);
    CONSTANT(_NPY_METH_FORCE_CAST_INPUTS);
    CONSTANT(NPY_METH_RUNTIME_FLAGS);
    CONSTANT(NPY_SAME_VALUE_CONTEXT_FLAG);
    CONSTANT(NPY_DT_ABSTRACT);
    CONSTANT(NPY_DT_PARAMETRIC);
    CONSTANT(NPY_DT_NUMERIC);
    CONSTANT(_NPY_ERROR_OCCURRED_IN_CAST);
    CONSTANT(NPY_NO_CASTING);
    CONSTANT(NPY_EQUIV_CASTING);
    CONSTANT(NPY_SAFE_CASTING);
    CONSTANT(NPY_SAME_KIND_CASTING);
    CONSTANT(NPY_UNSAFE_CASTING);
    CONSTANT(NPY_SAME_VALUE_CASTING_FLAG);
    CONSTANT(NPY_SAME_VALUE_CASTING);
    CONSTANT(NPY_ARRAY_C_CONTIGUOUS);
    CONSTANT(NPY_ARRAY_F_CONTIGUOUS);
    CONSTANT(NPY_ARRAY_OWNDATA);
    CONSTANT(NPY_ARRAY_FORCECAST);
    CONSTANT(NPY_ARRAY_ENSURECOPY);
    CONSTANT(NPY_ARRAY_ENSUREARRAY);
    CONSTANT(NPY_ARRAY_ELEMENTSTRIDES);
    CONSTANT(NPY_ARRAY_ALIGNED);
    CONSTANT(NPY_ARRAY_NOTSWAPPED);
    CONSTANT(NPY_ARRAY_WRITEABLE);
    CONSTANT(NPY_ARRAY_WRITEBACKIFCOPY);
    CONSTANT(NPY_ARRAY_ENSURENOCOPY);
    CONSTANT(NPY_ARRAY_BEHAVED);
    CONSTANT(NPY_ARRAY_CARRAY);
    CONSTANT(NPY_ARRAY_CARRAY_RO);
    CONSTANT(NPY_ARRAY_UPDATE_ALL);
    CONSTANT(NPY_ANYORDER);
    CONSTANT(NPY_CORDER);
    CONSTANT(NPY_FORTRANORDER);
    CONSTANT(NPY_KEEPORDER);
    CONSTANT(NPY_SORT_DEFAULT);
    CONSTANT(NPY_SORT_STABLE);
    CONSTANT(NPY_SORT_DESCENDING);
    CONSTANT(NPY_BOOL);
    CONSTANT(NPY_BYTE);
    CONSTANT(NPY_UBYTE);
    CONSTANT(NPY_SHORT);
    CONSTANT(NPY_USHORT);
    CONSTANT(NPY_INT);
    CONSTANT(NPY_UINT);
    CONSTANT(NPY_LONG);
    CONSTANT(NPY_ULONG);
    CONSTANT(NPY_LONGLONG);
    CONSTANT(NPY_ULONGLONG);
    CONSTANT(NPY_FLOAT);
    CONSTANT(NPY_DOUBLE);
    CONSTANT(NPY_LONGDOUBLE);
    CONSTANT(NPY_CFLOAT);
    CONSTANT(NPY_CDOUBLE);
    CONSTANT(NPY_CLONGDOUBLE);
    CONSTANT(NPY_OBJECT);
    CONSTANT(NPY_STRING);
    CONSTANT(NPY_UNICODE);
    CONSTANT(NPY_VOID);
    CONSTANT(NPY_DATETIME);
    CONSTANT(NPY_TIMEDELTA);
    CONSTANT(NPY_HALF);
    CONSTANT(NPY_VSTRING);
    CONSTANT(NPY_CONSTANT_zero);
    CONSTANT(NPY_CONSTANT_one);
    CONSTANT(NPY_CONSTANT_all_bits_set);
    CONSTANT(NPY_CONSTANT_maximum_finite);
    CONSTANT(NPY_CONSTANT_minimum_finite);
    CONSTANT(NPY_CONSTANT_inf);
    CONSTANT(NPY_CONSTANT_ninf);
    CONSTANT(NPY_CONSTANT_nan);
    CONSTANT(NPY_CONSTANT_finfo_radix);
    CONSTANT(NPY_CONSTANT_finfo_eps);
    CONSTANT(NPY_CONSTANT_finfo_smallest_normal);
    CONSTANT(NPY_CONSTANT_finfo_smallest_subnormal);
    CONSTANT(NPY_CONSTANT_finfo_nmant);
    CONSTANT(NPY_CONSTANT_finfo_min_exp);
    CONSTANT(NPY_CONSTANT_finfo_max_exp);
    CONSTANT(NPY_CONSTANT_finfo_decimal_digits);
    CONSTANT(NPY_NTYPES_ABI_COMPATIBLE);
    CONSTANT(NPY_NSORTS);
}

int main(void)
{
    structs();
    slot_numbers();
    flag_values();
    return 0;
}
