//! Registered types: the handle of one, and which T is registered as what.

use super::error::{Error, Raised};
use super::runtime::{raise_error, runtime};
use super::storage::CellLayout;
use crate::abi::{self, Api, Element, PyObject, Stats};
use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

/// A registered element type whose values are `T`.
pub struct ElementHandle<T: 'static> {
    pub(super) api: &'static Api,
    pub(super) element: *const Element,
    pub(super) cell: CellLayout<T>,
}

impl<T> Clone for ElementHandle<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for ElementHandle<T> {}

// SAFETY: the handle is an address and constants; every use of it asks for the GIL.
unsafe impl<T> Send for ElementHandle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for ElementHandle<T> {}

/// [`ElementHandle`] without its T.
#[derive(Clone, Copy)]
struct Registered {
    api: &'static Api,
    element: *const Element,
    storage: abi::Storage,
    zero: abi::ZeroBytes,
    size: usize,
}
// SAFETY: an address and constants.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

/// The types that this client registered or imported, each under its first name.
static REGISTERED: RwLock<Option<HashMap<TypeId, Registered>>> = RwLock::new(None);

impl<T: 'static> ElementHandle<T> {
    /// Makes the type known to the functions that name only T.
    pub(super) fn remember(self) -> Self {
        let entry = Registered {
            api: self.api,
            element: self.element,
            storage: self.cell.storage,
            zero: self.cell.zero,
            size: self.cell.size,
        };
        let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
        registered.get_or_insert_default().entry(TypeId::of::<T>()).or_insert(entry);
        self
    }

    /// The handle of a type that this client registered or imported.
    ///
    /// # Errors
    /// [`super::ErrorKind::Type`] where it did not.
    pub fn of() -> Result<Self, Error> {
        let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
        registered
            .as_ref()
            .and_then(|map| map.get(&TypeId::of::<T>()))
            .map(|entry| ElementHandle {
                api: entry.api,
                element: entry.element,
                cell: CellLayout::new(entry.storage, entry.zero, entry.size),
            })
            .ok_or_else(|| {
                Error::type_error(format!(
                    "{} is not a registered element type: build one with denizen::element",
                    std::any::type_name::<T>()
                ))
            })
    }

    /// [`ElementHandle::of`] with the error as a Python exception.
    ///
    /// # Safety
    /// The GIL is held.
    pub(super) unsafe fn of_raised() -> Result<Self, Raised> {
        // SAFETY: the GIL is held.
        Self::of().map_err(|error| unsafe { raise_error(runtime().ok(), error) })
    }

    /// The type as the runtime knows it.
    pub fn as_ptr(&self) -> *const Element {
        self.element
    }

    /// The function table of the runtime that the type is registered with.
    pub fn api(&self) -> &'static Api {
        self.api
    }

    /// The dtype: a new reference.
    ///
    /// # Safety
    /// The GIL is held.
    ///
    /// # Errors
    /// With a Python exception set.
    pub unsafe fn dtype_raw(&self) -> Result<*mut PyObject, Raised> {
        // SAFETY: the GIL is held; the element stays registered.
        let dtype = unsafe { (self.api.dtype)(self.element) };
        if dtype.is_null() { Err(Raised) } else { Ok(dtype) }
    }

    /// The counters of the type's objects.
    ///
    /// # Safety
    /// The GIL is held.
    ///
    /// # Errors
    /// With a Python exception set.
    pub unsafe fn stats_raw(&self) -> Result<Stats, Raised> {
        let mut stats = Stats { struct_size: size_of::<Stats>(), ..Stats::default() };
        // SAFETY: the GIL is held; the element stays registered.
        if unsafe { (self.api.stats)(self.element, &raw mut stats) } == abi::OK {
            Ok(stats)
        } else {
            Err(Raised)
        }
    }
}
