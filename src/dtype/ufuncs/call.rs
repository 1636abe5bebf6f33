//! Element-by-element loops: the client's inner loop, surrounded by locks, ledger and error handling.

use crate::{
    abi::ErrorOut,
    dtype::{
        handle::{LoopData, OperandType, trampoline},
        loops::{
            access::{self, BLOCK, Operand, Run},
            align, transfer,
        },
    },
    erased::{CellsMut, Exclusive, Failure, SpareCell, Staging},
    lock::Operation,
    numpy_abi::{NpyAuxData, PyArrayMethod_Context},
    segment::{Ledger, Segment},
};
use std::{
    ffi::{c_char, c_int},
    ptr,
};

/// Operands that need no allocation in a loop call.
pub const FEW: usize = 4;
/// Most operands that NumPy hands to a loop.
pub const MOST: usize = 64;

/// An element-by-element loop, in blocks, with at most `N` operands.
pub unsafe extern "C" fn elementwise<const N: usize>(
    _context: *mut PyArrayMethod_Context,
    data: *const *mut c_char,
    dimensions: *const isize,
    strides: *const isize,
    auxdata: *mut NpyAuxData,
) -> c_int {
    // SAFETY: NumPy hands back our auxiliary data, and its convention gives one pointer and one
    // stride an operand.
    unsafe {
        let this = &*auxdata.cast::<LoopData>();
        let count = *dimensions as usize;
        let used = this.operands.len();
        let operands: [Operand; N] = std::array::from_fn(|index| {
            if index >= used {
                return None;
            }
            let OperandType::Element(dtype) = this.operands[index] else {
                return None;
            };
            let run = Run {
                data: (*data.add(index)).cast(),
                stride: *strides.add(index),
                count,
                write: index >= this.input_count,
            };
            Some((dtype.element(), run))
        });
        let call = Call { this, operands, data, strides, count };
        let apart = |operand: &Operand| {
            operand.is_some_and(|(element, run)| run.write && !element.is_thread_safe())
        };
        if operands.iter().any(apart) {
            trampoline::looped_apart("ufunc loop", || call.run_beside())
        } else {
            trampoline::looped("ufunc loop", || call.run_in_place())
        }
    }
}

/// A call of an element-by-element loop.
struct Call<'a, const N: usize> {
    this: &'a LoopData,
    operands: [Operand; N],
    data: *const *mut c_char,
    strides: *const isize,
    count: usize,
}

impl<const N: usize> Call<'_, N> {
    /// Runs the loop over the operands where they are.
    ///
    /// # Safety
    /// As for [`elementwise`].
    #[inline]
    unsafe fn run_in_place(&self) -> Result<(), Failure> {
        access::with_operands(self.operands, |segments, right| {
            let mut start = 0;
            while start < self.count {
                let length = (self.count - start).min(BLOCK);
                // SAFETY: the caller's promise; the memory is locked.
                unsafe { self.block(&segments, right, (start, length)) }
                    .map_err(|failure| failure.after(start))?;
                start += length;
            }
            Ok(())
        })
    }

    /// The operand's first element from `start` on.
    ///
    /// # Safety
    /// As for [`elementwise`].
    #[inline]
    unsafe fn argument(&self, index: usize, start: usize) -> *mut u8 {
        // SAFETY: one pointer and one stride an operand.
        unsafe {
            (*self.data.add(index))
                .cast::<u8>()
                .wrapping_offset(*self.strides.add(index) * start as isize)
        }
    }

    /// Elements `start .. start + length` of a loop.
    ///
    /// # Safety
    /// As for [`elementwise`]; the memory of the operands is locked.
    #[inline]
    unsafe fn block(
        &self,
        segments: &[Option<Segment>; N],
        right: Exclusive<'_>,
        (start, length): (usize, usize),
    ) -> Result<(), Failure> {
        let Call { this, operands, strides, .. } = self;
        let mut arguments = [ptr::null_mut::<u8>(); N];
        for (index, argument) in arguments.iter_mut().enumerate().take(this.operands.len()) {
            // SAFETY: the caller's promise.
            *argument = unsafe { self.argument(index, start) };
        }
        let mut ledgers = [const { None::<(Ledger<'static>, CellsMut<'_>)> }; N];
        for (index, operand) in operands.iter().enumerate() {
            let Some((element, run)) = operand.filter(|(_, run)| run.write) else { continue };
            // SAFETY: an output run of at most `BLOCK` cells, locked.
            let cells = unsafe { access::cells_of(run.part(start, length), right) };
            ledgers[index] = Some((Ledger::open(element, segments[index], &cells), cells));
        }
        let is_aligned =
            operands.iter().flatten().all(|(element, run)| align::is_aligned(element, *run));
        // SAFETY: pointers and strides are NumPy's, moved to this block.
        let outcome = unsafe {
            if is_aligned {
                call(this, arguments.as_ptr(), length, *strides)
            } else {
                call_unaligned(this, operands, &arguments, length, *strides)
            }
        };
        for (ledger, cells) in ledgers.iter_mut().filter_map(Option::take) {
            ledger.close(cells.as_cells());
        }
        outcome
    }

    /// Runs the loop where hooks of an output's type may run Python code: the objects are made
    /// beside the array, and change places with what is there.
    ///
    /// # Safety
    /// As for [`elementwise`].
    #[inline(never)]
    unsafe fn run_beside(&self) -> Result<(), Failure> {
        // Of operands in buffers of NumPy's, no lock says so.
        let _operation = Operation::begin();
        let mut made = [const { None::<Staging<'static>> }; N];
        let mut most = BLOCK;
        for (staging, operand) in made.iter_mut().zip(&self.operands) {
            if let Some((element, _)) = operand.filter(|(_, run)| run.write) {
                let cells = staging.insert(Staging::new(element, self.count)?);
                most = most.min(cells.capacity());
            }
        }
        // An output that is an input of a later element takes its objects one by one.
        let step = if self.feeds_itself() { 1 } else { most };
        let mut start = 0;
        while start < self.count {
            let end = (start + most).min(self.count);
            access::replacing_all(self.parts(start, end), &mut made, |segments, right, made| {
                let mut first = start;
                while first < end {
                    let length = (end - first).min(step);
                    // SAFETY: the caller's promise; the memory is locked.
                    unsafe {
                        self.block_beside(&segments, right, made, (start, first, length))
                            .map_err(|failure| failure.after(first))?;
                    }
                    first += length;
                }
                Ok(())
            })?;
            start = end;
        }
        Ok(())
    }

    /// The operands' elements `start .. end`.
    fn parts(&self, start: usize, end: usize) -> [Operand; N] {
        self.operands
            .map(|operand| operand.map(|(element, run)| (element, run.part(start, end - start))))
    }

    /// Whether an element of an output may be an input of a later element: the operands share
    /// memory, and are not the same cells throughout (as in `a += b`).
    fn feeds_itself(&self) -> bool {
        let runs = || {
            self.operands.iter().enumerate().filter_map(|(index, operand)| {
                operand.map(|(element, run)| (index, element.size(), run))
            })
        };
        self.count > 1
            && runs().filter(|(_, _, run)| run.write).any(|(index, size, output)| {
                output.stride == 0
                    || runs().any(|(other, other_size, input)| {
                        other != index
                            && (output.data, output.stride) != (input.data, input.stride)
                            && output.shares_bytes(size, &input, other_size)
                    })
            })
    }

    /// Elements `first .. first + length`, of which the outputs are staged from `first - start` on
    /// and put in their places.
    ///
    /// # Safety
    /// As for [`elementwise`]; the memory of the operands is locked, and each output has a staging
    /// with room.
    unsafe fn block_beside(
        &self,
        segments: &[Option<Segment>; N],
        right: Exclusive<'_>,
        made: &mut [Option<Staging<'static>>; N],
        (start, first, length): (usize, usize, usize),
    ) -> Result<(), Failure> {
        let mut arguments = [ptr::null_mut::<u8>(); N];
        let mut strides = [0; N];
        let mut operands = self.operands;
        for index in 0..self.this.operands.len() {
            // SAFETY: the caller's promise.
            unsafe {
                arguments[index] = self.argument(index, first);
                strides[index] = *self.strides.add(index);
            }
            if let (Some(staging), Some((element, run))) = (&mut made[index], &mut operands[index])
            {
                arguments[index] = staging.cells(first - start, length).address(0);
                strides[index] = element.size() as isize;
                (run.data, run.stride) = (arguments[index], strides[index]);
            }
        }
        let is_aligned =
            operands.iter().flatten().all(|(element, run)| align::is_aligned(element, *run));
        // SAFETY: the caller's promise; the outputs are vacant cells of ours.
        let outcome = unsafe {
            if is_aligned {
                call(self.this, arguments.as_ptr(), length, strides.as_ptr())
            } else {
                call_unaligned(self.this, &operands, &arguments, length, strides.as_ptr())
            }
        };
        let done = outcome.as_ref().map_or_else(|failure| failure.done.min(length), |()| length);
        for (index, staging) in made.iter_mut().enumerate() {
            let (Some(staging), Some((element, run))) = (staging, self.operands[index]) else {
                continue;
            };
            let to = run.part(first, done);
            // SAFETY: an output run of at most `BLOCK` cells, locked; as many were made.
            unsafe {
                let at = first - start;
                transfer::put_staged(element, (to, segments[index]), right, staging, at);
            }
        }
        outcome
    }
}

/// Calls the client's function.
///
/// # Safety
/// As for [`elementwise`], and cells are aligned.
#[inline]
unsafe fn call(
    this: &LoopData,
    arguments: *const *mut u8,
    length: usize,
    strides: *const isize,
) -> Result<(), Failure> {
    let dimensions = [length as isize];
    let mut report = ErrorOut::new();
    // SAFETY: the client's contract and the caller's promise.
    let status = unsafe {
        (this.function)(this.context, arguments, dimensions.as_ptr(), strides, &mut report)
    };
    Failure::check(status, &report)
}

/// Calls the client's function element by element; cells that are not aligned visit aligned memory
/// meanwhile, a cell that is several operands one place. NumPy promises a loop aligned operands, and
/// `ufunc.at` judges them all by the first.
///
/// # Safety
/// As for [`elementwise`]; `arguments` are the operands' first elements.
#[cold]
#[inline(never)]
unsafe fn call_unaligned<const N: usize>(
    this: &LoopData,
    operands: &[Operand; N],
    arguments: &[*mut u8; N],
    length: usize,
    strides: *const isize,
) -> Result<(), Failure> {
    let mut spares: [Option<SpareCell<'_>>; N] = std::array::from_fn(|_| None);
    for (spare, operand) in spares.iter_mut().zip(operands) {
        *spare = operand.map(|(element, _)| SpareCell::new(element)).transpose()?;
    }
    for index in 0..length {
        let mut cells = *arguments;
        for (position, cell) in cells.iter_mut().enumerate().take(this.operands.len()) {
            // SAFETY: one stride an operand.
            *cell = cell.wrapping_offset(unsafe { *strides.add(position) } * index as isize);
        }
        let mut places = cells;
        for position in 0..N {
            let (Some((element, _)), Some(spare)) = (&operands[position], &mut spares[position])
            else {
                continue;
            };
            if cells[position].addr().is_multiple_of(element.align()) {
                continue;
            }
            places[position] = match cells[..position].iter().position(|c| *c == cells[position]) {
                Some(same) => places[same],
                None => {
                    let place = spare.cells().address(0);
                    // SAFETY: both are one cell; the object, trivially relocatable, moves there.
                    unsafe { place.copy_from_nonoverlapping(cells[position], element.size()) };
                    place
                }
            };
        }
        // SAFETY: the caller's promise; each cell is aligned, one element needs no stride.
        let outcome = unsafe { call(this, places.as_ptr(), 1, strides) };
        for position in 0..N {
            let Some((element, run)) = operands[position] else { continue };
            if run.write && places[position] != cells[position] {
                // SAFETY: the object, old or new, moves back.
                unsafe {
                    cells[position].copy_from_nonoverlapping(places[position], element.size());
                }
            }
        }
        outcome.map_err(|failure| failure.after(index))?;
    }
    Ok(())
}
