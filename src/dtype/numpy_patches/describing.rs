//! Which objects describe memory to NumPy by an `__array_interface__`, by themselves or in a list.

use super::holding::holds_ours;
use crate::{
    numpy_abi,
    numpy_abi::{NumpyApi, PyArrayObject, PyVoidScalarObject, flags::*},
    owner_map,
};
use pyo3::{ffi, intern, prelude::*};
use std::{
    ffi::{c_ulong, c_void},
    ptr,
};

/// How deep NumPy goes into sequences.
const MAX_DEPTH: usize = 64;

/// How deep tuples are looked into, as records in records, where they would be objects otherwise.
const RECORD_DEPTH: usize = 4;

/// A look at what lists and tuples have in them.
pub(super) struct Scan<'a> {
    numpy: &'a NumpyApi,
    /// NumPy's own.
    asarray: ffi::PyCFunctionFastWithKeywords,
    /// How deep NumPy goes at most, by what was found: beside an item that is no sequence another is
    /// an object.
    deepest: usize,
}

impl<'a> Scan<'a> {
    pub fn new(numpy: &'a NumpyApi, asarray: ffi::PyCFunctionFastWithKeywords) -> Self {
        Scan { numpy, asarray, deepest: MAX_DEPTH }
    }

    /// Looks at the items of a list or tuple, which lie at a depth.
    ///
    /// # Errors
    /// The array of an item that describes memory as elements: a new reference. NULL, with an exception,
    /// where an item cannot be asked.
    ///
    /// # Safety
    /// A list or a tuple; GIL held.
    pub unsafe fn items(
        &mut self,
        sequence: *mut ffi::PyObject,
        depth: usize,
    ) -> Result<(), *mut ffi::PyObject> {
        // SAFETY: the caller's promise. A list may change while an item is asked.
        unsafe {
            let mut known = ptr::null_mut();
            let mut index = 0;
            loop {
                let items = items_of(sequence);
                let Some(&item) = items.get(index) else { return Ok(()) };
                index += 1;
                let class = ffi::Py_TYPE(item);
                if class == known {
                    continue;
                }
                if is_list(class) {
                    let is_record = class == &raw mut ffi::PyTuple_Type && depth < RECORD_DEPTH;
                    if depth < self.deepest || is_record {
                        self.kept(item, |scan| scan.items(item, depth + 1))?;
                    }
                    continue;
                }
                if is_plain(self.numpy, class) {
                    if class != self.numpy.array_type() {
                        self.deepest = depth;
                    }
                    known = class;
                    if index == 1 && all_of(items, class) {
                        return Ok(());
                    }
                    continue;
                }
                known = self.kept(item, |scan| {
                    scan.other(item, depth)?;
                    let class = ffi::Py_TYPE(item);
                    Ok(if never_answers(class) { class } else { ptr::null_mut() })
                })?;
            }
        }
    }

    /// # Safety
    /// An object that is kept; GIL held.
    unsafe fn other(
        &mut self,
        item: *mut ffi::PyObject,
        depth: usize,
    ) -> Result<(), *mut ffi::PyObject> {
        // SAFETY: the caller's promise; `asarray` takes one object.
        unsafe {
            match has(item, Name::Interface) {
                Ok(true) => {}
                Ok(false) => {
                    if depth < self.deepest
                        && ffi::PySequence_Check(item) == 0
                        && !may_have(item, Name::Array)
                    {
                        self.deepest = depth;
                    }
                    return Ok(());
                }
                // NumPy may not ask.
                Err(_) if depth >= self.deepest => return Ok(()),
                Err(error) => {
                    error.restore(Python::assume_attached());
                    return Err(ptr::null_mut());
                }
            }
            let array = (self.asarray)(ptr::null_mut(), &item, 1, ptr::null_mut());
            if array.is_null() {
                // NumPy may not ask, or says so itself.
                ffi::PyErr_Clear();
            } else if is_over_bytes(array) {
                return Err(array);
            } else {
                ffi::Py_DECREF(array);
            }
        }
        Ok(())
    }

    /// Keeps an item meanwhile.
    ///
    /// # Safety
    /// An object; GIL held.
    unsafe fn kept<R>(&mut self, item: *mut ffi::PyObject, work: impl FnOnce(&mut Self) -> R) -> R {
        // SAFETY: the caller's promise.
        unsafe {
            ffi::Py_INCREF(item);
            let result = work(self);
            ffi::Py_DECREF(item);
            result
        }
    }
}

/// The items of a list or tuple, as they are until Python code runs.
///
/// # Safety
/// A list or a tuple that is kept; GIL held.
#[inline]
unsafe fn items_of<'a>(sequence: *mut ffi::PyObject) -> &'a [*mut ffi::PyObject] {
    // SAFETY: the caller's promise: so many items are there.
    unsafe {
        let items = if ffi::PyTuple_Check(sequence) != 0 {
            (&raw const (*sequence.cast::<ffi::PyTupleObject>()).ob_item).cast()
        } else {
            (*sequence.cast::<ffi::PyListObject>()).ob_item.cast_const()
        };
        match usize::try_from(ffi::Py_SIZE(sequence)) {
            Ok(size) if size > 0 => std::slice::from_raw_parts(items, size),
            _ => &[],
        }
    }
}

/// Whether all items are of a class, as in most lists. NumPy goes on with the first, so that is looked
/// at last, and is still in the processor's cache.
///
/// # Safety
/// Objects; GIL held.
#[inline]
unsafe fn all_of(items: &[*mut ffi::PyObject], class: *mut ffi::PyTypeObject) -> bool {
    // SAFETY: the caller's promise.
    let differs = |item: &*mut ffi::PyObject| unsafe { ffi::Py_TYPE(*item) }.addr() ^ class.addr();
    // A branch for eight: 0.3 instead of 0.6 ns an item.
    let (first, chunks) = items.as_rchunks::<8>();
    let is_same =
        |chunk: &[*mut ffi::PyObject]| chunk.iter().map(differs).fold(0, |a, b| a | b) == 0;
    chunks.iter().rev().all(|chunk| is_same(chunk)) && is_same(first)
}

#[inline]
pub(super) fn is_list(class: *mut ffi::PyTypeObject) -> bool {
    class == &raw mut ffi::PyList_Type || class == &raw mut ffi::PyTuple_Type
}

/// Whether objects of a class are never asked: arrays and scalars of NumPy's, numbers and texts of
/// Python's, `None`.
///
/// # Safety
/// A class; GIL held.
#[inline]
pub(super) unsafe fn is_plain(numpy: &NumpyApi, class: *mut ffi::PyTypeObject) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        class == numpy.array_type()
            || class == &raw mut ffi::PyFloat_Type
            || class == &raw mut ffi::PyLong_Type
            || class == &raw mut ffi::PyUnicode_Type
            || class == &raw mut ffi::PyBool_Type
            || class == ffi::Py_TYPE(ffi::Py_None())
            || ffi::PyType_FastSubclass(
                class,
                ffi::Py_TPFLAGS_LONG_SUBCLASS
                    | ffi::Py_TPFLAGS_UNICODE_SUBCLASS
                    | ffi::Py_TPFLAGS_BYTES_SUBCLASS,
            ) != 0
            || ffi::PyType_IsSubtype(class, numpy.array_type()) != 0
            || ffi::PyType_IsSubtype(class, numpy.generic_type()) != 0
            || ffi::PyType_IsSubtype(class, &raw mut ffi::PyFloat_Type) != 0
            || ffi::PyType_IsSubtype(class, &raw mut ffi::PyComplex_Type) != 0
    }
}

/// What an object says when it is asked for the memory that it describes.
pub(super) enum Answer {
    /// Nothing, and it has no code that could say something else.
    Nothing,
    /// It describes memory.
    Memory,
    /// Nothing this time.
    Unknown,
}

/// Asks as NumPy does, in its order.
///
/// # Errors
/// What asking raises, but for `AttributeError`.
///
/// # Safety
/// An object; GIL held.
#[inline(never)]
pub(super) unsafe fn answer_of(object: *mut ffi::PyObject) -> PyResult<Answer> {
    // SAFETY: the caller's promise.
    unsafe {
        Ok(if has(object, Name::Struct)? || has(object, Name::Interface)? {
            Answer::Memory
        } else if has_no_code(ffi::Py_TYPE(object)) {
            Answer::Nothing
        } else {
            Answer::Unknown
        })
    }
}

/// Whether no code of a class answers for the interface. Its objects may have one themselves.
///
/// # Safety
/// A class; GIL held.
unsafe fn has_no_code(class: *mut ffi::PyTypeObject) -> bool {
    let generic = ffi::PyObject_GenericGetAttr as *const c_void;
    // SAFETY: the caller's promise.
    unsafe {
        (*class).tp_getattro.is_some_and(|function| function as *const c_void == generic)
            && !may_have(class.cast(), Name::Interface)
            && !may_have(class.cast(), Name::Struct)
    }
}

/// Whether no object of a class has an interface: they have no attributes of their own either.
///
/// # Safety
/// A class; GIL held.
unsafe fn never_answers(class: *mut ffi::PyTypeObject) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        (*class).tp_dictoffset == 0 && (*class).tp_flags & MANAGED_DICT == 0 && has_no_code(class)
    }
}

/// `Py_TPFLAGS_MANAGED_DICT`: the objects of a class have a dictionary that is not in their struct.
const MANAGED_DICT: c_ulong = 1 << 4;

/// The attributes that NumPy asks for.
#[derive(Clone, Copy)]
enum Name {
    Interface,
    Struct,
    Array,
}

/// Whether an object has an attribute, or cannot be asked.
///
/// # Safety
/// An object; GIL held.
unsafe fn may_have(object: *mut ffi::PyObject, name: Name) -> bool {
    // SAFETY: the caller's promise.
    unsafe { has(object, name) }.unwrap_or(true)
}

/// Whether an object has an attribute.
///
/// # Errors
/// What asking raises, but for `AttributeError`.
///
/// # Safety
/// An object; GIL held.
unsafe fn has(object: *mut ffi::PyObject, name: Name) -> PyResult<bool> {
    // SAFETY: the caller's promise.
    unsafe {
        let py = Python::assume_attached();
        let name = match name {
            Name::Interface => intern!(py, "__array_interface__"),
            Name::Struct => intern!(py, "__array_struct__"),
            Name::Array => intern!(py, "__array__"),
        };
        Ok(Bound::from_borrowed_ptr(py, object).getattr_opt(name)?.is_some())
    }
}

/// Whether an object is an array of elements in memory that cannot have any.
///
/// # Safety
/// An object; GIL held.
pub(super) unsafe fn is_over_bytes(object: *mut ffi::PyObject) -> bool {
    // SAFETY: the caller's promise; only arrays are read as such.
    unsafe {
        let Some(numpy) = numpy_abi::get() else { return false };
        if ffi::PyObject_TypeCheck(object, numpy.array_type()) == 0 {
            return false;
        }
        let array = object.cast::<PyArrayObject>();
        holds_ours((*array).descr) && !is_an_arrays(numpy, array)
    }
}

/// Whether an array's memory is its own, that of another array or structured scalar of elements, or
/// adopted.
///
/// # Safety
/// An array; GIL held.
unsafe fn is_an_arrays(numpy: &NumpyApi, mut array: *mut PyArrayObject) -> bool {
    // SAFETY: the caller's promise; each array keeps its base alive.
    unsafe {
        while (*array).flags & NPY_ARRAY_OWNDATA == 0 {
            let base = (*array).base;
            if base.is_null() || owner_map::is_adopted((*array).data.cast()) {
                // Without a base: memory that a function in C gives away, as NumPy does its buffers.
                return true;
            }
            if ffi::PyObject_TypeCheck(base, numpy.void_type()) != 0 {
                return holds_ours((*base.cast::<PyVoidScalarObject>()).descr);
            }
            if ffi::PyObject_TypeCheck(base, numpy.array_type()) == 0
                || !holds_ours((*base.cast::<PyArrayObject>()).descr)
            {
                return false;
            }
            array = base.cast();
        }
        true
    }
}
