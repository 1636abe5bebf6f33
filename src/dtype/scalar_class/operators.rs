//! Operators of the scalars that the runtime makes: NumPy's ufuncs, called with the operands.

use crate::{
    abi,
    dtype::{
        handle::{DType, errors, pyobj::text, registry, trampoline},
        loops::compare,
        scalar_class::{proxy_array, values},
        scalars::{object, proxy},
    },
    erased::Failure,
    numpy_abi::{self, flags::NPY_DOUBLE},
};
use pyo3::{Py, PyAny, Python, ffi, sync::PyOnceLock, types::PyAnyMethods};
use std::{
    cmp::Ordering,
    ffi::{c_int, c_void},
    ptr,
};

/// A ufunc of NumPy, looked up once.
struct Ufunc {
    name: &'static str,
    function: PyOnceLock<Py<PyAny>>,
}

/// Defines one function for Python's slot an operator, and the list of slots.
macro_rules! operators {
    (binary { $($binary:ident = $binary_slot:ident, $binary_ufunc:literal;)* }
     unary { $($unary:ident = $unary_slot:ident, $unary_ufunc:literal;)* }) => {
        $(
            unsafe extern "C" fn $binary(
                left: *mut ffi::PyObject,
                right: *mut ffi::PyObject,
            ) -> *mut ffi::PyObject {
                trampoline::slot(stringify!($binary), || {
                    static UFUNC: Ufunc = Ufunc { name: $binary_ufunc, function: PyOnceLock::new() };
                    // SAFETY: Python calls it with two objects, one of them a scalar; GIL held.
                    unsafe { binary(&UFUNC, left, right) }
                })
            }
        )*
        $(
            unsafe extern "C" fn $unary(operand: *mut ffi::PyObject) -> *mut ffi::PyObject {
                trampoline::slot(stringify!($unary), || {
                    static UFUNC: Ufunc = Ufunc { name: $unary_ufunc, function: PyOnceLock::new() };
                    // SAFETY: Python calls it with a scalar; GIL held.
                    unsafe { UFUNC.call(&[operand]) }
                })
            }
        )*

        /// The slots of the operators.
        pub fn slots() -> Vec<ffi::PyType_Slot> {
            let slot = |slot: c_int, function: *mut c_void| {
                ffi::PyType_Slot { slot, pfunc: function }
            };
            vec![
                $(slot(ffi::$binary_slot, $binary as ffi::binaryfunc as *mut c_void),)*
                $(slot(ffi::$unary_slot, $unary as ffi::unaryfunc as *mut c_void),)*
                slot(ffi::Py_nb_power, power as ffi::ternaryfunc as *mut c_void),
                slot(ffi::Py_nb_bool, values::bool_ as ffi::inquiry as *mut c_void),
                slot(ffi::Py_nb_int, int as ffi::unaryfunc as *mut c_void),
                slot(ffi::Py_nb_float, float as ffi::unaryfunc as *mut c_void),
                slot(ffi::Py_tp_richcompare, rich_compare as ffi::richcmpfunc as *mut c_void),
            ]
        }
    };
}

operators! {
    binary {
        add = Py_nb_add, "add";
        subtract = Py_nb_subtract, "subtract";
        multiply = Py_nb_multiply, "multiply";
        true_divide = Py_nb_true_divide, "true_divide";
        floor_divide = Py_nb_floor_divide, "floor_divide";
        remainder = Py_nb_remainder, "remainder";
        divmod = Py_nb_divmod, "divmod";
    }
    unary {
        negative = Py_nb_negative, "negative";
        positive = Py_nb_positive, "positive";
        absolute = Py_nb_absolute, "absolute";
    }
}

impl Ufunc {
    /// Calls the ufunc: a new reference, or NULL with an exception.
    ///
    /// # Safety
    /// `operands` are Python objects; GIL held.
    unsafe fn call(&'static self, operands: &[*mut ffi::PyObject]) -> *mut ffi::PyObject {
        // SAFETY: GIL held.
        let py = unsafe { Python::assume_attached() };
        let function = self.function.get_or_try_init(py, || {
            Ok(py.import(text(py, "numpy")?)?.getattr(text(py, self.name)?)?.unbind())
        });
        match function {
            // SAFETY: a callable and valid operands.
            Ok(function) => unsafe {
                ffi::PyObject_Vectorcall(
                    function.as_ptr(),
                    operands.as_ptr(),
                    operands.len(),
                    ptr::null_mut(),
                )
            },
            Err(error) => {
                pyo3::PyErr::restore(error, py);
                ptr::null_mut()
            }
        }
    }
}

/// `NotImplemented`: Python asks the other operand.
fn not_implemented() -> *mut ffi::PyObject {
    // SAFETY: GIL held by all callers; the object is immortal or counted here.
    unsafe {
        let object = ffi::Py_NotImplemented();
        ffi::Py_INCREF(object);
        object
    }
}

/// # Safety
/// Two Python objects, one of them a scalar; GIL held.
unsafe fn binary(
    ufunc: &'static Ufunc,
    left: *mut ffi::PyObject,
    right: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the caller's promise.
    unsafe {
        if is_operand(left) && is_operand(right) {
            ufunc.call(&[left, right])
        } else {
            not_implemented()
        }
    }
}

/// Whether NumPy knows what to do with an operand: numbers, arrays, scalars of NumPy and of element
/// types. Other objects get their own say.
///
/// # Safety
/// A Python object; GIL held.
unsafe fn is_operand(object: *mut ffi::PyObject) -> bool {
    static GENERIC: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    // SAFETY: the caller's promise.
    unsafe {
        if object::scalar_cell(object).is_some()
            || ffi::PyLong_Check(object) != 0
            || ffi::PyFloat_Check(object) != 0
            || ffi::PyComplex_Check(object) != 0
        {
            return true;
        }
        let py = Python::assume_attached();
        let generic = GENERIC.get_or_try_init(py, || {
            Ok::<_, pyo3::PyErr>(
                py.import(text(py, "numpy")?)?.getattr(text(py, "generic")?)?.unbind(),
            )
        });
        let is_generic = generic
            .is_ok_and(|generic| ffi::PyObject_TypeCheck(object, generic.as_ptr().cast()) != 0);
        let is_array = numpy_abi::get()
            .is_some_and(|numpy| ffi::PyObject_TypeCheck(object, numpy.array_type()) != 0);
        if is_generic || is_array {
            return true;
        }
        // The scalar class of another element type, brought by its client.
        let class = ffi::Py_TYPE(object);
        registry::all().iter().any(|dtype| dtype.scalar_class() == class)
    }
}

unsafe extern "C" fn power(
    base: *mut ffi::PyObject,
    exponent: *mut ffi::PyObject,
    modulus: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("power", || {
        static UFUNC: Ufunc = Ufunc { name: "power", function: PyOnceLock::new() };
        // SAFETY: Python calls it with three objects, one of the first two a scalar; GIL held.
        unsafe {
            if modulus != ffi::Py_None() {
                return not_implemented();
            }
            binary(&UFUNC, base, exponent)
        }
    })
}

unsafe extern "C" fn rich_compare(
    left: *mut ffi::PyObject,
    right: *mut ffi::PyObject,
    operation: c_int,
) -> *mut ffi::PyObject {
    trampoline::slot("rich_compare", || {
        static UFUNCS: [Ufunc; 6] = [
            Ufunc { name: "less", function: PyOnceLock::new() },
            Ufunc { name: "less_equal", function: PyOnceLock::new() },
            Ufunc { name: "equal", function: PyOnceLock::new() },
            Ufunc { name: "not_equal", function: PyOnceLock::new() },
            Ufunc { name: "greater", function: PyOnceLock::new() },
            Ufunc { name: "greater_equal", function: PyOnceLock::new() },
        ];
        let Some(ufunc) = UFUNCS.get(operation as usize) else { return not_implemented() };
        // SAFETY: Python calls it with two objects, the left one a scalar; GIL held.
        unsafe {
            if let Some(outcome) = compare_alike(ufunc.name, left, right, operation) {
                return errors::give(outcome);
            }
            if !is_operand(right) {
                return not_implemented();
            }
            // NumPy's bool, made Python's.
            let result = ufunc.call(&[left, right]);
            if result.is_null()
                || numpy_abi::get()
                    .is_some_and(|numpy| ffi::PyObject_TypeCheck(result, numpy.array_type()) != 0)
            {
                return result;
            }
            let truth = ffi::PyObject_IsTrue(result);
            ffi::Py_DECREF(result);
            if truth < 0 { ptr::null_mut() } else { ffi::PyBool_FromLong(truth.into()) }
        }
    })
}

/// Two scalars of one type that has an order but no loop for this comparison.
///
/// # Safety
/// Two Python objects; GIL held.
unsafe fn compare_alike(
    ufunc: &str,
    left: *mut ffi::PyObject,
    right: *mut ffi::PyObject,
    operation: c_int,
) -> Option<Result<*mut ffi::PyObject, Failure>> {
    // SAFETY: the caller's promise.
    unsafe {
        let ((dtype, _), (other, _)) = (object::scalar_cell(left)?, object::scalar_cell(right)?);
        let element = dtype.element();
        if !ptr::eq(dtype, other) || element.vtable().compare.is_none() || has_loop(dtype, ufunc) {
            return None;
        }
        let ordering = proxy::with_cell(left, |_, left| {
            proxy::with_cell(right, |_, right| compare::compare(element, left, right))
        });
        Some(ordering.map(|ordering| {
            let truth = match operation {
                ffi::Py_LT => ordering == Ordering::Less,
                ffi::Py_LE => ordering != Ordering::Greater,
                ffi::Py_EQ => ordering == Ordering::Equal,
                ffi::Py_NE => ordering != Ordering::Equal,
                ffi::Py_GT => ordering == Ordering::Greater,
                _ => ordering != Ordering::Less,
            };
            ffi::PyBool_FromLong(truth.into())
        }))
    }
}

fn has_loop(dtype: &DType, ufunc: &str) -> bool {
    dtype.operations().loops.iter().any(|data| data.name.to_bytes() == ufunc.as_bytes())
}

/// `float(scalar)`: the type's cast to `float64`.
unsafe extern "C" fn float(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    trampoline::slot("float", || {
        // SAFETY: Python calls it for scalars; GIL held.
        unsafe { through_cast(object, NPY_DOUBLE) }
    })
}

/// `int(scalar)`: exact through the text where that is an integer's, else the part of `float`
/// before the point.
unsafe extern "C" fn int(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    trampoline::slot("int", || {
        // SAFETY: Python calls it for scalars; GIL held; new references are dropped.
        unsafe {
            let Some((dtype, _)) = object::scalar_cell(object) else { return ptr::null_mut() };
            if dtype.element().vtable().to_text.is_some() {
                let text = ffi::PyObject_Str(object);
                if text.is_null() {
                    return ptr::null_mut();
                }
                let class = (&raw mut ffi::PyLong_Type).cast();
                let whole = ffi::PyObject_CallOneArg(class, text);
                ffi::Py_DECREF(text);
                if !whole.is_null() {
                    return whole;
                }
                ffi::PyErr_Clear();
            }
            let number = through_cast(object, NPY_DOUBLE);
            if number.is_null() {
                return ptr::null_mut();
            }
            let whole = ffi::PyNumber_Long(number);
            ffi::Py_DECREF(number);
            whole
        }
    })
}

/// The scalar cast to a built-in type, as Python's number.
///
/// # Safety
/// A scalar; GIL held.
unsafe fn through_cast(object: *mut ffi::PyObject, type_number: c_int) -> *mut ffi::PyObject {
    // SAFETY: the caller's promise; `from_any` and `cast_to_type` steal the descriptors, other new
    // references are dropped.
    unsafe {
        let (Some((dtype, _)), Some(numpy)) = (object::scalar_cell(object), numpy_abi::get())
        else {
            return ptr::null_mut();
        };
        let to = numpy.descr_from_type(type_number);
        if to.is_null() {
            return ptr::null_mut();
        }
        if numpy.can_cast_type_to(dtype.descr(), to, crate::numpy_abi::flags::NPY_UNSAFE_CASTING)
            == 0
        {
            ffi::Py_DECREF(to.cast());
            errors::raise(&Failure::new(
                abi::ERROR_TYPE,
                format!("{} has no cast to float64", dtype.element().name()),
            ));
            return ptr::null_mut();
        }
        let cast = if dtype.element().is_copyable() {
            let array =
                numpy.from_any(object, dtype.new_descr_reference(), 0, 0, 0, ptr::null_mut());
            if array.is_null() {
                ffi::Py_DECREF(to.cast());
                return ptr::null_mut();
            }
            let cast = numpy.cast_to_type(array, to, 0);
            ffi::Py_DECREF(array);
            cast
        } else {
            let cast = proxy_array::with_array(object, |array| {
                ffi::Py_INCREF(to.cast());
                match numpy.cast_to_type(array, to, 0) {
                    cast if cast.is_null() => Err(errors::already_raised()),
                    cast => Ok(cast),
                }
            });
            ffi::Py_DECREF(to.cast());
            errors::give(cast)
        };
        if cast.is_null() {
            return ptr::null_mut();
        }
        let number = ffi::PyNumber_Float(cast);
        ffi::Py_DECREF(cast);
        number
    }
}
