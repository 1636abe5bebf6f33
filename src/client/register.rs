//! How a type that is described comes to be registered, or is found registered.

use super::builder::ElementBuilder;
use super::definition::Definition;
use super::error::{Error, Raised};
use super::handle::ElementHandle;
use super::runtime::{module_name, raise_error, runtime};
use super::storage::StorageChoice;
use crate::abi::{self, Api, ElementVTable, PyObject};
use std::ffi::CString;

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
