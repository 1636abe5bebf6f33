//! Conveniences for clients that use the pyo3 version of this crate.

use super::builder::ElementBuilder;
use super::error::{Failure, Raised};
use super::handle::ElementHandle;
use super::storage::StorageChoice;
use super::view::{ReadView, WriteView};
use crate::abi::PyObject;
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
        // SAFETY: the hooks run with the GIL held, so that attaching only counts; a `Bound` turned
        // into a pointer is a new reference, and `restore` sets the exception before the failure is
        // returned.
        unsafe {
            self.python(
                move |value| {
                    Python::attach_unchecked(|py| match to_python(py, value) {
                        Ok(object) => Ok(object.into_ptr().cast()),
                        Err(error) => {
                            error.restore(py);
                            Err(Failure::Raised)
                        }
                    })
                },
                reading(from_python),
            )
        }
    }

    /// Values of Python objects, beside the type's own scalars.
    pub fn from_python_with(
        self,
        from_python: impl Fn(&Bound<'_, PyAny>) -> PyResult<T> + Send + Sync + 'static,
    ) -> ElementBuilder<T, S::Decided> {
        self.from_python(reading(from_python))
    }
}

/// A hook on pointers from one on bound objects.
fn reading<T>(
    from_python: impl Fn(&Bound<'_, PyAny>) -> PyResult<T> + Send + Sync + 'static,
) -> impl Fn(*mut PyObject) -> Result<T, Failure> + Send + Sync + 'static {
    move |object| {
        // SAFETY: the hook runs with the GIL held, so that attaching only counts; the object is
        // borrowed and outlives the call.
        unsafe {
            Python::attach_unchecked(|py| {
                let object = Bound::from_borrowed_ptr(py, object.cast());
                from_python(&object).map_err(|error| {
                    error.restore(py);
                    Failure::Raised
                })
            })
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
        unsafe { owned(py, self.dtype_raw()) }
    }

    /// Makes an array out of a `Vec` without a copy; see [`ElementHandle::adopt_raw`].
    ///
    /// # Errors
    /// T is not stored inline, or the elements do not fit the shape.
    pub fn adopt<'py>(
        &self,
        py: Python<'py>,
        elements: Vec<T>,
        shape: &[usize],
    ) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the GIL is held.
        unsafe { owned(py, self.adopt_raw(elements, shape)) }
    }

    /// Moves elements into a new array; see [`ElementHandle::take_raw`].
    ///
    /// # Errors
    /// The elements do not fit the shape, or there is no memory.
    pub fn take<'py>(
        &self,
        py: Python<'py>,
        elements: Vec<T>,
        shape: &[usize],
    ) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the GIL is held.
        unsafe { owned(py, self.take_raw(elements, shape)) }
    }

    /// Lends the elements of an array to read; see [`ReadView`].
    ///
    /// # Errors
    /// Not an array of this type, or other code writes to it.
    pub fn read<'py>(&self, array: &Bound<'py, PyAny>) -> PyResult<ReadView<'py, T>> {
        // SAFETY: the GIL is held throughout `'py`, and the view cannot leave this thread.
        unsafe { self.read_raw(array.as_ptr().cast()) }
            .map_err(|raised| raised.into_py_err(array.py()))
    }

    /// Lends the elements of an array to write; see [`WriteView`].
    ///
    /// # Errors
    /// Not a writeable array of this type, its cells overlap, or other code uses it.
    pub fn write<'py>(&self, array: &Bound<'py, PyAny>) -> PyResult<WriteView<'py, T>> {
        // SAFETY: the GIL is held throughout `'py`, and the view cannot leave this thread.
        unsafe { self.write_raw(array.as_ptr().cast()) }
            .map_err(|raised| raised.into_py_err(array.py()))
    }
}

/// A new reference, or the exception that is set.
///
/// # Safety
/// The pointer is a new reference.
unsafe fn owned(
    py: Python<'_>,
    array: Result<*mut PyObject, Raised>,
) -> PyResult<Bound<'_, PyAny>> {
    let array = array.map_err(|raised| raised.into_py_err(py))?;
    // SAFETY: the caller's promise.
    Ok(unsafe { Bound::from_owned_ptr(py, array.cast()) })
}

/// The handle of a registered T.
fn handle<T: 'static>(py: Python<'_>) -> PyResult<ElementHandle<T>> {
    // SAFETY: the GIL is held.
    unsafe { ElementHandle::of_raised() }.map_err(|raised| raised.into_py_err(py))
}

/// Makes an array of `shape` out of a `Vec` of a registered type, without a copy: its memory is
/// freed when the last view of the array is gone. For types stored inline.
///
/// # Errors
/// T is not registered or not stored inline, or the elements do not fit the shape.
pub fn adopt<'py, T: 'static>(
    py: Python<'py>,
    elements: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    handle(py)?.adopt(py, elements, shape)
}

/// Moves the elements of a `Vec` of a registered type into a new array of `shape`.
///
/// # Errors
/// T is not registered, or the elements do not fit the shape.
pub fn take<'py, T: 'static>(
    py: Python<'py>,
    elements: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    handle(py)?.take(py, elements, shape)
}

/// Moves values of a registered type into a new array of one dimension.
///
/// # Errors
/// T is not registered, or there is no memory.
pub fn from_iter<'py, T: 'static>(
    py: Python<'py>,
    elements: impl IntoIterator<Item = T>,
) -> PyResult<Bound<'py, PyAny>> {
    let elements: Vec<T> = elements.into_iter().collect();
    let length = elements.len();
    take(py, elements, &[length])
}

/// Lends the elements of an array of a registered type to read.
///
/// # Errors
/// T is not registered, `array` is not an array of it, or other code writes to it.
pub fn read<'py, T: 'static>(array: &Bound<'py, PyAny>) -> PyResult<ReadView<'py, T>> {
    handle(array.py())?.read(array)
}

/// Lends the elements of an array of a registered type to write.
///
/// # Errors
/// T is not registered, `array` is not a writeable array of it, its cells overlap, or other code
/// uses it.
pub fn write<'py, T: 'static>(array: &Bound<'py, PyAny>) -> PyResult<WriteView<'py, T>> {
    handle(array.py())?.write(array)
}
