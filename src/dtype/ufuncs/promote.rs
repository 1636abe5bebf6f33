//! The promoters that tell NumPy's ufuncs which types operands meet in.
//!
//! A promoter is registered for every ufunc that the type has a loop for, for the operand tuples
//! in which some operands are the type and the others anything (`np.dtype`, the abstract base of
//! all DType classes, which NumPy matches with `issubclass`). An exact loop always wins over it.
//!
//! NumPy picks the best of all matching tuples and gives up where two are equally good, so a
//! tuple of two element types is registered of its own, and before the vaguer ones; so are the
//! tuples that have a loop, for calls that fix another output (`dtype=`). A tuple with element
//! types in outputs only would be asked about every call, whatever the operands, as an output that
//! is not fixed matches everything: so `np.add(floats, floats, dtype=T)` is refused by NumPy. Comparisons
//! get promoters even where the type has no loop: without one NumPy answers `==` with `False` for
//! all elements, whatever they are.

use crate::{
    abi,
    dtype::{
        handle::{DType, OperandType, errors, trampoline},
        ufuncs::{
            resolve::{self, COMPARISONS},
            ufunc,
        },
    },
    numpy_abi::{self, NumpyApi, PyArray_DTypeMeta, UFUNC_PROMOTER},
};
use pyo3::{ffi, prelude::*, types::PyTuple};
use std::{
    ffi::{CStr, c_int},
    ptr,
    sync::Mutex,
};

type Class = *mut PyArray_DTypeMeta;

/// Which types have promoters for which ufuncs (borrowed pointers).
static PROMOTED: Mutex<Vec<(usize, &'static DType)>> = Mutex::new(Vec::new());

/// Registers the promoters of a type whose loops are all registered already.
///
/// # Errors
/// What NumPy refuses.
pub fn register_promoters(
    py: Python<'_>,
    numpy: &'static NumpyApi,
    dtype: &'static DType,
) -> PyResult<()> {
    let operations = dtype.operations();
    for data in &operations.loops {
        // A loop may be for other types alone: `Integer / Integer` belongs to Rational.
        for operand in &data.operands[..data.input_count] {
            if let OperandType::Element(input) = *operand {
                let counts = (data.input_count, data.operands.len());
                promote_ufunc(py, numpy, input, data.ufunc, counts)?;
            }
        }
    }
    for entry in &operations.delegated {
        let counts = (entry.input_count, entry.operands.len());
        promote_ufunc(py, numpy, dtype, entry.ufunc, counts)?;
    }
    let module = py.import("numpy")?;
    for name in COMPARISONS {
        // NumPy's ufuncs live forever.
        let ufunc = module.getattr(name)?.as_ptr() as usize;
        promote_ufunc(py, numpy, dtype, ufunc, (2, 3))?;
    }
    Ok(())
}

/// Registers the promoters of a type for one ufunc, once.
fn promote_ufunc(
    py: Python<'_>,
    numpy: &'static NumpyApi,
    dtype: &'static DType,
    ufunc: usize,
    (input_count, operand_count): (usize, usize),
) -> PyResult<()> {
    let others: Vec<&'static DType> = {
        let mut promoted = PROMOTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if promoted.iter().any(|&(known, other)| known == ufunc && ptr::eq(other, dtype)) {
            return Ok(());
        }
        let others = promoted.iter().filter(|(known, _)| *known == ufunc).map(|&(_, other)| other);
        let others = others.collect();
        promoted.push((ufunc, dtype));
        others
    };
    let anything: Class = numpy.descr_type().cast();
    let mut tuples = patterns(input_count, anything, &[dtype.class()]);
    for other in others {
        tuples.extend(patterns(input_count, anything, &[dtype.class(), other.class()]));
    }
    tuples.sort_by_key(|tuple| tuple.iter().filter(|class| **class == anything).count());
    for mut tuple in tuples {
        // Vaguer than a loop for the same inputs, which NumPy then prefers where outputs are fixed;
        // where they are not, it asks the promoter once and keeps the answer.
        tuple.resize(operand_count, anything);
        add_promoter(py, numpy, ufunc, &tuple)?;
    }
    Ok(())
}

/// Registers the promoter for these operand types.
fn add_promoter(
    py: Python<'_>,
    numpy: &'static NumpyApi,
    ufunc: usize,
    tuple: &[Class],
) -> PyResult<()> {
    // SAFETY: a static function; NumPy never calls a capsule's destructor that is not there.
    let capsule = unsafe {
        let pointer = promote as numpy_abi::callbacks::Promoter as *mut std::ffi::c_void;
        Bound::from_owned_ptr_or_err(
            py,
            ffi::PyCapsule_New(pointer, UFUNC_PROMOTER.as_ptr(), None),
        )?
    };
    let items: Vec<Bound<'_, PyAny>> = tuple
        .iter()
        // SAFETY: DType classes are immortal Python types.
        .map(|class| unsafe { Bound::from_borrowed_ptr(py, class.cast::<ffi::PyObject>()) })
        .collect();
    let key = PyTuple::new(py, items)?;
    // SAFETY: a ufunc, a tuple of DType classes, a promoter's capsule.
    let status =
        unsafe { numpy.add_promoter(ufunc as *mut ffi::PyObject, key.as_ptr(), capsule.as_ptr()) };
    if status < 0 { Err(PyErr::fetch(py)) } else { Ok(()) }
}

/// All tuples of `count` classes in which each of `types` comes at least once, and `anything` in
/// the other places.
fn patterns(count: usize, anything: Class, types: &[Class]) -> Vec<Vec<Class>> {
    let choices: Vec<Class> = types.iter().copied().chain([anything]).collect();
    let mut tuples: Vec<Vec<Class>> = vec![Vec::new()];
    for _ in 0..count {
        tuples = tuples
            .iter()
            .flat_map(|tuple| {
                choices.iter().map(|&choice| tuple.iter().copied().chain([choice]).collect())
            })
            .collect();
    }
    tuples.retain(|tuple: &Vec<Class>| types.iter().all(|class| tuple.contains(class)));
    tuples
}

/// NumPy asks which loop to take instead of `op_dtypes`.
unsafe extern "C" fn promote(
    ufunc: *mut ffi::PyObject,
    op_dtypes: *const *mut PyArray_DTypeMeta,
    signature: *const *mut PyArray_DTypeMeta,
    new_op_dtypes: *mut *mut PyArray_DTypeMeta,
) -> c_int {
    trampoline::slot("promote", || {
        // SAFETY: NumPy passes a ufunc and one entry an operand in each array (NULL for outputs and
        // for what is not fixed); GIL held.
        unsafe {
            let (input_count, operand_count) = ufunc::ufunc_operand_counts(ufunc);
            let given = std::slice::from_raw_parts(op_dtypes, operand_count);
            let fixed = std::slice::from_raw_parts(signature, operand_count);
            // A reduction without a start value leaves the first input open.
            let inputs: Vec<Class> = (0..input_count)
                .map(
                    |index| {
                        if given[index].is_null() { given[input_count - 1] } else { given[index] }
                    },
                )
                .collect();
            let Some(chosen) = resolve::choose(ufunc, &inputs, fixed) else {
                refuse(ufunc, &inputs);
                return -1;
            };
            for index in 0..operand_count {
                let class = if !fixed[index].is_null() {
                    fixed[index]
                } else if index < input_count || given[index].is_null() {
                    chosen[index]
                } else {
                    given[index]
                };
                ffi::Py_XINCREF(class.cast());
                *new_op_dtypes.add(index) = class;
            }
        }
        0
    })
}

/// A `TypeError` that names the types. Not NumPy's own "no loop" error: `==` would turn that into
/// `False`.
///
/// # Safety
/// A ufunc and DType classes; GIL held.
#[cold]
unsafe fn refuse(ufunc: *mut ffi::PyObject, inputs: &[Class]) {
    let class_name = |class: Class| {
        // SAFETY: a Python type, whose name is NUL-terminated.
        unsafe { CStr::from_ptr((*class.cast::<ffi::PyTypeObject>()).tp_name) }
            .to_string_lossy()
            .into_owned()
    };
    let names: Vec<String> = inputs.iter().map(|&class| class_name(class)).collect();
    // SAFETY: the caller's ufunc; GIL held.
    let ufunc = unsafe { ufunc::name_of(ufunc) };
    errors::set(
        abi::ERROR_TYPE,
        &format!(
            "ufunc '{ufunc}' has no loop for {} and no common type to cast them to",
            names.join(" and ")
        ),
    );
}
