//! Ufunc loops: the client's inner loop, surrounded by locks, ledger and error handling.

use super::{
    DType,
    access::{self, BLOCK, Operand, Run},
    class,
    register::{LoopData, OperandType},
    trampoline, watched, within,
};
use crate::{
    abi::{self, ErrorOut},
    audit::{self, Operation},
    erased::{CellsMut, ElementType, Exclusive, Failure, SpareCell, Staging},
    numpy_abi::{
        NpyAuxData, NumpyApi, PyArray_DTypeMeta, PyArrayMethod_Context, PyArrayMethod_Spec,
        callbacks::StridedLoop, flags::*, slots,
    },
    segment::{Ledger, Segment},
};
use pyo3::ffi;
use std::{
    ffi::{c_char, c_int, c_void},
    ptr,
};

/// Operands that need no allocation in a loop call.
const FEW: usize = 4;
/// Most operands that NumPy hands to a loop.
const MOST: usize = 64;

/// Reductions over several axes may take the elements in any order.
const REORDERABLE: [&str; 15] = [
    "add",
    "multiply",
    "minimum",
    "maximum",
    "fmin",
    "fmax",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "gcd",
    "lcm",
    "logaddexp",
];

/// Registers a loop with its ufunc. GIL held; an exception is set on failure.
///
/// # Safety
/// `data.ufunc` is a ufunc with as many operands as the loop, and `data` lives forever.
pub(super) unsafe fn add_loop(
    numpy: &'static NumpyApi,
    data: &'static LoopData,
    dtypes: &mut [*mut PyArray_DTypeMeta],
) -> Result<(), ()> {
    let name = data.name.to_str().unwrap_or_default();
    let mut method_slots = vec![slots::method::get_loop(get_loop)];
    let reduces = data.input_count == 2 && data.operands.len() == 3 && data.core.is_none();
    if reduces {
        method_slots.push(slots::method::get_reduction_initial(get_reduction_initial));
    }
    method_slots.push(slots::END);
    let reorderable = if REORDERABLE.contains(&name) { NPY_METH_IS_REORDERABLE } else { 0 };
    let mut spec = PyArrayMethod_Spec {
        name: data.name.as_ptr(),
        nin: data.input_count as c_int,
        nout: (data.operands.len() - data.input_count) as c_int,
        casting: NPY_NO_CASTING,
        flags: loop_flags(data) | reorderable,
        dtypes: dtypes.as_mut_ptr(),
        slots: method_slots.as_mut_ptr(),
    };
    // SAFETY: the caller's promise; the spec lives through the call.
    let status = unsafe { numpy.add_loop_from_spec(data.ufunc as *mut ffi::PyObject, &mut spec) };
    if status < 0 { Err(()) } else { Ok(()) }
}

fn loop_flags(data: &LoopData) -> c_int {
    let mut flags = NPY_METH_NO_FLOATINGPOINT_ERRORS;
    for operand in &data.operands {
        if let OperandType::Element(dtype) = operand {
            flags |= class::loop_flags(dtype.element());
        }
    }
    flags
}

/// The loop that was registered for the ufunc and the operands of a call.
///
/// # Safety
/// `context` is NumPy's context of a call of a loop of ours; GIL held.
unsafe fn loop_of(context: *const PyArrayMethod_Context) -> Option<&'static LoopData> {
    // SAFETY: the caller's promise: one descriptor an operand.
    unsafe {
        let ufunc = (*context).caller as usize;
        let class_of = |index: usize| -> *mut PyArray_DTypeMeta {
            let descr = *(*context).descriptors.add(index);
            ffi::Py_TYPE(descr.cast()).cast()
        };
        let fits = |data: &LoopData| {
            data.ufunc == ufunc
                && data.operands.iter().enumerate().all(|(index, operand)| match operand {
                    OperandType::Element(dtype) => dtype.class() == class_of(index),
                    OperandType::Numpy(number) => {
                        (**(*context).descriptors.add(index)).type_num == *number
                    }
                })
        };
        // Every loop of ours has an operand of ours, of whose type it is one. The number of
        // operands is the ufunc's: the loops of another ufunc are passed over by its address.
        let count = ufunc_operand_count((*context).caller);
        (0..count)
            .filter_map(|index| DType::try_of_class(class_of(index)))
            .find_map(|dtype| dtype.operations().loops.iter().find(|data| fits(data)))
            .map(|data| &**data)
    }
}

/// How many operands a ufunc has (`PyUFuncObject.nargs`, third int of the struct).
///
/// # Safety
/// `ufunc` is a ufunc.
pub(super) unsafe fn ufunc_operand_count(ufunc: *mut ffi::PyObject) -> usize {
    // SAFETY: the caller's promise: `nin`, `nout`, `nargs` follow the object's head.
    unsafe { (*ufunc.cast::<UfuncHead>()).nargs as usize }
}

/// How many inputs and how many operands a ufunc has.
///
/// # Safety
/// `ufunc` is a ufunc.
pub(super) unsafe fn ufunc_operand_counts(ufunc: *mut ffi::PyObject) -> (usize, usize) {
    // SAFETY: as for `ufunc_operand_count`.
    unsafe { ((*ufunc.cast::<UfuncHead>()).nin as usize, ufunc_operand_count(ufunc)) }
}

/// The head of `PyUFuncObject`, unchanged since NumPy 1.
#[repr(C)]
struct UfuncHead {
    ob_base: ffi::PyObject,
    nin: c_int,
    nout: c_int,
    nargs: c_int,
}

unsafe extern "C" fn get_loop(
    context: *mut PyArrayMethod_Context,
    _aligned: c_int,
    _move_references: c_int,
    _strides: *const isize,
    out_loop: *mut Option<StridedLoop>,
    out_auxdata: *mut *mut NpyAuxData,
    flags: *mut c_int,
) -> c_int {
    trampoline::slot("get_loop", || {
        // SAFETY: NumPy passes its context and valid places for the results; GIL held.
        unsafe {
            let Some(data) = loop_of(context) else {
                super::errors::set(
                    crate::abi::ERROR_RUNTIME,
                    "denizen has no record of a loop that it registered",
                );
                return -1;
            };
            *out_loop = Some(strided(data));
            *out_auxdata = ptr::from_ref(data).cast_mut().cast();
            *flags = loop_flags(data);
            match (data.core.is_some(), data.operands.len() <= FEW) {
                (false, true) => watched::watch::<Elementwise<FEW>>(out_loop),
                (false, false) => watched::watch::<Elementwise<MOST>>(out_loop),
                (true, _) => watched::watch::<Generalised>(out_loop),
            }
        }
        0
    })
}

/// Runs a loop as NumPy would. Returns -1 with an exception set where it fails.
///
/// # Safety
/// Pointers, dimensions and strides are as in NumPy's convention for the loop; no lock is held.
pub(super) unsafe fn run(
    data: &'static LoopData,
    arguments: *const *mut c_char,
    dimensions: *const isize,
    strides: *const isize,
) -> c_int {
    let auxdata = ptr::from_ref(data).cast_mut().cast();
    // SAFETY: the data of a loop of ours.
    let _at_work = audit::is_running().then(|| audit::at_work(unsafe { operation(auxdata) }));
    // SAFETY: the caller's promise; none of the three looks at the context.
    unsafe { strided(data)(ptr::null_mut(), arguments, dimensions, strides, auxdata) }
}

/// Which of the three surrounds a loop.
fn strided(data: &LoopData) -> StridedLoop {
    match (data.core.is_some(), data.operands.len() <= FEW) {
        (false, true) => elementwise::<FEW>,
        (false, false) => elementwise::<MOST>,
        (true, _) => generalised,
    }
}

struct Elementwise<const N: usize>;
struct Generalised;

impl<const N: usize> watched::Watched for Elementwise<N> {
    const LOOP: StridedLoop = elementwise::<N>;

    unsafe fn operation(auxdata: *const NpyAuxData) -> Operation {
        // SAFETY: the caller's promise.
        unsafe { operation(auxdata) }
    }
}

impl watched::Watched for Generalised {
    const LOOP: StridedLoop = generalised;

    unsafe fn operation(auxdata: *const NpyAuxData) -> Operation {
        // SAFETY: the caller's promise.
        unsafe { operation(auxdata) }
    }
}

/// The operation that a ufunc's loop is.
///
/// # Safety
/// The auxiliary data is that of a loop of ours.
unsafe fn operation(auxdata: *const NpyAuxData) -> Operation {
    // SAFETY: the caller's promise; the data lives for ever.
    let data: &'static LoopData = unsafe { &*auxdata.cast() };
    Operation::new(data.name.to_str().unwrap_or_default())
}

/// An element-by-element loop, in blocks, with at most `N` operands.
unsafe extern "C" fn elementwise<const N: usize>(
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
        let mut books = [const { None::<(Ledger<'static>, CellsMut<'_>)> }; N];
        for (index, operand) in operands.iter().enumerate() {
            let Some((element, run)) = operand.filter(|(_, run)| run.write) else { continue };
            // SAFETY: an output run of at most `BLOCK` cells, locked.
            let cells = unsafe { access::cells_of(run.part(start, length), right) };
            books[index] = Some((Ledger::open(element, segments[index], &cells), cells));
        }
        let is_aligned =
            operands.iter().flatten().all(|(element, run)| within::is_aligned(element, *run));
        // SAFETY: pointers and strides are NumPy's, moved to this block.
        let outcome = unsafe {
            if is_aligned {
                call(this, arguments.as_ptr(), length, *strides)
            } else {
                call_unaligned(this, operands, &arguments, length, *strides)
            }
        };
        for (ledger, cells) in books.iter_mut().filter_map(Option::take) {
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
            operands.iter().flatten().all(|(element, run)| within::is_aligned(element, *run));
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
                within::put_staged(element, (to, segments[index]), right, staging, at);
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

/// A generalised loop (matmul, vecdot, ..): all at once, with a ledger for each row of output.
unsafe extern "C" fn generalised(
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
                let mut books = Vec::new();
                for grid in grids.iter().skip(this.input_count) {
                    let mut rows = 0;
                    grid.rows(|_| rows += 1);
                    books.try_reserve(rows).map_err(|_| {
                        let what = format!("no memory for the books of {rows} rows of output");
                        Failure::new(abi::ERROR_MEMORY, what)
                    })?;
                }
                for (index, grid) in grids.iter().enumerate().skip(this.input_count) {
                    let Some((element, _)) = operands[index] else { continue };
                    grid.rows(|run| {
                        let cells = access::cells_of(run, right);
                        books.push((Ledger::open(element, segments[index], &cells), cells));
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
                for (ledger, cells) in books {
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

/// The core dimensions of each operand, as indices into a ufunc's own list: `None` without a
/// signature. `(n?,k),(k,m?)->(n?,m?)` gives `[[0, 1], [1, 2], [0, 2]]`.
pub(super) fn core_dimensions(signature: Option<&str>) -> Option<Vec<Vec<usize>>> {
    let signature = signature?;
    let mut names: Vec<&str> = Vec::new();
    let mut operands = Vec::new();
    for operand in signature.split("->").flat_map(|side| side.split("),")) {
        let inside = operand.trim().trim_matches(|bracket| bracket == '(' || bracket == ')');
        let mut dimensions = Vec::new();
        for name in inside.split(',').map(|name| name.trim().trim_end_matches('?')) {
            if name.is_empty() {
                continue;
            }
            let index = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            dimensions.push(index);
        }
        operands.push(dimensions);
    }
    Some(operands)
}

/// Writes the identity of the ufunc into a zeroed cell: 1, or 0 where there is none.
unsafe extern "C" fn get_reduction_initial(
    context: *mut PyArrayMethod_Context,
    _is_empty: u8,
    initial: *mut c_void,
) -> c_int {
    trampoline::slot("get_reduction_initial", || {
        // SAFETY: NumPy passes its context and one zeroed cell of the first operand's dtype.
        unsafe {
            let descr = *(*context).descriptors;
            let Some(dtype) = DType::try_of_descr(descr) else { return 0 };
            let ufunc = (*context).caller as usize;
            let Some(identity) = dtype.operations().identities.get(&ufunc) else { return 0 };
            let element = dtype.element();
            let run = Run::write(initial.cast(), element.size() as isize, 1);
            let mut report = ErrorOut::new();
            let _at_work = watched::at_work(Operation::new("reduction"));
            let status = access::with_ledger(element, None, run, Exclusive::own(), || {
                (identity.construct)(identity.context, run.data, run.stride, 1, &mut report)
            });
            match Failure::check(status, &report) {
                Ok(()) => 1,
                Err(failure) => {
                    super::errors::raise(&failure);
                    -1
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::core_dimensions;

    #[test]
    fn signatures_give_each_operand_its_dimensions() {
        let parsed = |signature| core_dimensions(Some(signature));
        assert_eq!(
            parsed("(n?,k),(k,m?)->(n?,m?)"),
            Some(vec![vec![0, 1], vec![1, 2], vec![0, 2]])
        );
        assert_eq!(parsed("(n),(n)->()"), Some(vec![vec![0], vec![0], vec![]]));
        assert_eq!(parsed("(m,n),(n)->(m)"), Some(vec![vec![0, 1], vec![1], vec![0]]));
        assert_eq!(core_dimensions(None), None);
    }
}
