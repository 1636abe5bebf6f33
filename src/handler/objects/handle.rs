//! What a cell of a legacy dtype holds: not an object but its name.
//!
//! NumPy copies such cells as bytes, into other arrays and into buffers of its own. A name survives
//! that: it is looked up, never followed, so that a copy, a leftover or noise can at worst name
//! nothing.

use std::{
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
};

/// Bytes of a cell, which the dtype has as its itemsize. More than 16: NumPy copies the elements
/// of legacy dtypes up to that size as bytes where it would call `copyswap` for larger ones.
pub const CELL_SIZE: usize = crate::abi::CELL_SIZE;
/// What a cell has to be aligned to for NumPy's sake; unaligned ones work.
pub const CELL_ALIGN: usize = crate::abi::CELL_ALIGN;

/// The name of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    /// Which store it is in.
    pub(super) store: u32,
    /// Which slot of the store.
    pub(super) slot: u32,
    /// What the slot held when the name was written; no two writes have the same.
    pub(super) generation: u64,
}

/// What the bytes of a cell are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Zero, or bytes that no code of ours wrote.
    Nothing,
    /// A name that was written in this process, here or elsewhere.
    Name(Handle),
}

/// Keyed, so that bytes from outside the process (a file, a pickle) name nothing.
fn check(handle: Handle) -> u64 {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEY.hash_one((handle.store, handle.slot, handle.generation))
}

impl Handle {
    /// What is in a cell.
    ///
    /// # Safety
    /// [`CELL_SIZE`] bytes at `cell` are readable.
    pub(super) unsafe fn read(cell: *const u8) -> Content {
        // SAFETY: the caller's promise; any bytes are three words.
        let [place, generation, written] = unsafe { cell.cast::<[u64; 3]>().read_unaligned() };
        let handle = Handle { store: (place >> 32) as u32, slot: place as u32, generation };
        if generation != 0 && written == check(handle) {
            Content::Name(handle)
        } else {
            Content::Nothing
        }
    }

    /// Writes the name into a cell.
    ///
    /// # Safety
    /// [`CELL_SIZE`] bytes at `cell` are writable.
    pub(super) unsafe fn write(self, cell: *mut u8) {
        let place = u64::from(self.store) << 32 | u64::from(self.slot);
        // SAFETY: the caller's promise.
        unsafe { cell.cast::<[u64; 3]>().write_unaligned([place, self.generation, check(self)]) };
    }
}

/// Makes a cell vacant.
///
/// # Safety
/// [`CELL_SIZE`] bytes at `cell` are writable.
pub(super) unsafe fn erase(cell: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { cell.write_bytes(0, CELL_SIZE) };
}

const _: () = assert!(size_of::<[u64; 3]>() == CELL_SIZE);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_that_were_written_as_a_name_are_one() {
        let mut cell = [0u8; CELL_SIZE + 1];
        // SAFETY: the cell has that many bytes from each of the two starts.
        unsafe {
            assert_eq!(Handle::read(cell.as_ptr()), Content::Nothing);
            let name = Handle { store: 7, slot: 9, generation: 1 << 40 };
            name.write(cell.as_mut_ptr().add(1));
            assert_eq!(Handle::read(cell.as_ptr().add(1)), Content::Name(name));
            for index in 0..CELL_SIZE * 8 {
                cell[1 + index / 8] ^= 1 << (index % 8);
                assert_eq!(Handle::read(cell.as_ptr().add(1)), Content::Nothing, "bit {index}");
                cell[1 + index / 8] ^= 1 << (index % 8);
            }
            erase(cell.as_mut_ptr().add(1));
            assert_eq!(cell, [0; CELL_SIZE + 1]);
        }
    }
}

/// Numbers the names, so that none is ever given twice.
#[derive(Default)]
pub(super) struct Generations(u64);

impl Generations {
    pub(super) fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}

/// A slot for a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotRef {
    pub(super) slot: u32,
    /// The cell names it, so what is in it is the cell's value; else it is a leftover of another.
    pub(super) kept: bool,
}
