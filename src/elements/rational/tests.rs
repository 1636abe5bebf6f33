//! What Rational promises, against plain big fractions; after each test no heap cell is left.

use super::Rational;
use super::dot::RationalDot;
use crate::abi::{ERROR_OVERFLOW, ERROR_VALUE, ERROR_ZERO_DIVISION, ErrorOut, OK};
use crate::elements::call::loop_fn;
use crate::elements::{Integer, NumberError, boxed, products};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use proptest::prelude::*;
use std::cmp::Ordering;

/// Runs a test and checks that it left no heap cell behind.
fn balanced<R>(test: impl FnOnce() -> R) -> R {
    let before = boxed::live();
    let result = test();
    assert_eq!(boxed::live(), before, "heap cells left behind");
    result
}

/// Numerators and denominators around every limit of the representation.
fn part() -> impl Strategy<Value = IBig> {
    let edges = prop::sample::select(vec![31usize, 32, 61, 62, 63, 64, 127]);
    prop_oneof![
        6 => (-12i64..12).prop_map(IBig::from),
        3 => any::<i32>().prop_map(IBig::from),
        3 => any::<i64>().prop_map(IBig::from),
        3 => (edges, -2i64..=2, any::<bool>()).prop_map(|(bits, near, negative)| {
            let value = (IBig::ONE << bits) + near;
            if negative { -value } else { value }
        }),
        1 => prop::collection::vec(any::<u8>(), 0..200).prop_map(|b| IBig::from_le_bytes(&b)),
    ]
}

fn value() -> impl Strategy<Value = RBig> {
    (part(), part()).prop_map(|(numerator, denominator)| {
        let magnitude = denominator.into_parts().1;
        RBig::from_parts(numerator, if magnitude.is_zero() { UBig::ONE } else { magnitude })
    })
}

/// The value, checked to be in its one representation.
fn rational(value: &RBig) -> Rational {
    let rational = Rational::from(value.clone());
    let fits =
        i64::try_from(value.numerator()).is_ok() && i64::try_from(value.denominator()).is_ok();
    assert_eq!(rational.is_big(), !fits);
    rational
}

#[track_caller]
fn check(result: &Rational, expected: &RBig) {
    assert_eq!(&result.numerator().to_ibig(), expected.numerator());
    assert_eq!(&result.denominator().to_ibig(), expected.denominator().as_ibig());
    assert!(*result == rational(expected), "two representations of {expected}");
}

fn fraction(numerator: i64, denominator: i64) -> Rational {
    Rational::from_integers(&numerator.into(), &denominator.into()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn arithmetic_equals_big_fractions(a in value(), b in value()) {
        balanced(|| {
            let (x, y) = (rational(&a), rational(&b));
            check(&x.add(&y).unwrap(), &(&a + &b));
            check(&x.sub(&y).unwrap(), &(&a - &b));
            check(&x.mul(&y).unwrap(), &(&a * &b));
            check(&x.square().unwrap(), &(&a * &a));
            check(&x.neg(), &-&a);
            check(&x.abs(), &if a < RBig::ZERO { -&a } else { a.clone() });
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            prop_assert_eq!(x == y, a == b);
            prop_assert_eq!(x.sign(), a.cmp(&RBig::ZERO));
            prop_assert_eq!(x.is_integer(), a.is_int());
            check(&x.clone(), &a);
            if b.is_zero() {
                prop_assert_eq!(x.div(&y).unwrap_err(), NumberError::DivisionByZero);
                prop_assert_eq!(x.div_mod(&y).unwrap_err(), NumberError::DivisionByZero);
            } else {
                check(&x.div(&y).unwrap(), &(&a / &b));
            }
            Ok(())
        })?;
    }

    #[test]
    fn floor_division_and_remainder_are_those_of_python(a in value(), b in value()) {
        balanced(|| {
            prop_assume!(!b.is_zero());
            let (x, y) = (rational(&a), rational(&b));
            let (quotient, remainder) = x.div_mod(&y).unwrap();
            prop_assert!(quotient.is_integer());
            prop_assert_eq!(&quotient, &Rational::from(&x.div(&y).unwrap().floor()));
            prop_assert_eq!(&quotient.mul(&y).unwrap().add(&remainder).unwrap(), &x);
            prop_assert!(remainder.abs() < y.abs());
            prop_assert!(remainder.is_zero() || remainder.sign() == y.sign());
            let rest = x.fmod(&y).unwrap();
            prop_assert!(rest.abs() < y.abs() && (rest.is_zero() || rest.sign() == x.sign()));
            prop_assert!(x.sub(&rest).unwrap().div(&y).unwrap().is_integer());
            Ok(())
        })?;
    }

    #[test]
    fn rounding_keeps_its_distances(a in value()) {
        balanced(|| {
            let x = rational(&a);
            let wide = |value: Integer| Rational::from(&value);
            let (floor, ceil) = (wide(x.floor()), wide(x.ceil()));
            prop_assert!(floor <= x && x <= ceil);
            prop_assert_eq!(&ceil.sub(&floor).unwrap(),
                &Rational::from(i64::from(!x.is_integer())));
            prop_assert_eq!(&wide(x.trunc()), if x.is_negative() { &ceil } else { &floor });
            let nearest = x.round();
            match x.sub(&wide(nearest.clone())).unwrap().abs().cmp(&fraction(1, 2)) {
                Ordering::Less => {}
                Ordering::Equal => prop_assert!(!nearest.is_odd()),
                Ordering::Greater => prop_assert!(false, "{nearest} is not the nearest of {x}"),
            }
            Ok(())
        })?;
    }

    #[test]
    fn text_and_bytes_round_trip(a in value()) {
        balanced(|| {
            let x = rational(&a);
            prop_assert_eq!(x.to_string(), a.to_string());
            check(&x.to_string().parse().unwrap(), &a);
            check(&Rational::from_bytes(&x.to_bytes()).unwrap(), &a);
            prop_assert_eq!(Rational::from_bytes(&[]).unwrap_err().kind(), ERROR_VALUE);
            Ok(())
        })?;
    }

    #[test]
    fn hostile_bytes_are_an_error_or_a_reduced_value(
        bytes in prop::collection::vec(any::<u8>(), 0..30),
        length in 0u8..12,
    ) {
        balanced(|| {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() {
                *first = length;
            }
            if let Ok(value) = Rational::from_bytes(&bytes) {
                check(&value, &RBig::from_parts_signed(
                    value.numerator().to_ibig(), value.denominator().to_ibig()));
            }
        });
    }

    #[test]
    fn powers_are_repeated_products(a in value(), exponent in -5i64..6) {
        balanced(|| {
            let x = rational(&a);
            let power = x.pow(&Rational::from(exponent));
            if a.is_zero() && exponent < 0 {
                prop_assert_eq!(power.unwrap_err().kind(), ERROR_ZERO_DIVISION);
                return Ok(());
            }
            let mut expected = RBig::ONE;
            for _ in 0..exponent.abs() {
                expected *= &a;
            }
            check(&power.unwrap(), &if exponent < 0 { RBig::ONE / expected } else { expected });
            Ok(())
        })?;
    }

    #[test]
    fn floats_are_exact_one_way_and_nearest_the_other(bits in any::<u64>(), a in value()) {
        balanced(|| {
            let float = f64::from_bits(bits);
            if float.is_finite() {
                let exact = Rational::try_from(float).unwrap();
                prop_assert_eq!(f64::try_from(&exact).unwrap(), float);
                // A hair more rounds back, half a step up does not unless the float is even.
                let next = f64::from_bits(bits + 1);
                if next.is_finite() {
                    let step = Rational::try_from(next).unwrap().sub(&exact).unwrap();
                    let middle = exact.add(&step.div(&2.into()).unwrap()).unwrap();
                    let hair = step.div(&Rational::from(1i64 << 60)).unwrap();
                    let even = if bits & 1 == 0 { float } else { next };
                    prop_assert_eq!(f64::try_from(&middle).unwrap(), even);
                    prop_assert_eq!(f64::try_from(&middle.sub(&hair).unwrap()).unwrap(), float);
                    prop_assert_eq!(f64::try_from(&middle.add(&hair).unwrap()).unwrap(), next);
                }
            }
            let x = rational(&a);
            if let Ok(float) = f64::try_from(&x) {
                // No neighbour is nearer.
                let distance = |float: f64| {
                    Rational::try_from(float).unwrap().sub(&x).unwrap().abs()
                };
                for neighbour in [float.next_up(), float.next_down()] {
                    if neighbour.is_finite() {
                        prop_assert!(distance(float) <= distance(neighbour));
                    }
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn equal_values_hash_as_python(a in value()) {
        let x = rational(&a);
        let modulus = IBig::from((1i64 << 61) - 1);
        let magnitude = |part: &IBig| IBig::from(part.clone().into_parts().1);
        let hash = magnitude(&IBig::from(x.python_hash()));
        let denominator = a.denominator().as_ibig() % &modulus;
        if !denominator.is_zero() && x.python_hash() != -2 {
            // hash * denominator is the numerator, modulo 2^61 - 1.
            prop_assert_eq!(&hash * denominator % &modulus, magnitude(a.numerator()) % &modulus);
        }
        if a.is_int() {
            prop_assert_eq!(x.python_hash(), x.numerator().python_hash());
        }
    }

    #[test]
    fn products_of_matrices(values in prop::collection::vec(value(), 12)) {
        balanced(|| {
            let mut left: Vec<Rational> = values[..6].iter().map(rational).collect();
            let mut right: Vec<Rational> = values[6..].iter().map(rational).collect();
            let mut output: Vec<Rational> = values[..4].iter().map(rational).collect();
            let arguments = [&mut left, &mut right, &mut output].map(|v| v.as_mut_ptr().cast());
            let mut error_out = ErrorOut::new();
            // SAFETY: operands of Rational cells: (2, 3) @ (3, 2), row by row.
            let status = unsafe {
                loop_fn!(products::matmul::<RationalDot>)(
                    std::ptr::null_mut(),
                    arguments.as_ptr(),
                    [1isize, 2, 3, 2].as_ptr(),
                    [0isize, 0, 0, 48, 16, 32, 16, 32, 16].as_ptr(),
                    &raw mut error_out,
                )
            };
            prop_assert_eq!(status, OK);
            for i in 0..2 {
                for j in 0..2 {
                    let expected = (0..3)
                        .map(|k| &values[i * 3 + k] * &values[6 + k * 2 + j])
                        .fold(RBig::ZERO, |sum, product| sum + product);
                    check(&output[i * 2 + j], &expected);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn sort_orders(values in prop::collection::vec(value(), 0..40)) {
        balanced(|| {
            let mut cells: Vec<Rational> = values.iter().map(rational).collect();
            cells.sort();
            let mut sorted = values.clone();
            sorted.sort();
            for (cell, value) in cells.iter().zip(&sorted) {
                check(cell, value);
            }
        });
    }
}

#[test]
fn zero_bytes_are_zero() {
    // SAFETY: zero bytes are the value 0/1 by the representation's definition.
    let zero: Rational = unsafe { std::mem::zeroed() };
    assert_eq!(zero, fraction(0, -5));
    assert_eq!(zero.denominator(), Integer::ONE);
}

#[test]
fn the_edges_of_the_words_are_exact() {
    balanced(|| {
        let (low, high) = (Rational::from(i64::MIN), Rational::from(i64::MAX));
        assert_eq!(low.neg().sub(&Rational::ONE).unwrap(), high);
        assert_eq!(low.abs().neg(), low);
        let smallest = high.reciprocal().unwrap();
        assert!(!smallest.is_big());
        assert!(low.reciprocal().unwrap().is_big());
        assert_eq!(low.reciprocal().unwrap().reciprocal().unwrap(), low);
        // Sums of the largest cross products.
        let almost = fraction(i64::MAX - 1, i64::MAX);
        let sum = low.add(&low).unwrap().add(&almost).unwrap().sub(&almost).unwrap();
        assert_eq!(sum, Rational::from(IBig::from(i64::MIN) * 2));
        assert_eq!(almost.add(&smallest).unwrap(), Rational::ONE);
        assert_eq!(low.div_mod(&Rational::from(-1)).unwrap(), (low.neg(), Rational::ZERO));
        assert!(low < almost && almost < high && smallest < almost);
    });
}

#[test]
fn signs_of_floor_division_are_those_of_python() {
    // (a, b, a // b, a % b) as pairs of numerator and denominator, from Python.
    for (a, b, quotient, remainder) in [
        ((7, 2), (1, 1), 3, (1, 2)),
        ((-7, 2), (1, 1), -4, (1, 2)),
        ((7, 2), (-1, 1), -4, (-1, 2)),
        ((-7, 2), (-1, 1), 3, (-1, 2)),
        ((1, 3), (1, 2), 0, (1, 3)),
        ((-1, 3), (1, 2), -1, (1, 6)),
    ] {
        let result = fraction(a.0, a.1).div_mod(&fraction(b.0, b.1)).unwrap();
        assert_eq!(result, (quotient.into(), fraction(remainder.0, remainder.1)));
    }
}

#[test]
fn text_is_that_of_python() {
    for (text, numerator, denominator) in [
        ("3/4", 3, 4),
        (" -6/8 ", -3, 4),
        ("+1_000/2", 500, 1),
        ("1 / 3", 1, 3),
        ("0.75", 3, 4),
        (".5", 1, 2),
        ("5.", 5, 1),
        ("-2.5e-1", -1, 4),
        ("7E2", 700, 1),
        ("1_0.2_5", 41, 4),
        ("0e99999999999999999999", 0, 1),
    ] {
        assert_eq!(text.parse::<Rational>().unwrap(), fraction(numerator, denominator), "{text}");
    }
    for text in [
        "", "/2", "1/", "1/-2", "1.5/2", "1e", ".", "-", "1__0", "1/2.5", "e5", "nan", "0x1",
        "1 2", "1e1.5",
    ] {
        assert_eq!(text.parse::<Rational>().unwrap_err().kind(), ERROR_VALUE, "{text:?}");
    }
    assert_eq!("1/0".parse::<Rational>().unwrap_err().kind(), ERROR_ZERO_DIVISION);
}

#[test]
fn absurd_results_are_refused_before_anything_is_allocated() {
    balanced(|| {
        let huge = Rational::from(1_000_000_000_000i64);
        for result in [
            Rational::from(10).pow(&huge),
            fraction(1, 3).pow(&huge.neg()),
            "1e1000000000000".parse(),
            "1e-99999999999999999999999".parse(),
        ] {
            assert_eq!(result.unwrap_err().kind(), ERROR_OVERFLOW);
        }
        assert_eq!(Rational::ONE.pow(&huge).unwrap(), Rational::ONE);
        assert_eq!(
            fraction(1, 2).pow(&fraction(1, 2)).unwrap_err(),
            NumberError::FractionalExponent
        );
    });
}

#[test]
fn floats_at_the_edges() {
    let two = Rational::from(2);
    let power = |exponent: i64| two.pow(&exponent.into()).unwrap();
    assert_eq!(f64::try_from(&power(-1074)).unwrap(), f64::from_bits(1));
    assert_eq!(f64::try_from(&power(-1075)).unwrap(), 0.0);
    assert_eq!(f64::try_from(&power(-5000).neg()).unwrap(), 0.0);
    let above = power(-1075).add(&power(-1200)).unwrap();
    assert_eq!(f64::try_from(&above).unwrap(), f64::from_bits(1));
    assert_eq!(f64::try_from(&power(1024)).unwrap_err().kind(), ERROR_OVERFLOW);
    let middle = power(1024).sub(&power(970)).unwrap();
    assert_eq!(f64::try_from(&middle).unwrap_err().kind(), ERROR_OVERFLOW);
    assert_eq!(f64::try_from(&middle.sub(&Rational::ONE).unwrap()).unwrap(), f64::MAX);
    assert_eq!(Rational::try_from(f64::NAN).unwrap_err(), NumberError::NotANumber);
    assert_eq!(Rational::try_from(f64::NEG_INFINITY).unwrap_err(), NumberError::Infinite);
}

#[test]
fn hashes_of_python() {
    // From CPython: hash(Fraction(1, 3)), hash(Fraction(-7, 2)), hash(Fraction(1, 2**61 - 1)).
    assert_eq!(fraction(1, 3).python_hash(), 1537228672809129301);
    assert_eq!(fraction(-7, 2).python_hash(), -1152921504606846979);
    assert_eq!(fraction(1, (1 << 61) - 1).python_hash(), 314159);
    assert_eq!(Rational::from(-1).python_hash(), -2);
}

proptest! {
    #[test]
    fn comparisons_with_floats_are_exact(
        (value, float) in value().prop_flat_map(|value| {
            let nearest = value.to_f64().value();
            // Up to a few units in the last place, either side of where an estimate decides.
            let near = (-12i64..=12).prop_map(move |steps| {
                f64::from_bits((nearest.to_bits() as i64).wrapping_add(steps) as u64)
            });
            let edges = prop::sample::select(vec![
                0.0, -0.0, 5e-324, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY,
                f64::NEG_INFINITY, f64::NAN,
            ]);
            (Just(value), prop_oneof![2 => near, 1 => edges, 1 => any::<f64>()])
        })
    ) {
        let expected = if float.is_nan() {
            None
        } else if float.is_infinite() {
            0.0.partial_cmp(&float)
        } else {
            Some(value.cmp(&RBig::try_from(float).unwrap()))
        };
        balanced(|| {
            let rational = rational(&value);
            assert_eq!(rational.partial_cmp(&float), expected);
            assert_eq!(rational == float, expected == Some(Ordering::Equal));
        });
    }
}

#[test]
fn fractions_next_to_a_float_are_not_equal_to_it() {
    balanced(|| {
        assert!(fraction(1, 3) > 1.0 / 3.0);
        assert!(fraction(1, 10) < 0.1);
        assert!(fraction(-1, 10) > -0.1);
        assert!(fraction(3, 4) == 0.75);
        assert!(fraction((1 << 53) + 1, 1) > 9007199254740992.0);
        assert_eq!(fraction(1, 3).partial_cmp(&f64::NAN), None);
        assert!(fraction(1, 3) < f64::INFINITY);
        let tiny = Rational::from(RBig::from_parts(IBig::ONE, UBig::from(10u8).pow(400)));
        assert!(tiny > 0.0 && tiny < 5e-324 && tiny > -5e-324);
        assert!(Rational::try_from(5e-324).unwrap() == 5e-324);
    });
}
