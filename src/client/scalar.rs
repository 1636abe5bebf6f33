//! NumPy's built-in number types, as operands of loops and casts.

use super::floats::{Half, LongDouble};
use super::handle::ElementHandle;
use crate::abi::{Element, OPERAND_ELEMENT, OPERAND_NUMPY, OPERAND_SELF, Operand};

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that is one of NumPy's built-in types. Sealed.
pub trait NumpyScalar: Copy + sealed::Sealed + Send + Sync + 'static {
    /// NumPy's type number.
    const TYPE_NUMBER: i32;

    /// Reads a value.
    ///
    /// # Safety
    /// `pointer` is readable; it may be unaligned.
    #[doc(hidden)]
    unsafe fn load(pointer: *const u8) -> Self;

    /// Writes a value.
    ///
    /// # Safety
    /// `pointer` is writable; it may be unaligned.
    #[doc(hidden)]
    unsafe fn store(self, pointer: *mut u8);
}

macro_rules! scalars {
    ($($type:ty = $number:literal,)*) => {
        $(
            impl sealed::Sealed for $type {}
            impl NumpyScalar for $type {
                const TYPE_NUMBER: i32 = $number;

                #[inline(always)]
                unsafe fn load(pointer: *const u8) -> Self {
                    // SAFETY: the caller's promise; every bit pattern is a value.
                    unsafe { pointer.cast::<Self>().read_unaligned() }
                }

                #[inline(always)]
                unsafe fn store(self, pointer: *mut u8) {
                    // SAFETY: the caller's promise.
                    unsafe { pointer.cast::<Self>().write_unaligned(self) }
                }
            }
        )*
    };
}

// The numbers are those of NPY_TYPES on LP64: 64-bit integers are NPY_LONG and NPY_ULONG.
scalars! {
    i8 = 1,
    u8 = 2,
    i16 = 3,
    u16 = 4,
    i32 = 5,
    u32 = 6,
    i64 = 7,
    u64 = 8,
    f32 = 11,
    f64 = 12,
    LongDouble = 13,
    [f32; 2] = 14,
    [f64; 2] = 15,
    Half = 23,
}

impl sealed::Sealed for bool {}
impl NumpyScalar for bool {
    const TYPE_NUMBER: i32 = 0;

    #[inline(always)]
    unsafe fn load(pointer: *const u8) -> Self {
        // SAFETY: the caller's promise. Any byte may be there.
        unsafe { pointer.read() != 0 }
    }

    #[inline(always)]
    unsafe fn store(self, pointer: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { pointer.write(u8::from(self)) }
    }
}

/// The type of one operand of a raw loop.
#[derive(Clone, Copy, Debug)]
pub struct OperandType(pub(super) OperandKind);

#[derive(Clone, Copy, Debug)]
pub(super) enum OperandKind {
    Own,
    Numpy(i32),
    Element(*const Element),
}

impl OperandType {
    /// The element type that is being built.
    pub const OWN: OperandType = OperandType(OperandKind::Own);

    /// A built-in type of NumPy's.
    pub const fn numpy<U: NumpyScalar>() -> Self {
        OperandType(OperandKind::Numpy(U::TYPE_NUMBER))
    }

    /// Another element type.
    pub fn element<U>(handle: &ElementHandle<U>) -> Self {
        OperandType(OperandKind::Element(handle.as_ptr()))
    }

    pub(super) const fn operand(self) -> Operand {
        let (kind, numpy_type, element) = match self.0 {
            OperandKind::Own => (OPERAND_SELF, 0, std::ptr::null()),
            OperandKind::Numpy(number) => (OPERAND_NUMPY, number, std::ptr::null()),
            OperandKind::Element(element) => (OPERAND_ELEMENT, 0, element),
        };
        Operand { kind, numpy_type, element }
    }
}
