//! Bytes of a pickle, read into elements by their codec, against a reading of the format by hand.

use crate::numbers::{Number, Seed, balanced, bytes_of, check_element, failure};
use arbitrary::Arbitrary;
use denizen::abi::{ERROR_VALUE, ErrorOut};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};

/// Bytes for a cell that may hold something already.
#[derive(Arbitrary, Debug)]
pub struct Pickled<'a> {
    /// Which type.
    pub fraction: bool,
    before: Option<Seed>,
    bytes: &'a [u8],
}

/// What the bytes of an integer mean: two's complement, least byte first.
fn integer(bytes: &[u8]) -> BigInt {
    BigInt::from_signed_bytes_le(bytes)
}

/// What the bytes of a fraction mean: the length of the numerator, seven bits a byte, the
/// numerator, the denominator less one.
fn fraction(bytes: &[u8]) -> Option<BigRational> {
    let last = bytes.iter().take(9).position(|byte| byte & 0x80 == 0)?;
    let length = bytes[..=last]
        .iter()
        .rev()
        .fold(0u128, |length, byte| length << 7 | u128::from(byte & 0x7f));
    let rest = &bytes[last + 1..];
    let length = usize::try_from(length).ok().filter(|length| *length <= rest.len())?;
    let denominator: BigInt = integer(&rest[length..]) + 1;
    denominator.is_positive().then(|| BigRational::new(integer(&rest[..length]), denominator))
}

/// Loads the bytes; what was loaded is saved and loaded again.
pub fn run<T: Number>(pickled: &Pickled<'_>) {
    let expected =
        if T::FRACTIONS { fraction(pickled.bytes) } else { Some(integer(pickled.bytes).into()) };
    balanced(|| {
        let vtable = T::definition().vtable();
        let (save, load) = vtable.save.zip(vtable.load).expect("both types have a codec");
        let old = pickled.before.as_ref().map_or_else(BigRational::zero, |s| s.value(T::FRACTIONS));
        let mut cell = T::make(&old);
        let mut read = |bytes: &[u8]| {
            // Bytes of their own, so that nobody reads behind them unseen.
            let bytes = bytes.to_vec().into_boxed_slice();
            let mut error_out = ErrorOut::new();
            let pointer = (&raw mut cell).cast();
            // SAFETY: a live cell of the type, and as many bytes as said.
            let status = unsafe {
                load(vtable.context, pointer, bytes.as_ptr(), bytes.len(), &raw mut error_out)
            };
            failure(status, &error_out)
        };
        let failed = read(pickled.bytes);
        match expected {
            None => {
                assert_eq!(failed, Some(ERROR_VALUE));
                check_element(&cell, &old, "a cell whose bytes were refused");
            }
            Some(expected) => {
                assert_eq!(failed, None);
                check_element(&cell, &expected, "loaded");
                let bytes = bytes_of(save, vtable.context, &cell);
                assert!(bytes.len() <= pickled.bytes.len().max(1), "saved as {bytes:?}");
                let mut again = T::make(&BigRational::zero());
                let mut error_out = ErrorOut::new();
                // SAFETY: as above.
                let status = unsafe {
                    load(
                        vtable.context,
                        (&raw mut again).cast(),
                        bytes.as_ptr(),
                        bytes.len(),
                        &raw mut error_out,
                    )
                };
                assert_eq!(failure(status, &error_out), None);
                check_element(&again, &expected, "saved and loaded");
                assert_eq!(bytes_of(save, vtable.context, &again), bytes);
            }
        }
    });
}
