//! Loops over cells as NumPy lays them out, and what they must give.

use super::*;

pub(super) fn address(cells: &mut [Integer]) -> *mut u8 {
    cells.as_mut_ptr().cast()
}

/// Calls a loop.
pub(super) fn run(
    function: LoopFn,
    arguments: &[*mut u8],
    dimensions: &[isize],
    strides: &[isize],
) -> (Status, ErrorOut) {
    let mut error_out = ErrorOut::new();
    // SAFETY: the tests give every loop the operands it is for, in bounds.
    let status = unsafe {
        function(
            std::ptr::null_mut(),
            arguments.as_ptr(),
            dimensions.as_ptr(),
            strides.as_ptr(),
            &raw mut error_out,
        )
    };
    (status, error_out)
}

/// The cells of one operand: element `i` at `i * stride`, from the end for a negative stride.
pub(super) struct Cells {
    cells: Vec<Integer>,
    stride: isize,
    count: usize,
}

impl Cells {
    pub(super) fn new<'a>(values: impl ExactSizeIterator<Item = &'a IBig>, stride: isize) -> Self {
        let count = values.len();
        let spread = stride.unsigned_abs().max(1);
        let mut cells: Vec<Integer> =
            values.flat_map(|value| (0..spread).map(|_| integer(value))).collect();
        if stride < 0 {
            cells.reverse();
        }
        Cells { cells, stride, count }
    }

    pub(super) fn start(&mut self) -> *mut u8 {
        let start = if self.stride < 0 { self.count as isize - 1 } else { 0 };
        address(&mut self.cells).wrapping_offset(start * -self.stride.min(0) * 8)
    }

    pub(super) fn get(&self, index: usize) -> &Integer {
        let start = if self.stride < 0 { self.count as isize - 1 } else { 0 };
        &self.cells[(start * -self.stride.min(0) + index as isize * self.stride) as usize]
    }
}

type Values = [(IBig, IBig, IBig)];

pub(super) fn check_binary(
    function: LoopFn,
    values: &Values,
    strides: (isize, isize, isize),
    alias: usize,
    expected: impl Fn(&IBig, &IBig) -> IBig,
) -> Result<(), TestCaseError> {
    let mut left = Cells::new(values.iter().map(|v| &v.0), strides.0);
    let mut right = Cells::new(values.iter().map(|v| &v.1), strides.1);
    let mut output = Cells::new(values.iter().map(|v| &v.2), strides.2);
    let expected: Vec<IBig> = (0..values.len())
        .map(|i| expected(&left.get(i).to_ibig(), &right.get(i).to_ibig()))
        .collect();
    // The output may be one of the inputs, where that one has a cell for each element.
    let (target, stride) = match alias {
        1 if strides.0 != 0 => (left.start(), strides.0),
        2 if strides.1 != 0 => (right.start(), strides.1),
        _ => (output.start(), strides.2),
    };
    let (status, error_out) = run(
        function,
        &[left.start(), right.start(), target],
        &[values.len() as isize],
        &[strides.0 * 8, strides.1 * 8, stride * 8],
    );
    prop_assert_eq!(status, OK, "{}", error_out.text());
    let result = match alias {
        1 if strides.0 != 0 => &left,
        2 if strides.1 != 0 => &right,
        _ => &output,
    };
    for (index, expected) in expected.iter().enumerate() {
        check(result.get(index), expected);
    }
    Ok(())
}

pub(super) fn check_compare(
    function: LoopFn,
    values: &Values,
    strides: (isize, isize, isize),
    expected: impl Fn(&IBig, &IBig) -> bool,
) -> Result<(), TestCaseError> {
    let mut left = Cells::new(values.iter().map(|v| &v.0), strides.0);
    let mut right = Cells::new(values.iter().map(|v| &v.1), strides.1);
    let mut output = vec![7u8; values.len()];
    let (status, _) = run(
        function,
        &[left.start(), right.start(), output.as_mut_ptr()],
        &[values.len() as isize],
        &[strides.0 * 8, strides.1 * 8, 1],
    );
    prop_assert_eq!(status, OK);
    for (index, &result) in output.iter().enumerate() {
        let wanted = expected(&left.get(index).to_ibig(), &right.get(index).to_ibig());
        prop_assert_eq!(result, u8::from(wanted));
    }
    Ok(())
}

pub(super) fn check_unary(
    function: LoopFn,
    values: &Values,
    alias: usize,
    expected: impl Fn(&IBig) -> IBig,
) -> Result<(), TestCaseError> {
    let mut input: Vec<Integer> = values.iter().map(|v| integer(&v.0)).collect();
    let mut output: Vec<Integer> = values.iter().map(|v| integer(&v.1)).collect();
    let source = address(&mut input);
    let target = if alias == 1 { source } else { address(&mut output) };
    let (status, _) = run(function, &[source, target], &[values.len() as isize], &[8, 8]);
    prop_assert_eq!(status, OK);
    for (index, result) in (if alias == 1 { &input } else { &output }).iter().enumerate() {
        check(result, &expected(&values[index].0));
    }
    Ok(())
}

/// NumPy's two ways of folding: into one cell, and along an array where each output is the next
/// element's left operand.
pub(super) fn check_fold(
    function: LoopFn,
    values: &[IBig],
    operation: impl Fn(&IBig, &IBig) -> IBig,
) -> Result<(), TestCaseError> {
    let mut cells: Vec<Integer> = values.iter().map(integer).collect();
    let mut sum = [Integer::from(3)];
    let target = address(&mut sum);
    let (status, _) =
        run(function, &[target, address(&mut cells), target], &[values.len() as isize], &[0, 8, 0]);
    prop_assert_eq!(status, OK);
    check(&sum[0], &values.iter().fold(IBig::from(3), |a, b| operation(&a, b)));

    let mut running: Vec<Integer> = (0..=values.len()).map(|_| Integer::from(3)).collect();
    let start = address(&mut running);
    let (status, _) = run(
        function,
        &[start, address(&mut cells), start.wrapping_add(8)],
        &[values.len() as isize],
        &[8, 8, 8],
    );
    prop_assert_eq!(status, OK);
    let mut expected = IBig::from(3);
    for (value, result) in values.iter().zip(&running[1..]) {
        expected = operation(&expected, value);
        check(result, &expected);
    }
    Ok(())
}
