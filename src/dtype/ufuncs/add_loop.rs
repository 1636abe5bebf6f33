//! The loops of a type as NumPy knows them: registered with their ufuncs, and found again by the
//! operands of a call.

use crate::{
    abi::ErrorOut,
    audit::{self, Operation},
    dtype::{
        handle::{DType, LoopData, OperandType, errors, trampoline},
        loops::{
            access::{self, Run},
            audited, flags,
        },
        ufuncs::{
            call::{FEW, MOST, elementwise},
            grid::generalised,
            ufunc,
        },
    },
    erased::{Exclusive, Failure},
    lock,
    numpy_abi::{
        NpyAuxData, NumpyApi, PyArray_DTypeMeta, PyArrayMethod_Context, PyArrayMethod_Spec,
        callbacks::StridedLoop, flags::*, slots,
    },
};
use pyo3::ffi;
use std::{
    ffi::{c_char, c_int, c_void},
    ptr,
};

/// Reductions over several axes may take the elements in any order.
const REORDERABLE: [&str; 15] = [
    "add",
    "multiply",
    "minimum",
    "maximum",
    "fmin",
    "fmax",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "gcd",
    "lcm",
    "logaddexp",
];

/// Registers a loop with its ufunc. GIL held; an exception is set on failure.
///
/// # Safety
/// `data.ufunc` is a ufunc with as many operands as the loop, and `data` lives forever.
pub unsafe fn add_loop(
    numpy: &'static NumpyApi,
    data: &'static LoopData,
    dtypes: &mut [*mut PyArray_DTypeMeta],
) -> Result<(), ()> {
    let name = data.name.to_str().unwrap_or_default();
    let mut method_slots = vec![slots::method::get_loop(get_loop)];
    let reduces = data.input_count == 2 && data.operands.len() == 3 && data.core.is_none();
    if reduces {
        method_slots.push(slots::method::get_reduction_initial(get_reduction_initial));
    }
    method_slots.push(slots::END);
    let reorderable = if REORDERABLE.contains(&name) { NPY_METH_IS_REORDERABLE } else { 0 };
    let mut spec = PyArrayMethod_Spec {
        name: data.name.as_ptr(),
        nin: data.input_count as c_int,
        nout: (data.operands.len() - data.input_count) as c_int,
        casting: NPY_NO_CASTING,
        flags: loop_flags(data) | reorderable,
        dtypes: dtypes.as_mut_ptr(),
        slots: method_slots.as_mut_ptr(),
    };
    // SAFETY: the caller's promise; the spec lives through the call.
    let status = unsafe { numpy.add_loop_from_spec(data.ufunc as *mut ffi::PyObject, &mut spec) };
    if status < 0 { Err(()) } else { Ok(()) }
}

fn loop_flags(data: &LoopData) -> c_int {
    let mut flags = NPY_METH_NO_FLOATINGPOINT_ERRORS;
    for operand in &data.operands {
        if let OperandType::Element(dtype) = operand {
            flags |= flags::loop_flags(dtype.element());
        }
    }
    flags
}

/// The loop that was registered for the ufunc and the operands of a call.
///
/// # Safety
/// `context` is NumPy's context of a call of a loop of ours; GIL held.
unsafe fn loop_of(context: *const PyArrayMethod_Context) -> Option<&'static LoopData> {
    // SAFETY: the caller's promise: one descriptor an operand.
    unsafe {
        let ufunc = (*context).caller as usize;
        let class_of = |index: usize| -> *mut PyArray_DTypeMeta {
            let descr = *(*context).descriptors.add(index);
            ffi::Py_TYPE(descr.cast()).cast()
        };
        let fits = |data: &LoopData| {
            data.ufunc == ufunc
                && data.operands.iter().enumerate().all(|(index, operand)| match operand {
                    OperandType::Element(dtype) => dtype.class() == class_of(index),
                    OperandType::Numpy(number) => {
                        (**(*context).descriptors.add(index)).type_num == *number
                    }
                })
        };
        // Every loop of ours has an operand of ours, of whose type it is one. The number of
        // operands is the ufunc's: the loops of another ufunc are passed over by its address.
        let count = ufunc::ufunc_operand_count((*context).caller);
        (0..count)
            .filter_map(|index| DType::try_of_class(class_of(index)))
            .find_map(|dtype| dtype.operations().loops.iter().find(|data| fits(data)))
            .map(|data| &**data)
    }
}

unsafe extern "C" fn get_loop(
    context: *mut PyArrayMethod_Context,
    _aligned: c_int,
    _move_references: c_int,
    _strides: *const isize,
    out_loop: *mut Option<StridedLoop>,
    out_auxdata: *mut *mut NpyAuxData,
    flags: *mut c_int,
) -> c_int {
    trampoline::slot("get_loop", || {
        // SAFETY: NumPy passes its context and valid places for the results; GIL held.
        unsafe {
            let Some(data) = loop_of(context) else {
                errors::set(
                    crate::abi::ERROR_RUNTIME,
                    "denizen has no record of a loop that it registered",
                );
                return -1;
            };
            *out_loop = Some(strided(data));
            *out_auxdata = ptr::from_ref(data).cast_mut().cast();
            *flags = loop_flags(data);
            match (data.core.is_some(), data.operands.len() <= FEW) {
                (false, true) => audited::audit_loop::<Elementwise<FEW>>(out_loop),
                (false, false) => audited::audit_loop::<Elementwise<MOST>>(out_loop),
                (true, _) => audited::audit_loop::<Generalised>(out_loop),
            }
        }
        0
    })
}

/// Runs a loop as NumPy would. Returns -1 with an exception set where it fails.
///
/// # Safety
/// Pointers, dimensions and strides are as in NumPy's convention for the loop; no lock is held.
pub unsafe fn run(
    data: &'static LoopData,
    arguments: *const *mut c_char,
    dimensions: *const isize,
    strides: *const isize,
) -> c_int {
    let auxdata = ptr::from_ref(data).cast_mut().cast();
    // SAFETY: the data of a loop of ours.
    let _at_work = audit::is_running().then(|| audit::at_work(unsafe { operation(auxdata) }));
    // SAFETY: the caller's promise; none of the three looks at the context.
    unsafe { strided(data)(ptr::null_mut(), arguments, dimensions, strides, auxdata) }
}

/// Which of the three surrounds a loop.
fn strided(data: &LoopData) -> StridedLoop {
    match (data.core.is_some(), data.operands.len() <= FEW) {
        (false, true) => elementwise::<FEW>,
        (false, false) => elementwise::<MOST>,
        (true, _) => generalised,
    }
}

struct Elementwise<const N: usize>;

struct Generalised;

impl<const N: usize> audited::Audited for Elementwise<N> {
    const LOOP: StridedLoop = elementwise::<N>;

    unsafe fn operation(auxdata: *const NpyAuxData) -> Operation {
        // SAFETY: the caller's promise.
        unsafe { operation(auxdata) }
    }
}

impl audited::Audited for Generalised {
    const LOOP: StridedLoop = generalised;

    unsafe fn operation(auxdata: *const NpyAuxData) -> Operation {
        // SAFETY: the caller's promise.
        unsafe { operation(auxdata) }
    }
}

/// The operation that a ufunc's loop is.
///
/// # Safety
/// The auxiliary data is that of a loop of ours.
unsafe fn operation(auxdata: *const NpyAuxData) -> Operation {
    // SAFETY: the caller's promise; the data lives for ever.
    let data: &'static LoopData = unsafe { &*auxdata.cast() };
    Operation::new(data.name.to_str().unwrap_or_default())
}

/// Writes the identity of the ufunc into a zeroed cell: 1, or 0 where there is none.
unsafe extern "C" fn get_reduction_initial(
    context: *mut PyArrayMethod_Context,
    _is_empty: u8,
    initial: *mut c_void,
) -> c_int {
    trampoline::slot("get_reduction_initial", || {
        // SAFETY: NumPy passes its context and one zeroed cell of the first operand's dtype.
        unsafe {
            let descr = *(*context).descriptors;
            let Some(dtype) = DType::try_of_descr(descr) else { return 0 };
            let ufunc = (*context).caller as usize;
            let Some(identity) = dtype.operations().identities.get(&ufunc) else { return 0 };
            let element = dtype.element();
            let run = Run::write(initial.cast(), element.size() as isize, 1);
            let mut report = ErrorOut::new();
            let _at_work = audited::at_work(Operation::new("reduction"));
            let _operation = lock::Operation::begin();
            let status = access::with_ledger(element, None, run, Exclusive::own(), || {
                (identity.construct)(identity.context, run.data, run.stride, 1, &mut report)
            });
            match Failure::check(status, &report) {
                Ok(()) => 1,
                Err(failure) => {
                    errors::raise(&failure);
                    -1
                }
            }
        }
    })
}
