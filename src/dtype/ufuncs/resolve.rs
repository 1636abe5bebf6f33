//! Which loop a ufunc takes for operands of which some are elements: what [`super::promote`]
//! answers when NumPy asks.

use crate::{
    abi,
    dtype::{
        casts::{
            common,
            numbers::{self, Family, Number},
            table,
        },
        handle::{
            DType, Delegated, LoopData, OperandType,
            registry::{self, builtin_class},
        },
        ufuncs::ufunc,
    },
    numpy_abi::{self, NumpyApi, PyArray_DTypeMeta, flags::*},
};
use pyo3::{ffi, prelude::*};
use std::ptr;

type Class = *mut PyArray_DTypeMeta;

/// The ufuncs for which NumPy turns "no loop" into a result.
pub const COMPARISONS: [&str; 6] =
    ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"];

/// A call of a ufunc, as far as it is known before its loop.
#[derive(Clone, Copy)]
struct Call<'a> {
    numpy: &'static NumpyApi,
    /// The ufunc.
    ufunc: usize,
    /// Whether it is one of [`COMPARISONS`].
    compares: bool,
    /// The DType classes of the inputs.
    inputs: &'a [Class],
    /// What the caller fixed (`dtype=`, `signature=`), an operand; else NULL.
    fixed: &'a [Class],
}

impl Call<'_> {
    /// The loop of ours that has exactly these inputs and agrees with what the caller fixed.
    fn own_loop(&self, inputs: &[Class]) -> Option<&'static LoopData> {
        all_loops().find(|data| {
            data.ufunc == self.ufunc && has_inputs(data, inputs) && agrees(data, self.fixed)
        })
    }

    /// Whether a loop of ours has exactly these inputs.
    fn has_loop(&self, inputs: &[Class]) -> bool {
        all_loops().any(|data| data.ufunc == self.ufunc && has_inputs(data, inputs))
    }

    /// The first output type that the caller fixed.
    fn wanted(&self) -> Option<Class> {
        let outputs = self.fixed.get(self.inputs.len()..)?;
        let wanted = outputs.iter().copied().find(|class| !class.is_null())?;
        // The truth of a comparison is not what it compares.
        (!self.compares || wanted != self.numpy.bool_dtype()).then_some(wanted)
    }
}

/// The types of all operands of the loop to take, NULL where the loop says them. In this order:
///
/// * a loop of ours that compares the inputs as they are with floats: the common type may round;
/// * a loop of ours for the inputs as they are, then one for their common type, where it agrees
///   with what the caller fixed (`dtype=`, `signature=`);
/// * for logical functions, NumPy's loop over truths;
/// * NumPy's own loop for numbers, where the type says so;
/// * as NumPy does, the loop for the output type that the caller fixed, or for the common type;
/// * a loop of ours with other operands, to which the inputs cast within their kind.
///
/// # Safety
/// `inputs` are DType classes, `fixed` too or NULL, one an operand; `ufunc` is one; GIL held.
pub unsafe fn choose(
    ufunc: *mut ffi::PyObject,
    inputs: &[Class],
    fixed: &[Class],
) -> Option<Vec<Class>> {
    let numpy = numpy_abi::get()?;
    // SAFETY: the caller's promise.
    let name = unsafe { ufunc::name_of(ufunc) };
    let compares = COMPARISONS.contains(&name.as_str());
    let call = Call { numpy, ufunc: ufunc as usize, compares, inputs, fixed };
    let filled = |mut inputs: Vec<Class>| {
        // NumPy has two loops for objects in comparisons and logical functions.
        let output = output_of_objects(&call, &inputs);
        inputs.resize(fixed.len(), output);
        inputs
    };
    if compares && let Some(exact) = exact_comparison(&call) {
        return Some(filled(exact));
    }
    if let Some(data) = call.own_loop(inputs) {
        return operand_classes(numpy, data);
    }
    let truths = name.starts_with("logical_").then(|| vec![numpy.bool_dtype(); fixed.len()]);
    let asks_for_objects = call.wanted() == Some(numpy.object_dtype());
    if truths.is_some() && !asks_for_objects && inputs.contains(&numpy.bool_dtype()) {
        // A reduction into an array of truths has it for its first operand, too.
        return truths;
    }
    let mut sequence = inputs.to_vec();
    // SAFETY: the caller's promise.
    let common = unsafe { common_of(numpy, &mut sequence) };
    let homogeneous = |class: Class| vec![class; inputs.len()];
    if let Some(data) = call.own_loop(&homogeneous(common)) {
        return operand_classes(numpy, data);
    }
    let of_objects = call.wanted().unwrap_or(common) == numpy.object_dtype();
    if truths.is_some() && !of_objects {
        // Each has its truth, whatever the common type could hold.
        return truths;
    }
    // SAFETY: the caller's promise.
    if let Some(numbers) = unsafe { delegated(&call) } {
        return Some(filled(numbers));
    }
    let class = call.wanted().unwrap_or(common);
    // SAFETY: a DType class or NULL.
    let foreign = !class.is_null() && unsafe { DType::try_of_class(class) }.is_none();
    if foreign || call.has_loop(&homogeneous(class)) {
        return Some(filled(homogeneous(class)));
    }
    // SAFETY: the caller's promise.
    unsafe { mixed(&call) }.map(filled)
}

fn all_loops() -> impl Iterator<Item = &'static LoopData> {
    registry::all().into_iter().flat_map(|dtype| &dtype.operations().loops).copied()
}

/// Whether a loop has exactly these inputs (NULL is none).
pub fn has_inputs(data: &LoopData, inputs: &[Class]) -> bool {
    data.input_count == inputs.len()
        && data.operands.iter().zip(inputs).all(|(operand, &class)| is(operand, class))
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

/// Whether a loop has the types that the caller fixed.
fn agrees(data: &LoopData, fixed: &[Class]) -> bool {
    data.operands.iter().zip(fixed).all(|(operand, &class)| class.is_null() || is(operand, class))
}

/// The DType classes of a loop of ours.
fn operand_classes(numpy: &NumpyApi, data: &LoopData) -> Option<Vec<Class>> {
    // SAFETY: dispatch holds the GIL.
    let py = unsafe { Python::assume_attached() };
    data.operands
        .iter()
        .map(|operand| match *operand {
            OperandType::Element(dtype) => Some(dtype.class()),
            OperandType::Numpy(number) => builtin_class(py, numpy, number).ok(),
        })
        .collect()
}

/// The common type of some, NULL where there is none.
///
/// # Safety
/// DType classes; GIL held.
unsafe fn common_of(numpy: &NumpyApi, classes: &mut [Class]) -> Class {
    // SAFETY: the caller's promise; failure leaves an exception. The reference is given back:
    // classes of ours and of NumPy are immortal.
    unsafe {
        let class = numpy.promote_dtype_sequence(classes.len() as isize, classes.as_mut_ptr());
        if class.is_null() {
            ffi::PyErr_Clear();
        } else {
            ffi::Py_DECREF(class.cast());
        }
        class
    }
}

/// The output type of a ufunc over objects: NumPy has loops for truth and for objects; NULL for
/// inputs that are no objects, where the loop says it.
fn output_of_objects(call: &Call, inputs: &[Class]) -> Class {
    if inputs.iter().any(|&class| class != call.numpy.object_dtype()) {
        ptr::null_mut()
    } else if call.compares {
        call.numpy.bool_dtype()
    } else {
        call.numpy.object_dtype()
    }
}

/// The number type of a DType class, Python's number types included.
///
/// # Safety
/// A DType class or NULL.
unsafe fn number_of(numpy: &NumpyApi, class: Class) -> Option<&'static Number> {
    // SAFETY: the caller's promise.
    numbers::number(unsafe { common::concrete(numpy, class).as_ref() }?.type_num)
}

/// The input types of NumPy's own loop, where a type among the inputs goes through it: floats as
/// wide as the widest float or complex input, or as the caller fixed it; other numbers as the type
/// said. Only numbers and elements that go through the same ufunc meet there.
///
/// # Safety
/// As for [`choose`].
unsafe fn delegated(call: &Call) -> Option<Vec<Class>> {
    // SAFETY: the caller's promise.
    let element = |class: Class| unsafe { DType::try_of_class(class) };
    let entry_of = |dtype: &'static DType| -> Option<&'static Delegated> {
        dtype.operations().delegated.iter().find(|entry| entry.ufunc == call.ufunc)
    };
    let entry = call.inputs.iter().find_map(|&class| entry_of(element(class)?))?;
    // SAFETY: dispatch holds the GIL.
    let py = unsafe { Python::assume_attached() };
    let stands_for = |index: usize| -> Option<(Class, Family)> {
        let number = entry.operands[index];
        Some((builtin_class(py, call.numpy, number).ok()?, numbers::number(number)?.family))
    };
    let inexact = |family| matches!(family, Family::Float | Family::Complex);
    let mut floats: Vec<Class> = Vec::new();
    for (index, &class) in call.inputs.iter().enumerate() {
        let (own, family) = stands_for(index)?;
        match element(class) {
            Some(dtype) => {
                entry_of(dtype)?;
            }
            None => {
                // SAFETY: the caller's promise.
                unsafe { number_of(call.numpy, class) }?;
                if inexact(family) {
                    floats.push(class);
                }
            }
        }
        if inexact(family) {
            floats.push(own);
        }
    }
    let mut float = if floats.is_empty() {
        ptr::null_mut()
    } else {
        // SAFETY: DType classes; GIL held.
        unsafe { common_of(call.numpy, &mut floats) }
    };
    if let Some(wanted) = call.wanted() {
        // SAFETY: a DType class.
        match unsafe { number_of(call.numpy, wanted) } {
            Some(number) if inexact(number.family) => float = wanted,
            _ => return None,
        }
    }
    (0..call.inputs.len())
        .map(|index| {
            let (own, family) = stands_for(index)?;
            Some(if inexact(family) { float } else { own })
        })
        .collect()
}

/// The input types of a comparison of ours between an element type and floats, to which the
/// inputs need at most a wider float. Not for integers: a Python `int` may be wider than any type
/// of NumPy.
fn exact_comparison(call: &Call) -> Option<Vec<Class>> {
    // SAFETY: dispatch holds the GIL.
    let py = unsafe { Python::assume_attached() };
    all_loops().find_map(|data| {
        if data.ufunc != call.ufunc
            || data.input_count != call.inputs.len()
            || !agrees(data, call.fixed)
        {
            return None;
        }
        let mut floats = 0;
        let targets: Option<Vec<Class>> = data.operands[..data.input_count]
            .iter()
            .zip(call.inputs)
            .map(|(operand, &input)| match *operand {
                OperandType::Element(dtype) => (dtype.class() == input).then_some(input),
                OperandType::Numpy(target) => {
                    // SAFETY: a DType class or NULL.
                    let from = unsafe { number_of(call.numpy, input) }?;
                    floats += 1;
                    widens_float(from, numbers::number(target)?)
                        .then(|| builtin_class(py, call.numpy, target).ok())?
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

/// A loop of ours with other operand types to which the inputs cast within their kind. What is
/// compared is no element rounded to a number of NumPy.
///
/// # Safety
/// As for [`choose`].
unsafe fn mixed(call: &Call) -> Option<Vec<Class>> {
    // SAFETY: registration and dispatch hold the GIL.
    let py = unsafe { Python::assume_attached() };
    for data in all_loops() {
        if data.ufunc != call.ufunc || data.input_count != call.inputs.len() {
            continue;
        }
        let fitted: Option<Vec<Class>> = data.operands[..data.input_count]
            .iter()
            .zip(call.inputs)
            .map(|(operand, &input)| {
                // SAFETY: a DType class.
                let is_element = unsafe { DType::try_of_class(input) }.is_some();
                let target = match operand {
                    OperandType::Element(dtype) => dtype.class(),
                    OperandType::Numpy(_) if call.compares && is_element => return None,
                    OperandType::Numpy(number) => builtin_class(py, call.numpy, *number).ok()?,
                };
                // SAFETY: DType classes.
                unsafe {
                    casts_within_kind(call.numpy, common::concrete(call.numpy, input), target)
                }
                .then_some(target)
            })
            .collect();
        // What is the same would be no step forward.
        if let Some(fitted) = fitted.filter(|fitted| fitted != call.inputs) {
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
    if let Some(entry) = table::find(from, to) {
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
