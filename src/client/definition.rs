//! A finished description: the C structs that the runtime reads, and what they point to.

use super::error::Error;
use super::loops::Owner;
use super::parts::Parts;
use super::shared::Shared;
use super::storage::CellLayout;
use crate::abi::{self, Cast, ElementSpec, ElementVTable, Identity, Loop, Operand, PyObject};
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

/// Addresses of the definitions that were registered. They are never read again; what a static
/// refers to is no leak.
static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// An element type as it is registered, made by [`ElementBuilder::define`](super::ElementBuilder::define).
///
/// The functions of the vtable, the loops, casts and identities may be called as long as the
/// definition lives.
pub struct Definition<T: 'static> {
    vtable: Box<ElementVTable>,
    loops: Vec<Loop>,
    casts: Vec<Cast>,
    identities: Vec<Identity>,
    scalar_class: *mut PyObject,
    documentation: Option<CString>,
    shared: Arc<Shared<T>>,
    #[expect(dead_code, reason = "the structs above point into these")]
    pointed_into: (Vec<CString>, Vec<Vec<Operand>>, Vec<Owner>),
}

/// Whether a name can be written as one in Python, keywords aside.
fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|character| character.is_alphanumeric() || character == '_')
}

impl<T: 'static> Definition<T> {
    pub(super) fn new(mut parts: Parts<T>, module: &str) -> Result<Self, Error> {
        let module = parts.module.as_deref().unwrap_or(module);
        let full_name = format!("{module}.{}", parts.name);
        let name = parts.c_string(&full_name);
        let language_name = parts.c_string(std::any::type_name::<T>());
        if let Some(error) = parts.error {
            return Err(Error::new(error.kind(), format!("{full_name}: {error}")));
        }
        if !is_identifier(&parts.name) {
            return Err(Error::value(format!(
                "{full_name}: the name of an element type must be an identifier, as it becomes \
                 the name of a Python class; {:?} is none",
                parts.name
            )));
        }
        let _ = parts.shared.name.set(full_name);
        #[cfg(feature = "pyo3")]
        let _ = parts.shared.holds_gil.set(parts.vtable.flags & abi::ELEMENT_THREAD_SAFE == 0);

        let mut vtable = Box::new(parts.vtable);
        vtable.name = name.as_ptr();
        vtable.language_name = language_name.as_ptr();
        vtable.context = Arc::as_ptr(&parts.shared).cast_mut().cast();

        let (mut strings, mut operands) = (vec![name, language_name], Vec::new());
        let mut loops = Vec::with_capacity(parts.loops.len());
        for entry in parts.loops {
            loops.push(Loop {
                struct_size: size_of::<Loop>(),
                ufunc: entry.ufunc.as_ptr(),
                operands: entry.operands.as_ptr(),
                input_count: entry.input_count as u32,
                output_count: (entry.operands.len() - entry.input_count) as u32,
                function: entry.function,
                context: entry.context,
                flags: 0,
            });
            strings.push(entry.ufunc);
            operands.push(entry.operands);
        }
        let casts = parts
            .casts
            .iter()
            .map(|entry| Cast {
                struct_size: size_of::<Cast>(),
                from: entry.from.operand(),
                to: entry.to.operand(),
                level: entry.level,
                flags: 0,
                function: entry.function,
                context: entry.context,
            })
            .collect();
        let mut identities = Vec::with_capacity(parts.identities.len());
        for entry in parts.identities {
            identities.push(Identity {
                struct_size: size_of::<Identity>(),
                ufunc: entry.ufunc.as_ptr(),
                construct: entry.construct,
                context: entry.context,
            });
            strings.push(entry.ufunc);
        }
        Ok(Definition {
            vtable,
            loops,
            casts,
            identities,
            scalar_class: parts.scalar_class,
            documentation: parts.documentation,
            shared: parts.shared,
            pointed_into: (strings, operands, parts.owners),
        })
    }

    /// The type's full name, `module.Name`.
    pub fn name(&self) -> &str {
        self.shared.name()
    }

    /// The operations.
    pub fn vtable(&self) -> &ElementVTable {
        &self.vtable
    }

    /// The loops.
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// The casts.
    pub fn casts(&self) -> &[Cast] {
        &self.casts
    }

    /// The identities.
    pub fn identities(&self) -> &[Identity] {
        &self.identities
    }

    /// What the runtime registers; it points into `self`.
    pub fn spec(&self) -> ElementSpec {
        ElementSpec {
            struct_size: size_of::<ElementSpec>(),
            vtable: &raw const *self.vtable,
            loops: self.loops.as_ptr(),
            loop_count: self.loops.len(),
            casts: self.casts.as_ptr(),
            cast_count: self.casts.len(),
            identities: self.identities.as_ptr(),
            identity_count: self.identities.len(),
            scalar_class: self.scalar_class,
            documentation: self.documentation.as_ref().map_or(std::ptr::null(), |d| d.as_ptr()),
        }
    }

    pub(crate) fn cell(&self) -> CellLayout<T> {
        CellLayout::new(self.vtable.storage, self.vtable.zero_bytes, self.vtable.size)
    }

    /// Keeps everything for good: a registered type never goes away.
    pub fn leak(self) -> &'static abi::ElementVTable {
        let kept: &'static Definition<T> = Box::leak(Box::new(self));
        // The one pointer to the whole: from here a leak checker finds all of it.
        let address = std::ptr::from_ref(kept).expose_provenance();
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(address);
        &kept.vtable
    }
}
