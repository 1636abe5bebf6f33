//! Interposed functions: they stand in a vtable for a client's own, which they know by their context.

use crate::abi::ElementVTable;
use std::ffi::c_void;

/// The client's vtable.
///
/// # Safety
/// `context` points to it, and it lives forever.
pub(crate) unsafe fn client<'a>(context: *mut c_void) -> &'a ElementVTable {
    // SAFETY: the caller's promise.
    unsafe { &*context.cast::<ElementVTable>() }
}

/// Functions that are handed batches: `$batch(name, count, error_out, run)` says for how many elements
/// the client's own is run.
macro_rules! batches {
    ($batch:ident;
     $($member:ident($($argument:ident: $kind:ty),*; $count:ident, $($rest:ident: $more:ty),*))*) => {
        $(unsafe extern "C" fn $member(
            context: *mut c_void,
            $($argument: $kind,)*
            $count: usize,
            $($rest: $more,)*
            error_out: *mut ErrorOut,
        ) -> Status {
            // SAFETY: the client's own contract; a part of a batch is a batch.
            unsafe {
                let client = client(context);
                $batch(stringify!($member), $count, error_out, |count| match client.$member {
                    Some(own) => own(client.context, $($argument,)* count, $($rest,)* error_out),
                    None => abi::OK,
                })
            }
        })*
    };
}

/// Of those, the functions that every copyable type has and that may fail: `construct`,
/// `copy_construct`, `assign`, `relocate`.
macro_rules! life_batches {
    ($batch:ident) => {
        $crate::faults::interpose::batches! {
            $batch;
            construct(cells: *mut u8, stride: isize; count,)
            copy_construct(
                to: *mut u8, to_stride: isize, from: *const u8, from_stride: isize; count,
            )
            assign(to: *mut u8, to_stride: isize, from: *const u8, from_stride: isize; count,)
            relocate(to: *mut u8, to_stride: isize, from: *mut u8, from_stride: isize; count,)
        }
    };
}
pub(crate) use {batches, life_batches};
