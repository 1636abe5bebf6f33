//! A client's structs, read as far as it has them.

use crate::abi::{self, ElementVTable};
use std::{
    ffi::{CStr, c_char},
    mem::MaybeUninit,
};

/// Why a vtable was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidElement(pub String);

impl std::fmt::Display for InvalidElement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidElement {}

/// Copies a client's vtable, of this version or of an older or newer minor one.
///
/// # Errors
/// [`InvalidElement`] where it is no vtable, or that of another major version.
///
/// # Safety
/// `vtable` is NULL or points to `struct_size` readable bytes of a vtable.
pub unsafe fn read_vtable(vtable: *const ElementVTable) -> Result<ElementVTable, InvalidElement> {
    // SAFETY: the caller's promise; `struct_size` is the first member of every version.
    let vtable = unsafe { read_prefixed(vtable, |v| v.struct_size, MINIMAL_VTABLE) }
        .map_err(|error| InvalidElement(format!("element vtable: {error}")))?;
    // Another major version may have its members elsewhere, so nothing else is read before.
    if vtable.abi_version >> 16 != abi::ABI_VERSION >> 16 {
        return Err(InvalidElement(format!(
            "element vtable: built for element interface {}.{}, this runtime speaks {}.{}",
            vtable.abi_version >> 16,
            vtable.abi_version & 0xffff,
            abi::ABI_VERSION >> 16,
            abi::ABI_VERSION & 0xffff
        )));
    }
    Ok(vtable)
}

/// Whether size and alignment of the object can be those of what is in the cell.
pub(super) fn check_object(vtable: &ElementVTable) -> Result<(), String> {
    let (size, align) = (vtable.object_size, vtable.object_align);
    if size == 0 && align == 0 {
        return Ok(());
    }
    if !align.is_power_of_two() || !size.is_multiple_of(align) {
        return Err(format!(
            "`object_size`, {size}, is not a multiple of `object_align`, {align}, a power of two"
        ));
    }
    let fits = match vtable.storage {
        abi::STORAGE_INLINE => (size, align) == (vtable.size, vtable.align),
        abi::STORAGE_TAGGED => size < vtable.size && align <= vtable.align,
        _ => true,
    };
    if fits {
        return Ok(());
    }
    Err(format!(
        "an object of {size} bytes aligned to {align} (`object_size`, `object_align`) does not fit \
         the cell of {} aligned to {}",
        vtable.size, vtable.align
    ))
}

/// No struct of the interface will ever have more bytes: what says so was never filled in.
const MAX_STRUCT_SIZE: usize = 1 << 16;

/// Bytes that every vtable has: up to and with `destroy`.
const MINIMAL_VTABLE: usize = std::mem::offset_of!(ElementVTable, compare);

/// Copies a size-prefixed struct; members beyond the client's size are zero.
///
/// # Safety
/// `source` is NULL or points to as many readable bytes as the member that `size_of` reads says,
/// that member being the first, and zero bytes are valid for every member after `minimal`.
pub unsafe fn read_prefixed<T: Copy>(
    source: *const T,
    size_of: impl Fn(&T) -> usize,
    minimal: usize,
) -> Result<T, String> {
    if source.is_null() {
        return Err("NULL".into());
    }
    let mut copy = MaybeUninit::<T>::zeroed();
    // SAFETY: the first member, the size, is there in every version; the rest is zero, which is
    // valid for every member of the structs this is called for.
    let claimed = unsafe {
        copy.as_mut_ptr().cast::<usize>().write(source.cast::<usize>().read_unaligned());
        size_of(copy.assume_init_ref())
    };
    if claimed < minimal {
        return Err(format!(
            "`struct_size`, {claimed}, is smaller than that of the first version, {minimal}"
        ));
    }
    if claimed > MAX_STRUCT_SIZE {
        return Err(format!("`struct_size`, {claimed}, is not the size of such a struct"));
    }
    // SAFETY: `claimed` bytes are readable, and no more than the copy holds are taken.
    unsafe {
        copy.as_mut_ptr()
            .cast::<u8>()
            .copy_from_nonoverlapping(source.cast(), claimed.min(std::mem::size_of::<T>()));
        Ok(copy.assume_init())
    }
}

/// # Safety
/// `text` is NULL or NUL-terminated.
pub(super) unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_str().ok().map(str::to_owned)
}
