//! Generalised loops (matmul, vecdot, ..): all at once, with a ledger for each row of output.

use crate::{
    abi::{self, ErrorOut},
    dtype::{
        handle::{LoopData, OperandType, trampoline},
        loops::access::{self, BLOCK, Operand, Run},
        ufuncs::call::MOST,
    },
    erased::{CellsMut, ElementType, Exclusive, Failure, Staging},
    numpy_abi::{NpyAuxData, PyArrayMethod_Context},
    segment::Ledger,
};
use std::ffi::{c_char, c_int};

/// A generalised loop (matmul, vecdot, ..): all at once, with a ledger for each row of output.
pub unsafe extern "C" fn generalised(
    _context: *mut PyArrayMethod_Context,
    data: *const *mut c_char,
    dimensions: *const isize,
    strides: *const isize,
    auxdata: *mut NpyAuxData,
) -> c_int {
    trampoline::looped_apart("generalised ufunc loop", || {
        // SAFETY: NumPy hands back our auxiliary data; pointers and strides are as in its convention.
        unsafe {
            let this = &*auxdata.cast::<LoopData>();
            let grids: Vec<_> = (0..this.operands.len())
                .map(|index| Grid::new(this, index, data, dimensions, strides))
                .collect();
            let operands: [Operand; MOST] = std::array::from_fn(|index| {
                let OperandType::Element(dtype) = this.operands.get(index)? else {
                    return None;
                };
                let write = index >= this.input_count;
                Some((dtype.element(), grids[index].hull(dtype.element().size(), write)?))
            });
            let mut replaced = [const { None::<Staging<'static>> }; MOST];
            access::replacing_all(operands, &mut replaced, |segments, right, replaced| {
                let mut ledgers = Vec::new();
                for grid in grids.iter().skip(this.input_count) {
                    let mut rows = 0;
                    grid.rows(|_| rows += 1);
                    ledgers.try_reserve(rows).map_err(|_| {
                        let what = format!("no memory for the books of {rows} rows of output");
                        Failure::new(abi::ERROR_MEMORY, what)
                    })?;
                }
                for (index, grid) in grids.iter().enumerate().skip(this.input_count) {
                    let Some((element, _)) = operands[index] else { continue };
                    grid.rows(|run| {
                        let cells = access::cells_of(run, right);
                        ledgers.push((Ledger::open(element, segments[index], &cells), cells));
                    });
                }
                let outputs = grids.iter().enumerate().skip(this.input_count);
                let set_aside = outputs.filter_map(|(index, grid)| {
                    let (element, _) = operands[index].filter(|(e, _)| !e.is_thread_safe())?;
                    Some((index, grid.set_aside(element, right)))
                });
                let mut outcome = Ok(());
                for (index, old) in set_aside {
                    match old {
                        Ok(old) => replaced[index] = old,
                        Err(failure) => outcome = Err(failure),
                    }
                }
                if outcome.is_ok() {
                    let mut report = ErrorOut::new();
                    let status = (this.function)(
                        this.context,
                        data.cast(),
                        dimensions,
                        strides,
                        &mut report,
                    );
                    outcome = Failure::check(status, &report);
                }
                if outcome.is_err() {
                    for (grid, old) in grids.iter().zip(replaced.iter_mut()) {
                        if let Some(old) = old {
                            grid.give_back(old, right);
                        }
                    }
                }
                for (ledger, cells) in ledgers {
                    ledger.close(cells.as_cells());
                }
                outcome
            })
        }
    })
}

/// The cells of one operand of a generalised loop: a start and (length, stride) a dimension, the
/// outer loop first.
struct Grid {
    start: *mut u8,
    dimensions: Vec<(usize, isize)>,
}

impl Grid {
    /// # Safety
    /// The arguments are those of a loop call of `this`.
    unsafe fn new(
        this: &LoopData,
        index: usize,
        data: *const *mut c_char,
        lengths: *const isize,
        strides: *const isize,
    ) -> Grid {
        let core = this.core.as_deref().unwrap_or_default();
        // Core strides follow the outer ones, operand by operand.
        let before: usize = this.operands.len() + core[..index].iter().map(Vec::len).sum::<usize>();
        // SAFETY: the caller's promise.
        unsafe {
            let mut dimensions = vec![(*lengths as usize, *strides.add(index))];
            for (position, &dimension) in core[index].iter().enumerate() {
                dimensions
                    .push((*lengths.add(1 + dimension) as usize, *strides.add(before + position)));
            }
            Grid { start: (*data.add(index)).cast(), dimensions }
        }
    }

    /// All bytes from the first to the last cell, as a run without gaps; `None` without a cell.
    fn hull(&self, size: usize, write: bool) -> Option<Run> {
        if self.dimensions.iter().any(|&(length, _)| length == 0) {
            return None;
        }
        let (mut low, mut high) = (0isize, 0isize);
        for &(length, stride) in &self.dimensions {
            let reach = stride * (length as isize - 1);
            low += reach.min(0);
            high += reach.max(0);
        }
        Some(Run {
            data: self.start.wrapping_offset(low),
            stride: size as isize,
            count: (high - low) as usize / size + 1,
            write,
        })
    }

    /// Moves the objects in the cells aside, where there are any: a staged cell for each, in the
    /// order of [`Self::rows`].
    ///
    /// # Errors
    /// There is no memory.
    ///
    /// # Safety
    /// The cells are cells of `element` under rule 1, exclusively this thread's for the reason given,
    /// and no two of them the same.
    unsafe fn set_aside(
        &self,
        element: &'static ElementType,
        right: Exclusive<'_>,
    ) -> Result<Option<Staging<'static>>, Failure> {
        let (mut count, mut live) = (0, 0);
        self.rows(|run| {
            // SAFETY: the caller's promise.
            let cells = unsafe { access::cells_of(run, right) };
            count += run.count;
            live += element.vacancy().count_live(cells.as_cells());
        });
        if live == 0 {
            return Ok(None);
        }
        let mut staging = Staging::exact(element, count)?;
        let mut first = 0;
        self.rows(|run| {
            // SAFETY: as above.
            unsafe { staging.take(first, CellsMut::new(run.data, run.stride, run.count, right)) };
            first += run.count;
        });
        Ok(Some(staging))
    }

    /// Moves objects that were set aside back into the cells that are vacant.
    ///
    /// # Safety
    /// As for [`Self::set_aside`], which made `staging`.
    unsafe fn give_back(&self, staging: &mut Staging<'static>, right: Exclusive<'_>) {
        let mut index = 0;
        self.rows(|run| {
            for position in 0..run.count {
                let cell = run.part(position, 1);
                // SAFETY: the caller's promise.
                unsafe {
                    if !staging.element().vacancy().is_live(cell.data) {
                        staging.exchange(index, access::cells_of(cell, right));
                    }
                }
                index += 1;
            }
        });
    }

    /// The cells as runs of at most [`BLOCK`], along the last dimension.
    fn rows(&self, mut body: impl FnMut(Run)) {
        let Some((&(length, stride), outer)) = self.dimensions.split_last() else { return };
        let row_count: usize = outer.iter().map(|&(length, _)| length).product();
        for row in 0..row_count {
            let mut rest = row;
            let mut data = self.start;
            for &(length, stride) in outer.iter().rev() {
                data = data.wrapping_offset(stride * (rest % length) as isize);
                rest /= length;
            }
            let run = Run::write(data, stride, length);
            let mut start = 0;
            while start < length {
                let count = (length - start).min(BLOCK);
                body(run.part(start, count));
                start += count;
            }
        }
    }
}
