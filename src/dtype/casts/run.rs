//! A cast at work: locks and ledger around it, blocks, and what each route does with a block.

use crate::{
    abi::{self, ErrorOut},
    audit::Operation,
    dtype::{
        casts::{
            numbers::{self, CHUNK, Chunk, Values},
            table::{self, CastEntry, Client, Route},
            text,
            text_form::TextForm,
        },
        cells::clear_cells,
        handle::{errors, trampoline},
        loops::{
            access::{self, BLOCK, Run},
            align, audited, flags, transfer,
        },
    },
    erased::{ElementType, Exclusive, Failure, Staging},
    numpy_abi::{
        NpyAuxData, PyArray_DTypeMeta, PyArray_Descr, PyArrayMethod_Context, callbacks::StridedLoop,
    },
};
use pyo3::ffi;
use std::{
    ffi::{c_char, c_int},
    ptr,
};

impl CastEntry {
    /// Whether the cast may run without the GIL.
    fn is_free(&self) -> bool {
        self.elements.iter().flatten().all(|element| element.is_thread_safe())
    }

    /// Casts a whole run, with locks and ledger; afterwards the source cells are vacant where
    /// NumPy gave them away.
    ///
    /// # Safety
    /// Cells or values of the cast's types, as NumPy hands them to a loop.
    unsafe fn run(&self, form: TextForm, to: Run, from: Run, moves: bool) -> Result<(), Failure> {
        let apart = |element: &&'static ElementType| !element.is_thread_safe();
        // SAFETY: the same contract.
        let converted = unsafe {
            match self.elements[1].filter(apart) {
                Some(element) => self.run_beside(element, form, to, from),
                None => self.run_in_place(form, to, from),
            }
        };
        let Some(element) = self.elements[0].filter(|_| moves) else {
            return converted;
        };
        // Whatever became of the cast, the source is not NumPy's to clear any more: it gave the
        // cells away.
        // SAFETY: the same contract.
        converted.and(unsafe { clear_cells(element, from) })
    }

    /// The operands, output first.
    fn operands(&self, to: Run, from: Run) -> [access::Operand; 2] {
        [
            self.elements[1].map(|element| (element, to)),
            self.elements[0].map(|element| (element, from)),
        ]
    }

    /// # Safety
    /// As for [`Self::run`].
    unsafe fn run_in_place(&self, form: TextForm, to: Run, from: Run) -> Result<(), Failure> {
        access::with_operands(self.operands(to, from), |[segment, _], right| {
            blocks(to.count, |start, count| {
                let (to, from) = (to.part(start, count), from.part(start, count));
                let Some(element) = self.elements[1] else {
                    // SAFETY: the caller's promise; the memory is locked.
                    return unsafe { self.block(form, to, from, right) };
                };
                // SAFETY: as above.
                unsafe {
                    access::with_ledger(element, segment, to, right, || {
                        self.block(form, to, from, right)
                    })
                }
            })
        })
    }

    /// [`Self::run_in_place`] where hooks of the output's type may run Python code: the objects are
    /// made beside the array, and change places with what is there.
    ///
    /// # Safety
    /// As for [`Self::run`]; `element` is the output's type.
    unsafe fn run_beside(
        &self,
        element: &'static ElementType,
        form: TextForm,
        to: Run,
        from: Run,
    ) -> Result<(), Failure> {
        let mut staging = Staging::new(element, to.count)?;
        let mut start = 0;
        while start < to.count {
            let count = (to.count - start).min(staging.capacity());
            let (to, from) = (to.part(start, count), from.part(start, count));
            let operands = self.operands(to, from);
            access::replacing(operands, &mut staging, |[segment, _], right, staging| {
                let size = element.size() as isize;
                let made = Run::write(staging.cells(0, count).address(0), size, count);
                // SAFETY: the caller's promise; the memory is locked, and the staged cells are ours.
                unsafe {
                    let outcome = self.block(form, made, from, right);
                    let done = outcome.as_ref().map_or_else(|failure| failure.done, |()| count);
                    let done = to.part(0, done.min(count));
                    transfer::put_staged(element, (done, segment), right, staging, 0);
                    outcome
                }
            })
            .map_err(|failure| failure.after(start))?;
            start += count;
        }
        Ok(())
    }

    /// Casts a block: all at once where the cells are aligned, else one by one.
    ///
    /// # Safety
    /// As for [`Self::run`]; the output cells are exclusively this thread's for the reason given, the
    /// input only read.
    unsafe fn block(
        &self,
        form: TextForm,
        to: Run,
        from: Run,
        right: Exclusive<'_>,
    ) -> Result<(), Failure> {
        let aligned = |index: usize, run: Run| {
            self.elements[index].is_none_or(|element| align::is_aligned(element, run))
        };
        if aligned(0, from) && aligned(1, to) {
            // SAFETY: the caller's promise.
            return unsafe { self.convert(form, to, from) };
        }
        for index in 0..to.count {
            let (to, from) = (to.part(index, 1), from.part(index, 1));
            // SAFETY: the caller's promise, cell by cell; both visit aligned memory.
            unsafe {
                visit_source(self.elements[0], from, |from| {
                    visit(self.elements[1], to, right, |to| self.convert(form, to, from))
                })
            }
            .map_err(|failure| failure.after(index))?;
        }
        Ok(())
    }

    /// Converts values, real parts of complex ones.
    ///
    /// # Safety
    /// As for [`Self::block`], and cells are aligned.
    pub(super) unsafe fn convert(&self, form: TextForm, to: Run, from: Run) -> Result<(), Failure> {
        let Some(number) = self.complex else {
            // SAFETY: the caller's promise.
            return unsafe { self.follow(form, to, from) };
        };
        if self.elements[0].is_some() {
            // SAFETY: the caller's promise; the real part comes first. What came before a failure
            // is written, the rest untouched.
            return unsafe {
                let converted = self.follow(form, to, from);
                let done = converted.as_ref().map_or_else(|failure| failure.done, |()| to.count);
                numbers::clear_imaginary(number, values(to), done.min(to.count));
                converted
            };
        }
        // SAFETY: the caller's promise.
        let real = unsafe { numbers::count_real(number, values(from), from.count) };
        // SAFETY: as above.
        unsafe { self.follow(form, to.part(0, real), from.part(0, real)) }?;
        if real == from.count { Ok(()) } else { Err(numbers::is_not_real(number).at(real)) }
    }

    /// # Safety
    /// As for [`Self::convert`].
    unsafe fn follow(&self, form: TextForm, to: Run, from: Run) -> Result<(), Failure> {
        match self.route {
            // SAFETY: the caller's promise.
            Route::Direct(client) => unsafe { client.call(to, from) },
            Route::Widened(number, wide, client) => {
                let mut chunk = Chunk([0; CHUNK]);
                chunks(to.count, |start, count| {
                    let values = values(from.part(start, count));
                    // SAFETY: the caller's promise.
                    let widened =
                        unsafe { numbers::widen(number, wide, values, count, &mut chunk) };
                    // What came before a refused value is converted all the same.
                    let ready = widened.as_ref().map_or_else(|failure| failure.done, |()| count);
                    let source = Run::read(chunk.as_mut_ptr(), 8, ready);
                    // SAFETY: the caller's promise; `ready` wide values are on the stack.
                    unsafe { client.call(to.part(start, ready), source) }?;
                    widened
                })
            }
            Route::Narrowed(number, wide, client) => {
                let mut chunk = Chunk([0; CHUNK]);
                chunks(to.count, |start, count| {
                    let target = Run::write(chunk.as_mut_ptr(), 8, count);
                    // SAFETY: the caller's promise; there is room for `count` wide values.
                    let called = unsafe { client.call(target, from.part(start, count)) };
                    let ready = called.as_ref().map_or_else(|failure| failure.done, |()| count);
                    let values = values(to.part(start, count));
                    // SAFETY: the caller's promise.
                    unsafe { numbers::narrow(number, wide, values, ready.min(count), &chunk) }?;
                    called
                })
            }
            Route::Truth => {
                let Some((element, nonzero)) =
                    self.elements[0].and_then(|element| Some((element, element.vtable().nonzero?)))
                else {
                    return Err(Failure::new(abi::ERROR_TYPE, "the type has no truth"));
                };
                let mut report = ErrorOut::new();
                // SAFETY: the vtable's contract and the caller's promise.
                let status = unsafe {
                    nonzero(
                        element.vtable().context,
                        from.data,
                        from.stride,
                        from.count,
                        to.data,
                        to.stride,
                        &mut report,
                    )
                };
                Failure::check(status, &report)
            }
            Route::FromText => match self.elements[1] {
                // SAFETY: the caller's promise.
                Some(element) => unsafe { text::from_text(element, form, to, from) },
                None => Ok(()),
            },
            Route::ToText => match self.elements[0] {
                // SAFETY: the caller's promise.
                Some(element) => unsafe { text::to_text(element, form, to, from) },
                None => Ok(()),
            },
        }
    }
}

impl Client {
    /// # Safety
    /// Runs of the client's two types and of one length, cells aligned.
    unsafe fn call(&self, to: Run, from: Run) -> Result<(), Failure> {
        debug_assert_eq!(to.count, from.count);
        if to.count == 0 {
            return Ok(());
        }
        let mut report = ErrorOut::new();
        let arguments = [from.data, to.data];
        let dimensions = [to.count as isize];
        let strides = [from.stride, to.stride];
        // SAFETY: the client's contract and the caller's promise.
        let status = unsafe {
            (self.function)(
                self.context,
                arguments.as_ptr(),
                dimensions.as_ptr(),
                strides.as_ptr(),
                &mut report,
            )
        };
        Failure::check(status, &report)
    }
}

fn values(run: Run) -> Values {
    Values { data: run.data, stride: run.stride }
}

/// Cuts a length into blocks of at most [`BLOCK`].
fn blocks(
    length: usize,
    body: impl FnMut(usize, usize) -> Result<(), Failure>,
) -> Result<(), Failure> {
    pieces::<BLOCK>(length, body)
}

/// Cuts a length into what fits a [`Chunk`].
fn chunks(
    length: usize,
    body: impl FnMut(usize, usize) -> Result<(), Failure>,
) -> Result<(), Failure> {
    pieces::<CHUNK>(length, body)
}

fn pieces<const SIZE: usize>(
    length: usize,
    mut body: impl FnMut(usize, usize) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut start = 0;
    while start < length {
        let count = (length - start).min(SIZE);
        body(start, count).map_err(|failure| failure.after(start))?;
        start += count;
    }
    Ok(())
}

/// Runs `work` on one cell at an aligned address, or one value of a built-in type as it is.
///
/// # Safety
/// `run` is one cell or value, exclusively this thread's for the reason given.
unsafe fn visit(
    element: Option<&'static ElementType>,
    run: Run,
    right: Exclusive<'_>,
    work: impl FnOnce(Run) -> Result<(), Failure>,
) -> Result<(), Failure> {
    match element {
        None => work(run),
        // SAFETY: the caller's promise.
        Some(element) => unsafe {
            align::with_aligned_cell(element, run.data, right, |cell| {
                work(Run { data: cell.address(0), ..run })
            })
        },
    }
}

/// As [`visit`], of what is only read.
///
/// # Safety
/// `run` is one cell or value that no thread writes meanwhile.
unsafe fn visit_source(
    element: Option<&'static ElementType>,
    run: Run,
    work: impl FnOnce(Run) -> Result<(), Failure>,
) -> Result<(), Failure> {
    match element {
        None => work(run),
        // SAFETY: the caller's promise.
        Some(element) => unsafe {
            align::with_aligned_source(element, run.data, |data| {
                work(Run { data: data.cast_mut(), ..run })
            })
        },
    }
}

pub unsafe extern "C" fn get_loop(
    context: *mut PyArrayMethod_Context,
    _aligned: c_int,
    move_references: c_int,
    _strides: *const isize,
    out_loop: *mut Option<StridedLoop>,
    out_auxdata: *mut *mut NpyAuxData,
    flags: *mut c_int,
) -> c_int {
    trampoline::slot("get_loop", || {
        // SAFETY: NumPy passes a context with two descriptors, whose types are DType classes, and
        // valid places for the results; GIL held.
        unsafe {
            let class_of = |index: usize| -> *const PyArray_DTypeMeta {
                let descr: *mut PyArray_Descr = *(*context).descriptors.add(index);
                ffi::Py_TYPE(descr.cast()).cast()
            };
            let Some(entry) = table::find(class_of(0), class_of(1)) else {
                errors::set(
                    abi::ERROR_RUNTIME,
                    "denizen has no record of a cast that it registered",
                );
                return -1;
            };
            let moves = move_references != 0 && entry.elements[0].is_some();
            *out_loop = Some(if moves { cast_loop::<true> } else { cast_loop::<false> });
            *out_auxdata = ptr::from_ref(entry).cast_mut().cast();
            *flags = flags::cast_flags();
            if moves {
                audited::audit_loop::<CastLoop<true>>(out_loop);
            } else {
                audited::audit_loop::<CastLoop<false>>(out_loop);
            }
        }
        0
    })
}

struct CastLoop<const MOVES: bool>;

impl<const MOVES: bool> audited::Audited for CastLoop<MOVES> {
    const LOOP: StridedLoop = cast_loop::<MOVES>;

    unsafe fn operation(auxdata: *const NpyAuxData) -> Operation {
        // SAFETY: `get_loop` hands out an entry, which lives for ever.
        let entry: &'static CastEntry = unsafe { &*auxdata.cast() };
        Operation::cast(entry.end_name(0), entry.end_name(1))
    }
}

unsafe extern "C" fn cast_loop<const MOVES: bool>(
    context: *mut PyArrayMethod_Context,
    data: *const *mut c_char,
    dimensions: *const isize,
    strides: *const isize,
    auxdata: *mut NpyAuxData,
) -> c_int {
    // SAFETY: NumPy hands back our auxiliary data, and its convention gives a context, one
    // dimension, and two pointers and strides.
    unsafe {
        let entry = &*auxdata.cast::<CastEntry>();
        let form = match entry.route {
            Route::FromText => TextForm::of(*(*context).descriptors),
            Route::ToText => TextForm::of(*(*context).descriptors.add(1)),
            _ => TextForm::None,
        };
        let count = *dimensions as usize;
        let from = Run { data: (*data).cast(), stride: *strides, count, write: MOVES };
        let to = Run::write((*data.add(1)).cast(), *strides.add(1), count);
        let work = || entry.run(form, to, from, MOVES);
        trampoline::looped_apart("cast", || {
            if entry.is_free() { access::without_gil(count, work) } else { work() }
        })
    }
}
