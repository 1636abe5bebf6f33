//! Loops: vacancy, aliasing, strides, failures.

use super::cells::{Cells, call, find, has};
use super::{assert_balanced, live};
use super::{each_storage, types};
use crate::abi;
use crate::client::{Casting, Error, ErrorKind, element};
use crate::testing::{Step, Tracer};
use std::ffi::CStr;

fn values(cells: &Cells<'_, Tracer>, count: usize) -> Vec<Option<i64>> {
    (0..count).map(|index| cells.get(index).map(Tracer::value)).collect()
}

fn some(values: &[i64]) -> Vec<Option<i64>> {
    values.iter().copied().map(Some).collect()
}

#[test]
fn outputs_may_be_vacant_live_or_an_input() {
    each_storage(|definition| {
        let add = find(definition, c"add");
        let x = Cells::of(definition, [1, 2, 3].map(Tracer::new));
        let y = Cells::of(definition, [10, 20, 30].map(Tracer::new));
        let out = Cells::new(definition, 3);
        let s = x.stride();
        call(add, &[x.at(0), y.at(0), out.at(0)], &[3], &[s, s, s]).expect("vacant output");
        assert_eq!(values(&out, 3), some(&[11, 22, 33]));
        call(add, &[out.at(0), y.at(0), out.at(0)], &[3], &[s, s, s]).expect("output is left");
        call(add, &[y.at(0), out.at(0), out.at(0)], &[3], &[s, s, s]).expect("output is right");
        call(add, &[out.at(0), out.at(0), out.at(0)], &[3], &[s, s, s]).expect("all the same");
        assert_eq!(values(&out, 3), some(&[62, 124, 186]));
        assert_eq!(live(), 9);
        // Backwards, from one broadcast value.
        call(add, &[x.at(0), y.at(2), out.at(2)], &[3], &[0, -s, -s]).expect("strides");
        assert_eq!(values(&out, 3), some(&[11, 21, 31]));
        // A reduction: output and first input are one cell.
        call(add, &[out.at(0), y.at(0), out.at(0)], &[3], &[0, s, 0]).expect("reduction");
        assert_eq!(values(&out, 1), some(&[71]));
        drop((x, y, out));
        assert_balanced();
    });
}

#[test]
fn a_vacant_input_reads_as_the_default_and_stays_vacant() {
    each_storage(|definition| {
        let x = Cells::new(definition, 3);
        let y = Cells::of(definition, [1, 2, 3].map(Tracer::new));
        let out = Cells::new(definition, 3);
        let s = x.stride();
        call(find(definition, c"add"), &[x.at(0), y.at(0), out.at(0)], &[3], &[s, s, s])
            .expect("default value");
        assert_eq!(values(&out, 3), some(&[8, 9, 10]));
        assert_eq!(x.live(), [false; 3]);
        assert_eq!(live(), 6, "the default value went with the loop");
        drop((x, y, out));
        assert_balanced();
    });
}

#[test]
fn without_a_default_a_vacant_input_is_an_error_that_names_it() {
    let definition = element::<Tracer>("Tracer").add().ordering().define("m").expect("no mistake");
    let x = Cells::of(&definition, [1, 2].map(Tracer::new));
    let y = Cells::new(&definition, 2);
    // SAFETY: one object moves into a vacant cell, and its old cell is zeroed.
    unsafe {
        let size = definition.vtable().size;
        y.at(0).copy_from_nonoverlapping(x.at(1), size);
        x.at(1).write_bytes(0, size);
    }
    let out = Cells::new(&definition, 2);
    let s = x.stride();
    let add = find(&definition, c"add");
    let failed =
        call(add, &[x.at(0), y.at(0), out.at(0)], &[2], &[s, s, s]).expect_err("no default");
    assert_eq!((failed.kind, failed.done), (abi::ERROR_VACANT, 1));
    assert_eq!(failed.message, "cell 1 holds no object, and m.Tracer has no default value");
    assert_eq!(out.live(), [true, false]);
    assert!(!has(&definition, c"maximum"), "maximum copies an input, which needs clone");
    drop((x, y, out));
    assert_balanced();
}

#[test]
fn a_panic_in_a_loop_stops_at_its_element() {
    each_storage(|definition| {
        let add = find(definition, c"add");
        for k in [0, 2, 4] {
            let x = Cells::of(definition, (0..5).map(Tracer::new));
            let out = Cells::new(definition, 5);
            let s = x.stride();
            Tracer::plan_panic(Step::Arithmetic, k);
            let failed = call(add, &[x.at(0), x.at(0), out.at(0)], &[5], &[s, s, s])
                .expect_err("a planned panic");
            assert_eq!(
                (failed.done, failed.message.as_str()),
                (k, "the planned panic of Arithmetic")
            );
            assert_eq!(out.live(), [k > 0, k > 1, k > 2, k > 3, false]);
            // In place: the element that failed keeps its value.
            Tracer::plan_panic(Step::Arithmetic, k);
            call(add, &[x.at(0), x.at(0), x.at(0)], &[5], &[s, s, s]).expect_err("a planned panic");
            let expected: Vec<i64> =
                (0..5).map(|i| if (i as usize) < k { 2 * i } else { i }).collect();
            assert_eq!(values(&x, 5), some(&expected));
        }
        assert_balanced();
    });
}

#[test]
fn the_in_place_form_never_sees_its_output_among_its_inputs() {
    let definition = element::<Tracer>("Tracer")
        .binary_in_place("hypot", |out: &mut Tracer, x: &Tracer, y: &Tracer| {
            let (x_before, y_before) = (x.value(), y.value());
            out.set(-1);
            assert_eq!((x.value(), y.value()), (x_before, y_before));
            out.set(x_before + y_before);
        })
        .default()
        .define("m")
        .expect("no mistake");
    let hypot = find(&definition, c"hypot");
    let x = Cells::of(&definition, [1, 2].map(Tracer::new));
    let out = Cells::new(&definition, 2);
    let s = x.stride();
    call(hypot, &[x.at(0), x.at(0), out.at(0)], &[2], &[s, s, s]).expect("vacant");
    let before = out.bytes(0);
    call(hypot, &[x.at(0), x.at(0), out.at(0)], &[2], &[s, s, s]).expect("live");
    assert_eq!(out.bytes(0), before, "the same object, written into");
    call(hypot, &[out.at(0), x.at(0), out.at(0)], &[2], &[s, s, s]).expect("aliased");
    assert_eq!(values(&out, 2), some(&[3, 6]));
    drop((x, out));
    assert_balanced();
}

#[test]
fn errors_keep_their_kind_and_message() {
    let definition = element::<i64>("Number")
        .binary(
            "divide",
            |x: &i64, y: &i64| {
                if *y == 0 { Err(Error::zero_division("no")) } else { Ok(x / y) }
            },
        )
        .unary("sqrt", |x: &i64| x.checked_isqrt())
        .unary("negative", |x: &i64| x.checked_neg().ok_or("too small"))
        .unary("exp", |_: &i64| -> i64 { std::panic::panic_any(Error::overflow("far too big")) })
        .define("m")
        .expect("no mistake");
    let x = Cells::of(&definition, [6, i64::MIN]);
    let y = Cells::of(&definition, [3, 0]);
    let out = Cells::new(&definition, 2);
    let s = x.stride();
    let divide = find(&definition, c"divide");
    let failed = call(divide, &[x.at(0), y.at(0), out.at(0)], &[2], &[s, s, s]).expect_err("0");
    assert_eq!((failed.kind, failed.done), (abi::ERROR_ZERO_DIVISION, 1));
    assert_eq!(out.get(0), Some(&2));
    for (ufunc, kind, done, message) in [
        (c"sqrt", abi::ERROR_VALUE, 1, "the operation has no result here"),
        (c"negative", abi::ERROR_VALUE, 1, "too small"),
        (c"exp", abi::ERROR_OVERFLOW, 0, "far too big"),
    ] {
        let failed =
            call(find(&definition, ufunc), &[x.at(0), out.at(0)], &[2], &[s, s]).expect_err("bad");
        assert_eq!((failed.kind, failed.done, failed.message.as_str()), (kind, done, message));
    }
    assert_eq!(Error::from("text").kind(), ErrorKind::Value);
}

#[test]
fn operands_may_be_numbers_of_numpy_and_unaligned() {
    let definition = element::<i64>("Number")
        .default()
        .binary_with("power", |x: &i64, y: i16| x.pow(y as u32))
        .binary_from("ldexp", |x: f32, y: &i64| x as i64 * y)
        .comparison_with("less", |x: &i64, y: f64| (*x as f64) < y)
        .predicate("isnan", |x: &i64| *x == 5)
        .unary_pair("modf", |x: &i64| (x % 10, x / 10))
        .unary_with_scalar("frexp", |x: &i64| (*x, -1i32))
        .cast_from(Casting::Safe, |x: i32| i64::from(x))
        .cast_to::<u8, _>(Casting::Unsafe, |x: &i64| u8::try_from(*x))
        .define("m")
        .expect("no mistake");
    let x = Cells::of(&definition, [5, 300]);
    let (out, second) = (Cells::new(&definition, 2), Cells::new(&definition, 2));
    let s = x.stride();
    // One byte off every alignment.
    let mut numbers = [0u8; 17];
    let at = |numbers: &mut [u8]| numbers[1..].as_mut_ptr();
    numbers[1..5].copy_from_slice(&[2, 0, 1, 0]);
    call(find(&definition, c"power"), &[x.at(0), at(&mut numbers), out.at(0)], &[2], &[s, 2, s])
        .expect("powers");
    assert_eq!((out.get(0), out.get(1)), (Some(&25), Some(&300)));
    numbers[1..5].copy_from_slice(&2.5f32.to_ne_bytes());
    call(find(&definition, c"ldexp"), &[at(&mut numbers), x.at(0), out.at(0)], &[2], &[0, s, s])
        .expect("broadcast");
    assert_eq!((out.get(0), out.get(1)), (Some(&10), Some(&600)));
    numbers[1..9].copy_from_slice(&100f64.to_ne_bytes());
    let mut truth = [9u8; 2];
    call(
        find(&definition, c"less"),
        &[x.at(0), at(&mut numbers), truth.as_mut_ptr()],
        &[2],
        &[s, 0, 1],
    )
    .expect("compares");
    assert_eq!(truth, [1, 0]);
    call(find(&definition, c"isnan"), &[x.at(0), truth.as_mut_ptr()], &[2], &[s, 1]).expect("asks");
    assert_eq!(truth, [1, 0]);
    call(find(&definition, c"modf"), &[x.at(0), out.at(0), second.at(0)], &[2], &[s, s, s])
        .expect("pairs");
    assert_eq!((out.get(1), second.get(1)), (Some(&0), Some(&30)));
    call(find(&definition, c"frexp"), &[x.at(0), out.at(0), at(&mut numbers)], &[2], &[s, s, 4])
        .expect("a number beside");
    assert_eq!(numbers[1..9], [255; 8]);

    let casts = definition.casts();
    assert_eq!((casts[0].from.numpy_type, casts[0].level), (5, abi::CAST_SAFE));
    numbers[1..9].copy_from_slice(&[1, 0, 0, 0, 254, 255, 255, 255]);
    let from = (casts[0].function, casts[0].context);
    call(from, &[at(&mut numbers), out.at(0)], &[2], &[4, s]).expect("in");
    assert_eq!((out.get(0), out.get(1)), (Some(&1), Some(&-2)));
    let to = (casts[1].function, casts[1].context);
    let failed = call(to, &[out.at(0), truth.as_mut_ptr()], &[2], &[s, 1]).expect_err("negative");
    assert_eq!((failed.kind, failed.done, truth[0]), (abi::ERROR_OVERFLOW, 1, 1));
}

#[test]
fn matrix_products_are_sums_of_products() {
    each_storage(|definition| {
        // (2,3) @ (3,2), the right one stored by columns.
        let x = Cells::of(definition, (1..7).map(Tracer::new));
        let y = Cells::of(definition, [1, 3, 5, 2, 4, 6].map(Tracer::new));
        let out = Cells::new(definition, 4);
        let s = x.stride();
        call(
            find(definition, c"matmul"),
            &[x.at(0), y.at(0), out.at(0)],
            &[1, 2, 3, 2],
            &[0, 0, 0, 3 * s, s, s, 3 * s, 2 * s, s],
        )
        .expect("a product");
        assert_eq!(values(&out, 4), some(&[22, 28, 49, 64]));
        call(
            find(definition, c"vecdot"),
            &[x.at(0), y.at(0), out.at(0)],
            &[2, 3],
            &[3 * s, 3 * s, s, s, s],
        )
        .expect("two dot products");
        assert_eq!(values(&out, 2), some(&[22, 4 * 2 + 5 * 4 + 6 * 6]));
        call(
            find(definition, c"matvec"),
            &[x.at(0), y.at(0), out.at(0)],
            &[1, 2, 3],
            &[0, 0, 0, 3 * s, s, s, s],
        )
        .expect("rows");
        assert_eq!(values(&out, 2), some(&[22, 49]));
        call(
            find(definition, c"vecmat"),
            &[x.at(0), y.at(0), out.at(0)],
            &[1, 3, 2],
            &[0, 0, 0, s, s, 3 * s, s],
        )
        .expect("columns");
        assert_eq!(values(&out, 2), some(&[22, 28]));
        call(
            find(definition, c"vecdot"),
            &[x.at(0), y.at(0), out.at(3)],
            &[1, 0],
            &[0, 0, 0, s, s],
        )
        .expect("a sum of nothing");
        assert_eq!(values(&out, 4)[3], Some(0));
        drop((x, y, out));
        assert_balanced();
    });
}

#[test]
fn reductions_start_from_the_identity() {
    each_storage(|definition| {
        let cells = Cells::new(definition, 1);
        let identity = definition.identities().first().expect("zero");
        let mut error_out = abi::ErrorOut::new();
        // SAFETY: one vacant cell.
        let status = unsafe {
            (identity.construct)(identity.context, cells.at(0), 0, 1, &raw mut error_out)
        };
        assert_eq!((status, values(&cells, 1)), (abi::OK, some(&[0])));
        drop(cells);
        assert_balanced();
    });
}

#[test]
fn a_type_whose_zero_bytes_are_its_default_has_no_vacant_cell() {
    let definition = types::count();
    let x = Cells::new(&definition, 2);
    let out = Cells::new(&definition, 2);
    let s = x.stride();
    call(find(&definition, c"add"), &[x.at(0), x.at(0), out.at(0)], &[2], &[s, s, s])
        .expect("zeros");
    assert_eq!(out.get(1), Some(&types::Count(0)));
    assert_eq!(definition.vtable().zero_bytes, abi::ZERO_DEFAULT);
}

#[test]
fn functions_of_floats_are_loops_without_a_function() {
    let definition = element::<Tracer>("Tracer")
        .cast_to::<f64, _>(Casting::SameKind, |x: &Tracer| x.value() as f64)
        .float_functions()
        .unary("sqrt", |x: &Tracer| Tracer::new(x.value()))
        .define("m")
        .expect("no mistake");
    let named = |name: &CStr| -> Vec<_> {
        let loops = definition.loops().iter();
        // SAFETY: the names are NUL-terminated and belong to the definition.
        loops.filter(|entry| unsafe { CStr::from_ptr(entry.ufunc) == name }).copied().collect()
    };
    let operands_of = |entry: &abi::Loop| -> Vec<(u32, i32)> {
        let count = (entry.input_count + entry.output_count) as usize;
        // SAFETY: the operands belong to the definition.
        let operands = unsafe { std::slice::from_raw_parts(entry.operands, count) };
        operands.iter().map(|operand| (operand.kind, operand.numpy_type)).collect()
    };
    // A double, an int and a long in NumPy's numbering.
    let [double, int, long] = [12, 5, 7].map(|number| (abi::OPERAND_NUMPY, number));
    let [hypot] = named(c"hypot")[..] else { panic!("one loop") };
    assert!(hypot.function.is_none());
    assert_eq!(operands_of(&hypot), [double; 3]);
    assert_eq!(operands_of(&named(c"frexp")[0]), [double, double, int]);
    assert_eq!(operands_of(&named(c"ldexp")[0]), [double, long, double]);
    assert_eq!(operands_of(&named(c"modf")[0]), [double; 3]);
    // The type's own stands beside NumPy's; the runtime prefers it.
    assert_eq!(named(c"sqrt").iter().filter(|entry| entry.function.is_some()).count(), 1);
    assert_eq!(named(c"sqrt").len(), 2);
}
