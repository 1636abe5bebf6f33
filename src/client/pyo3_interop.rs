//! Conveniences for clients that use the pyo3 version of this crate.

use super::builder::ElementBuilder;
use super::error::{Failure, Raised};
use super::handle::ElementHandle;
use super::storage::StorageChoice;
use pyo3::prelude::*;

impl Raised {
    /// Takes the exception that is set.
    pub fn into_py_err(self, py: Python<'_>) -> PyErr {
        PyErr::fetch(py)
    }
}

impl<T: 'static, S: StorageChoice<T>> ElementBuilder<T, S> {
    /// Registers the type with the runtime, and adds its scalar class as `Name` and its DType
    /// class as `NameDType` to `module`.
    ///
    /// # Errors
    /// Those of the import of denizen and of the registration.
    pub fn add_to(self, module: &Bound<'_, PyModule>) -> PyResult<ElementHandle<T>> {
        // SAFETY: a bound module is alive and proves that the GIL is held.
        unsafe { self.add_to_raw(module.as_ptr().cast()) }
            .map_err(|raised| raised.into_py_err(module.py()))
    }

    /// Python objects both ways.
    pub fn python_with(
        self,
        to_python: impl for<'py> Fn(Python<'py>, &T) -> PyResult<Bound<'py, PyAny>>
        + Send
        + Sync
        + 'static,
        from_python: impl Fn(&Bound<'_, PyAny>) -> PyResult<T> + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        // SAFETY: the hooks run with the GIL held; a `Bound` turned into a pointer is a new
        // reference, and `restore` sets the exception before the failure is returned.
        unsafe {
            self.python(
                move |value| {
                    let py = Python::assume_attached();
                    to_python(py, value).map(|object| object.into_ptr().cast()).map_err(|error| {
                        error.restore(py);
                        Failure::Raised
                    })
                },
                move |object| {
                    let py = Python::assume_attached();
                    // The object is borrowed and outlives the call.
                    let object = Bound::from_borrowed_ptr(py, object.cast());
                    from_python(&object).map_err(|error| {
                        error.restore(py);
                        Failure::Raised
                    })
                },
            )
        }
    }
}

impl<T: 'static> ElementHandle<T> {
    /// The dtype.
    ///
    /// # Errors
    /// Those of the runtime.
    pub fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the GIL is held; the pointer is a new reference.
        unsafe {
            let dtype = self.dtype_raw().map_err(|raised| raised.into_py_err(py))?;
            Ok(Bound::from_owned_ptr(py, dtype.cast()))
        }
    }
}
