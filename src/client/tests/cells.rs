//! A buffer of cells, and the vtable and loops of a definition as plain calls.

use crate::abi::{self, ErrorOut, LoopFn, Sink, Status};
use crate::client::Definition;
use std::ffi::{CStr, c_void};

/// Zeroed, 64-byte aligned memory for cells of one type.
pub(super) struct Cells<'a, T: 'static> {
    definition: &'a Definition<T>,
    blocks: Vec<Block>,
    count: usize,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Block([u8; 64]);

/// Outcome of a call that failed.
#[derive(Debug, PartialEq)]
pub(super) struct Failed {
    pub(super) kind: abi::ErrorKind,
    pub(super) done: usize,
    pub(super) message: String,
}

pub(super) fn outcome(status: Status, error_out: &ErrorOut) -> Result<(), Failed> {
    match status {
        abi::OK => Ok(()),
        _ => Err(Failed { kind: error_out.kind, done: error_out.done, message: error_out.text() }),
    }
}

impl<'a, T> Cells<'a, T> {
    pub(super) fn new(definition: &'a Definition<T>, count: usize) -> Self {
        let bytes = definition.vtable().size * count;
        Cells { definition, blocks: vec![Block([0; 64]); bytes.div_ceil(64).max(1)], count }
    }

    /// Cells that hold these values.
    pub(super) fn of(definition: &'a Definition<T>, values: impl IntoIterator<Item = T>) -> Self {
        let values: Vec<T> = values.into_iter().collect();
        let cells = Cells::new(definition, values.len());
        for (index, value) in values.into_iter().enumerate() {
            let cell = cells.at(index);
            // SAFETY: the cell is vacant and as the vtable says.
            unsafe {
                match definition.vtable().storage {
                    abi::STORAGE_BOXED => {
                        cell.cast::<*mut T>().write(Box::into_raw(Box::new(value)));
                    }
                    storage => {
                        cell.cast::<T>().write(value);
                        if storage == abi::STORAGE_TAGGED {
                            cell.add(definition.vtable().vacancy_offset).write(1);
                        }
                    }
                }
            }
        }
        cells
    }

    pub(super) fn at(&self, index: usize) -> *mut u8 {
        assert!(index <= self.count);
        let start = self.blocks.as_ptr().cast::<u8>().cast_mut();
        // SAFETY: the index is at most one past the last cell.
        unsafe { start.add(index * self.definition.vtable().size) }
    }

    pub(super) fn stride(&self) -> isize {
        self.definition.vtable().size as isize
    }

    /// By the rule that the runtime goes by: the vacancy bytes.
    pub(super) fn is_live(&self, index: usize) -> bool {
        let vtable = self.definition.vtable();
        // SAFETY: the vacancy bytes lie inside the cell.
        let bytes = unsafe {
            std::slice::from_raw_parts(
                self.at(index).add(vtable.vacancy_offset),
                vtable.vacancy_size,
            )
        };
        vtable.zero_bytes == abi::ZERO_DEFAULT || bytes.iter().any(|&byte| byte != 0)
    }

    pub(super) fn live(&self) -> Vec<bool> {
        (0..self.count).map(|index| self.is_live(index)).collect()
    }

    pub(super) fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: a live cell holds an object where its layout says.
        self.is_live(index).then(|| unsafe { &*self.definition.cell().object(self.at(index)) })
    }

    pub(super) fn bytes(&self, index: usize) -> Vec<u8> {
        let size = self.definition.vtable().size;
        // SAFETY: the cell lies inside the buffer.
        unsafe { std::slice::from_raw_parts(self.at(index), size) }.to_vec()
    }

    /// Default-constructs `count` cells from the first on.
    pub(super) fn construct(&self, stride: isize, count: usize) -> Result<(), Failed> {
        let vtable = self.definition.vtable();
        let mut error_out = ErrorOut::new();
        let construct = vtable.construct.expect("a default");
        // SAFETY: the cells are vacant and inside the buffer.
        let status =
            unsafe { construct(vtable.context, self.at(0), stride, count, &raw mut error_out) };
        outcome(status, &error_out)
    }

    pub(super) fn destroy(&self, first: usize, stride: isize, count: usize) -> Result<(), Failed> {
        let vtable = self.definition.vtable();
        let mut error_out = ErrorOut::new();
        let Some(destroy) = vtable.destroy else { return Ok(()) };
        // SAFETY: the cells are live and inside the buffer.
        let status =
            unsafe { destroy(vtable.context, self.at(first), stride, count, &raw mut error_out) };
        outcome(status, &error_out)
    }
}

impl<T> Drop for Cells<'_, T> {
    fn drop(&mut self) {
        for index in 0..self.count {
            if self.is_live(index) {
                self.destroy(index, 0, 1).expect("no destructor panics here");
            }
        }
    }
}

/// Whether there is a loop of a ufunc.
pub(super) fn has<T>(definition: &Definition<T>, ufunc: &CStr) -> bool {
    // SAFETY: the names are NUL-terminated and belong to the definition.
    definition.loops().iter().any(|entry| unsafe { CStr::from_ptr(entry.ufunc) == ufunc })
}

/// The loop of a ufunc.
#[track_caller]
pub(super) fn find<T>(definition: &Definition<T>, ufunc: &CStr) -> (LoopFn, *mut c_void) {
    let found = definition
        .loops()
        .iter()
        // SAFETY: the name is NUL-terminated and belongs to the definition.
        .find(|entry| unsafe { CStr::from_ptr(entry.ufunc) } == ufunc)
        .unwrap_or_else(|| panic!("no loop {ufunc:?}"));
    (found.function.expect("a function"), found.context)
}

/// Calls a loop.
pub(super) fn call(
    (function, context): (LoopFn, *mut c_void),
    arguments: &[*mut u8],
    dimensions: &[isize],
    strides: &[isize],
) -> Result<(), Failed> {
    let mut error_out = ErrorOut::new();
    // SAFETY: the tests pass operands of the loop's types that fit the dimensions.
    let status = unsafe {
        function(
            context,
            arguments.as_ptr(),
            dimensions.as_ptr(),
            strides.as_ptr(),
            &raw mut error_out,
        )
    };
    outcome(status, &error_out)
}

/// Collects what a save function writes.
pub(super) fn collect(
    save: abi::SaveFn,
    context: *mut c_void,
    cell: *const u8,
) -> Result<Vec<u8>, Failed> {
    unsafe extern "C" fn write(sink: *mut Sink, bytes: *const u8, size: usize) -> Status {
        // SAFETY: the sink below; `bytes` is readable for `size`.
        unsafe {
            let all = &mut *(*sink).context.cast::<Vec<u8>>();
            all.extend_from_slice(std::slice::from_raw_parts(bytes, size));
        }
        abi::OK
    }
    let mut all = Vec::<u8>::new();
    let mut sink = Sink { write, context: (&raw mut all).cast() };
    let mut error_out = ErrorOut::new();
    // SAFETY: the sink and the `ErrorOut` live on this frame; the cell is readable.
    let status = unsafe { save(context, cell, &raw mut sink, &raw mut error_out) };
    outcome(status, &error_out).map(|()| all)
}
