//! An extension that stores a type from crates.io and one of its own in NumPy arrays.

mod dual;
mod holders;

use bigdecimal::{BigDecimal, ToPrimitive, Zero};
use denizen::{Casting, Error};
use dual::Dual;
use pyo3::prelude::*;

#[pymodule]
fn denizen_example(module: &Bound<'_, PyModule>) -> PyResult<()> {
    denizen::element::<BigDecimal>("BigDecimal")
        .clone()
        .default()
        .arithmetic()
        .ordering()
        .text()
        .hash()
        .thread_safe()
        .default_is_zero()
        .linear_algebra()
        .binary("divide", |x: &BigDecimal, y: &BigDecimal| {
            if y.is_zero() { Err(Error::zero_division("division by zero")) } else { Ok(x / y) }
        })
        .unary("absolute", BigDecimal::abs)
        .unary("sqrt", BigDecimal::sqrt)
        .nonzero(|x| !x.is_zero())
        .cast_from(Casting::Safe, |x: i64| BigDecimal::from(x))
        .cast_from(Casting::Safe, |x: u64| BigDecimal::from(x))
        .cast_from(Casting::SameKind, |x: f64| {
            BigDecimal::try_from(x).map_err(|error| error.to_string())
        })
        .cast_to::<i64, _>(Casting::Unsafe, BigDecimal::to_i64)
        .cast_to::<u64, _>(Casting::Unsafe, BigDecimal::to_u64)
        .cast_to::<f64, _>(Casting::Unsafe, BigDecimal::to_f64)
        .module("denizen_example")
        .add_to(module)?;
    dual::register(module)?;
    holders::register(module)?;
    for function in [
        wrap_pyfunction!(live_duals, module)?,
        wrap_pyfunction!(adopt_duals, module)?,
        wrap_pyfunction!(adopt_decimals, module)?,
        wrap_pyfunction!(take_decimals, module)?,
        wrap_pyfunction!(slice_of, module)?,
        wrap_pyfunction!(strided_view_of, module)?,
        wrap_pyfunction!(element_at, module)?,
        wrap_pyfunction!(sum_rows, module)?,
        wrap_pyfunction!(scale, module)?,
        wrap_pyfunction!(scale_slice, module)?,
        wrap_pyfunction!(while_reading, module)?,
        wrap_pyfunction!(holders::adopt_lists, module)?,
        wrap_pyfunction!(holders::take_holders, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}

/// How many dual numbers are alive.
#[pyfunction]
fn live_duals() -> isize {
    dual::live()
}

/// A `Vec<Dual>` as an array, without a copy, and the address of its memory.
#[pyfunction]
fn adopt_duals<'py>(
    py: Python<'py>,
    values: Vec<f64>,
    shape: Vec<usize>,
) -> PyResult<(Bound<'py, PyAny>, usize)> {
    let count = values.len();
    let duals: Vec<Dual> =
        values.into_iter().enumerate().map(|(i, x)| Dual::variable(x, i, count)).collect();
    let address = duals.as_ptr().addr();
    Ok((denizen::adopt(py, duals, &shape)?, address))
}

/// Refused: decimals make no promise about zero bytes.
#[pyfunction]
fn adopt_decimals(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    denizen::adopt(py, vec![BigDecimal::from(1)], &[1])
}

/// Decimals moved into an array.
#[pyfunction]
fn take_decimals<'py>(py: Python<'py>, texts: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
    let decimals = texts.iter().map(|text| text.parse().unwrap_or_else(|_| BigDecimal::zero()));
    denizen::from_iter(py, decimals)
}

/// The values in a contiguous array of duals, read as a slice.
#[pyfunction]
fn slice_of(array: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let view = denizen::read::<Dual>(array)?;
    let slice = view.as_slice().map_err(value_error)?;
    Ok(slice.iter().map(|dual| dual.value).collect())
}

/// Shape, strides and values of any array of duals, read element by element.
#[pyfunction]
fn strided_view_of(array: &Bound<'_, PyAny>) -> PyResult<(Vec<usize>, Vec<isize>, Vec<f64>)> {
    let view = denizen::read::<Dual>(array)?;
    let values = view.iter().map(|dual| dual.value).collect();
    Ok((view.shape().to_vec(), view.strides().to_vec(), values))
}

/// One decimal of an array.
#[pyfunction]
fn element_at(array: &Bound<'_, PyAny>, index: Vec<usize>) -> PyResult<Option<String>> {
    let view = denizen::read::<BigDecimal>(array)?;
    Ok(view.get(&index).map(BigDecimal::to_string))
}

/// Row sums of a matrix of duals, with `ndarray`.
#[pyfunction]
fn sum_rows(array: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let view = denizen::read::<Dual>(array)?;
    let matrix = view.as_ndarray().map_err(value_error)?;
    Ok(matrix.rows().into_iter().map(|row| row.iter().map(|dual| dual.value).sum()).collect())
}

/// Multiplies in place, element by element.
#[pyfunction]
fn scale(array: &Bound<'_, PyAny>, factor: f64) -> PyResult<()> {
    denizen::write::<Dual>(array)?.iter_mut().for_each(|dual| dual.scale(factor));
    Ok(())
}

/// Multiplies in place through a slice.
#[pyfunction]
fn scale_slice(array: &Bound<'_, PyAny>, factor: f64) -> PyResult<()> {
    let mut view = denizen::write::<Dual>(array)?;
    view.as_mut_slice().map_err(value_error)?.iter_mut().for_each(|dual| dual.scale(factor));
    Ok(())
}

/// Calls Python while the array is lent to read.
#[pyfunction]
fn while_reading<'py>(
    array: &Bound<'py, PyAny>,
    call: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _view = denizen::read::<Dual>(array)?;
    call.call0()
}

fn value_error(error: Error) -> PyErr {
    pyo3::exceptions::PyValueError::new_err(error.to_string())
}
