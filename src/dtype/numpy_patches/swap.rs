//! The only code that puts something of ours in the place of NumPy's: of a method or function in C, a
//! slot, a getter or setter, a name in a module. What stood there is kept under its type.
//!
//! Python reads the definition of a method, and the slot of a class, at every call: whatever holds the
//! method or was derived from the class meets the new function. Each swap is made once, and says
//! whether NumPy is made as it expects; where not, nothing is changed.

use crate::numpy_abi::callbacks::{ArrGetItem, GetLoop, StridedLoop};
use pyo3::{
    exceptions::PyRuntimeError,
    ffi,
    prelude::*,
    sync::PyOnceLock,
    types::{PyCFunction, PyList, PyType},
};
use std::{
    ffi::{CStr, c_int, c_void},
    marker::PhantomData,
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

/// A pointer to a function, as Python keeps it.
pub(super) trait Function: Copy {
    /// Where it is.
    fn address(self) -> *mut c_void;
    /// # Safety
    /// A function of this type is there.
    unsafe fn at(address: *mut c_void) -> Self;
}

macro_rules! function_types {
    ($($function:ty),* $(,)?) => {
        $(impl Function for $function {
            fn address(self) -> *mut c_void {
                self as *mut c_void
            }
            #[inline(always)]
            unsafe fn at(address: *mut c_void) -> Self {
                // SAFETY: the caller's promise.
                unsafe { std::mem::transmute::<*mut c_void, Self>(address) }
            }
        })*
    };
}

function_types!(
    ffi::PyCFunction,
    ffi::PyCFunctionWithKeywords,
    ffi::PyCFunctionFastWithKeywords,
    ffi::getter,
    ffi::setter,
    ffi::newfunc,
    ffi::objobjargproc,
    ffi::getbufferproc,
    ffi::iternextfunc,
    ArrGetItem,
    GetLoop,
    StridedLoop,
);

/// A class of NumPy's.
///
/// # Errors
/// `AttributeError`, `TypeError` where it has no such.
pub(super) fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    Ok(py.import("numpy")?.getattr(name)?.cast_into::<PyType>()?)
}

/// The module that has NumPy's functions in C.
///
/// # Errors
/// `ImportError`.
pub(super) fn functions(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    Ok(py.import("numpy._core._multiarray_umath")?.into_any())
}

/// A function of a method's definition.
pub(super) trait Method: Function {
    /// How Python calls it.
    const FLAGS: c_int;
    /// It, in the union of a definition.
    fn pointer(self) -> ffi::PyMethodDefPointer;
}

impl Method for ffi::PyCFunction {
    const FLAGS: c_int = ffi::METH_VARARGS;
    fn pointer(self) -> ffi::PyMethodDefPointer {
        ffi::PyMethodDefPointer { PyCFunction: self }
    }
}

impl Method for ffi::PyCFunctionWithKeywords {
    const FLAGS: c_int = ffi::METH_VARARGS | ffi::METH_KEYWORDS;
    fn pointer(self) -> ffi::PyMethodDefPointer {
        ffi::PyMethodDefPointer { PyCFunctionWithKeywords: self }
    }
}

impl Method for ffi::PyCFunctionFastWithKeywords {
    const FLAGS: c_int = ffi::METH_FASTCALL | ffi::METH_KEYWORDS;
    fn pointer(self) -> ffi::PyMethodDefPointer {
        ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: self }
    }
}

/// NumPy's own function, once another stands in its place.
pub(super) struct Original<F>(AtomicPtr<c_void>, PhantomData<F>);

impl<F: Function> Original<F> {
    pub const fn new() -> Self {
        Original(AtomicPtr::new(ptr::null_mut()), PhantomData)
    }

    /// # Safety
    /// It is kept, as it is when the function that stands in its place is called.
    #[inline(always)]
    pub unsafe fn get(&self) -> F {
        // SAFETY: the caller's promise; only `keep` stores an address.
        unsafe { F::at(self.0.load(Relaxed)) }
    }

    fn is_kept(&self) -> bool {
        !self.0.load(Relaxed).is_null()
    }

    /// Keeps NumPy's own.
    pub fn keep(&self, function: F) {
        self.0.store(function.address(), Relaxed);
    }
}

/// NumPy's own object, once another stands in its place.
pub(super) struct OriginalObject(PyOnceLock<Py<PyAny>>);

impl OriginalObject {
    pub const fn new() -> Self {
        OriginalObject(PyOnceLock::new())
    }

    /// # Errors
    /// `RuntimeError` where nothing is kept.
    pub fn bind<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let missing = || PyRuntimeError::new_err("what NumPy had in this place was not kept");
        self.0.get(py).map(|object| object.bind(py)).ok_or_else(missing)
    }
}

/// The definition of a method, or of a function of a module.
fn definition_of(function: &Bound<'_, PyAny>) -> Option<*mut ffi::PyMethodDef> {
    let object = function.as_ptr();
    // SAFETY: a method descriptor, and a function in C, are what their types say; GIL held.
    let definition = unsafe {
        if ffi::Py_TYPE(object) == &raw mut ffi::PyMethodDescr_Type {
            (*object.cast::<ffi::PyMethodDescrObject>()).d_method
        } else if ffi::PyCFunction_CheckExact(object) != 0 {
            (*object.cast::<ffi::PyCFunctionObject>()).m_ml
        } else {
            return None;
        }
    };
    (!definition.is_null()).then_some(definition)
}

/// Puts `ours` in the place of a method of a class, or of a function of a module.
///
/// # Errors
/// `AttributeError`.
///
/// # Safety
/// `owner` is NumPy's own, and `ours` right for every call of that name by its convention.
pub(super) unsafe fn method<F: Method>(
    owner: &Bound<'_, PyAny>,
    name: &str,
    original: &Original<F>,
    ours: F,
) -> PyResult<bool> {
    if original.is_kept() {
        return Ok(true);
    }
    let Some(definition) = definition_of(&owner.getattr(name)?) else { return Ok(false) };
    // SAFETY: NumPy's definitions live forever; each member of the union is a pointer to a function,
    // and the flags say of which type. GIL held.
    unsafe {
        if (*definition).ml_flags != F::FLAGS {
            return Ok(false);
        }
        original.keep(F::at((*definition).ml_meth.PyCFunction.address()));
        (*definition).ml_meth = ours.pointer();
    }
    Ok(true)
}

/// As [`method`], of several by one convention.
///
/// # Errors
/// As for [`method`].
///
/// # Safety
/// As for [`method`].
pub(super) unsafe fn methods<F: Method, const COUNT: usize>(
    owner: &Bound<'_, PyAny>,
    all: [(&str, &Original<F>, F); COUNT],
) -> PyResult<bool> {
    for (name, original, ours) in all {
        // SAFETY: the caller's promise.
        if !unsafe { method(owner, name, original, ours)? } {
            return Ok(false);
        }
    }
    Ok(true)
}

/// As [`method`], and keeps NumPy's own for Python too, which takes the same arguments: of a method
/// the object comes first.
///
/// # Errors
/// As for [`method`]; no memory.
///
/// # Safety
/// As for [`method`].
pub(super) unsafe fn method_with_object<F: Method>(
    owner: &Bound<'_, PyAny>,
    name: &str,
    (original, object): (&Original<F>, &OriginalObject),
    ours: F,
) -> PyResult<bool> {
    let (py, function) = (owner.py(), owner.getattr(name)?);
    let Some(definition) = definition_of(&function) else { return Ok(false) };
    if object.0.get(py).is_none() {
        // SAFETY: a definition, whose copy lives as long; a class has methods, a module functions.
        let kept = unsafe {
            let copy = Box::leak(Box::new(ptr::read(definition)));
            Bound::from_owned_ptr_or_err(
                py,
                match owner.cast::<PyType>() {
                    Ok(class) => ffi::PyDescr_NewMethod(class.as_type_ptr(), copy),
                    Err(_) => ffi::PyCFunction_NewEx(copy, owner.as_ptr(), ptr::null_mut()),
                },
            )?
        };
        let _ = object.0.set(py, kept.unbind());
    }
    // SAFETY: the caller's promise.
    unsafe { method(owner, name, original, ours) }
}

/// Puts `ours` into a slot of a class, of the classes derived from it that have the same pointer (those
/// derived later inherit it), and of the method `name`, which keeps the pointer as well.
///
/// # Errors
/// What Python fails with.
///
/// # Safety
/// `slot` gives the place of the slot in a class, or NULL; `ours` is right for every object of it.
pub(super) unsafe fn slot<F: Function>(
    class: &Bound<'_, PyType>,
    slot: unsafe fn(*mut ffi::PyTypeObject) -> *mut Option<F>,
    name: &str,
    original: &Original<F>,
    ours: F,
) -> PyResult<bool> {
    if original.is_kept() {
        return Ok(true);
    }
    // SAFETY: the caller's promise, for a class that lives.
    let Some(numpys) = (unsafe { slot(class.as_type_ptr()).as_ref().copied().flatten() }) else {
        return Ok(false);
    };
    original.keep(numpys);
    each_class(class, &mut |class| {
        // SAFETY: as above; Python's caches may hold what the slot was. GIL held.
        unsafe {
            if let Some(slot) = slot(class).as_mut()
                && slot.is_some_and(|function| function.address() == numpys.address())
            {
                *slot = Some(ours);
                ffi::PyType_Modified(class);
            }
        }
    })?;
    let Ok(method) = class.getattr(name) else { return Ok(true) };
    // SAFETY: a slot's descriptor is what its type says; it calls what it keeps as the slot.
    unsafe {
        if ffi::Py_TYPE(method.as_ptr()) == &raw mut ffi::PyWrapperDescr_Type {
            let kept = &raw mut (*method.as_ptr().cast::<ffi::PyWrapperDescrObject>()).d_wrapped;
            if *kept == numpys.address() {
                *kept = ours.address();
            }
        }
    }
    Ok(true)
}

/// Calls a function with a class and all that are derived from it.
fn each_class(
    class: &Bound<'_, PyType>,
    function: &mut impl FnMut(*mut ffi::PyTypeObject),
) -> PyResult<()> {
    function(class.as_type_ptr());
    // Asked of `type`: a metaclass may have a method of the same name.
    let derived = class.py().get_type::<PyType>().getattr("__subclasses__")?.call1((class,))?;
    for class in derived.cast::<PyList>()?.iter() {
        each_class(class.cast::<PyType>()?, function)?;
    }
    Ok(())
}

/// Puts `ours` in the place of a getter.
///
/// # Safety
/// `ours` is right for every object of the class, which is NumPy's own and static.
pub(super) unsafe fn getter(
    class: &Bound<'_, PyType>,
    name: &CStr,
    original: &Original<ffi::getter>,
    ours: ffi::getter,
) -> bool {
    // SAFETY: the caller's promise; GIL held.
    unsafe { attribute(class, name).is_some_and(|entry| put(&mut (*entry).get, original, ours)) }
}

/// Puts `ours` in the place of a setter. What cannot be set needs no such.
///
/// # Safety
/// As for [`getter`].
pub(super) unsafe fn setter(
    class: &Bound<'_, PyType>,
    name: &CStr,
    original: &Original<ffi::setter>,
    ours: ffi::setter,
) -> bool {
    // SAFETY: the caller's promise; GIL held.
    unsafe {
        attribute(class, name).is_some_and(|entry| {
            let place = &mut (*entry).set;
            place.is_none() || put(place, original, ours)
        })
    }
}

/// Puts `ours` in the place of a function that a struct of NumPy's points to.
///
/// # Safety
/// `ours` is right for every call through `place`.
pub(super) unsafe fn pointer<F: Function>(
    place: &mut Option<F>,
    original: &Original<F>,
    ours: F,
) -> bool {
    put(place, original, ours)
}

fn put<F: Function>(place: &mut Option<F>, original: &Original<F>, ours: F) -> bool {
    if !original.is_kept() {
        let Some(numpys) = *place else { return false };
        original.keep(numpys);
        *place = Some(ours);
    }
    true
}

/// The entry of a class for an attribute in C.
///
/// # Safety
/// A static class; GIL held.
unsafe fn attribute(class: &Bound<'_, PyType>, name: &CStr) -> Option<*mut ffi::PyGetSetDef> {
    // SAFETY: a class's getters and setters are an array that ends with a NULL name, which its
    // descriptors point into.
    unsafe {
        let mut entry = (*class.as_type_ptr()).tp_getset;
        while !entry.is_null() && !(*entry).name.is_null() {
            if CStr::from_ptr((*entry).name) == name {
                return Some(entry);
            }
            entry = entry.add(1);
        }
    }
    None
}

/// Gives a name in modules another meaning. The first module's own, or the builtin that it means there,
/// is kept.
///
/// # Errors
/// `AttributeError`, `ImportError`.
pub(super) fn name<'py>(
    py: Python<'py>,
    modules: &[&str],
    name: &str,
    original: &OriginalObject,
    ours: impl FnOnce(&Bound<'py, PyModule>) -> PyResult<Bound<'py, PyCFunction>>,
) -> PyResult<bool> {
    if original.0.get(py).is_some() {
        return Ok(true);
    }
    let modules = modules.iter().map(|module| py.import(*module)).collect::<PyResult<Vec<_>>>()?;
    let numpys = match modules[0].getattr(name) {
        Ok(object) => object,
        Err(missing) => py.import("builtins")?.getattr(name).map_err(|_| missing)?,
    };
    for other in &modules[1..] {
        other.getattr(name)?;
    }
    let ours = ours(&modules[0])?;
    let _ = original.0.set(py, numpys.unbind());
    modules.iter().try_for_each(|module| module.setattr(name, &ours))?;
    Ok(true)
}
