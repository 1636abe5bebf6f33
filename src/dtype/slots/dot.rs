//! The `dotfunc` slot.
//!
//! It is called without an array, so nothing at run time tells the type: each type gets a function of
//! its own, from a fixed number of them. Types beyond that have no `np.dot`; matmul and vecdot are
//! ufuncs and work for all.

use crate::{
    dtype::{
        cells::move_cells,
        handle::{DType, errors, registry, trampoline},
        loops::access::Run,
        slots::arithmetic::{self, Temporary, binary_loop},
    },
    erased::{ElementType, Failure},
    numpy_abi::callbacks::DotFunc,
};
use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// How many types can have a `dotfunc`.
const FUNCTIONS: usize = 256;

static NEXT: AtomicUsize = AtomicUsize::new(0);
static ELEMENTS: [OnceLock<&'static ElementType>; FUNCTIONS] =
    [const { OnceLock::new() }; FUNCTIONS];

/// One function for each entry of [`ELEMENTS`].
macro_rules! functions {
    ($($sixteen:literal)*) => {
        [$(
            numbered::<{ 16 * $sixteen }>, numbered::<{ 16 * $sixteen + 1 }>,
            numbered::<{ 16 * $sixteen + 2 }>, numbered::<{ 16 * $sixteen + 3 }>,
            numbered::<{ 16 * $sixteen + 4 }>, numbered::<{ 16 * $sixteen + 5 }>,
            numbered::<{ 16 * $sixteen + 6 }>, numbered::<{ 16 * $sixteen + 7 }>,
            numbered::<{ 16 * $sixteen + 8 }>, numbered::<{ 16 * $sixteen + 9 }>,
            numbered::<{ 16 * $sixteen + 10 }>, numbered::<{ 16 * $sixteen + 11 }>,
            numbered::<{ 16 * $sixteen + 12 }>, numbered::<{ 16 * $sixteen + 13 }>,
            numbered::<{ 16 * $sixteen + 14 }>, numbered::<{ 16 * $sixteen + 15 }>,
        )*]
    };
}
static TABLE: [DotFunc; FUNCTIONS] = functions![0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15];

/// The function for a type that is being registered, while there are any.
pub fn reserve(element: &ElementType) -> Option<DotFunc> {
    let index = NEXT.fetch_add(1, Relaxed);
    let function = TABLE.get(index)?;
    // Registered types live forever, and this one is registered.
    let element = registry::REGISTRY.find(element.name())?;
    ELEMENTS[index].set(element).ok()?;
    Some(*function)
}

unsafe extern "C" fn numbered<const INDEX: usize>(
    left: *mut c_void,
    left_stride: isize,
    right: *mut c_void,
    right_stride: isize,
    out: *mut c_void,
    count: isize,
    _array: *mut c_void,
) {
    trampoline::slot("numbered", || {
        // SAFETY: NumPy passes two runs of `count` cells of the dtype, and one for the result; GIL held.
        unsafe { dot_of(INDEX, (left, left_stride), (right, right_stride), out, count) }
    })
}

/// # Safety
/// Two runs of `count` cells of the type that a function was reserved for, with their strides, and a
/// cell for the result; GIL held.
unsafe fn dot_of(
    index: usize,
    (left, left_stride): (*mut c_void, isize),
    (right, right_stride): (*mut c_void, isize),
    out: *mut c_void,
    count: isize,
) {
    let element = ELEMENTS[index].get().copied();
    let dtype = element.and_then(|element| registry::dtype_of(ptr::from_ref(element).cast()));
    let Some(dtype) = dtype.filter(|_| !errors::is_raised()) else { return };
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller's promise.
    let outcome = unsafe {
        dot(
            dtype,
            Run::read(left.cast(), left_stride, count),
            Run::read(right.cast(), right_stride, count),
            out.cast(),
        )
    };
    if let Err(failure) = outcome {
        errors::raise(&failure);
    }
}

/// The sum of products, through the type's `vecdot`, or its `multiply` and `add`, in order.
///
/// # Errors
/// `TypeError` where the type has neither; what the loops fail with.
///
/// # Safety
/// Two equally long runs of cells of the dtype and one more, aligned; GIL held.
unsafe fn dot(dtype: &'static DType, left: Run, right: Run, out: *mut u8) -> Result<(), Failure> {
    let element = dtype.element();
    let size = element.size() as isize;
    let check = |status: c_int| {
        if status < 0 { Err(errors::already_raised()) } else { Ok(()) }
    };
    if let Some(vecdot) = binary_loop(dtype, "vecdot") {
        let arguments = [left.data.cast(), right.data.cast(), out.cast()];
        let dimensions = [1, left.count as isize];
        let strides = [0, 0, 0, left.stride, right.stride];
        // SAFETY: the caller's promise; (n),(n)->().
        return check(unsafe { arithmetic::call(vecdot, &arguments, &dimensions, &strides) });
    }
    let loops = (binary_loop(dtype, "multiply"), binary_loop(dtype, "add"));
    let (Some(multiply), Some(add)) = loops else {
        return Err(errors::missing(element, "multiplication and addition"));
    };
    let (mut sum, mut product) = (Temporary::new(element)?, Temporary::new(element)?);
    for index in 0..left.count {
        let target = if index == 0 { sum.address() } else { product.address() };
        let factors =
            [left.part(index, 1).data.cast(), right.part(index, 1).data.cast(), target.cast()];
        // SAFETY: the caller's promise; the targets are cells of ours.
        check(unsafe { arithmetic::call(multiply, &factors, &[1], &[0, 0, 0]) })?;
        if index > 0 {
            let (sum, product) = (sum.address().cast(), product.address().cast());
            // SAFETY: as above; NumPy's reductions give an input as the output, too.
            check(unsafe { arithmetic::call(add, &[sum, product, sum], &[1], &[0, 0, 0]) })?;
        }
    }
    // SAFETY: one cell of the dtype and one of ours, which moves there.
    unsafe { move_cells(element, Run::write(out, size, 1), Run::write(sum.address(), size, 1)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_a_function_of_its_own() {
        for (index, function) in TABLE.iter().enumerate() {
            for other in &TABLE[..index] {
                assert!(!ptr::fn_addr_eq(*function, *other));
            }
        }
    }
}
