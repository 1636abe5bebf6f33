//! Casts between an element type and fixed-size text (`U`) or bytes (`S`).
//!
//! Text is never cut: a value whose text does not fit is a `ValueError`. NumPy resolves dtypes
//! without looking at values, so a target without a size (`astype(str)`) gets
//! [`DEFAULT_LENGTH`] characters, as other user dtypes do with a length of their own.

use super::{DType, access::Run};
use crate::{
    abi::{self, Report, Sink, Status},
    erased::{ElementType, Failure},
    numpy_abi::{self, PyArray_DTypeMeta, PyArray_Descr, PyArrayMethodObject, flags::*},
};
use pyo3::ffi;
use std::ffi::{c_int, c_void};

/// Characters of a text dtype whose size nobody gave.
const DEFAULT_LENGTH: usize = 64;
/// Bytes of one character in a `U` array.
const UCS4: usize = 4;

/// How the values of a text dtype look.
#[derive(Clone, Copy)]
pub(super) struct TextForm {
    /// Characters of four bytes, else bytes.
    wide: bool,
    /// Characters or bytes in one value.
    length: usize,
    /// Characters have the other byte order.
    swapped: bool,
}

impl TextForm {
    /// For casts without text.
    pub const NONE: TextForm = TextForm { wide: false, length: 0, swapped: false };

    /// # Safety
    /// `descr` is a descriptor of a text dtype.
    pub unsafe fn of(descr: *const PyArray_Descr) -> TextForm {
        // SAFETY: the caller's promise; only plain fields are read.
        let (type_num, size, order) =
            unsafe { ((*descr).type_num, (*descr).elsize as usize, (*descr).byteorder as u8) };
        let other_order = if cfg!(target_endian = "little") { b'>' } else { b'<' };
        let wide = type_num == NPY_UNICODE;
        TextForm {
            wide,
            length: if wide { size / UCS4 } else { size },
            swapped: order == other_order,
        }
    }

    /// Reads one value as UTF-8, without the zeros at its end.
    ///
    /// # Safety
    /// `value` is one readable value of this form, aligned or not.
    unsafe fn read(self, value: *const u8, text: &mut String) -> Result<(), Failure> {
        text.clear();
        if !self.wide {
            // SAFETY: the caller's promise.
            let bytes = unsafe { std::slice::from_raw_parts(value, self.length) };
            let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            let read = std::str::from_utf8(&bytes[..end])
                .map_err(|_| Failure::new(abi::ERROR_VALUE, "the bytes are not UTF-8 text"))?;
            text.push_str(read);
            return Ok(());
        }
        let character = |index: usize| {
            // SAFETY: the caller's promise: `length` characters.
            let unit = unsafe { value.cast::<u32>().add(index).read_unaligned() };
            if self.swapped { unit.swap_bytes() } else { unit }
        };
        let end = (0..self.length).rposition(|index| character(index) != 0);
        for unit in (0..end.map_or(0, |last| last + 1)).map(character) {
            let read = char::from_u32(unit).ok_or_else(|| {
                Failure::new(abi::ERROR_VALUE, format!("U+{unit:04X} is no character"))
            })?;
            text.push(read);
        }
        Ok(())
    }

    /// Writes one value.
    ///
    /// # Safety
    /// `value` is room for one value of this form, aligned or not.
    unsafe fn write(self, value: *mut u8, text: &str) -> Result<(), Failure> {
        if !self.wide {
            if !text.is_ascii() {
                return Err(Failure::new(
                    abi::ERROR_VALUE,
                    format!("the text {text:?} is not ASCII; cast to str instead of bytes"),
                ));
            }
            if text.len() > self.length {
                return Err(self.too_long(text));
            }
            // SAFETY: the caller's promise, and the text fits.
            unsafe {
                value.copy_from_nonoverlapping(text.as_ptr(), text.len());
                value.add(text.len()).write_bytes(0, self.length - text.len());
            }
            return Ok(());
        }
        if text.len() > self.length && text.chars().count() > self.length {
            return Err(self.too_long(text));
        }
        let units = text.chars().map(u32::from).chain(std::iter::repeat(0));
        for (index, unit) in units.take(self.length).enumerate() {
            let unit = if self.swapped { unit.swap_bytes() } else { unit };
            // SAFETY: the caller's promise: room for `length` characters.
            unsafe { value.cast::<u32>().add(index).write_unaligned(unit) };
        }
        Ok(())
    }

    #[cold]
    fn too_long(self, text: &str) -> Failure {
        let needed = text.chars().count();
        let start: String = text.chars().take(24).collect();
        let dots = if needed > 24 { ".." } else { "" };
        let (length, kind) = (self.length, if self.wide { 'U' } else { 'S' });
        Failure::new(
            abi::ERROR_VALUE,
            format!(
                "the text {start}{dots} has {needed} characters and does not fit {kind}{length}; \
                 cast to {kind}{needed}"
            ),
        )
    }
}

/// Reads values from text.
///
/// # Safety
/// `from` is values of the form, `to` aligned cells of `element` under rule 1, exclusively this
/// thread's.
pub(super) unsafe fn from_text(
    element: &ElementType,
    form: TextForm,
    to: Run,
    from: Run,
) -> Result<(), Failure> {
    let Some(load) = element.vtable().from_text else {
        return Err(super::within::missing(element, "conversion from text"));
    };
    let mut text = String::new();
    for index in 0..to.count {
        let (cell, value) = (to.part(index, 1).data, from.part(index, 1).data);
        // SAFETY: the caller's promise, the vtable's contract.
        let result = unsafe {
            form.read(value, &mut text).and_then(|()| {
                let mut report = Report::new();
                let context = element.vtable().context;
                let status = load(context, cell, text.as_ptr(), text.len(), &mut report);
                Failure::check(status, &report)
            })
        };
        result.map_err(|failure| failure.at(index))?;
    }
    Ok(())
}

/// Writes values as text.
///
/// # Safety
/// `from` is aligned cells of `element` under rule 1 that nobody writes, `to` room for as many
/// values of the form.
pub(super) unsafe fn to_text(
    element: &ElementType,
    form: TextForm,
    to: Run,
    from: Run,
) -> Result<(), Failure> {
    let Some(save) = element.vtable().to_text else {
        return Err(super::within::missing(element, "conversion to text"));
    };
    let mut bytes: Vec<u8> = Vec::new();
    for index in 0..to.count {
        let (value, cell) = (to.part(index, 1).data, from.part(index, 1).data);
        bytes.clear();
        let mut sink = Sink { write: append, context: (&raw mut bytes).cast() };
        let mut report = Report::new();
        // SAFETY: the caller's promise, the vtable's contract; the sink lives through the call.
        let result = unsafe {
            let status = save(element.vtable().context, cell, &mut sink, &mut report);
            Failure::check(status, &report).and_then(|()| {
                let text = std::str::from_utf8(&bytes).map_err(|_| {
                    Failure::new(
                        abi::ERROR_VALUE,
                        format!("{} wrote text that is not UTF-8", element.name()),
                    )
                })?;
                form.write(value, text)
            })
        };
        result.map_err(|failure| failure.at(index))?;
    }
    Ok(())
}

/// Collects what a client writes.
unsafe extern "C" fn append(sink: *mut Sink, bytes: *const u8, size: usize) -> Status {
    // SAFETY: the sink of `to_text`, whose context is its vector; `size` readable bytes.
    unsafe {
        let collected = &mut *(*sink).context.cast::<Vec<u8>>();
        if collected.try_reserve(size).is_err() {
            return abi::FAILED;
        }
        if size > 0 {
            collected.extend_from_slice(std::slice::from_raw_parts(bytes, size));
        }
    }
    abi::OK
}

/// From text: whatever the size and byte order, and there is one descriptor to cast to.
pub(super) unsafe extern "C" fn resolve_from_text(
    _method: *mut PyArrayMethodObject,
    dtypes: *const *mut PyArray_DTypeMeta,
    given: *const *mut PyArray_Descr,
    out: *mut *mut PyArray_Descr,
    _view_offset: *mut isize,
) -> c_int {
    // SAFETY: NumPy passes two DTypes, the second ours, two given descriptors (the second may be
    // NULL) and room for two new references; GIL held.
    unsafe {
        let to = DType::of_class(*dtypes.add(1)).new_descr_reference();
        if to.is_null() {
            return -1;
        }
        ffi::Py_INCREF((*given).cast());
        *out = *given;
        *out.add(1) = to;
    }
    NPY_UNSAFE_CASTING
}

/// To text of the given size, or of the default one.
pub(super) unsafe extern "C" fn resolve_to_text(
    _method: *mut PyArrayMethodObject,
    dtypes: *const *mut PyArray_DTypeMeta,
    given: *const *mut PyArray_Descr,
    out: *mut *mut PyArray_Descr,
    _view_offset: *mut isize,
) -> c_int {
    // SAFETY: NumPy passes two DTypes, the first ours, two given descriptors (the second may be
    // NULL) and room for two new references; GIL held.
    unsafe {
        let mut to = *given.add(1);
        if to.is_null() {
            to = new_text_descr((**dtypes.add(1)).type_num);
            if to.is_null() {
                return -1;
            }
        } else {
            ffi::Py_INCREF(to.cast());
        }
        ffi::Py_INCREF((*given).cast());
        *out = *given;
        *out.add(1) = to;
    }
    NPY_SAME_KIND_CASTING
}

/// A new text descriptor of the default size; NULL with an exception on failure.
///
/// # Safety
/// GIL held; a type number of a text dtype.
unsafe fn new_text_descr(type_num: c_int) -> *mut PyArray_Descr {
    let Some(numpy) = numpy_abi::get() else { return std::ptr::null_mut::<c_void>().cast() };
    // SAFETY: the caller's promise; the copy is ours to change before anybody sees it.
    unsafe {
        let plain = numpy.descr_from_type(type_num);
        if plain.is_null() {
            return plain;
        }
        let descr = numpy.descr_new(plain);
        ffi::Py_DECREF(plain.cast());
        if !descr.is_null() {
            let unit = if type_num == NPY_UNICODE { UCS4 } else { 1 };
            (*descr).elsize = (DEFAULT_LENGTH * unit) as isize;
        }
        descr
    }
}
