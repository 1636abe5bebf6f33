//! Registered types: the handle of one, and which T is registered as what.

use super::builder::ElementBuilder;
use super::definition::Definition;
use super::error::{Error, Raised};
use super::runtime::{module_name, raise_error, runtime};
use super::storage::{CellLayout, StorageChoice};
use crate::abi::{self, Api, Element, ElementVTable, PyObject, Stats};
use std::any::TypeId;
use std::collections::HashMap;
use std::ffi::CString;
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

impl<T: 'static, S: StorageChoice<T>> ElementBuilder<T, S> {
    /// Registers the type with the runtime, and adds its scalar class as `Name` and its DType
    /// class as `NameDType` to `module`.
    ///
    /// # Safety
    /// The GIL is held and `module` is a live module.
    ///
    /// # Errors
    /// With a Python exception set.
    pub unsafe fn add_to_raw(self, module: *mut PyObject) -> Result<ElementHandle<T>, Raised> {
        // SAFETY: the caller's promise; `runtime` checked its table.
        unsafe { self.add_with(runtime()?, module) }
    }

    /// [`add_to_raw`](Self::add_to_raw) with a function table that is at hand.
    ///
    /// # Safety
    /// The GIL is held, `module` is a live module, and `api` works.
    ///
    /// # Errors
    /// With a Python exception set.
    pub unsafe fn add_with(
        self,
        api: &'static Api,
        module: *mut PyObject,
    ) -> Result<ElementHandle<T>, Raised> {
        // SAFETY: the caller's promise.
        let name = unsafe { module_name(module) }?;
        match self.define(&name) {
            // SAFETY: the caller's promise.
            Ok(definition) => unsafe { definition.register(api, module) },
            // SAFETY: the GIL is held.
            Err(error) => Err(unsafe { raise_error(Some(api), error) }),
        }
    }
}

impl<T: 'static> Definition<T> {
    /// Registers a definition that [`ElementBuilder::define`] made.
    ///
    /// # Safety
    /// The GIL is held, `module` is a live module, and `api` works.
    ///
    /// # Errors
    /// With a Python exception set.
    pub unsafe fn register(
        self,
        api: &'static Api,
        module: *mut PyObject,
    ) -> Result<ElementHandle<T>, Raised> {
        let spec = self.spec();
        let mut element = std::ptr::null();
        // SAFETY: the caller's promise; the spec points into `self`.
        if unsafe { (api.register_element)(&raw const spec, module, &raw mut element) } != abi::OK {
            // NumPy knows the type, though the registration failed: its functions stay.
            if !element.is_null() {
                self.leak();
            }
            return Err(Raised);
        }
        let cell = self.cell();
        self.leak();
        Ok(ElementHandle { api, element, cell }.remember())
    }
}

impl<T: 'static> ElementHandle<T> {
    /// Makes the type known to the functions that name only T.
    fn remember(self) -> Self {
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

    /// Shares a type that another module registered as `name` (`module.Name`), after comparing
    /// size and alignment of T and of its cell, the storage, what zero bytes mean, and the name of T.
    ///
    /// # Safety
    /// The GIL is held. The other module registered exactly this `T`, from the same version of
    /// its crate and built by the same compiler, with the storage of `builder`, which is only
    /// looked at.
    ///
    /// # Errors
    /// With a Python exception set.
    pub unsafe fn import_raw<S: StorageChoice<T>>(
        name: &str,
        builder: ElementBuilder<T, S>,
    ) -> Result<Self, Raised> {
        // SAFETY: the GIL is held.
        let api = unsafe { runtime() }?;
        let found = builder.define("").and_then(|definition| {
            let name = CString::new(name).map_err(|_| Error::value("a name with a NUL"))?;
            Ok((definition, name))
        });
        match found {
            Ok((definition, name)) => {
                let expected = ElementVTable { name: name.as_ptr(), ..*definition.vtable() };
                // SAFETY: the GIL is held; the strings are NUL-terminated.
                let element = unsafe { (api.import_element)(&raw const expected) };
                if element.is_null() {
                    return Err(Raised);
                }
                Ok(ElementHandle { api, element, cell: definition.cell() }.remember())
            }
            // SAFETY: the GIL is held.
            Err(error) => Err(unsafe { raise_error(Some(api), error) }),
        }
    }
}
