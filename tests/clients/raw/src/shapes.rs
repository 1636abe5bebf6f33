//! Three types of one name, as three builds of a crate with other features would have them: what
//! stands in an anonymous constant is called the same wherever it stands.

use denizen::abi::PyObject;
use denizen::{ElementHandle, Raised, element};
use pyo3::prelude::*;

trait Shared {
    /// Registers the type as `Shape`.
    ///
    /// # Safety
    /// The GIL is held and the module alive.
    unsafe fn register(module: *mut PyObject) -> Result<(), Raised>;

    /// Shares `denizen_raw.Shape`.
    ///
    /// # Safety
    /// The GIL is held. Nothing is done with the type.
    unsafe fn import() -> Result<(), Raised>;

    /// The name of the type in Rust.
    fn name() -> &'static str;
}

/// One of them: boxed, so that its cell is a pointer, whatever it points to.
macro_rules! shape {
    ($variant:ident, $body:ty $(, $attribute:meta)?) => {
        struct $variant;
        const _: () = {
            #[derive(Clone, Default)]
            $(#[$attribute])?
            struct Shape(#[expect(dead_code, reason = "of its size")] $body);

            impl Shared for $variant {
                unsafe fn register(module: *mut PyObject) -> Result<(), Raised> {
                    let shape = element::<Shape>("Shape").boxed().clone().default();
                    // SAFETY: the caller's promise.
                    unsafe { shape.module(super::NAME).add_to_raw(module).map(|_| ()) }
                }

                unsafe fn import() -> Result<(), Raised> {
                    let shape = element::<Shape>("Shape").boxed().clone().default();
                    // SAFETY: the caller's promise.
                    unsafe {
                        ElementHandle::<Shape>::import_raw("denizen_raw.Shape", shape).map(|_| ())
                    }
                }

                fn name() -> &'static str {
                    std::any::type_name::<Shape>()
                }
            }
        };
    };
}

shape!(Registered, [f64; 4]);
shape!(Same, [f64; 4]);
shape!(Larger, [[f64; 9]; 8]);
shape!(Aligned, [f64; 4], repr(align(32)));

/// Registers `Shape`.
///
/// # Safety
/// The GIL is held and the module alive.
pub unsafe fn register(module: *mut PyObject) -> Result<(), Raised> {
    let name = Registered::name();
    assert!([Same::name(), Larger::name(), Aligned::name()].iter().all(|other| *other == name));
    // SAFETY: the caller's promise.
    unsafe { Registered::register(module) }
}

/// Shares `Shape` as another type of the same name.
#[pyfunction]
pub fn import_shape(py: Python<'_>, variant: &str) -> PyResult<()> {
    // SAFETY: the GIL is held; the handles are dropped.
    let outcome = unsafe {
        match variant {
            "same" => Same::import(),
            "larger" => Larger::import(),
            _ => Aligned::import(),
        }
    };
    super::raised(py, outcome)
}
