//! The scalar class that the runtime makes for a type that brings none: immutable Python objects
//! that hold one element.
//!
//! Scalars of a type without copies may show a cell of an array instead ([`super::loan`]).
//!
//! Arithmetic and comparison go through NumPy's ufuncs ([`super::scalar_math`]), so that a scalar
//! follows the same loops and promotion as an array.

use super::{
    DType, arrfuncs, class,
    convert::{self, already_raised},
    errors,
    loan::{self, Loan},
    loan_math, scalar_index, scalar_math, trampoline,
};
use crate::{
    abi::{self, ErrorOut, Sink, Status},
    erased::{Cells, CellsMut, CountDelta, ElementType, Exclusive, Failure, Location, rules},
};
use pyo3::{exceptions::PyTypeError, ffi, prelude::*, types::PyType};
use std::{
    ffi::{CString, c_int, c_void},
    ptr,
};

/// A scalar. Its cell follows, at the next address that is aligned for it; in a type without copies
/// a [`Loan`] comes between.
#[repr(C)]
struct Scalar {
    head: ffi::PyObject,
    /// Set right after the allocation.
    dtype: *const DType,
}

impl Scalar {
    /// Bytes in front of the cell.
    fn head(element: &ElementType) -> usize {
        size_of::<Scalar>() + if element.is_copyable() { 0 } else { size_of::<Loan>() }
    }

    /// Address of the own cell of the scalar at `object`.
    fn cell(object: *mut ffi::PyObject, element: &ElementType) -> *mut u8 {
        let end = object.cast::<u8>().wrapping_add(Scalar::head(element));
        end.wrapping_add(end.addr().wrapping_neg() & (element.align() - 1))
    }

    /// Bytes of an object, whatever address the allocator gives it.
    fn size(element: &ElementType) -> Option<c_int> {
        let size = Scalar::head(element).checked_add(element.size())?;
        c_int::try_from(size.checked_add(element.align() - 1)?).ok()
    }
}

/// Makes the class of a type: `module_name.name`. Its attribute `dtype` is set by the caller, before
/// anybody can make an instance.
///
/// # Errors
/// A cell is too large for a Python object; what Python refuses.
pub(super) fn make_scalar_class<'py>(
    py: Python<'py>,
    element: &ElementType,
    module_name: &str,
    name: &str,
    documentation: &str,
) -> PyResult<Bound<'py, PyType>> {
    let Some(basicsize) = Scalar::size(element) else {
        return Err(PyTypeError::new_err(format!(
            "a cell of {} bytes is too large for a Python object; store {} boxed",
            element.size(),
            element.name()
        )));
    };
    let text = |text: String| CString::new(text.replace('\0', "?")).unwrap_or_default();
    // Python copies both (the name since 3.11).
    let full_name = text(format!("{module_name}.{name}"));
    let documentation = text(documentation.to_owned());
    let hash: ffi::hashfunc =
        if element.vtable().hash.is_some() { hash } else { ffi::PyObject_HashNotImplemented };
    let methods: &[ffi::PyMethodDef] =
        if element.is_copyable() { &METHODS.0 } else { &MOVE_ONLY_METHODS.0 };
    let slot = |slot: c_int, function: *mut c_void| ffi::PyType_Slot { slot, pfunc: function };
    let mut slots = vec![
        slot(ffi::Py_tp_doc, documentation.as_ptr().cast_mut().cast()),
        slot(ffi::Py_tp_new, new as ffi::newfunc as *mut c_void),
        slot(ffi::Py_tp_dealloc, dealloc as ffi::destructor as *mut c_void),
        slot(ffi::Py_tp_repr, repr as ffi::reprfunc as *mut c_void),
        slot(ffi::Py_tp_str, str_ as ffi::reprfunc as *mut c_void),
        slot(ffi::Py_tp_hash, hash as *mut c_void),
        slot(ffi::Py_tp_methods, methods.as_ptr().cast_mut().cast()),
    ];
    slots.push(scalar_index::slot());
    slots.extend(scalar_math::slots());
    slots.push(slot(0, ptr::null_mut()));
    let mut spec = ffi::PyType_Spec {
        name: full_name.as_ptr(),
        basicsize,
        itemsize: 0,
        // No base type: a subclass would need room and destructors of its own.
        flags: ffi::Py_TPFLAGS_DEFAULT as u32,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: GIL held; the spec and its slots are valid, the methods static.
    let class = unsafe { ffi::PyType_FromSpec(&mut spec) };
    // SAFETY: a new reference to a type, or NULL with an exception.
    let class = unsafe { Bound::from_owned_ptr_or_err(py, class)? };
    Ok(class.cast_into::<PyType>()?)
}

/// Whether a class is one that [`make_scalar_class`] made.
///
/// # Safety
/// `class` is a Python type; GIL held.
unsafe fn is_ours(class: *mut ffi::PyTypeObject) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*class).tp_dealloc }
        .is_some_and(|function| ptr::fn_addr_eq(function, dealloc as ffi::destructor))
}

/// The type and the cell of a scalar of a class that the runtime made; `None` for other objects.
/// The cell is its own, or the one that it shows; it is read through [`loan::with_cell`].
///
/// # Safety
/// `object` is a Python object; GIL held. The cell is read only, while the object lives.
#[inline]
pub unsafe fn scalar_cell(object: *mut ffi::PyObject) -> Option<(&'static DType, *mut u8)> {
    // SAFETY: the caller's promise; all objects of our classes are `Scalar`s, made by `allocate`.
    unsafe {
        if !is_ours(ffi::Py_TYPE(object)) {
            return None;
        }
        let dtype = &*(*object.cast::<Scalar>()).dtype;
        let element = dtype.element();
        if !element.is_copyable()
            && let Some(shown) = (*loan_of(object)).shown()
        {
            return Some((dtype, shown));
        }
        Some((dtype, Scalar::cell(object, element)))
    }
}

/// The loan of a scalar.
///
/// # Safety
/// `object` is a scalar of ours, whose type has no copies.
pub(super) unsafe fn loan_of(object: *mut ffi::PyObject) -> *mut Loan {
    object.cast::<u8>().wrapping_add(size_of::<Scalar>()).cast()
}

/// The scalar's own cell, whatever it shows.
///
/// # Safety
/// `object` is a scalar of `element`.
pub(super) unsafe fn own_address(object: *mut ffi::PyObject, element: &ElementType) -> *mut u8 {
    Scalar::cell(object, element)
}

/// A scalar with a vacant cell: a new reference.
///
/// # Safety
/// GIL held.
pub(super) unsafe fn allocate(dtype: &'static DType) -> Result<*mut ffi::PyObject, Failure> {
    let class = dtype.scalar_class();
    // SAFETY: GIL held; classes are never NULL. The memory is zeroed.
    unsafe {
        if !is_ours(class) {
            return Err(Failure::new(
                abi::ERROR_TYPE,
                format!(
                    "{} has a scalar class of its own, but no conversion to it",
                    dtype.element().name()
                ),
            ));
        }
        let Some(allocate) = (*class).tp_alloc else { return Err(already_raised()) };
        let object = allocate(class, 0);
        if object.is_null() {
            return Err(already_raised());
        }
        (*object.cast::<Scalar>()).dtype = dtype;
        Ok(object)
    }
}

/// The scalar's own cell.
///
/// # Safety
/// `object` is a scalar of the type that nobody else knows yet, or that goes away, or whose object
/// is about to move.
pub(super) unsafe fn own_cell<'a>(
    object: *mut ffi::PyObject,
    element: &ElementType,
) -> CellsMut<'a> {
    let cell = Scalar::cell(object, element);
    // SAFETY: the caller's promise.
    unsafe { CellsMut::new(cell, element.size() as isize, 1, Exclusive::own()) }
}

/// Gives a new scalar its value, counts it, and hands it out.
///
/// # Safety
/// `object` is a new scalar of the type with a vacant cell, a reference that goes to this function;
/// `fill` writes nothing but that cell. GIL held.
unsafe fn finish_new(
    dtype: &'static DType,
    object: *mut ffi::PyObject,
    fill: impl FnOnce(*mut u8) -> Result<(), Failure>,
) -> Result<*mut ffi::PyObject, Failure> {
    let element = dtype.element();
    // SAFETY: the caller's promise.
    unsafe {
        let outcome = fill(Scalar::cell(object, element))
            .and_then(|()| rules::materialise(element, own_cell(object, element)));
        let live = element.vacancy().count_live(own_cell(object, element).as_cells()) as u64;
        let tally = CountDelta { constructed: live, foreign: live, ..CountDelta::default() };
        element.record(tally, Location::Scalar(Scalar::cell(object, element)));
        if let Err(failure) = outcome {
            ffi::Py_DECREF(object);
            return Err(failure);
        }
    }
    Ok(object)
}

/// A scalar with a copy of the one cell: a new reference.
///
/// # Errors
/// `TypeError` for a type without copies; what the copy fails with.
///
/// # Safety
/// `cells` is one aligned cell of the type under rule 1; GIL held.
pub(super) unsafe fn new_scalar(
    dtype: &'static DType,
    cells: Cells<'_>,
) -> Result<*mut ffi::PyObject, Failure> {
    let element = dtype.element();
    // SAFETY: the caller's promise; the new cell is vacant.
    unsafe {
        let object = allocate(dtype)?;
        finish_new(dtype, object, |cell| {
            let own = CellsMut::new(cell, element.size() as isize, 1, Exclusive::own());
            rules::copy(element, own, cells)
        })
    }
}

/// `Name()` is the default value, `Name(value)` what an array of the type would store.
unsafe extern "C" fn new(
    class: *mut ffi::PyTypeObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("new", || {
        // SAFETY: Python calls it for our classes with a tuple and a dict or NULL; GIL held.
        let outcome = unsafe {
            dtype_of_class(class).and_then(|dtype| {
                let count = ffi::PyTuple_Size(arguments);
                if count > 1 || (!keywords.is_null() && ffi::PyDict_Size(keywords) > 0) {
                    return Err(Failure::new(
                        abi::ERROR_TYPE,
                        format!("{} takes one value at most", dtype.element().name()),
                    ));
                }
                if count == 0 {
                    let object = allocate(dtype)?;
                    return finish_new(dtype, object, |_| Ok(()));
                }
                let value = ffi::PyTuple_GetItem(arguments, 0);
                if ffi::Py_TYPE(value) == class {
                    ffi::Py_INCREF(value);
                    return Ok(value);
                }
                let object = allocate(dtype)?;
                finish_new(dtype, object, |cell| convert::from_python(dtype, value, cell))
            })
        };
        give(outcome)
    })
}

/// The DType whose scalar class `class` is, by its attribute `dtype`.
///
/// # Safety
/// `class` is a class of ours; GIL held.
unsafe fn dtype_of_class(class: *mut ffi::PyTypeObject) -> Result<&'static DType, Failure> {
    // SAFETY: the caller's promise; DTypes live forever.
    unsafe {
        let descr = ffi::PyObject_GetAttrString(class.cast(), c"dtype".as_ptr());
        if descr.is_null() {
            return Err(already_raised());
        }
        let is_descr = crate::numpy_abi::get()
            .is_some_and(|numpy| ffi::PyObject_TypeCheck(descr, numpy.descr_type()) != 0);
        let dtype = if is_descr { DType::try_of_descr(descr.cast()) } else { None };
        ffi::Py_DECREF(descr);
        dtype.filter(|dtype| dtype.scalar_class() == class).ok_or_else(|| {
            Failure::new(abi::ERROR_TYPE, "the class attribute `dtype` is not the class's own")
        })
    }
}

/// Destroys the object in the cell, once.
unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    trampoline::end("dealloc", || {
        // SAFETY: Python calls it once, for a scalar without references; GIL held. The exception on
        // its way, if any, is put back.
        unsafe {
            let class = ffi::Py_TYPE(object);
            let dtype = (*object.cast::<Scalar>()).dtype;
            if let Some(dtype) = dtype.as_ref() {
                let element = dtype.element();
                if !element.is_copyable() {
                    errors::keeping_exception(|| loan::forget(loan_of(object)));
                }
                let live =
                    element.vacancy().count_live(own_cell(object, element).as_cells()) as u64;
                errors::keeping_exception(|| {
                    if let Err(failure) = rules::clear(element, own_cell(object, element)) {
                        errors::write_unraisable(&failure, errors::DESTRUCTOR);
                    }
                });
                let place = Location::Scalar(Scalar::cell(object, element));
                element.record(CountDelta { destroyed: live, ..CountDelta::default() }, place);
            }
            if let Some(free) = (*class).tp_free {
                free(object.cast());
            }
            // Objects of heap types hold their type.
            ffi::Py_DECREF(class.cast());
        }
    })
}

/// A result for Python: the object, or NULL with the exception.
pub(super) fn give(outcome: Result<*mut ffi::PyObject, Failure>) -> *mut ffi::PyObject {
    outcome.unwrap_or_else(|failure| {
        errors::raise(&failure);
        ptr::null_mut()
    })
}

/// Collects what a client writes to a sink.
///
/// # Errors
/// What `write` fails with.
pub(super) fn collect(
    write: impl FnOnce(*mut Sink, *mut ErrorOut) -> Status,
) -> Result<Vec<u8>, Failure> {
    unsafe extern "C" fn append(sink: *mut Sink, bytes: *const u8, size: usize) -> Status {
        trampoline::failing(abi::FAILED, || {
            // SAFETY: the sink is the one below, and the client passes `size` readable bytes.
            unsafe {
                let collected = &mut *(*sink).context.cast::<Vec<u8>>();
                if size == 0 {
                    return abi::OK;
                }
                if collected.try_reserve(size).is_err() {
                    return abi::FAILED;
                }
                collected.extend_from_slice(std::slice::from_raw_parts(bytes, size));
            }
            abi::OK
        })
    }
    let mut collected: Vec<u8> = Vec::new();
    let mut sink = Sink { write: append, context: (&raw mut collected).cast() };
    let mut report = ErrorOut::new();
    let status = write(&mut sink, &mut report);
    Failure::check(status, &report).map(|()| collected)
}

/// The text of a value, `<module.Name>` where the type has none.
///
/// # Safety
/// `cell` is an aligned cell of `element` under rule 1 that nobody writes; GIL held.
unsafe fn text_of(element: &ElementType, cell: *const u8) -> Result<String, Failure> {
    let Some(to_text) = element.vtable().to_text else {
        return Ok(format!("<{}>", element.name()));
    };
    let bytes = collect(|sink, report| {
        // SAFETY: the vtable's contract and the caller's promise.
        unsafe { to_text(element.vtable().context, cell, sink, report) }
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

unsafe extern "C" fn str_(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    trampoline::slot("str_", || {
        // SAFETY: Python calls it for scalars; GIL held.
        let text = unsafe { loan::with_cell(object, |dtype, cell| text_of(dtype.element(), cell)) };
        give(text.map(|text| class::new_text(&text)))
    })
}

/// `Name('text')`.
unsafe extern "C" fn repr(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    trampoline::slot("repr", || {
        // SAFETY: Python calls it for scalars; GIL held; new references are dropped.
        unsafe {
            let Some((dtype, _)) = scalar_cell(object) else { return ptr::null_mut() };
            let text = str_(object);
            if text.is_null() || dtype.element().vtable().to_text.is_none() {
                return text;
            }
            let name = dtype.element().name();
            let name = name.rsplit('.').next().unwrap_or(name);
            let result = match CString::new(name) {
                Ok(name) => ffi::PyUnicode_FromFormat(c"%s(%R)".as_ptr(), name.as_ptr(), text),
                Err(_) => ffi::PyObject_Repr(text),
            };
            ffi::Py_DECREF(text);
            result
        }
    })
}

unsafe extern "C" fn hash(object: *mut ffi::PyObject) -> ffi::Py_hash_t {
    trampoline::slot("hash", || {
        // SAFETY: Python calls it for scalars; GIL held.
        unsafe {
            let hashed = loan::with_cell(object, |dtype, cell| {
                let element = dtype.element();
                let Some(hash) = element.vtable().hash else {
                    ffi::PyObject_HashNotImplemented(object);
                    return Err(already_raised());
                };
                let (mut result, mut report) = (0i64, ErrorOut::new());
                let status = hash(element.vtable().context, cell, &mut result, &mut report);
                Failure::check(status, &report).map(|()| result)
            });
            match hashed {
                // That says that there is an exception.
                Ok(-1) => -2,
                Ok(result) => result as ffi::Py_hash_t,
                Err(failure) => {
                    errors::raise(&failure);
                    -1
                }
            }
        }
    })
}

/// `bool(scalar)`; TypeError for a type without truth, as for its arrays.
pub(super) unsafe extern "C" fn bool_(object: *mut ffi::PyObject) -> c_int {
    trampoline::slot("bool_", || {
        // SAFETY: Python calls it for scalars; GIL held.
        let truth = unsafe {
            loan::with_cell(object, |dtype, cell| arrfuncs::truth(dtype.element(), cell))
        };
        match truth {
            Ok(truth) => c_int::from(truth),
            Err(failure) => {
                errors::raise(&failure);
                -1
            }
        }
    })
}

struct Methods<const COUNT: usize>([ffi::PyMethodDef; COUNT]);
// SAFETY: constant data.
unsafe impl<const COUNT: usize> Sync for Methods<COUNT> {}

/// Of scalars that own a copy.
static METHODS: Methods<4> = Methods([
    method(c"__reduce__", reduce, c"Pickles through the type's codec, else its text."),
    method(c"__copy__", itself, c"The scalar itself: it never changes."),
    ffi::PyMethodDef {
        ml_flags: ffi::METH_O,
        ..method(c"__deepcopy__", itself, c"The scalar itself: it never changes.")
    },
    ffi::PyMethodDef::zeroed(),
]);

/// Of scalars that may show a cell.
static MOVE_ONLY_METHODS: Methods<5> = Methods([
    method(c"__reduce__", reduce, c"Pickles through the type's codec, else its text."),
    method(c"__copy__", not_copyable, c"TypeError: objects of the type only move."),
    ffi::PyMethodDef {
        ml_flags: ffi::METH_O,
        ..method(c"__deepcopy__", not_copyable, c"TypeError: objects of the type only move.")
    },
    ffi::PyMethodDef {
        ml_name: c"__array_ufunc__".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionWithKeywords: loan_math::array_ufunc },
        ml_flags: ffi::METH_VARARGS | ffi::METH_KEYWORDS,
        ml_doc: c"Runs a ufunc on the scalar's object where it is.".as_ptr(),
    },
    ffi::PyMethodDef::zeroed(),
]);

const fn method(
    name: &'static std::ffi::CStr,
    function: ffi::PyCFunction,
    documentation: &'static std::ffi::CStr,
) -> ffi::PyMethodDef {
    ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: function },
        ml_flags: ffi::METH_NOARGS,
        ml_doc: documentation.as_ptr(),
    }
}

unsafe extern "C" fn itself(
    object: *mut ffi::PyObject,
    _argument: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: GIL held; a valid object.
    unsafe { ffi::Py_INCREF(object) };
    object
}

unsafe extern "C" fn not_copyable(
    object: *mut ffi::PyObject,
    _argument: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("not_copyable", || {
        // SAFETY: Python calls it for scalars; GIL held.
        if let Some((dtype, _)) = unsafe { scalar_cell(object) } {
            errors::raise(&dtype.element().not_copyable());
        }
        ptr::null_mut()
    })
}

/// `(denizen._runtime._scalar_from_bytes, (name, bytes))`.
unsafe extern "C" fn reduce(
    object: *mut ffi::PyObject,
    _none: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("reduce", || {
        // SAFETY: Python calls it for scalars; GIL held; new references are dropped or given on.
        unsafe {
            let saved = loan::with_cell(object, |dtype, cell| {
                Ok((dtype.element().name(), scalar_to_bytes(dtype.element(), cell)?))
            });
            let (name, bytes) = match saved {
                Ok(saved) => saved,
                Err(failure) => {
                    errors::raise(&failure);
                    return ptr::null_mut();
                }
            };
            let module = ffi::PyImport_ImportModule(c"denizen._runtime".as_ptr());
            if module.is_null() {
                return ptr::null_mut();
            }
            let function = ffi::PyObject_GetAttrString(module, c"_scalar_from_bytes".as_ptr());
            ffi::Py_DECREF(module);
            if function.is_null() {
                return ptr::null_mut();
            }
            let bytes = ffi::PyBytes_FromStringAndSize(bytes.as_ptr().cast(), bytes.len() as isize);
            ffi::Py_BuildValue(c"N(NN)".as_ptr(), function, class::new_text(name), bytes)
        }
    })
}

/// A value as bytes of the codec, else as text that the type can read again.
///
/// # Safety
/// `cell` is an aligned cell of `element` under rule 1 that nobody writes; GIL held.
unsafe fn scalar_to_bytes(element: &ElementType, cell: *const u8) -> Result<Vec<u8>, Failure> {
    let vtable = element.vtable();
    let text = vtable.to_text.filter(|_| vtable.from_text.is_some());
    let Some(save) = vtable.save.or(text) else {
        return Err(Failure::new(
            abi::ERROR_TYPE,
            format!("{} cannot be pickled: it has no codec and no text", element.name()),
        ));
    };
    collect(|sink, report| {
        // SAFETY: the vtable's contract and the caller's promise.
        unsafe { save(vtable.context, cell, sink, report) }
    })
}

/// The scalar that `__reduce__` wrote.
///
/// # Errors
/// `TypeError` where the type has no codec and no text; what reading fails with.
pub fn scalar_from_bytes(
    py: Python<'_>,
    dtype: &'static DType,
    bytes: &[u8],
) -> PyResult<Py<PyAny>> {
    // SAFETY: GIL held.
    let object = give(unsafe { read_scalar(dtype, bytes) });
    // SAFETY: a new reference, or NULL with an exception.
    Ok(unsafe { Bound::from_owned_ptr_or_err(py, object)? }.unbind())
}

/// # Safety
/// GIL held.
unsafe fn read_scalar(dtype: &'static DType, bytes: &[u8]) -> Result<*mut ffi::PyObject, Failure> {
    let vtable = dtype.element().vtable();
    let text = vtable.from_text.filter(|_| vtable.to_text.is_some());
    let Some(load) = vtable.load.or(text) else {
        return Err(Failure::new(
            abi::ERROR_TYPE,
            format!("{} cannot be unpickled: it has no codec and no text", dtype.element().name()),
        ));
    };
    let read = |cell: *mut u8| {
        let mut report = ErrorOut::new();
        // SAFETY: the vtable's contract: a vacant cell and readable bytes.
        let status =
            unsafe { load(vtable.context, cell, bytes.as_ptr(), bytes.len(), &mut report) };
        Failure::check(status, &report)
    };
    // SAFETY: GIL held; the cells are new and vacant, then live.
    unsafe {
        if is_ours(dtype.scalar_class()) {
            let object = allocate(dtype)?;
            return finish_new(dtype, object, read);
        }
        let mut passing = convert::Object::new(dtype.element())?;
        read(passing.address())?;
        rules::materialise(dtype.element(), passing.cells())?;
        convert::to_python(dtype, passing.address())
    }
}
