//! Element types that attack the runtime in safe Rust: each of their hooks can call a Python
//! function, which does what it likes with the array at hand. An object that a hook was given must
//! stay alive and what it was until the hook returns; `violations()` tells of each that did not.

#![forbid(unsafe_code)]

mod hooks;
mod text;

use denizen::Casting;
use hooks::{Hook, violation};
use pyo3::{exceptions::PyTypeError, prelude::*};
use text::{CASES, Text, whole};

/// The types, by the number that tells them apart: what each is in its own words.
const TYPES: [(&str, &str); CASES] = [
    ("Held", "loops hold the GIL, destruction does not ask for it"),
    ("Gil", "everything holds the GIL"),
    ("Boxed", "as Held, in memory of its own"),
    ("BoxedGil", "as Gil, in memory of its own"),
    ("Free", "loops run without the GIL"),
    ("FreeBoxed", "as Free, in memory of its own"),
    ("Only", "as BoxedGil, without copies"),
];

/// What all types can do but copies.
macro_rules! describe {
    ($builder:expr, $case:literal) => {
        $builder
            .default()
            .arithmetic()
            .ordering()
            .equality()
            .text()
            .hash()
            .default_is_zero()
            .linear_algebra()
            .nonzero(Text::<$case>::truth)
            .heap_bytes(Text::<$case>::heap_bytes)
            .codec(Text::<$case>::save, Text::<$case>::load)
            .one(|| Text::<$case>::from_number(Hook::Identity, 1).unwrap_or_else(|_| Text::of(1)))
            .unary_in_place("square", |out: &mut Text<$case>, x: &Text<$case>| {
                let value = x.value().wrapping_mul(x.value());
                out.become_in_place(Hook::InPlace, value, &[x])
            })
            .binary_in_place("fmod", |out: &mut Text<$case>, x: &_, y: &Text<$case>| {
                let value = x.value().checked_rem(y.value()).unwrap_or(0);
                out.become_in_place(Hook::InPlaceBinary, value, &[x, y])
            })
            .binary("divide", |x: &Text<$case>, y: &Text<$case>| {
                Text::hook(Hook::Multiply, &[x, y])?;
                let value = x.value().checked_div(y.value());
                value.map(Text::of).ok_or_else(|| denizen::Error::zero_division("by zero"))
            })
            .unary("absolute", |x: &Text<$case>| {
                Text::from_number(Hook::Negative, x.to_number(Hook::Negative)?.wrapping_abs())
            })
            .predicate("isfinite", |x: &Text<$case>| x.to_number(Hook::Predicate).map(|_| true))
            .unary_pair("modf", |x: &Text<$case>| {
                Text::hook(Hook::Pair, &[x])?;
                Ok::<_, denizen::Error>((Text::of(0), Text::of(x.value())))
            })
            .binary_with("left_shift", |x: &Text<$case>, by: i64| {
                Text::hook(Hook::WithNumber, &[x])?;
                Ok::<_, denizen::Error>(Text::of(x.value().wrapping_shl(by as u32)))
            })
            .binary_from("right_shift", |from: i64, x: &Text<$case>| {
                Text::hook(Hook::FromNumber, &[x])?;
                Ok::<_, denizen::Error>(Text::of(from.wrapping_shr(x.value() as u32)))
            })
            .cast_from(Casting::Safe, |x: i64| Text::<$case>::from_number(Hook::FromInt, x))
            .cast_from(Casting::SameKind, |x: f64| {
                Text::<$case>::from_number(Hook::FromFloat, whole(x)?)
            })
            .cast_to::<i64, _>(Casting::Unsafe, |x: &Text<$case>| x.to_number(Hook::ToInt))
            .cast_to::<f64, _>(Casting::Unsafe, |x: &Text<$case>| {
                x.to_number(Hook::ToFloat).map(|value| value as f64)
            })
            .from_python_with(|object| {
                let value = match object.extract::<i64>() {
                    Ok(value) => value,
                    Err(_) => object.str()?.to_string().trim().parse().map_err(|_| {
                        PyTypeError::new_err(format!("{object:?} is no whole number"))
                    })?,
                };
                Text::<$case>::from_number(Hook::FromPython, value)
                    .map_err(|error| PyTypeError::new_err(error.to_string()))
            })
            .documentation(TYPES[$case].1)
            .module("denizen_hostile")
    };
}

/// Runs `$work` with the type of an array's elements.
macro_rules! with_case {
    ($array:expr, $case:ident => $work:expr) => {{
        let name = $array.getattr("dtype")?.str()?.to_string();
        let known = TYPES.iter().position(|(case, _)| name == format!("denizen_hostile.{case}"));
        match known {
            Some(0) => with_case!(@ 0, $case, $work),
            Some(1) => with_case!(@ 1, $case, $work),
            Some(2) => with_case!(@ 2, $case, $work),
            Some(3) => with_case!(@ 3, $case, $work),
            Some(4) => with_case!(@ 4, $case, $work),
            Some(5) => with_case!(@ 5, $case, $work),
            Some(6) => with_case!(@ 6, $case, $work),
            _ => Err(PyTypeError::new_err(format!("{name} is none of these types"))),
        }
    }};
    (@ $number:literal, $case:ident, $work:expr) => {{
        const $case: usize = $number;
        $work
    }};
}

#[pymodule]
fn denizen_hostile(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let named = |case: usize| TYPES[case].0;
    describe!(denizen::element::<Text<0>>(named(0)).clone(), 0).add_to(module)?;
    describe!(denizen::element::<Text<1>>(named(1)).clone().needs_gil(), 1).add_to(module)?;
    describe!(denizen::element::<Text<2>>(named(2)).boxed().clone(), 2).add_to(module)?;
    describe!(denizen::element::<Text<3>>(named(3)).boxed().clone().needs_gil(), 3)
        .add_to(module)?;
    describe!(denizen::element::<Text<4>>(named(4)).clone().thread_safe(), 4).add_to(module)?;
    describe!(denizen::element::<Text<5>>(named(5)).boxed().clone().thread_safe(), 5)
        .add_to(module)?;
    describe!(denizen::element::<Text<6>>(named(6)).boxed().needs_gil(), 6).add_to(module)?;
    for function in [
        wrap_pyfunction!(hooks::hooks, module)?,
        wrap_pyfunction!(hooks::on, module)?,
        wrap_pyfunction!(hooks::off, module)?,
        wrap_pyfunction!(hooks::set_depth, module)?,
        wrap_pyfunction!(hooks::calls, module)?,
        wrap_pyfunction!(hooks::violations, module)?,
        wrap_pyfunction!(types, module)?,
        wrap_pyfunction!(live, module)?,
        wrap_pyfunction!(while_reading, module)?,
        wrap_pyfunction!(while_writing, module)?,
        wrap_pyfunction!(keep_reading, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}

/// The names of the types.
#[pyfunction]
fn types() -> Vec<&'static str> {
    TYPES.iter().map(|(name, _)| *name).collect()
}

/// How many objects of each type are alive.
#[pyfunction]
fn live() -> Vec<(&'static str, i64)> {
    TYPES.iter().enumerate().map(|(case, (name, _))| (*name, text::live(case))).collect()
}

/// Calls Python while the array is lent to read: its elements stay what they are.
#[pyfunction]
fn while_reading<'py>(
    array: &Bound<'py, PyAny>,
    call: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    with_case!(array, K => {
        let view = denizen::read::<Text<K>>(array)?;
        let before: Vec<i64> = view.iter().map(value_in).collect();
        let result = call.call0();
        let after: Vec<i64> = view.iter().map(value_in).collect();
        if before != after {
            violation(format!("a view's elements {before:?} became {after:?}"));
        }
        result
    })
}

/// Calls Python while the array is lent to write: nobody else changes an element before or after
/// it is set to `value`.
#[pyfunction]
fn while_writing<'py>(
    array: &Bound<'py, PyAny>,
    call: &Bound<'py, PyAny>,
    value: i64,
) -> PyResult<Bound<'py, PyAny>> {
    with_case!(array, K => {
        let mut view = denizen::write::<Text<K>>(array)?;
        let before: Vec<i64> = view.iter_mut().map(|x| value_in(x)).collect();
        let result = call.call0();
        let after: Vec<i64> = view.iter_mut().map(|x| value_in(x)).collect();
        if before != after {
            violation(format!("the elements {before:?} of a view to write became {after:?}"));
        }
        for element in view.iter_mut() {
            element.set(value);
        }
        let again = call.call0();
        if !view.iter_mut().all(|x| value_in(x) == value) {
            violation("what was written through a view is not there any more".to_owned());
        }
        result.and(again)
    })
}

/// Lends the array to read, for ever: safe code may forget a view.
#[pyfunction]
fn keep_reading(array: &Bound<'_, PyAny>) -> PyResult<()> {
    with_case!(array, K => {
        std::mem::forget(denizen::read::<Text<K>>(array)?);
        Ok(())
    })
}

fn value_in<const K: usize>(element: &Text<K>) -> i64 {
    // The hook is only a name here.
    element.check(Hook::Predicate);
    element.value()
}
