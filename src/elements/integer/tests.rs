//! What Integer promises, against i128 and plain big arithmetic; after each test no heap cell is
//! left.

mod cells;

use self::cells::*;
use super::dot::IntegerDot;
use super::{Integer, loops};
use crate::abi::{
    ERROR_OVERFLOW, ERROR_VALUE, ERROR_ZERO_DIVISION, ErrorOut, FAILED, LoopFn, OK, Status,
};
use crate::elements::call::loop_fn;
use crate::elements::{MAX_BITS, NumberError, boxed, products};
use dashu_base::BitTest;
use dashu_int::IBig;
use dashu_ratio::RBig;
use proptest::prelude::*;
use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Runs a test and checks that it left no heap cell behind.
fn balanced<R>(test: impl FnOnce() -> R) -> R {
    let before = boxed::live();
    let result = test();
    assert_eq!(boxed::live(), before, "heap cells left behind");
    result
}

/// Values of every magnitude that matters: small ones, the edges of the word, 64 and 128 bits,
/// thousands of bits.
fn value() -> impl Strategy<Value = IBig> {
    let edges = prop::sample::select(vec![61u32, 62, 63, 64, 65, 126, 127, 128]);
    prop_oneof![
        4 => (-20i64..20).prop_map(IBig::from),
        4 => any::<i64>().prop_map(IBig::from),
        4 => (edges, -3i64..=3, any::<bool>()).prop_map(|(bits, near, negative)| {
            let value = (IBig::ONE << bits as usize) + near;
            if negative { -value } else { value }
        }),
        2 => any::<i128>().prop_map(IBig::from),
        1 => prop::collection::vec(any::<u8>(), 0..400).prop_map(|b| IBig::from_le_bytes(&b)),
    ]
}

/// The value, checked to be in its one representation.
fn integer(value: &IBig) -> Integer {
    let integer = Integer::from(value.clone());
    let fits = i64::try_from(value).is_ok_and(|v| (-(1 << 62)..1 << 62).contains(&v));
    assert_eq!(integer.is_big(), !fits);
    integer
}

#[track_caller]
fn check(result: &Integer, expected: &IBig) {
    assert_eq!(&result.to_ibig(), expected);
    assert!(*result == integer(expected), "two representations of {expected}");
}

/// `//` and `%` as Python defines them, by the definition: `a == q * b + r`, `r` between 0 and
/// `b`.
fn check_div_mod(a: &IBig, b: &IBig, quotient: &Integer, remainder: &Integer) {
    let (q, r) = (quotient.to_ibig(), remainder.to_ibig());
    assert_eq!(&(&q * b + &r), a);
    let zero = IBig::ZERO;
    assert!(if b > &zero { zero <= r && &r < b } else { b < &r && r <= zero });
    check(quotient, &q);
    check(remainder, &r);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn arithmetic_equals_big_arithmetic(a in value(), b in value()) {
        balanced(|| {
            let (x, y) = (integer(&a), integer(&b));
            check(&x.add(&y), &(&a + &b));
            check(&x.sub(&y), &(&a - &b));
            check(&x.mul(&y).unwrap(), &(&a * &b));
            check(&x.square().unwrap(), &(&a * &a));
            check(&x.neg(), &-&a);
            check(&x.abs(), &if a < IBig::ZERO { -&a } else { a.clone() });
            check(&x.bit_and(&y), &(&a & &b));
            check(&x.bit_or(&y), &(&a | &b));
            check(&x.bit_xor(&y), &(&a ^ &b));
            check(&x.bit_not(), &(-&a - 1));
            prop_assert_eq!(x.bit_length(), a.bit_len());
            prop_assert_eq!(x.is_odd(), (&a & IBig::ONE) == IBig::ONE);
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            prop_assert_eq!(x == y, a == b);
            let mut sum = x.clone();
            sum.add_assign(&y);
            check(&sum, &(&a + &b));
            let mut copy = y.clone();
            copy.clone_from(&x);
            check(&copy, &a);
            Ok(())
        })?;
    }

    #[test]
    fn division_rounds_down_as_in_python(a in value(), b in value()) {
        balanced(|| {
            let (x, y) = (integer(&a), integer(&b));
            if b.is_zero() {
                prop_assert_eq!(x.div_mod(&y).unwrap_err(), NumberError::DivisionByZero);
                prop_assert_eq!(x.fmod(&y).unwrap_err(), NumberError::DivisionByZero);
                return Ok(());
            }
            let (quotient, remainder) = x.div_mod(&y).unwrap();
            check_div_mod(&a, &b, &quotient, &remainder);
            check(&x.fmod(&y).unwrap(), &(&a % &b));
            let gcd = x.gcd(&y);
            prop_assert!(!gcd.is_negative() && !gcd.is_zero());
            prop_assert!(x.modulo(&gcd).unwrap().is_zero());
            prop_assert!(y.modulo(&gcd).unwrap().is_zero());
            prop_assert_eq!(x.lcm(&y).unwrap().mul(&gcd).unwrap(), x.mul(&y).unwrap().abs());
            Ok(())
        })?;
    }

    #[test]
    fn shifts_and_powers(a in value(), count in 0usize..300, exponent in 0usize..8) {
        balanced(|| {
            let x = integer(&a);
            let n = Integer::from(count as i64);
            check(&x.shift_left(&n).unwrap(), &(&a * (IBig::ONE << count)));
            let shifted = x.shift_right(&n).unwrap();
            let divisor = IBig::ONE << count;
            check_div_mod(&a, &divisor, &shifted, &integer(&(&a - shifted.to_ibig() * &divisor)));
            let mut power = IBig::ONE;
            for _ in 0..exponent {
                power *= &a;
            }
            check(&x.pow(&Integer::from(exponent as i64)).unwrap(), &power);
        });
    }

    #[test]
    fn text_bytes_and_machine_numbers_round_trip(a in value()) {
        balanced(|| {
            let x = integer(&a);
            prop_assert_eq!(x.to_string(), a.to_string());
            check(&x.to_string().parse().unwrap(), &a);
            check(&format!("\t+0{} \n", a.to_string().trim_start_matches('-')).parse().unwrap(),
                &if a < IBig::ZERO { -&a } else { a.clone() });
            check(&Integer::from_bytes(&x.to_bytes()), &a);
            prop_assert!(x.to_bytes().len() <= a.bit_len() / 8 + 1);
            prop_assert_eq!(i64::try_from(&x).ok(), i64::try_from(&a).ok());
            prop_assert_eq!(u64::try_from(&x).ok(), u64::try_from(&a).ok());
            prop_assert_eq!(i128::try_from(&x).ok(), i128::try_from(&a).ok());
            if let Ok(value) = i128::try_from(&a) {
                check(&Integer::from(value), &a);
                // The compiler's conversion rounds to nearest even.
                prop_assert_eq!(f64::try_from(&x).unwrap(), value as f64);
                check(&Integer::try_from(value as f64).unwrap(),
                    &IBig::try_from(value as f64).unwrap());
            }
            Ok(())
        })?;
    }

    #[test]
    fn equal_values_hash_equal_and_as_python(a in value()) {
        balanced(|| {
            let hash = |x: &Integer| {
                let mut hasher = DefaultHasher::new();
                x.hash(&mut hasher);
                hasher.finish()
            };
            let x = integer(&a);
            prop_assert_eq!(hash(&x), hash(&integer(&a)));
            let modulus = IBig::from((1i64 << 61) - 1);
            let magnitude = if a < IBig::ZERO { -&a } else { a.clone() };
            let reduced = i64::try_from(magnitude % modulus).unwrap();
            let expected = if a < IBig::ZERO { -reduced } else { reduced };
            prop_assert_eq!(x.python_hash(), if expected == -1 { -2 } else { expected });
            Ok(())
        })?;
    }

    #[test]
    fn sort_orders_and_argsort_is_stable(values in prop::collection::vec(value(), 0..60)) {
        balanced(|| {
            for values in [values.clone(), values.iter().map(|v| v % IBig::from(9)).collect()] {
                let mut cells: Vec<Integer> = values.iter().map(integer).collect();
                let mut indices: Vec<isize> = (0..cells.len() as isize).collect();
                super::order::argsort(&mut indices, |index| &cells[index as usize]);
                let mut expected: Vec<isize> = (0..cells.len() as isize).collect();
                expected.sort_by_key(|&i| &values[i as usize]);
                prop_assert_eq!(indices, expected);
                super::order::sort(&mut cells);
                let mut sorted = values.clone();
                sorted.sort();
                prop_assert_eq!(cells.iter().map(Integer::to_ibig).collect::<Vec<_>>(), sorted);
            }
            Ok(())
        })?;
    }

    #[test]
    fn loops_equal_elementwise_arithmetic(
        values in prop::collection::vec((value(), value(), value()), 1..70),
        small in any::<bool>(),
        strides in prop::sample::select(vec![(1, 1, 1), (1, 0, 1), (0, 1, 1), (2, 1, 1),
            (1, 1, 2), (-1, 1, 1), (1, -1, -1)]),
        alias in 0usize..3,
    ) {
        balanced(|| {
            let values: Vec<_> = values.into_iter().map(|(a, b, c)| if small {
                let reduce = |v: IBig| v % IBig::from(1i64 << 61);
                (reduce(a), reduce(b), reduce(c))
            } else { (a, b, c) }).collect();
            check_binary(loop_fn!(loops::binary::<loops::Add>), &values, strides, alias, |a, b| a + b)?;
            check_binary(loop_fn!(loops::binary::<loops::Subtract>), &values, strides, alias, |a, b| a - b)?;
            check_binary(loop_fn!(loops::binary::<loops::Multiply>), &values, strides, alias, |a, b| a * b)?;
            check_binary(loop_fn!(loops::binary::<loops::Minimum>), &values, strides, alias, |a, b| a.min(b).clone())?;
            check_binary(loop_fn!(loops::binary::<loops::Maximum>), &values, strides, alias, |a, b| a.max(b).clone())?;
            check_binary(loop_fn!(loops::binary::<loops::And>), &values, strides, alias, |a, b| a & b)?;
            check_binary(loop_fn!(loops::binary::<loops::Or>), &values, strides, alias, |a, b| a | b)?;
            check_binary(loop_fn!(loops::binary::<loops::Xor>), &values, strides, alias, |a, b| a ^ b)?;
            check_compare(loop_fn!(loops::compare::<loops::Equal>), &values, strides, |a, b| a == b)?;
            check_compare(loop_fn!(loops::compare::<loops::NotEqual>), &values, strides, |a, b| a != b)?;
            check_compare(loop_fn!(loops::compare::<loops::Less>), &values, strides, |a, b| a < b)?;
            check_compare(loop_fn!(loops::compare::<loops::LessEqual>), &values, strides, |a, b| a <= b)?;
            check_compare(loop_fn!(loops::compare::<loops::Greater>), &values, strides, |a, b| a > b)?;
            check_compare(loop_fn!(loops::compare::<loops::GreaterEqual>), &values, strides, |a, b| a >= b)?;
            check_unary(loop_fn!(loops::unary::<loops::Negative>), &values, alias, |a| -a)?;
            check_unary(loop_fn!(loops::unary::<loops::Absolute>), &values, alias, |a| {
                if a < &IBig::ZERO { -a } else { a.clone() }
            })
        })?;
    }

    #[test]
    fn reductions_and_accumulations(values in prop::collection::vec(value(), 0..50)) {
        balanced(|| {
            check_fold(loop_fn!(loops::binary::<loops::Add>), &values, |a, b| a + b)?;
            check_fold(loop_fn!(loops::binary::<loops::Multiply>), &values, |a, b| a * b)?;
            check_fold(loop_fn!(loops::binary::<loops::Subtract>), &values, |a, b| a - b)?;
            check_fold(loop_fn!(loops::binary::<loops::Maximum>), &values, |a, b| a.max(b).clone())
        })?;
    }

    #[test]
    fn products_of_matrices(
        values in prop::collection::vec(value(), 24),
        small in any::<bool>(),
    ) {
        balanced(|| {
            let values: Vec<IBig> = values.into_iter().map(|v| if small {
                v % IBig::from(1i64 << 61) } else { v }).collect();
            let mut left: Vec<Integer> = values[..12].iter().map(integer).collect();
            let mut right: Vec<Integer> = values[12..].iter().map(integer).collect();
            let mut output: Vec<Integer> = (0..9).map(|i| integer(&values[i])).collect();
            // (3, 4) @ (4, 3), all row by row.
            let (status, _) = run(loop_fn!(products::matmul::<IntegerDot>),
                &[address(&mut left), address(&mut right), address(&mut output)],
                &[1, 3, 4, 3], &[0, 0, 0, 32, 8, 24, 8, 24, 8]);
            prop_assert_eq!(status, OK);
            let (a, b) = values.split_at(12);
            for i in 0..3 {
                for j in 0..3 {
                    let expected = (0..4).map(|k| &a[i * 4 + k] * &b[k * 3 + j]).sum::<IBig>();
                    check(&output[i * 3 + j], &expected);
                }
            }
            // The rows of the left one with its own first row.
            let row: *mut u8 = address(&mut left);
            let (status, _) = run(loop_fn!(products::vecdot::<IntegerDot>),
                &[address(&mut left), row, address(&mut output)], &[3, 4], &[32, 0, 8, 8, 8]);
            prop_assert_eq!(status, OK);
            let (status, _) = run(loop_fn!(products::matvec::<IntegerDot>),
                &[address(&mut left), row, output[3..].as_mut_ptr().cast()],
                &[1, 3, 4], &[0, 0, 0, 32, 8, 8, 8]);
            prop_assert_eq!(status, OK);
            for i in 0..3 {
                let expected = (0..4).map(|k| &a[i * 4 + k] * &a[k]).sum::<IBig>();
                check(&output[i], &expected);
                check(&output[3 + i], &expected);
            }
            let (status, _) = run(loop_fn!(products::vecmat::<IntegerDot>),
                &[row, address(&mut right), address(&mut output)],
                &[1, 4, 3], &[0, 0, 0, 8, 24, 8, 8]);
            prop_assert_eq!(status, OK);
            for j in 0..3 {
                let expected = (0..4).map(|k| &a[k] * &b[k * 3 + j]).sum::<IBig>();
                check(&output[j], &expected);
            }
            Ok(())
        })?;
    }
}

#[test]
fn signs_of_floor_division_are_those_of_python() {
    for (a, b, quotient, remainder) in [
        (7, 3, 2, 1),
        (-7, 3, -3, 2),
        (7, -3, -3, -2),
        (-7, -3, 2, -1),
        (6, -3, -2, 0),
        (0, -3, 0, 0),
        (-1, i64::MAX, -1, i64::MAX - 1),
        (1, i64::MIN, -1, i64::MIN + 1),
    ] {
        let result = Integer::from(a).div_mod(&Integer::from(b)).unwrap();
        assert_eq!(result, (quotient.into(), remainder.into()), "{a} divmod {b}");
    }
}

#[test]
fn absurd_results_are_refused_before_anything_is_allocated() {
    balanced(|| {
        let n = |value: i64| Integer::from(value);
        for result in [
            n(1).shift_left(&n(1 << 45)),
            n(1).shift_left(&n(i64::MAX)),
            n(-3).shift_left(&n(MAX_BITS as i64)),
            n(10).pow(&n(1_000_000_000_000)),
            n(2).pow(&n(i64::MAX)),
            n(-2).pow(&n(1 << 40)),
        ] {
            let error = result.unwrap_err();
            assert_eq!(error, NumberError::TooLarge);
            assert_eq!(error.kind(), ERROR_OVERFLOW);
        }
        assert_eq!(n(0).shift_left(&n(i64::MAX)).unwrap(), n(0));
        assert_eq!(n(1).pow(&n(i64::MAX)).unwrap(), n(1));
        assert_eq!(n(-1).pow(&n(i64::MAX)).unwrap(), n(-1));
        assert_eq!(n(0).pow(&n(i64::MAX)).unwrap(), n(0));
        assert_eq!(n(0).pow(&n(0)).unwrap(), n(1));
        assert_eq!(n(-5).shift_right(&n(i64::MAX)).unwrap(), n(-1));
        assert_eq!(n(5).shift_right(&n(i64::MAX)).unwrap(), n(0));
        assert_eq!(n(2).pow(&n(-1)).unwrap_err().kind(), ERROR_VALUE);
        assert_eq!(n(2).shift_left(&n(-1)).unwrap_err(), NumberError::NegativeShift);
        assert_eq!(n(2).shift_right(&n(-1)).unwrap_err(), NumberError::NegativeShift);
        assert_eq!(n(2).floor_div(&n(0)).unwrap_err().kind(), ERROR_ZERO_DIVISION);
    });
}

#[test]
fn text_is_that_of_python() {
    for (text, value) in [("0", 0), ("007", 7), (" -1_000 ", -1000), ("+12", 12), ("\u{2003}5", 5)]
    {
        assert_eq!(text.parse::<Integer>().unwrap(), Integer::from(value));
    }
    for text in ["", " ", "-", "+-1", "1__0", "_1", "1_", "1.0", "0x10", "1 2", "ten", "- 1", "1e3"]
    {
        let error = text.parse::<Integer>().unwrap_err();
        assert_eq!(error.kind(), ERROR_VALUE, "{text:?}");
    }
    let long = "9".repeat(40_000);
    assert_eq!(balanced(|| long.parse::<Integer>().unwrap().to_string()), long);
}

#[test]
fn floats_convert_exactly_or_not_at_all() {
    let convert = |value: f64| Integer::try_from(value);
    assert_eq!(convert(1e300).unwrap().to_string().len(), 301);
    assert_eq!(convert(-0.0).unwrap(), Integer::ZERO);
    assert_eq!(convert(4611686018427387904.0).unwrap(), Integer::from(1i64 << 62));
    assert_eq!(convert(0.5).unwrap_err(), NumberError::NotIntegral("0.5".into()));
    assert_eq!(convert(f64::NAN).unwrap_err(), NumberError::NotANumber);
    assert_eq!(convert(f64::INFINITY).unwrap_err(), NumberError::Infinite);
    let two = Integer::from(2);
    // The largest float, a value that rounds down to it, and the first that rounds beyond it.
    let power = |exponent: i64| two.pow(&exponent.into()).unwrap();
    let largest = power(1024).sub(&power(971));
    assert_eq!(f64::try_from(&largest).unwrap(), f64::MAX);
    let middle = largest.add(&power(970));
    assert_eq!(f64::try_from(&middle.sub(&Integer::ONE)).unwrap(), f64::MAX);
    assert_eq!(f64::try_from(&middle).unwrap_err().kind(), ERROR_OVERFLOW);
    // Ties go to even, also far beyond 64 bits.
    let tie = power(153).add(&power(100));
    assert_eq!(f64::try_from(&tie).unwrap(), 2f64.powi(153));
    assert_eq!(f64::try_from(&tie.add(&Integer::ONE)).unwrap(), 2f64.powi(153) + 2f64.powi(101));
}

#[test]
fn an_error_in_a_loop_keeps_what_was_done() {
    balanced(|| {
        let huge = Integer::ONE.shift_left(&Integer::from(MAX_BITS as i64 - 8)).unwrap();
        let mut cells: Vec<Integer> = (0..40).map(Integer::from).collect();
        cells[25] = huge;
        let mut output: Vec<Integer> = (0..40).map(|_| Integer::from(i64::MAX)).collect();
        let source = address(&mut cells);
        let (status, error_out) = run(
            loop_fn!(loops::binary::<loops::Multiply>),
            &[source, source, address(&mut output)],
            &[40],
            &[8, 8, 8],
        );
        assert_eq!((status, error_out.kind, error_out.done), (FAILED, ERROR_OVERFLOW, 25));
        for (index, value) in output.iter().enumerate() {
            let square = (index * index) as i64;
            assert_eq!(*value, Integer::from(if index < 25 { square } else { i64::MAX }));
        }
    });
}

/// Floats of every kind, and the ones around a value.
fn float_near(nearest: f64) -> impl Strategy<Value = f64> {
    let edges = prop::sample::select(vec![
        0.0,
        -0.0,
        0.5,
        -0.5,
        5e-324,
        4611686018427387904.0,
        9223372036854775808.0,
        -9223372036854775808.0,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ]);
    let near = prop::sample::select(vec![
        nearest,
        nearest.next_up(),
        nearest.next_down(),
        -nearest,
        nearest + 0.5,
    ]);
    prop_oneof![2 => near, 1 => edges, 1 => any::<f64>()]
}

proptest! {
    #[test]
    fn comparisons_with_floats_are_exact(
        (value, float) in value().prop_flat_map(|value| {
            let nearest = value.to_f64().value();
            (Just(value), float_near(nearest))
        })
    ) {
        let expected = if float.is_nan() {
            None
        } else if float.is_infinite() {
            0.0.partial_cmp(&float)
        } else {
            Some(RBig::from(value.clone()).cmp(&RBig::try_from(float).unwrap()))
        };
        balanced(|| {
            let integer = integer(&value);
            assert_eq!(integer.partial_cmp(&float), expected);
            assert_eq!(integer == float, expected == Some(Ordering::Equal));
        });
    }
}

#[test]
fn integers_next_to_a_float_are_not_equal_to_it() {
    balanced(|| {
        let compare = |value: i128, float: f64| Integer::from(value).partial_cmp(&float);
        assert_eq!(compare((1 << 53) + 1, 9007199254740992.0), Some(Ordering::Greater));
        assert_eq!(compare(1 << 53, 9007199254740992.0), Some(Ordering::Equal));
        assert_eq!(compare((1 << 62) - 1, 4611686018427387904.0), Some(Ordering::Less));
        assert_eq!(compare(1 << 62, 4611686018427387904.0), Some(Ordering::Equal));
        assert_eq!(compare(-(1 << 62) - 1, -4611686018427387904.0), Some(Ordering::Less));
        assert_eq!(compare(i128::from(i64::MAX), 9223372036854775808.0), Some(Ordering::Less));
        assert_eq!(compare(-(1 << 63), -9223372036854775808.0), Some(Ordering::Equal));
        assert_eq!(compare(-3, -2.5), Some(Ordering::Less));
        assert_eq!(compare(-2, -2.5), Some(Ordering::Greater));
        assert_eq!(compare(0, -5e-324), Some(Ordering::Greater));
        assert_eq!(compare(0, -0.0), Some(Ordering::Equal));
        assert_eq!(compare(1 << 100, f64::NAN), None);
        let beyond_floats = Integer::from(IBig::from(10).pow(400));
        assert!(beyond_floats > f64::MAX && beyond_floats < f64::INFINITY);
        assert!(beyond_floats.neg() < f64::MIN && beyond_floats.neg() > f64::NEG_INFINITY);
    });
}
