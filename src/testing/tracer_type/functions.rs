//! The functions of a tracer's vtable.

use super::*;

/// Runs `step` for each of `count` elements, with failures and panics reported as clients do it.
///
/// # Safety
/// `error_out` is valid.
unsafe fn each(
    ground: &Ground,
    count: usize,
    error_out: *mut ErrorOut,
    mut step: impl FnMut(usize) -> Result<(), &'static str>,
) -> Status {
    for index in 0..count {
        let message = match catch_unwind(AssertUnwindSafe(|| step(index))) {
            Ok(Ok(())) => continue,
            Ok(Err(message)) => message,
            Err(payload) if payload.is::<PlannedPanic>() => "a planned panic",
            Err(_) => {
                // A check of ours, whose message the panic hook has shown.
                ground.broken.store(true, Relaxed);
                "an object found itself broken"
            }
        };
        // SAFETY: the caller's promise.
        let error_out = unsafe { &mut *error_out };
        error_out.done = index;
        return error_out.fail(abi::ERROR_RUNTIME, message);
    }
    abi::OK
}

/// # Safety
/// `context` is a [`Ground`].
pub(super) unsafe fn ground<'a>(context: *mut c_void) -> &'a Ground {
    // SAFETY: the caller's promise; grounds live forever.
    unsafe { &*context.cast() }
}

pub(super) unsafe extern "C" fn construct(
    context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: `abi::ConstructFn`.
    unsafe {
        let ground = ground(context);
        each(ground, count, error_out, |index| {
            ground.step()?;
            ground.build(cells.offset(stride * index as isize), 0);
            if ground.storage == Storage::ZeroDefault {
                // A default of zero bytes is not counted: nothing was built.
                ground.built.fetch_sub(1, Relaxed);
            }
            Ok(())
        })
    }
}

pub(super) unsafe extern "C" fn copy_construct(
    context: *mut c_void,
    to: *mut u8,
    to_stride: isize,
    from: *const u8,
    from_stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: `abi::CopyFn`.
    unsafe {
        let ground = ground(context);
        each(ground, count, error_out, |index| {
            let value = ground.read(from.offset(from_stride * index as isize));
            ground.step()?;
            ground.build(to.offset(to_stride * index as isize), value);
            if ground.storage == Storage::ZeroDefault && value == 0 {
                ground.built.fetch_sub(1, Relaxed);
            }
            Ok(())
        })
    }
}

pub(super) unsafe extern "C" fn assign(
    context: *mut c_void,
    to: *mut u8,
    to_stride: isize,
    from: *const u8,
    from_stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: `abi::CopyFn`.
    unsafe {
        let ground = ground(context);
        each(ground, count, error_out, |index| {
            let value = ground.read(from.offset(from_stride * index as isize));
            ground.read(to.offset(to_stride * index as isize));
            ground.step()?;
            ground.set(to.offset(to_stride * index as isize), value);
            Ok(())
        })
    }
}

pub(super) unsafe extern "C" fn relocate(
    context: *mut c_void,
    to: *mut u8,
    to_stride: isize,
    from: *mut u8,
    from_stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: `abi::RelocateFn`.
    unsafe {
        let ground = ground(context);
        let size = ground.storage.layout().0;
        each(ground, count, error_out, |index| {
            let from = from.offset(from_stride * index as isize);
            let to = to.offset(to_stride * index as isize);
            ground.read(from);
            // A function that fails on the way has begun to build: the cell means nothing then.
            to.write_bytes(0xdd, size);
            ground.step()?;
            to.copy_from_nonoverlapping(from, size);
            if ground.storage.is_self_pointing() {
                to.cast::<u64>().write(to.addr() as u64);
            }
            // What moved out is not an object any more, and must not be taken for one.
            from.write_bytes(0xee, size);
            ground.moved.fetch_add(1, Relaxed);
            Ok(())
        })
    }
}

pub(super) unsafe extern "C" fn destroy(
    context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: `abi::DestroyFn`.
    unsafe {
        let ground = ground(context);
        let mut failed = false;
        let status = each(ground, count, error_out, |index| {
            ground.end(cells.offset(stride * index as isize));
            let planned = ground.destructor_countdown.load(Relaxed) >= 0;
            failed |= planned && ground.destructor_countdown.fetch_sub(1, Relaxed) == 0;
            Ok(())
        });
        if failed {
            return (*error_out).fail(abi::ERROR_RUNTIME, "a planned destructor failure");
        }
        status
    }
}
