//! How NumPy keeps a text: `S` as bytes, `U` as characters of four bytes, `StringDType` behind its
//! own allocator.

use crate::{
    abi,
    erased::Failure,
    numpy_abi::{self, NumpyApi, PyArray_Descr, flags::*, npy_static_string},
};
use std::ptr;

/// Bytes of one character in a `U` array.
pub(super) const UCS4: usize = 4;

/// How the values of a text dtype look.
#[derive(Clone, Copy)]
pub(super) enum TextForm {
    /// For casts without text.
    None,
    /// `length` bytes, zeros behind the text.
    Bytes { length: usize },
    /// `length` characters, zeros behind the text.
    Characters {
        length: usize,
        /// They have the other byte order.
        swapped: bool,
    },
    /// Strings of this descriptor of `StringDType`, which outlives the loop that got it.
    Strings(*const PyArray_Descr),
}

impl TextForm {
    /// # Safety
    /// `descr` is a descriptor of a text dtype.
    pub unsafe fn of(descr: *const PyArray_Descr) -> TextForm {
        // SAFETY: the caller's promise; only plain fields are read.
        let (type_num, size, order) =
            unsafe { ((*descr).type_num, (*descr).elsize as usize, (*descr).byteorder as u8) };
        let other_order = if cfg!(target_endian = "little") { b'>' } else { b'<' };
        match type_num {
            NPY_VSTRING => TextForm::Strings(descr),
            NPY_UNICODE => {
                TextForm::Characters { length: size / UCS4, swapped: order == other_order }
            }
            _ => TextForm::Bytes { length: size },
        }
    }

    /// Reads one value as UTF-8, without the zeros at its end.
    ///
    /// # Safety
    /// `value` is one readable value of this form, aligned or not.
    pub unsafe fn read(self, value: *const u8, text: &mut String) -> Result<(), Failure> {
        text.clear();
        match self {
            TextForm::None => Ok(()),
            TextForm::Bytes { length } => {
                // SAFETY: the caller's promise.
                let bytes = unsafe { std::slice::from_raw_parts(value, length) };
                let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                text.push_str(utf8(&bytes[..end])?);
                Ok(())
            }
            TextForm::Characters { length, swapped } => {
                let character = |index: usize| {
                    // SAFETY: the caller's promise: `length` characters.
                    let unit = unsafe { value.cast::<u32>().add(index).read_unaligned() };
                    if swapped { unit.swap_bytes() } else { unit }
                };
                let end = (0..length).rposition(|index| character(index) != 0);
                for unit in (0..end.map_or(0, |last| last + 1)).map(character) {
                    let read = char::from_u32(unit).ok_or_else(|| {
                        Failure::new(abi::ERROR_VALUE, format!("U+{unit:04X} is no character"))
                    })?;
                    text.push(read);
                }
                Ok(())
            }
            // SAFETY: the caller's promise.
            TextForm::Strings(descr) => unsafe { read_string(descr, value, text) },
        }
    }

    /// Writes one value.
    ///
    /// # Safety
    /// `value` is room for one value of this form, aligned or not; a string of `StringDType` lies
    /// there already, if only an empty one of zeros.
    pub unsafe fn write(self, value: *mut u8, text: &str) -> Result<(), Failure> {
        match self {
            TextForm::None => {}
            TextForm::Bytes { length } => {
                if !text.is_ascii() {
                    return Err(Failure::new(
                        abi::ERROR_VALUE,
                        format!("the text {text:?} is not ASCII; cast to str instead of bytes"),
                    ));
                }
                if text.len() > length {
                    return Err(too_long(text, 'S', length));
                }
                // SAFETY: the caller's promise, and the text fits.
                unsafe {
                    value.copy_from_nonoverlapping(text.as_ptr(), text.len());
                    value.add(text.len()).write_bytes(0, length - text.len());
                }
            }
            TextForm::Characters { length, swapped } => {
                if text.len() > length && text.chars().count() > length {
                    return Err(too_long(text, 'U', length));
                }
                let units = text.chars().map(u32::from).chain(std::iter::repeat(0));
                for (index, unit) in units.take(length).enumerate() {
                    let unit = if swapped { unit.swap_bytes() } else { unit };
                    // SAFETY: the caller's promise: room for `length` characters.
                    unsafe { value.cast::<u32>().add(index).write_unaligned(unit) };
                }
            }
            // SAFETY: the caller's promise.
            TextForm::Strings(descr) => unsafe { write_string(descr, value, text)? },
        }
        Ok(())
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, Failure> {
    std::str::from_utf8(bytes)
        .map_err(|_| Failure::new(abi::ERROR_VALUE, "the bytes are not UTF-8 text"))
}

#[cold]
fn too_long(text: &str, kind: char, length: usize) -> Failure {
    let needed = text.chars().count();
    let start: String = text.chars().take(24).collect();
    let dots = if needed > 24 { ".." } else { "" };
    Failure::new(
        abi::ERROR_VALUE,
        format!(
            "the text {start}{dots} has {needed} characters and does not fit {kind}{length}; \
             cast to {kind}{needed} or to numpy.dtypes.StringDType()"
        ),
    )
}

fn api() -> Result<&'static NumpyApi, Failure> {
    numpy_abi::get().ok_or_else(|| Failure::new(abi::ERROR_RUNTIME, "NumPy was not imported"))
}

/// Copies a string out of its allocator, so that nothing else happens under NumPy's lock.
///
/// # Safety
/// `value` is a readable string of an array with this descriptor of `StringDType`.
unsafe fn read_string(
    descr: *const PyArray_Descr,
    value: *const u8,
    text: &mut String,
) -> Result<(), Failure> {
    let numpy = api()?;
    let mut string = npy_static_string { size: 0, buf: ptr::null() };
    // SAFETY: the caller's promise; the bytes are read while the allocator is locked.
    unsafe {
        let allocator = numpy.acquire_string_allocator(descr);
        let read = match numpy.load_string(allocator, value.cast(), &mut string) {
            0 if string.size == 0 => Ok(()),
            0 => utf8(std::slice::from_raw_parts(string.buf.cast(), string.size))
                .map(|read| text.push_str(read)),
            1 => Err(Failure::new(
                abi::ERROR_VALUE,
                "a string is missing (its dtype's na_object); fill missing strings first",
            )),
            _ => Err(Failure::new(abi::ERROR_RUNTIME, "NumPy could not read a string")),
        };
        numpy.release_string_allocator(allocator);
        read
    }
}

/// # Safety
/// As for [`read_string`], and writable.
unsafe fn write_string(
    descr: *const PyArray_Descr,
    value: *mut u8,
    text: &str,
) -> Result<(), Failure> {
    let numpy = api()?;
    // SAFETY: the caller's promise; NumPy copies the bytes.
    let status = unsafe {
        let allocator = numpy.acquire_string_allocator(descr);
        let status = numpy.pack_string(allocator, value.cast(), text.as_ptr().cast(), text.len());
        numpy.release_string_allocator(allocator);
        status
    };
    if status == 0 {
        Ok(())
    } else {
        Err(Failure::new(abi::ERROR_MEMORY, "NumPy has no memory for a string"))
    }
}
