//! Rationals as Python's `Fraction`, both ways, by their numerators and denominators.

use super::Rational;
use crate::abi::PyObject;
use crate::client::{Failure, Raised};
use crate::elements::integer::IntegerHelpers;
use crate::elements::python::{self, Immortal, Seen, attribute, immortal, look};

/// What the conversions need of `denizen._scalars`.
#[derive(Clone, Copy)]
pub struct RationalHelpers {
    integer: IntegerHelpers,
    /// The scalar class.
    pub class: Immortal,
    /// A scalar from a reduced numerator and denominator.
    from_parts: Immortal,
    /// Any exact number or text to something with `numerator` and `denominator`; raises for
    /// others.
    as_fraction: Immortal,
}

impl RationalHelpers {
    /// Imports them.
    ///
    /// # Safety
    /// The GIL is held.
    pub unsafe fn import() -> Result<Self, Raised> {
        // SAFETY: the caller's promise.
        unsafe {
            let module = python::import(c"denizen._scalars")?;
            let get = |name| immortal(module.as_ptr(), name);
            Ok(RationalHelpers {
                integer: IntegerHelpers::import()?,
                class: get(c"Rational")?,
                from_parts: get(c"rational_from_parts")?,
                as_fraction: get(c"as_fraction")?,
            })
        }
    }

    /// A scalar: a new reference.
    ///
    /// # Safety
    /// The GIL is held.
    pub unsafe fn make_scalar(&self, value: &Rational) -> Result<*mut PyObject, Failure> {
        // SAFETY: the caller's promise.
        unsafe {
            let numerator = self.integer.make_int(&value.numerator())?;
            let denominator = self.integer.make_int(&value.denominator())?;
            let scalar = self.from_parts.call2(numerator.as_ptr(), denominator.as_ptr())?;
            Ok(scalar.into_ptr())
        }
    }

    /// The value of a Python object: any exact number, floats, text.
    ///
    /// # Safety
    /// The GIL is held, the object is alive.
    pub unsafe fn read(&self, object: *mut PyObject) -> Result<Rational, Failure> {
        // SAFETY: the caller's promise.
        unsafe {
            match look(object)? {
                Seen::Small(value) => return Ok(value.into()),
                Seen::Big => return Ok((&self.integer.read(object)?).into()),
                Seen::Float(value) => return Ok(Rational::try_from(value)?),
                Seen::Text(text) if text.is_ascii() => return Ok(text.parse::<Rational>()?),
                // Python reads the digits of all scripts.
                Seen::Text(_) | Seen::Other => {}
            }
            let fraction = self.as_fraction.call(object)?;
            let part = |name| {
                let part = attribute(fraction.as_ptr(), name)?;
                self.integer.read(part.as_ptr())
            };
            Ok(Rational::from_integers(&part(c"numerator")?, &part(c"denominator")?)?)
        }
    }
}
