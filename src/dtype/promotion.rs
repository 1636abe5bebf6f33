//! Which type two types meet in, and the promoters that tell NumPy's ufuncs so.
//!
//! A promoter is registered for every ufunc that the type has a loop for, for the operand tuples
//! in which some operands are the type and the others anything (`np.dtype`, the abstract base of
//! all DType classes, which NumPy matches with `issubclass`). An exact loop always wins over it.
//!
//! NumPy picks the best of all matching tuples and gives up where two are equally good, so a
//! tuple of two element types is registered of its own, and before the vaguer ones. Comparisons
//! get promoters even where the type has no loop: without one NumPy answers `==` with `False` for
//! all elements, whatever they are.

use super::{
    DType, casts, errors,
    numbers::{self, Family, Number},
    register::{self, LoopData, OperandType, builtin_class},
    ufuncs,
};
use crate::{
    abi::{self, CastLevel},
    numpy_abi::{self, NumpyApi, PyArray_DTypeMeta, UFUNC_PROMOTER, flags::*},
};
use pyo3::{ffi, prelude::*, types::PyTuple};
use std::{
    ffi::{CStr, c_int},
    ptr,
    sync::Mutex,
};

type Class = *mut PyArray_DTypeMeta;

/// The DType class in which values of `dtype` and of `other` meet:
///
/// * `dtype`, where `other` casts to it within the kind (a Python `int` counts as `int64`, `float`
///   as `float64`, `complex` as `complex128`);
/// * else `other`, where `dtype` casts to it safely; else the 64-bit type of `other`'s family,
///   where `dtype` casts to that within the kind (`int64` and `float32` meet in `float64` too);
/// * of two element types, the one to which the other casts safely.
///
/// # Safety
/// `other` is a DType class; GIL held.
pub(super) unsafe fn common_class(dtype: &'static DType, other: Class) -> Option<Class> {
    let numpy = numpy_abi::get()?;
    let own = dtype.class();
    let level = |from: Class, to: Class| casts::find(from, to).map(|entry| entry.level);
    let within = |from, to, most: CastLevel| level(from, to).is_some_and(|level| level <= most);
    // SAFETY: the caller's promise.
    if let Some(second) = unsafe { DType::try_of_class(other) } {
        if ptr::eq(second, dtype) {
            return Some(own);
        }
        let to_other = within(own, other, abi::CAST_SAFE);
        let to_own = within(other, own, abi::CAST_SAFE);
        return match (to_other, to_own) {
            (true, false) => Some(other),
            (false, true) => Some(own),
            // Whatever the order in which NumPy asks, the answer is the same.
            (true, true) if dtype.element().name() < second.element().name() => Some(own),
            (true, true) => Some(other),
            (false, false) => None,
        };
    }
    let stand_in = concrete(numpy, other);
    // SAFETY: a DType class.
    let number = numbers::number(unsafe { (*stand_in).type_num })?;
    if within(stand_in, own, abi::CAST_SAME_KIND) {
        return Some(own);
    }
    if within(own, stand_in, abi::CAST_SAFE) {
        return Some(stand_in);
    }
    let wide = widest(numpy, stand_in, number);
    within(own, wide, abi::CAST_SAME_KIND).then_some(wide)
}

/// The class of values of Python's number types, for NumPy's stand-ins for those.
fn concrete(numpy: &NumpyApi, class: Class) -> Class {
    if class == numpy.py_long_dtype() {
        numpy.long_dtype()
    } else if class == numpy.py_float_dtype() {
        numpy.double_dtype()
    } else if class == numpy.py_complex_dtype() {
        numpy.cdouble_dtype()
    } else {
        class
    }
}

/// The 64-bit type of a number's family.
fn widest(numpy: &NumpyApi, class: Class, number: &Number) -> Class {
    match (number.family, number.size) {
        (Family::Signed, _) => numpy.long_dtype(),
        (Family::Unsigned, _) => numpy.ulong_dtype(),
        (Family::Float, 2 | 4) => numpy.double_dtype(),
        (Family::Complex, 8) => numpy.cdouble_dtype(),
        _ => class,
    }
}

/// The ufuncs for which NumPy turns "no loop" into a result.
const COMPARISONS: [&str; 6] =
    ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"];

/// Which types have promoters for which ufuncs (borrowed pointers).
static PROMOTED: Mutex<Vec<(usize, &'static DType)>> = Mutex::new(Vec::new());

/// Registers the promoters of a type whose loops are all registered already.
///
/// # Errors
/// What NumPy refuses.
pub(super) fn register_promoters(
    py: Python<'_>,
    numpy: &'static NumpyApi,
    dtype: &'static DType,
) -> PyResult<()> {
    for data in &dtype.operations().loops {
        // NumPy's own promoter makes booleans of all operands of the logical functions, which is
        // what a reduction to bool (`any`, `all`) needs.
        if data.input_count < 2 || data.name.to_bytes().starts_with(b"logical_") {
            continue;
        }
        // A loop may be for other types alone: `Integer / Integer` belongs to Rational.
        for operand in &data.operands[..data.input_count] {
            if let OperandType::Element(input) = *operand {
                let counts = (data.input_count, data.operands.len());
                promote_ufunc(py, numpy, dtype, input, data.ufunc, counts)?;
            }
        }
    }
    let module = py.import("numpy")?;
    for name in COMPARISONS {
        // NumPy's ufuncs live forever.
        let ufunc = module.getattr(name)?.as_ptr() as usize;
        promote_ufunc(py, numpy, dtype, dtype, ufunc, (2, 3))?;
    }
    Ok(())
}

/// Registers the promoters of a type for one ufunc, once. `registering` is the type that is being
/// registered, the same or another.
fn promote_ufunc(
    py: Python<'_>,
    numpy: &'static NumpyApi,
    registering: &'static DType,
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
    // SAFETY: a static function; NumPy never calls a capsule's destructor that is not there.
    let capsule = unsafe {
        let pointer = promote as numpy_abi::callbacks::Promoter as *mut std::ffi::c_void;
        Bound::from_owned_ptr_or_err(
            py,
            ffi::PyCapsule_New(pointer, UFUNC_PROMOTER.as_ptr(), None),
        )?
    };
    for tuple in tuples {
        let registered = register::all().into_iter().chain([registering]);
        // It needs no promoter, which would only make NumPy's choice ambiguous.
        if loop_with(registered, ufunc, &tuple).is_some() {
            continue;
        }
        let mut items: Vec<Bound<'_, PyAny>> = tuple
            .iter()
            // SAFETY: DType classes are immortal Python types.
            .map(|class| unsafe { Bound::from_borrowed_ptr(py, class.cast()) })
            .collect();
        items.resize(operand_count, py.None().into_bound(py));
        let key = PyTuple::new(py, items)?;
        // SAFETY: a ufunc, a tuple of DType classes and `None`, a promoter's capsule.
        let status = unsafe {
            numpy.add_promoter(ufunc as *mut ffi::PyObject, key.as_ptr(), capsule.as_ptr())
        };
        if status < 0 {
            return Err(PyErr::fetch(py));
        }
    }
    Ok(())
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

/// The loop of one of the types that has exactly these inputs (NULL is none).
fn loop_with(
    dtypes: impl IntoIterator<Item = &'static DType>,
    ufunc: usize,
    inputs: &[Class],
) -> Option<&'static LoopData> {
    dtypes.into_iter().flat_map(|dtype| &dtype.operations().loops).copied().find(|data| {
        data.ufunc == ufunc
            && data.input_count == inputs.len()
            && data.operands.iter().zip(inputs).all(|(operand, &class)| is(operand, class))
    })
}

/// Whether an operand is of that type.
fn is(operand: &OperandType, class: Class) -> bool {
    match operand {
        OperandType::Element(dtype) => dtype.class() == class,
        OperandType::Numpy(number) => {
            // SAFETY: a DType class or NULL.
            unsafe { class.as_ref() }.is_some_and(|class| class.type_num == *number)
        }
    }
}

/// NumPy asks which loop to take instead of `op_dtypes`.
unsafe extern "C" fn promote(
    ufunc: *mut ffi::PyObject,
    op_dtypes: *const *mut PyArray_DTypeMeta,
    signature: *const *mut PyArray_DTypeMeta,
    new_op_dtypes: *mut *mut PyArray_DTypeMeta,
) -> c_int {
    // SAFETY: NumPy passes a ufunc and one entry an operand in each array (NULL for outputs and
    // for what is not fixed); GIL held.
    unsafe {
        let (input_count, operand_count) = ufuncs::ufunc_operand_counts(ufunc);
        let given = std::slice::from_raw_parts(op_dtypes, operand_count);
        let fixed = std::slice::from_raw_parts(signature, operand_count);
        // A reduction without a start value leaves the first input open.
        let inputs: Vec<Class> = (0..input_count)
            .map(|index| if given[index].is_null() { given[input_count - 1] } else { given[index] })
            .collect();
        let Some(chosen) = choose(ufunc, &inputs, fixed) else {
            refuse(ufunc, &inputs);
            return -1;
        };
        // NumPy has two loops for objects in comparisons and logical functions.
        let output = output_of_objects(ufunc, &chosen);
        for index in 0..operand_count {
            let class = if !fixed[index].is_null() {
                fixed[index]
            } else if index < input_count {
                chosen[index]
            } else if given[index].is_null() {
                output
            } else {
                given[index]
            };
            ffi::Py_XINCREF(class.cast());
            *new_op_dtypes.add(index) = class;
        }
    }
    0
}

/// The output type of a ufunc over objects: NumPy has loops for truth and for objects; NULL for
/// inputs that are no objects, where the loop says it.
///
/// # Safety
/// A ufunc; GIL held.
unsafe fn output_of_objects(ufunc: *mut ffi::PyObject, inputs: &[Class]) -> Class {
    let Some(numpy) = numpy_abi::get() else { return ptr::null_mut() };
    if inputs.iter().any(|&class| class != numpy.object_dtype()) {
        ptr::null_mut()
    // SAFETY: the caller's promise.
    } else if COMPARISONS.contains(&unsafe { name_of(ufunc) }.as_str()) {
        numpy.bool_dtype()
    } else {
        numpy.object_dtype()
    }
}

/// The name of a ufunc.
///
/// # Safety
/// A ufunc; GIL held.
unsafe fn name_of(ufunc: *mut ffi::PyObject) -> String {
    // SAFETY: the caller's promise.
    let ufunc = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), ufunc) };
    ufunc.getattr("__name__").and_then(|name| name.extract()).unwrap_or_default()
}

/// The input types of the loop to take: of ours for the common type of the inputs, where that
/// agrees with what the caller fixed (`dtype=`, `signature=`); else, as NumPy does, the output
/// type that the caller fixed, or the common type. Before all of them a comparison takes a loop
/// of ours that compares the inputs as they are: the common type may round.
///
/// # Safety
/// `inputs` are DType classes, `fixed` too or NULL, one an operand; GIL held.
unsafe fn choose(
    ufunc: *mut ffi::PyObject,
    inputs: &[Class],
    fixed: &[Class],
) -> Option<Vec<Class>> {
    let numpy = numpy_abi::get()?;
    // SAFETY: the caller's promise.
    let compares = COMPARISONS.contains(&unsafe { name_of(ufunc) }.as_str());
    if compares && let Some(exact) = exact_comparison(numpy, ufunc as usize, inputs, fixed) {
        return Some(exact);
    }
    let mut sequence = inputs.to_vec();
    // SAFETY: the caller's promise; failure leaves an exception. The reference is given back:
    // classes of ours and of NumPy are immortal.
    let common = unsafe {
        let class = numpy.promote_dtype_sequence(inputs.len() as isize, sequence.as_mut_ptr());
        if class.is_null() {
            ffi::PyErr_Clear();
        } else {
            ffi::Py_DECREF(class.cast());
        }
        class
    };
    let homogeneous = |class: Class| vec![class; inputs.len()];
    if let Some(data) = loop_with(register::all(), ufunc as usize, &homogeneous(common))
        && agrees(data, fixed)
    {
        return Some(homogeneous(common));
    }
    let wanted = fixed[inputs.len()..].iter().copied().find(|class| !class.is_null());
    // The truth of a comparison is not what it compares.
    let wanted = wanted.filter(|&class| !(compares && class == numpy.bool_dtype()));
    let class = wanted.unwrap_or(common);
    // SAFETY: a DType class or NULL.
    let foreign = !class.is_null() && unsafe { DType::try_of_class(class) }.is_none();
    if foreign || loop_with(register::all(), ufunc as usize, &homogeneous(class)).is_some() {
        return Some(homogeneous(class));
    }
    // SAFETY: the caller's promise.
    unsafe { mixed(numpy, ufunc as usize, inputs, compares) }
}

/// The input types of a comparison of ours between an element type and floats, to which the
/// inputs need at most a wider float. Not for integers: a Python `int` may be wider than any type
/// of NumPy.
fn exact_comparison(
    numpy: &NumpyApi,
    ufunc: usize,
    inputs: &[Class],
    fixed: &[Class],
) -> Option<Vec<Class>> {
    // SAFETY: dispatch holds the GIL.
    let py = unsafe { Python::assume_attached() };
    register::all().into_iter().flat_map(|dtype| &dtype.operations().loops).find_map(|data| {
        if data.ufunc != ufunc || data.input_count != inputs.len() || !agrees(data, fixed) {
            return None;
        }
        let mut floats = 0;
        let targets: Option<Vec<Class>> = data.operands[..data.input_count]
            .iter()
            .zip(inputs)
            .map(|(operand, &input)| match *operand {
                OperandType::Element(dtype) => (dtype.class() == input).then_some(input),
                OperandType::Numpy(target) => {
                    let input = concrete(numpy, input);
                    // SAFETY: a DType class or NULL.
                    let from = numbers::number(unsafe { input.as_ref() }?.type_num)?;
                    floats += 1;
                    widens_float(from, numbers::number(target)?)
                        .then(|| builtin_class(py, numpy, target).ok())?
                }
            })
            .collect();
        targets.filter(|_| floats > 0)
    })
}

/// Whether floats of one type are floats of the other.
fn widens_float(from: &Number, to: &Number) -> bool {
    (from.family, to.family) == (Family::Float, Family::Float) && from.size <= to.size
}

/// Whether a loop has the types that the caller fixed.
fn agrees(data: &LoopData, fixed: &[Class]) -> bool {
    data.operands.iter().zip(fixed).all(|(operand, &class)| class.is_null() || is(operand, class))
}

/// A loop of ours with other operand types to which the inputs cast within their kind. What is
/// compared is no element rounded to a number of NumPy.
///
/// # Safety
/// As for [`choose`].
unsafe fn mixed(
    numpy: &NumpyApi,
    ufunc: usize,
    inputs: &[Class],
    compares: bool,
) -> Option<Vec<Class>> {
    // SAFETY: registration and dispatch hold the GIL.
    let py = unsafe { Python::assume_attached() };
    for data in register::all().into_iter().flat_map(|dtype| &dtype.operations().loops) {
        if data.ufunc != ufunc || data.input_count != inputs.len() {
            continue;
        }
        let fitted: Option<Vec<Class>> = data.operands[..data.input_count]
            .iter()
            .zip(inputs)
            .map(|(operand, &input)| {
                // SAFETY: a DType class.
                let is_element = unsafe { DType::try_of_class(input) }.is_some();
                let target = match operand {
                    OperandType::Element(dtype) => dtype.class(),
                    OperandType::Numpy(_) if compares && is_element => return None,
                    OperandType::Numpy(number) => builtin_class(py, numpy, *number).ok()?,
                };
                // SAFETY: DType classes.
                unsafe { casts_within_kind(numpy, concrete(numpy, input), target) }
                    .then_some(target)
            })
            .collect();
        // What is the same would be no step forward.
        if let Some(fitted) = fitted.filter(|fitted| fitted != inputs) {
            return Some(fitted);
        }
    }
    None
}

/// # Safety
/// DType classes; GIL held.
unsafe fn casts_within_kind(numpy: &NumpyApi, from: Class, to: Class) -> bool {
    if from == to {
        return true;
    }
    if let Some(entry) = casts::find(from, to) {
        return entry.level <= abi::CAST_SAME_KIND;
    }
    // SAFETY: DType classes; the one instance of a type without parameters.
    unsafe {
        let built_in = |class: Class| numbers::number((*class).type_num).is_some();
        built_in(from)
            && built_in(to)
            && numpy.can_cast_type_to((*from).singleton, (*to).singleton, NPY_SAME_KIND_CASTING)
                != 0
    }
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
    let ufunc = unsafe { name_of(ufunc) };
    errors::set(
        abi::ERROR_TYPE,
        &format!(
            "ufunc '{ufunc}' has no loop for {} and no common type to cast them to",
            names.join(" and ")
        ),
    );
}
