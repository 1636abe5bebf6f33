//! Registration of the bundled types with the runtime, as any client's.

use super::call::loop_fn;
use super::integer::{self, IntegerHelpers};
use super::mixed;
use super::rational::{self, RationalHelpers};
use crate::abi::{Api, ERROR_RUNTIME, ErrorOut, PyObject};
use crate::client::{Casting, Definition, ElementBuilder, InlineDefault, OperandType, Raised};

/// The module in the types' names.
const MODULE: &str = "denizen";

/// Registers `Integer` and `Rational` as `denizen.Integer` and `denizen.Rational`, and adds
/// their scalar classes and DType classes to `module`.
///
/// # Safety
/// The GIL is held, `module` is a live module, `api` works.
///
/// # Errors
/// With a Python exception set.
pub unsafe fn register(api: &'static Api, module: *mut PyObject) -> Result<(), Raised> {
    // SAFETY: the caller's promise.
    let (integers, rationals) = unsafe { (IntegerHelpers::import()?, RationalHelpers::import()?) };

    // SAFETY: the conversions give new references, and `Raised` only where an exception is set;
    // they run with the GIL held. The class is alive.
    let builder = unsafe {
        integer::describe()
            .python(move |v| integers.make_scalar(v), move |o| integers.read(o))
            .scalar_class(integers.class.as_ptr())
    };
    // SAFETY: the caller's promise.
    let integer = unsafe { define(builder, api)?.register(api, module)? };

    let (own, integer) = (OperandType::OWN, OperandType::element(&integer));
    // SAFETY: as for Integer; the mixed loops are for the operands named here.
    let builder = unsafe {
        let context = std::ptr::null_mut();
        rational::describe()
            .python(move |v| rationals.make_scalar(v), move |o| rationals.read(o))
            .scalar_class(rationals.class.as_ptr())
            .raw_cast(integer, own, Casting::Safe, loop_fn!(mixed::to_rational), context)
            .raw_cast(own, integer, Casting::Unsafe, loop_fn!(mixed::to_integer), context)
            .raw_loop("divide", &[integer, integer], &[own], loop_fn!(mixed::divide), context)
            .raw_loop("reciprocal", &[integer], &[own], loop_fn!(mixed::reciprocal), context)
            .raw_loop("power", &[own, integer], &[own], loop_fn!(mixed::power), context)
    };
    // SAFETY: the caller's promise.
    unsafe { define(builder, api)?.register(api, module)? };
    Ok(())
}

/// Ends a description.
///
/// # Safety
/// The GIL is held.
unsafe fn define<T>(
    builder: ElementBuilder<T, InlineDefault>,
    api: &'static Api,
) -> Result<Definition<T>, Raised> {
    builder.define(MODULE).map_err(|error| {
        let mut error_out = ErrorOut::new();
        error_out.fail(ERROR_RUNTIME, error.message());
        // SAFETY: the GIL is held, the `ErrorOut` is filled.
        unsafe { (api.raise)(&raw const error_out) };
        Raised
    })
}
