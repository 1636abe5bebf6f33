//! What the author of a type has said about it so far, whatever its storage.

use super::error::Error;
use super::loops::{Entry, Owner};
use super::scalar::OperandType;
use super::shared::Shared;
use crate::abi::{self, ConstructFn, ElementVTable, LoopFn, PyObject};
use std::ffi::{CString, c_void};
use std::sync::Arc;

pub(super) struct CastEntry {
    pub(super) from: OperandType,
    pub(super) to: OperandType,
    pub(super) level: abi::CastLevel,
    pub(super) function: LoopFn,
    pub(super) context: *mut c_void,
}

pub(super) struct IdentityEntry {
    pub(super) ufunc: CString,
    pub(super) construct: ConstructFn,
    pub(super) context: *mut c_void,
}

/// What a builder collects and a definition is made of.
pub(super) struct Parts<T: 'static> {
    pub(super) name: String,
    /// Where Python finds the type, if not in the module that it is added to.
    pub(super) module: Option<String>,
    pub(super) vtable: ElementVTable,
    pub(super) shared: Arc<Shared<T>>,
    pub(super) loops: Vec<Entry>,
    pub(super) casts: Vec<CastEntry>,
    pub(super) identities: Vec<IdentityEntry>,
    pub(super) owners: Vec<Owner>,
    pub(super) scalar_class: *mut PyObject,
    pub(super) documentation: Option<CString>,
    /// The first thing the author got wrong, reported when the type is added.
    pub(super) error: Option<Error>,
}

impl<T: 'static> Parts<T> {
    pub(super) fn new(name: &str, flags: abi::ElementFlags) -> Self {
        Parts {
            name: name.to_owned(),
            module: None,
            vtable: empty_vtable(flags),
            shared: Arc::new(Shared::new()),
            loops: Vec::new(),
            casts: Vec::new(),
            identities: Vec::new(),
            owners: Vec::new(),
            scalar_class: std::ptr::null_mut(),
            documentation: None,
            error: None,
        }
    }

    /// Notes the first mistake.
    pub(super) fn mistake(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    pub(super) fn c_string(&mut self, text: &str) -> CString {
        CString::new(text).unwrap_or_else(|_| {
            self.mistake(Error::value(format!("{text:?} contains a NUL character")));
            CString::default()
        })
    }
}

/// A vtable of no operations.
const fn empty_vtable(flags: abi::ElementFlags) -> ElementVTable {
    ElementVTable {
        struct_size: size_of::<ElementVTable>(),
        abi_version: abi::ABI_VERSION,
        flags: flags | abi::ELEMENT_TRIVIALLY_RELOCATABLE,
        name: std::ptr::null(),
        language_name: std::ptr::null(),
        size: 0,
        align: 0,
        storage: abi::STORAGE_TAGGED,
        zero_bytes: abi::ZERO_VACANT,
        vacancy_offset: 0,
        vacancy_size: 0,
        context: std::ptr::null_mut(),
        construct: None,
        copy_construct: None,
        assign: None,
        relocate: None,
        destroy: None,
        compare: None,
        sort: None,
        argsort: None,
        nonzero: None,
        hash: None,
        heap_bytes: None,
        to_text: None,
        from_text: None,
        save: None,
        load: None,
        to_python: None,
        from_python: None,
        traverse: None,
        object_size: 0,
        object_align: 0,
    }
}
