//! The Python types and variables in NumPy's tables.

use pyo3::ffi::{PyObject, PyTypeObject};

use super::api::NumpyApi;
use super::structs::PyArray_DTypeMeta;

/// Defines one method a table entry that is the address of an object.
macro_rules! objects {
    ($list:ident, $entry:ident, $type:ty;
     $($(#[$attribute:meta])* $c_name:ident = $index:expr, fn $name:ident;)*) => {
        impl NumpyApi {
            $(
                $(#[$attribute])*
                pub fn $name(&self) -> *mut $type {
                    // SAFETY: the table has this entry since NumPy 2.4.
                    unsafe { self.$entry($index) }.cast_mut().cast()
                }
            )*
        }

        /// C names and table indices of the objects above.
        pub(super) const $list: &[(&str, usize)] = &[$((stringify!($c_name), $index)),*];
    };
}

objects! { ARRAY_TYPES, array_entry, PyTypeObject;
    /// `np.ndarray`.
    PyArray_Type = 2, fn array_type;
    /// `np.dtype`.
    PyArrayDescr_Type = 3, fn descr_type;
    /// `np.generic`.
    PyGenericArrType_Type = 10, fn generic_type;
    /// `np.void`.
    PyVoidArrType_Type = 39, fn void_type;
    /// `type(np.dtype)`, the metaclass of DTypes.
    PyArrayDTypeMeta_Type = 320, fn dtype_meta_type;
}

objects! { UFUNC_TYPES, ufunc_entry, PyTypeObject;
    /// `np.ufunc`.
    PyUFunc_Type = 0, fn ufunc_type;
}

objects! { DTYPES, array_entry, PyArray_DTypeMeta;
    /// `np.dtypes.BoolDType`.
    PyArray_BoolDType = 321, fn bool_dtype;
    /// DType of C `signed char`.
    PyArray_ByteDType = 322, fn byte_dtype;
    /// DType of C `unsigned char`.
    PyArray_UByteDType = 323, fn ubyte_dtype;
    /// DType of C `short`.
    PyArray_ShortDType = 324, fn short_dtype;
    /// DType of C `unsigned short`.
    PyArray_UShortDType = 325, fn ushort_dtype;
    /// DType of C `int`.
    PyArray_IntDType = 326, fn int_dtype;
    /// DType of C `unsigned int`.
    PyArray_UIntDType = 327, fn uint_dtype;
    /// DType of C `long`.
    PyArray_LongDType = 328, fn long_dtype;
    /// DType of C `unsigned long`.
    PyArray_ULongDType = 329, fn ulong_dtype;
    /// DType of C `long long`.
    PyArray_LongLongDType = 330, fn longlong_dtype;
    /// DType of C `unsigned long long`.
    PyArray_ULongLongDType = 331, fn ulonglong_dtype;
    /// DType of `int8`.
    PyArray_Int8DType = 332, fn int8_dtype;
    /// DType of `uint8`.
    PyArray_UInt8DType = 333, fn uint8_dtype;
    /// DType of `int16`.
    PyArray_Int16DType = 334, fn int16_dtype;
    /// DType of `uint16`.
    PyArray_UInt16DType = 335, fn uint16_dtype;
    /// DType of `int32`.
    PyArray_Int32DType = 336, fn int32_dtype;
    /// DType of `uint32`.
    PyArray_UInt32DType = 337, fn uint32_dtype;
    /// DType of `int64`.
    PyArray_Int64DType = 338, fn int64_dtype;
    /// DType of `uint64`.
    PyArray_UInt64DType = 339, fn uint64_dtype;
    /// DType of `intp`.
    PyArray_IntpDType = 340, fn intp_dtype;
    /// DType of `uintp`.
    PyArray_UIntpDType = 341, fn uintp_dtype;
    /// DType of `float16`.
    PyArray_HalfDType = 342, fn half_dtype;
    /// DType of C `float`.
    PyArray_FloatDType = 343, fn float_dtype;
    /// DType of C `double`.
    PyArray_DoubleDType = 344, fn double_dtype;
    /// DType of C `long double`.
    PyArray_LongDoubleDType = 345, fn longdouble_dtype;
    /// DType of C `float complex`.
    PyArray_CFloatDType = 346, fn cfloat_dtype;
    /// DType of C `double complex`.
    PyArray_CDoubleDType = 347, fn cdouble_dtype;
    /// DType of C `long double complex`.
    PyArray_CLongDoubleDType = 348, fn clongdouble_dtype;
    /// `np.dtypes.BytesDType`.
    PyArray_BytesDType = 349, fn bytes_dtype;
    /// `np.dtypes.StrDType`.
    PyArray_UnicodeDType = 350, fn unicode_dtype;
    /// `np.dtypes.DateTime64DType`.
    PyArray_DatetimeDType = 351, fn datetime_dtype;
    /// `np.dtypes.TimeDelta64DType`.
    PyArray_TimedeltaDType = 352, fn timedelta_dtype;
    /// `np.dtypes.ObjectDType`.
    PyArray_ObjectDType = 353, fn object_dtype;
    /// `np.dtypes.VoidDType`.
    PyArray_VoidDType = 354, fn void_dtype;
    /// Abstract DType of Python `int` operands.
    PyArray_PyLongDType = 355, fn py_long_dtype;
    /// Abstract DType of Python `float` operands.
    PyArray_PyFloatDType = 356, fn py_float_dtype;
    /// Abstract DType of Python `complex` operands.
    PyArray_PyComplexDType = 357, fn py_complex_dtype;
    /// DType of an array of Python integers.
    PyArray_DefaultIntDType = 358, fn default_int_dtype;
    /// `np.dtypes.StringDType`.
    PyArray_StringDType = 359, fn string_dtype;
    /// Abstract base of integer DTypes, for promoters.
    PyArray_IntAbstractDType = 366, fn int_abstract_dtype;
    /// Abstract base of floating point DTypes, for promoters.
    PyArray_FloatAbstractDType = 367, fn float_abstract_dtype;
    /// Abstract base of complex DTypes, for promoters.
    PyArray_ComplexAbstractDType = 368, fn complex_abstract_dtype;
}

/// C name and table index of the variable below.
pub(super) const DEFAULT_HANDLER: (&str, usize) = ("PyDataMem_DefaultHandler", 306);

impl NumpyApi {
    /// Borrowed reference to the capsule of NumPy's default handler.
    pub fn default_handler(&self) -> *mut PyObject {
        // SAFETY: the entry is the address of a `PyObject*` variable, set while NumPy was
        // imported and never changed.
        unsafe { *self.array_entry(DEFAULT_HANDLER.1).cast::<*mut PyObject>() }
    }
}
