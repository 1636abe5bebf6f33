//! Checks, at import, that the running NumPy lays out its objects as [`super::structs`] says.
//!
//! A release may change private parts (`mem_handler`, the metaclass) without changing its ABI
//! version. A difference is an `ImportError` here instead of a crash later.

use std::ffi::{CStr, c_int};
use std::fmt::Debug;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

use super::api::{NumpyApi, chained};
use super::array::{Array, Descr, handler_in};
use super::structs::*;
use super::version::NumpyVersion;

/// Compares sizes, then what our offsets read from a fresh array and its dtype with what Python
/// says about them.
pub(super) fn layouts(py: Python<'_>, api: &NumpyApi, numpy: &Bound<'_, PyModule>) -> PyResult<()> {
    let version = api.version();
    sizes(api).map_err(|difference| unknown_layout(version, &difference))?;
    match fields(py, api, numpy) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(difference)) => Err(unknown_layout(version, &difference)),
        Err(cause) => {
            let message = format!("denizen could not check the layouts of NumPy {version}");
            Err(chained(py, message, cause))
        }
    }
}

fn unknown_layout(version: NumpyVersion, difference: &str) -> PyErr {
    PyImportError::new_err(format!(
        "NumPy {version} lays out its objects in a way that this denizen does not know: \
         {difference}. Install a newer denizen, or a NumPy release that it supports."
    ))
}

/// `Err` with a description where two values differ.
fn same<T: PartialEq + Debug>(what: &str, ours: T, numpys: T) -> Result<(), String> {
    if ours == numpys {
        return Ok(());
    }
    Err(format!("{what} is {numpys:?}, but denizen has {ours:?}"))
}

/// An array may grow at its end; dtype instances and classes are allocated by us as well, so
/// their sizes must be equal.
fn sizes(api: &NumpyApi) -> Result<(), String> {
    // SAFETY: the three are types of the running NumPy (invariant of `NumpyApi`), and a type
    // object's layout is CPython's.
    let (array, descr, meta) = unsafe {
        (
            (*api.array_type()).tp_basicsize,
            (*api.descr_type()).tp_basicsize,
            (*api.dtype_meta_type()).tp_basicsize,
        )
    };
    let size = |bytes: usize| isize::try_from(bytes).unwrap_or(isize::MAX);
    if array < size(size_of::<PyArrayObject>()) {
        same("sizeof(ndarray)", size(size_of::<PyArrayObject>()), array)?;
    }
    same("sizeof(dtype)", size(size_of::<PyArray_Descr>()), descr)?;
    same("sizeof(type(dtype))", size(size_of::<PyArray_DTypeMeta>()), meta)
}

fn fields(
    py: Python<'_>,
    api: &NumpyApi,
    numpy: &Bound<'_, PyModule>,
) -> PyResult<Result<(), String>> {
    let owner = numpy.call_method1("zeros", ((2, 3),))?;
    let view = owner.getattr("T")?;
    let dtype = owner.getattr("dtype")?;
    let multiarray = py.import("numpy._core.multiarray")?;
    let name = multiarray.call_method1("get_handler_name", (&owner,))?.extract::<String>()?;
    let handler_version = multiarray.call_method1("get_handler_version", (&owner,))?;
    let expected = Expected {
        array: owner.as_ptr() as usize,
        data: owner.getattr("__array_interface__")?.get_item("data")?.get_item(0)?.extract()?,
        flags: view.getattr("flags")?.getattr("num")?.extract()?,
        descr: dtype.as_ptr() as usize,
        handler_name: name,
        handler_version: handler_version.extract()?,
        elsize: dtype.getattr("itemsize")?.extract()?,
        alignment: dtype.getattr("alignment")?.extract()?,
        descr_flags: dtype.getattr("flags")?.extract()?,
        type_num: dtype.getattr("num")?.extract()?,
        scalar_type: dtype.getattr("type")?.as_ptr() as usize,
    };
    Ok(expected.compare(api, &owner, &view, &dtype))
}

/// What Python says about a fresh 2x3 array of `float64`, and about its transpose.
struct Expected {
    array: usize,
    data: usize,
    flags: c_int,
    descr: usize,
    handler_name: String,
    handler_version: u8,
    elsize: usize,
    alignment: usize,
    descr_flags: u64,
    type_num: c_int,
    scalar_type: usize,
}

impl Expected {
    fn compare(
        &self,
        api: &NumpyApi,
        owner: &Bound<'_, PyAny>,
        view: &Bound<'_, PyAny>,
        dtype: &Bound<'_, PyAny>,
    ) -> Result<(), String> {
        let (Some(owner), Some(view), Some(descr)) =
            (Array::of(api, owner), Array::of(api, view), Descr::of(api, dtype))
        else {
            return Err("np.zeros gives no array of the type in the C API's table".into());
        };
        same("data", owner.data() as usize, self.data)?;
        same("base", owner.base() as usize, 0)?;
        same("base of a view", view.base() as usize, self.array)?;
        same("ndim", view.ndim(), 2)?;
        same("shape", view.shape(), vec![3, 2])?;
        same("strides", view.strides(), vec![8, 24])?;
        same("flags", view.flags(), self.flags)?;
        same("descr", view.descr() as usize, self.descr)?;

        same("mem_handler of a view", view.mem_handler() as usize, 0)?;
        let handler = owner.handler().ok_or("mem_handler of a fresh array is no handler")?;
        same("handler version", handler.version, self.handler_version)?;
        // SAFETY: NumPy has just made a string of this name, so it ends in a NUL.
        let name = unsafe { CStr::from_ptr(handler.name.as_ptr()) };
        same("handler name", name.to_string_lossy().as_ref(), self.handler_name.as_str())?;

        same("dtype.itemsize", descr.elsize(), self.elsize)?;
        same("dtype.alignment", descr.alignment(), self.alignment)?;
        same("dtype.flags", descr.flags(), self.descr_flags)?;
        same("dtype.num", descr.type_num(), self.type_num)?;
        same("dtype.type", descr.scalar_type() as usize, self.scalar_type)?;

        same("type(dtype)", descr.dtype(), api.double_dtype())?;
        // SAFETY: an instance's type is a DType class, whose size was checked before.
        let class = unsafe { &*descr.dtype() };
        same("type(dtype).singleton", class.singleton as usize, self.descr)?;
        same("type(dtype).type_num", class.type_num, self.type_num)?;
        same("type(dtype).scalar_type", class.scalar_type as usize, self.scalar_type)?;

        // SAFETY: the table's variable holds a valid object, and the thread is attached.
        let default = unsafe { handler_in(api.default_handler()) };
        same("PyDataMem_DefaultHandler's validity", default.is_some(), true)
    }
}
