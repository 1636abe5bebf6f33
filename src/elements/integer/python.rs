//! Integers as Python's `int`, both ways, without decimal text: small ones through a machine
//! word, big ones through their bytes.

use super::Integer;
use crate::abi::PyObject;
use crate::client::{Failure, Raised};
use crate::elements::python::{
    self, Immortal, Object, Seen, bytes_from_slice, bytes_of, immortal, int_from_i64, look,
};

/// What the conversions need of `denizen._scalars`.
#[derive(Clone, Copy)]
pub struct IntegerHelpers {
    /// The scalar class.
    pub class: Immortal,
    /// `int.__new__`.
    int_new: Immortal,
    /// `bytes -> int`, two's complement, least byte first.
    int_from_bytes: Immortal,
    /// The other way.
    int_to_bytes: Immortal,
    /// Any exact number or text to `int`; raises for others.
    as_int: Immortal,
}

impl IntegerHelpers {
    /// Imports them.
    ///
    /// # Safety
    /// The GIL is held.
    pub unsafe fn import() -> Result<Self, Raised> {
        // SAFETY: the caller's promise.
        unsafe {
            let module = python::import(c"denizen._scalars")?;
            let get = |name| immortal(module.as_ptr(), name);
            Ok(IntegerHelpers {
                class: get(c"Integer")?,
                int_new: get(c"int_new")?,
                int_from_bytes: get(c"int_from_bytes")?,
                int_to_bytes: get(c"int_to_bytes")?,
                as_int: get(c"as_int")?,
            })
        }
    }

    /// A plain `int`.
    ///
    /// # Safety
    /// The GIL is held as long as the result lives.
    pub unsafe fn make_int(&self, value: &Integer) -> Result<Object, Failure> {
        // SAFETY: the caller's promise.
        unsafe {
            if let Ok(value) = i64::try_from(value) {
                return Ok(int_from_i64(value)?);
            }
            let bytes = bytes_from_slice(&value.to_bytes())?;
            Ok(self.int_from_bytes.call(bytes.as_ptr())?)
        }
    }

    /// A scalar: a new reference.
    ///
    /// # Safety
    /// The GIL is held.
    pub unsafe fn make_scalar(&self, value: &Integer) -> Result<*mut PyObject, Failure> {
        // SAFETY: the caller's promise. `int.__new__` makes the subclass without running its
        // own constructor.
        unsafe {
            let plain = self.make_int(value)?;
            Ok(self.int_new.call2(self.class.as_ptr(), plain.as_ptr())?.into_ptr())
        }
    }

    /// The value of an `int` that does not fit a machine word.
    ///
    /// # Safety
    /// The GIL is held, the object is an `int`.
    unsafe fn big(&self, object: *mut PyObject) -> Result<Integer, Failure> {
        // SAFETY: the caller's promise.
        unsafe {
            let bytes = self.int_to_bytes.call(object)?;
            Ok(Integer::from_bytes(bytes_of(&bytes)?))
        }
    }

    /// The value of a Python object: integers, integral floats and fractions, text.
    ///
    /// # Safety
    /// The GIL is held, the object is alive.
    pub unsafe fn read(&self, object: *mut PyObject) -> Result<Integer, Failure> {
        // SAFETY: the caller's promise.
        unsafe {
            match look(object)? {
                Seen::Small(value) => return Ok(value.into()),
                Seen::Big => return self.big(object),
                Seen::Float(value) => return Ok(Integer::try_from(value)?),
                Seen::Text(text) if text.is_ascii() => return Ok(text.parse::<Integer>()?),
                // Python reads the digits of all scripts.
                Seen::Text(_) | Seen::Other => {}
            }
            let plain = self.as_int.call(object)?;
            match look(plain.as_ptr())? {
                Seen::Small(value) => Ok(value.into()),
                _ => self.big(plain.as_ptr()),
            }
        }
    }
}
