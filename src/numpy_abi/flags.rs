//! Flags, kinds and type numbers of NumPy's headers.
#![expect(non_upper_case_globals, reason = "the names are NumPy's own")]

use std::ffi::c_int;

/// Defines constants of one type, each with a line of documentation.
macro_rules! constants {
    ($type:ty; $($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: $type = $value;)*
    };
}

// `PyArray_Descr::flags`.
constants! { u64;
    /// Elements own something: copied, moved and cleared through loops, never as bytes.
    NPY_ITEM_REFCOUNT = 0x01;
    /// Pickle as a list.
    NPY_LIST_PICKLE = 0x02;
    /// An element is one pointer to an object.
    NPY_ITEM_IS_POINTER = 0x04;
    /// Buffers start as zeros.
    NPY_NEEDS_INIT = 0x08;
    /// Loops need the GIL.
    NPY_NEEDS_PYAPI = 0x10;
    /// Use getitem to make scalars.
    NPY_USE_GETITEM = 0x20;
    /// Use setitem for 0-d assignment.
    NPY_USE_SETITEM = 0x40;
    /// An aligned structured dtype.
    NPY_ALIGNED_STRUCT = 0x80;
}

// `NPY_ARRAYMETHOD_FLAGS`.
constants! { c_int;
    /// The loop needs the GIL.
    NPY_METH_REQUIRES_PYAPI = 1 << 0;
    /// The loop never sets floating point errors.
    NPY_METH_NO_FLOATINGPOINT_ERRORS = 1 << 1;
    /// The loop takes unaligned data.
    NPY_METH_SUPPORTS_UNALIGNED = 1 << 2;
    /// A reduction may change the order.
    NPY_METH_IS_REORDERABLE = 1 << 3;
    /// Inputs may always be cast (logical functions).
    _NPY_METH_FORCE_CAST_INPUTS = 1 << 17;
    /// The flags that `get_loop` may set.
    NPY_METH_RUNTIME_FLAGS = NPY_METH_REQUIRES_PYAPI | NPY_METH_NO_FLOATINGPOINT_ERRORS;
    /// `PyArrayMethod_Context::flags`: a same-value cast.
    NPY_SAME_VALUE_CONTEXT_FLAG = 1;
}

// `PyArray_DTypeMeta::flags` and `PyArrayDTypeMeta_Spec::flags`.
constants! { c_int;
    /// No instances.
    NPY_DT_ABSTRACT = 1 << 1;
    /// Instances differ by parameters.
    NPY_DT_PARAMETRIC = 1 << 2;
    /// A number.
    NPY_DT_NUMERIC = 1 << 3;
}

// `NPY_CASTING`.
constants! { c_int;
    /// An exception is set.
    _NPY_ERROR_OCCURRED_IN_CAST = -1;
    /// Identical only.
    NPY_NO_CASTING = 0;
    /// Identical or byte swapped.
    NPY_EQUIV_CASTING = 1;
    /// Keeps every value.
    NPY_SAFE_CASTING = 2;
    /// Safe or within a kind.
    NPY_SAME_KIND_CASTING = 3;
    /// Any.
    NPY_UNSAFE_CASTING = 4;
    /// Added to another level: the cast supports the same-value check.
    NPY_SAME_VALUE_CASTING_FLAG = 64;
    /// Values must survive.
    NPY_SAME_VALUE_CASTING = NPY_UNSAFE_CASTING | NPY_SAME_VALUE_CASTING_FLAG;
}

// `PyArrayObject::flags`, and requirements of `PyArray_FromAny`.
constants! { c_int;
    /// Contiguous, last index fastest.
    NPY_ARRAY_C_CONTIGUOUS = 0x0001;
    /// Contiguous, first index fastest.
    NPY_ARRAY_F_CONTIGUOUS = 0x0002;
    /// The array frees its data.
    NPY_ARRAY_OWNDATA = 0x0004;
    /// Requirement: cast whatever the loss.
    NPY_ARRAY_FORCECAST = 0x0010;
    /// Requirement: copy.
    NPY_ARRAY_ENSURECOPY = 0x0020;
    /// Requirement: a base class array.
    NPY_ARRAY_ENSUREARRAY = 0x0040;
    /// Requirement: strides are multiples of the element size.
    NPY_ARRAY_ELEMENTSTRIDES = 0x0080;
    /// Aligned for its dtype.
    NPY_ARRAY_ALIGNED = 0x0100;
    /// Native byte order.
    NPY_ARRAY_NOTSWAPPED = 0x0200;
    /// May be written to.
    NPY_ARRAY_WRITEABLE = 0x0400;
    /// Written back to its base on resolution.
    NPY_ARRAY_WRITEBACKIFCOPY = 0x2000;
    /// Requirement: no copy.
    NPY_ARRAY_ENSURENOCOPY = 0x4000;
    /// Aligned and writeable.
    NPY_ARRAY_BEHAVED = NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE;
    /// C contiguous, aligned and writeable.
    NPY_ARRAY_CARRAY = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_BEHAVED;
    /// C contiguous and aligned.
    NPY_ARRAY_CARRAY_RO = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    /// What `PyArray_UpdateFlags` recomputes.
    NPY_ARRAY_UPDATE_ALL = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_ALIGNED;
}

// `NPY_ORDER`.
constants! { c_int;
    /// Fortran if every input is, else C.
    NPY_ANYORDER = -1;
    /// Last index fastest.
    NPY_CORDER = 0;
    /// First index fastest.
    NPY_FORTRANORDER = 1;
    /// As close to the input as possible.
    NPY_KEEPORDER = 2;
}

// `NPY_SORTKIND`, in `PyArrayMethod_SortParameters::flags`.
constants! { c_int;
    /// No requirement.
    NPY_SORT_DEFAULT = 0;
    /// Equal elements keep their order.
    NPY_SORT_STABLE = 2;
    /// Largest first.
    NPY_SORT_DESCENDING = 4;
}

// `NPY_TYPES`.
constants! { c_int;
    /// `bool`.
    NPY_BOOL = 0;
    /// `signed char`.
    NPY_BYTE = 1;
    /// `unsigned char`.
    NPY_UBYTE = 2;
    /// `short`.
    NPY_SHORT = 3;
    /// `unsigned short`.
    NPY_USHORT = 4;
    /// `int`.
    NPY_INT = 5;
    /// `unsigned int`.
    NPY_UINT = 6;
    /// `long`.
    NPY_LONG = 7;
    /// `unsigned long`.
    NPY_ULONG = 8;
    /// `long long`.
    NPY_LONGLONG = 9;
    /// `unsigned long long`.
    NPY_ULONGLONG = 10;
    /// `float`.
    NPY_FLOAT = 11;
    /// `double`.
    NPY_DOUBLE = 12;
    /// `long double`.
    NPY_LONGDOUBLE = 13;
    /// `float complex`.
    NPY_CFLOAT = 14;
    /// `double complex`.
    NPY_CDOUBLE = 15;
    /// `long double complex`.
    NPY_CLONGDOUBLE = 16;
    /// Python objects.
    NPY_OBJECT = 17;
    /// Bytes of fixed length.
    NPY_STRING = 18;
    /// Text of fixed length.
    NPY_UNICODE = 19;
    /// Structured and raw.
    NPY_VOID = 20;
    /// `datetime64`.
    NPY_DATETIME = 21;
    /// `timedelta64`.
    NPY_TIMEDELTA = 22;
    /// `float16`.
    NPY_HALF = 23;
    /// `StringDType`.
    NPY_VSTRING = 2056;
}

// `NPY_DT_get_constant` identifiers.
constants! { c_int;
    /// Zero.
    NPY_CONSTANT_zero = 1;
    /// One.
    NPY_CONSTANT_one = 2;
    /// All bits set.
    NPY_CONSTANT_all_bits_set = 3;
    /// Largest finite value.
    NPY_CONSTANT_maximum_finite = 4;
    /// Smallest finite value.
    NPY_CONSTANT_minimum_finite = 5;
    /// Infinity.
    NPY_CONSTANT_inf = 6;
    /// Negative infinity.
    NPY_CONSTANT_ninf = 7;
    /// Not a number.
    NPY_CONSTANT_nan = 8;
    /// `finfo.radix`.
    NPY_CONSTANT_finfo_radix = 9;
    /// `finfo.eps`.
    NPY_CONSTANT_finfo_eps = 10;
    /// `finfo.smallest_normal`.
    NPY_CONSTANT_finfo_smallest_normal = 11;
    /// `finfo.smallest_subnormal`.
    NPY_CONSTANT_finfo_smallest_subnormal = 12;
    /// `finfo.nmant`, an `npy_intp`.
    NPY_CONSTANT_finfo_nmant = 1 << 16;
    /// `finfo.minexp`, an `npy_intp`.
    NPY_CONSTANT_finfo_min_exp = (1 << 16) + 1;
    /// `finfo.maxexp`, an `npy_intp`.
    NPY_CONSTANT_finfo_max_exp = (1 << 16) + 2;
    /// `finfo.precision`, an `npy_intp`.
    NPY_CONSTANT_finfo_decimal_digits = (1 << 16) + 3;
}
