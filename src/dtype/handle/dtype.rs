//! The handle of an element type in the NumPy layer: its DType class, its one descriptor, and what is
//! registered for it beside the class.

use crate::{
    abi::{self, ConstructFn, LoopFn},
    dtype::handle::{errors, trampoline},
    erased::ElementType,
    numpy_abi::{NpyAuxData, PyArray_DTypeMeta, PyArray_Descr},
};
use pyo3::ffi;
use std::{
    collections::HashMap,
    ffi::{CString, c_void},
    ptr,
    sync::{
        OnceLock,
        atomic::{
            AtomicPtr,
            Ordering::{AcqRel, Acquire, Release},
        },
    },
};

/// What the NumPy layer knows about one element type. Lives forever.
pub struct DType {
    element: &'static ElementType,
    class: *mut DTypeClass,
    scalar_class: *mut ffi::PyTypeObject,
    /// The one descriptor; NULL while the class is being made, and once the type is given up.
    descr: AtomicPtr<PyArray_Descr>,
    /// The descriptor of a type that was given up, for those who have it.
    former: AtomicPtr<PyArray_Descr>,
    /// Loops, casts and identities, once they are registered.
    operations: OnceLock<Operations>,
}

// SAFETY: the Python objects behind the pointers are immortal and used with the GIL or, the
// descriptor's plain fields, read only.
unsafe impl Send for DType {}

// SAFETY: as above.
unsafe impl Sync for DType {}

/// A DType class of ours: NumPy's struct and, behind it, the way back to [`DType`].
#[repr(C)]
pub struct DTypeClass {
    meta: PyArray_DTypeMeta,
    /// Set before the class is ready.
    pub dtype: *const DType,
}

/// A descriptor of ours. There is one a type.
#[repr(C)]
pub struct ElementDescr {
    /// NumPy's own.
    pub base: PyArray_Descr,
    /// Set right after the allocation.
    pub dtype: *const DType,
}

impl DType {
    /// A type whose class is being made.
    pub fn new(
        element: &'static ElementType,
        class: *mut DTypeClass,
        scalar_class: *mut ffi::PyTypeObject,
    ) -> DType {
        DType {
            element,
            class,
            scalar_class,
            descr: AtomicPtr::new(ptr::null_mut()),
            former: AtomicPtr::new(ptr::null_mut()),
            operations: OnceLock::new(),
        }
    }

    /// The class is made, and `descr` is its one descriptor.
    ///
    /// # Safety
    /// `descr` is a reference that goes to the class; GIL held.
    pub unsafe fn set_descr(&self, descr: *mut PyArray_Descr) {
        self.descr.store(descr, Release);
        // SAFETY: the class is initialised, and the second reference goes to it.
        unsafe {
            ffi::Py_INCREF(descr.cast());
            (*self.class).meta.singleton = descr;
        }
    }

    /// Fills the operations, once.
    pub fn set_operations(&self, operations: Operations) {
        let _ = self.operations.set(operations);
    }

    /// The element type.
    #[inline]
    pub fn element(&self) -> &'static ElementType {
        self.element
    }

    /// The DType class.
    pub fn class(&self) -> *mut PyArray_DTypeMeta {
        self.class.cast()
    }

    /// The scalar class.
    pub fn scalar_class(&self) -> *mut ffi::PyTypeObject {
        self.scalar_class
    }

    /// The descriptor, borrowed; NULL while the class is being made, and once the type is given up.
    #[inline]
    pub fn descr(&self) -> *mut PyArray_Descr {
        self.descr.load(Acquire)
    }

    /// The descriptor: a new reference, or NULL with an exception where the type cannot be used.
    pub fn new_descr_reference(&self) -> *mut PyArray_Descr {
        let descr = self.descr();
        if descr.is_null() {
            let name = self.element.name();
            let message = format!("{name} cannot be used: its registration failed");
            errors::set(abi::ERROR_TYPE, &message);
            return ptr::null_mut();
        }
        // SAFETY: GIL held by contract of all slots; the descriptor is alive.
        unsafe { ffi::Py_INCREF(descr.cast()) };
        descr
    }

    /// Gives the type up: its class stays, as NumPy knows it, and gives out no descriptor any more, so
    /// that there will be no arrays. GIL held.
    pub fn abandon(&self) {
        let descr = self.descr.swap(ptr::null_mut(), AcqRel);
        self.former.store(descr, Release);
        // SAFETY: the class is ours; NumPy reads the member under the GIL, and asks our slots where it
        // is NULL. The reference of the class goes to `former`.
        unsafe { (*self.class).meta.singleton = ptr::null_mut() };
    }

    /// Loops, casts and identities.
    #[inline]
    pub fn operations(&self) -> &Operations {
        self.operations.get_or_init(Default::default)
    }

    /// The DType of a descriptor of ours.
    ///
    /// # Safety
    /// `descr` is a descriptor whose class is one of ours.
    #[inline]
    pub unsafe fn of_descr(descr: *const PyArray_Descr) -> &'static DType {
        // SAFETY: the caller's promise; descriptors of our classes are `ElementDescr`s, and DTypes
        // live forever.
        unsafe { &*(*descr.cast::<ElementDescr>()).dtype }
    }

    /// The DType of a class of ours.
    ///
    /// # Safety
    /// `class` is one of ours.
    #[inline]
    pub unsafe fn of_class(class: *const PyArray_DTypeMeta) -> &'static DType {
        // SAFETY: the caller's promise.
        unsafe { &*(*class.cast::<DTypeClass>()).dtype }
    }

    /// The DType of any descriptor, where it is one of ours.
    ///
    /// # Safety
    /// `descr` is a descriptor; GIL held.
    pub unsafe fn try_of_descr(descr: *const PyArray_Descr) -> Option<&'static DType> {
        // SAFETY: the caller's promise: the type of a descriptor is a DType class.
        unsafe { Self::try_of_class(ffi::Py_TYPE(descr.cast_mut().cast()).cast()) }
    }

    /// The DType of any DType class, where it is one of ours: NumPy's classes have other
    /// `tp_new`s.
    ///
    /// # Safety
    /// `class` is a DType class (a Python type).
    pub unsafe fn try_of_class(class: *const PyArray_DTypeMeta) -> Option<&'static DType> {
        // SAFETY: the caller's promise.
        unsafe {
            let ours = (*class.cast::<ffi::PyTypeObject>())
                .tp_new
                .is_some_and(|new| ptr::fn_addr_eq(new, descr_new as ffi::newfunc));
            ours.then(|| Self::of_class(class))
        }
    }
}

/// `tp_new` of our classes, by which [`DType::try_of_class`] knows them.
pub unsafe extern "C" fn descr_new(
    class: *mut ffi::PyTypeObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("descr_new", || {
        // SAFETY: NumPy and Python call it for our classes only, with a tuple or NULL and a dict or
        // NULL; GIL held.
        unsafe {
            let dtype = DType::of_class(class.cast());
            if (!arguments.is_null() && ffi::PyTuple_Size(arguments) != 0)
                || (!keywords.is_null() && ffi::PyDict_Size(keywords) != 0)
            {
                let message = format!("{}DType() takes no arguments", dtype.element.name());
                errors::set(abi::ERROR_TYPE, &message);
                return ptr::null_mut();
            }
            dtype.new_descr_reference().cast()
        }
    })
}

/// What is registered for a DType beside its class. Filled once, before the type can be used.
#[derive(Default)]
pub struct Operations {
    /// Ufunc loops.
    pub loops: Vec<&'static LoopData>,
    /// Ufuncs that go through loops of NumPy's own.
    pub delegated: Vec<Delegated>,
    /// Identities of reductions, by ufunc: a reference that is never given back.
    pub identities: HashMap<usize, IdentityData>,
}

/// The type of one operand, resolved.
#[derive(Clone, Copy)]
pub enum OperandType {
    /// An element type: the one being registered or another.
    Element(&'static DType),
    /// A built-in type, by NumPy's type number.
    Numpy(i32),
}

/// One loop of one ufunc; NumPy hands it back to the loop as auxiliary data.
#[repr(C)]
pub struct LoopData {
    /// NumPy's head: `free` does nothing, `clone` returns the same.
    pub head: NpyAuxData,
    /// The ufunc: a reference that is never given back, so that its address is that of no other.
    pub ufunc: usize,
    /// Its name, for messages.
    pub name: CString,
    /// Inputs, then outputs.
    pub operands: Vec<OperandType>,
    /// How many inputs.
    pub input_count: usize,
    /// Core dimensions of each operand of a generalised ufunc.
    pub core: Option<Vec<Vec<usize>>>,
    /// The client's loop.
    pub function: LoopFn,
    /// Handed to it.
    pub context: *mut c_void,
}

/// A ufunc for which operands of a type are cast to numbers, and NumPy's own loop is taken.
pub struct Delegated {
    /// The ufunc: a reference that is never given back, so that its address is that of no other.
    pub ufunc: usize,
    /// Type numbers of the inputs, then of the outputs.
    pub operands: Vec<i32>,
    /// How many inputs.
    pub input_count: usize,
}

/// The identity of one ufunc.
pub struct IdentityData {
    /// Builds the value in a vacant cell.
    pub construct: ConstructFn,
    /// Handed to it.
    pub context: *mut c_void,
}

/// The head of auxiliary data that lives forever.
pub fn immortal_head() -> NpyAuxData {
    unsafe extern "C" fn free(_data: *mut NpyAuxData) {}
    unsafe extern "C" fn clone(data: *mut NpyAuxData) -> *mut NpyAuxData {
        data
    }
    NpyAuxData { free: Some(free), clone: Some(clone), reserved: [ptr::null_mut(); 2] }
}
