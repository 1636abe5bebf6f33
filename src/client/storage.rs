//! How an object of type T sits in its cell: inline, tagged or boxed.
//!
//! A storage is a type, so that every loop is compiled for the one that its element type uses
//! and the vacancy check costs one comparison, or nothing.

use crate::abi;
use std::cmp::Ordering;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, align_of, needs_drop, size_of};

/// Largest alignment that NumPy's own buffers guarantee.
const LARGEST_ALIGNMENT: usize = 16;

mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

/// One way to keep a T in a cell.
///
/// # Safety
/// The constants describe the cell truly, [`Storage::is_vacant`] is true for a zeroed cell
/// unless zero is a default value, and false for every cell that [`Storage::write`] filled.
pub unsafe trait Storage<T>: Sealed + 'static {
    /// As the runtime knows it.
    const STORAGE: abi::Storage;
    /// What a zeroed cell means.
    const ZERO: abi::ZeroBytes;
    /// Bytes of a cell.
    const SIZE: usize;
    /// Alignment of a cell.
    const ALIGN: usize;
    /// First vacancy byte.
    const VACANCY_OFFSET: usize;
    /// How many vacancy bytes.
    const VACANCY_SIZE: usize;
    /// Whether ending an object takes any work.
    const NEEDS_DESTROY: bool;

    /// Whether no object lives in the cell.
    ///
    /// # Safety
    /// `cell` is readable, aligned, and either zeroed or live.
    unsafe fn is_vacant(cell: *const u8) -> bool;

    /// The object in a live cell.
    ///
    /// # Safety
    /// `cell` is live.
    unsafe fn object(cell: *mut u8) -> *mut T;

    /// Puts an object into a vacant cell.
    ///
    /// # Safety
    /// `cell` is writable and aligned; nothing that lives there is lost.
    unsafe fn write(cell: *mut u8, value: T);

    /// Ends the object in a live cell. Where its destructor panics it has ended all the same.
    ///
    /// # Safety
    /// `cell` is live; afterwards its bytes mean nothing.
    unsafe fn destroy(cell: *mut u8);

    /// Sorts contiguous cells stably. Whatever `compare` does, they stay a permutation.
    ///
    /// # Safety
    /// `cells` holds `count` aligned cells that no other code uses meanwhile.
    unsafe fn sort_by(
        cells: *mut u8,
        count: usize,
        compare: impl FnMut(*const u8, *const u8) -> Ordering,
    );

    /// Puts `value` into a cell that may be live: an old object is replaced and dropped, after
    /// the new one is in place.
    ///
    /// # Safety
    /// `cell` is writable, aligned, and either zeroed or live; no reference to its object is in
    /// use.
    #[inline(always)]
    unsafe fn store(cell: *mut u8, value: T) {
        // SAFETY: the caller's promise covers the check, and the branch it chooses.
        unsafe {
            if Self::is_vacant(cell) {
                Self::write(cell, value);
            } else {
                drop(std::mem::replace(&mut *Self::object(cell), value));
            }
        }
    }
}

/// Sorts a typed slice of cells.
///
/// # Safety
/// `cells` points to `count` aligned cells of type C that no other code uses meanwhile.
unsafe fn sort_cells<C>(
    cells: *mut u8,
    count: usize,
    mut compare: impl FnMut(*const u8, *const u8) -> Ordering,
) {
    // SAFETY: the caller's promise. `MaybeUninit` makes no claim about the bytes and drops
    // nothing, so the sort moves cells bitwise, and a panic leaves a permutation.
    let cells = unsafe { std::slice::from_raw_parts_mut(cells.cast::<MaybeUninit<C>>(), count) };
    cells.sort_by(|left, right| compare(left.as_ptr().cast(), right.as_ptr().cast()));
}

/// The cell is exactly T, and zero bytes are never a live value.
pub struct InlineVacant(());
/// The cell is exactly T, and zero bytes are its default value with nothing to destroy.
pub struct InlineDefault(());
/// The cell is T and a tag byte.
pub struct Tagged(());
/// The cell is one owning pointer.
pub struct Boxed(());
/// Tagged, or boxed where T is aligned to more than 16 bytes.
pub struct Automatic(());

impl Sealed for InlineVacant {}
impl Sealed for InlineDefault {}
impl Sealed for Tagged {}
impl Sealed for Boxed {}
impl Sealed for Automatic {}

/// Whether all bytes of a T at `cell` are zero.
///
/// # Safety
/// `cell` is readable for `size_of::<T>()` bytes and aligned to T.
#[inline(always)]
unsafe fn is_zero<T>(cell: *const u8) -> bool {
    /// # Safety
    /// `cell` is readable for `size` bytes, a multiple of W's, and aligned to W.
    #[inline(always)]
    unsafe fn all<W: Copy + PartialEq + Default>(cell: *const u8, size: usize) -> bool {
        let words = cell.cast::<W>();
        // SAFETY: the caller's promise; the index stays below `size / size_of::<W>()`.
        (0..size / size_of::<W>()).all(|i| unsafe { words.add(i).read() } == W::default())
    }
    // SAFETY: the size of T is a multiple of its alignment, which is at least that of the word.
    unsafe {
        match align_of::<T>() {
            1 => all::<u8>(cell, size_of::<T>()),
            2 => all::<u16>(cell, size_of::<T>()),
            4 => all::<u32>(cell, size_of::<T>()),
            _ => all::<u64>(cell, size_of::<T>()),
        }
    }
}

macro_rules! inline_storage {
    ($storage:ident, $zero:expr, $vacant:expr) => {
        // SAFETY: the author promised what zero bytes mean when choosing this storage.
        unsafe impl<T: 'static> Storage<T> for $storage {
            const STORAGE: abi::Storage = abi::STORAGE_INLINE;
            const ZERO: abi::ZeroBytes = $zero;
            const SIZE: usize = size_of::<T>();
            const ALIGN: usize = align_of::<T>();
            const VACANCY_OFFSET: usize = 0;
            const VACANCY_SIZE: usize = size_of::<T>();
            const NEEDS_DESTROY: bool = needs_drop::<T>();

            #[inline(always)]
            unsafe fn is_vacant(cell: *const u8) -> bool {
                let check: unsafe fn(*const u8) -> bool = $vacant;
                // SAFETY: the cell is readable and aligned.
                unsafe { check(cell) }
            }

            #[inline(always)]
            unsafe fn object(cell: *mut u8) -> *mut T {
                cell.cast()
            }

            #[inline(always)]
            unsafe fn write(cell: *mut u8, value: T) {
                // SAFETY: the cell is writable, aligned and as big as T.
                unsafe { cell.cast::<T>().write(value) }
            }

            #[inline(always)]
            unsafe fn destroy(cell: *mut u8) {
                // SAFETY: the cell holds a live T.
                unsafe { cell.cast::<T>().drop_in_place() }
            }

            unsafe fn sort_by(
                cells: *mut u8,
                count: usize,
                compare: impl FnMut(*const u8, *const u8) -> Ordering,
            ) {
                // SAFETY: the caller's promise; a cell is a T.
                unsafe { sort_cells::<T>(cells, count, compare) }
            }
        }
    };
}

inline_storage!(InlineVacant, abi::ZERO_VACANT, is_zero::<T>);
inline_storage!(InlineDefault, abi::ZERO_DEFAULT, never_vacant);

/// Every cell holds a value.
///
/// # Safety
/// None; unsafe to fit beside [`is_zero`].
#[inline(always)]
unsafe fn never_vacant(_: *const u8) -> bool {
    false
}

/// A T and the tag that says whether it is there.
#[repr(C)]
struct TaggedCell<T> {
    value: MaybeUninit<T>,
    tag: u8,
}

// SAFETY: the tag is 0 in a zeroed cell and 1 in one that `write` filled.
unsafe impl<T: 'static> Storage<T> for Tagged {
    const STORAGE: abi::Storage = abi::STORAGE_TAGGED;
    const ZERO: abi::ZeroBytes = abi::ZERO_VACANT;
    const SIZE: usize = size_of::<TaggedCell<T>>();
    const ALIGN: usize = align_of::<TaggedCell<T>>();
    const VACANCY_OFFSET: usize = std::mem::offset_of!(TaggedCell<T>, tag);
    const VACANCY_SIZE: usize = 1;
    const NEEDS_DESTROY: bool = needs_drop::<T>();

    #[inline(always)]
    unsafe fn is_vacant(cell: *const u8) -> bool {
        // SAFETY: the tag lies inside the readable cell.
        unsafe { (*cell.cast::<TaggedCell<T>>()).tag == 0 }
    }

    #[inline(always)]
    unsafe fn object(cell: *mut u8) -> *mut T {
        // SAFETY: the projection stays inside the cell.
        unsafe { (&raw mut (*cell.cast::<TaggedCell<T>>()).value).cast() }
    }

    #[inline(always)]
    unsafe fn write(cell: *mut u8, value: T) {
        // SAFETY: both fields lie inside the writable, aligned cell. The tag comes last, so
        // that it never speaks of an object that is not there.
        unsafe {
            (*cell.cast::<TaggedCell<T>>()).value.write(value);
            (*cell.cast::<TaggedCell<T>>()).tag = 1;
        }
    }

    #[inline(always)]
    unsafe fn destroy(cell: *mut u8) {
        // SAFETY: the cell holds a live T.
        unsafe { <Self as Storage<T>>::object(cell).drop_in_place() }
    }

    unsafe fn sort_by(
        cells: *mut u8,
        count: usize,
        compare: impl FnMut(*const u8, *const u8) -> Ordering,
    ) {
        // SAFETY: the caller's promise; a cell is a `TaggedCell<T>`.
        unsafe { sort_cells::<TaggedCell<T>>(cells, count, compare) }
    }
}

// SAFETY: a zeroed cell is a null pointer, a filled one comes from a Box and is not null.
unsafe impl<T: 'static> Storage<T> for Boxed {
    const STORAGE: abi::Storage = abi::STORAGE_BOXED;
    const ZERO: abi::ZeroBytes = abi::ZERO_VACANT;
    const SIZE: usize = size_of::<*mut T>();
    const ALIGN: usize = align_of::<*mut T>();
    const VACANCY_OFFSET: usize = 0;
    const VACANCY_SIZE: usize = size_of::<*mut T>();
    const NEEDS_DESTROY: bool = true;

    #[inline(always)]
    unsafe fn is_vacant(cell: *const u8) -> bool {
        // SAFETY: the cell is readable and holds a pointer.
        unsafe { cell.cast::<*mut T>().read() }.is_null()
    }

    #[inline(always)]
    unsafe fn object(cell: *mut u8) -> *mut T {
        // SAFETY: the cell is readable and holds a pointer.
        unsafe { cell.cast::<*mut T>().read() }
    }

    #[inline(always)]
    unsafe fn write(cell: *mut u8, value: T) {
        // SAFETY: the cell is writable, aligned and as big as a pointer.
        unsafe { cell.cast::<*mut T>().write(Box::into_raw(Box::new(value))) }
    }

    #[inline(always)]
    unsafe fn destroy(cell: *mut u8) {
        // SAFETY: a live cell owns the Box that `write` made.
        drop(unsafe { Box::from_raw(<Self as Storage<T>>::object(cell)) });
    }

    unsafe fn sort_by(
        cells: *mut u8,
        count: usize,
        compare: impl FnMut(*const u8, *const u8) -> Ordering,
    ) {
        // SAFETY: the caller's promise; a cell is a pointer.
        unsafe { sort_cells::<*mut T>(cells, count, compare) }
    }
}

/// Whether T is aligned to more than any buffer of NumPy's guarantees.
const fn over_aligned<T>() -> bool {
    align_of::<T>() > LARGEST_ALIGNMENT
}

/// A constant of `Boxed` or of `Tagged`, whichever T gets.
macro_rules! either {
    ($constant:ident) => {
        if over_aligned::<T>() {
            <Boxed as Storage<T>>::$constant
        } else {
            <Tagged as Storage<T>>::$constant
        }
    };
}

/// A call of `Boxed` or of `Tagged`, whichever T gets; the choice is constant.
macro_rules! either_call {
    ($method:ident ( $($argument:expr),* )) => {
        if const { over_aligned::<T>() } {
            // SAFETY: the caller's promise, passed on to the storage that T has.
            unsafe { <Boxed as Storage<T>>::$method($($argument),*) }
        } else {
            // SAFETY: the caller's promise, passed on to the storage that T has.
            unsafe { <Tagged as Storage<T>>::$method($($argument),*) }
        }
    };
}

// SAFETY: every constant and function is that of the same, correct storage.
unsafe impl<T: 'static> Storage<T> for Automatic {
    const STORAGE: abi::Storage = either!(STORAGE);
    const ZERO: abi::ZeroBytes = either!(ZERO);
    const SIZE: usize = either!(SIZE);
    const ALIGN: usize = either!(ALIGN);
    const VACANCY_OFFSET: usize = either!(VACANCY_OFFSET);
    const VACANCY_SIZE: usize = either!(VACANCY_SIZE);
    const NEEDS_DESTROY: bool = either!(NEEDS_DESTROY);

    #[inline(always)]
    unsafe fn is_vacant(cell: *const u8) -> bool {
        either_call!(is_vacant(cell))
    }

    #[inline(always)]
    unsafe fn object(cell: *mut u8) -> *mut T {
        either_call!(object(cell))
    }

    #[inline(always)]
    unsafe fn write(cell: *mut u8, value: T) {
        either_call!(write(cell, value))
    }

    #[inline(always)]
    unsafe fn destroy(cell: *mut u8) {
        either_call!(destroy(cell))
    }

    unsafe fn sort_by(
        cells: *mut u8,
        count: usize,
        compare: impl FnMut(*const u8, *const u8) -> Ordering,
    ) {
        either_call!(sort_by(cells, count, compare))
    }
}

/// The state of a builder whose storage is not chosen yet; the first operation settles it as
/// [`Automatic`].
pub struct Undecided(());

/// A builder's storage, chosen or not. Once an operation is added, the choice is made: loops are
/// compiled for one storage.
pub trait StorageChoice<T>: 'static {
    /// The storage that the operations are compiled for.
    type Decided: Storage<T> + StorageChoice<T, Decided = Self::Decided>;
}

impl<T: 'static> StorageChoice<T> for Undecided {
    type Decided = Automatic;
}

macro_rules! decided {
    ($($storage:ident),*) => {
        $(impl<T: 'static> StorageChoice<T> for $storage {
            type Decided = $storage;
        })*
    };
}
decided!(InlineVacant, InlineDefault, Boxed, Automatic);

/// A storage that is only known at run time.
pub(crate) struct CellLayout<T> {
    pub(super) storage: abi::Storage,
    pub(super) zero: abi::ZeroBytes,
    pub(super) size: usize,
    marker: PhantomData<fn() -> T>,
}

impl<T> Clone for CellLayout<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for CellLayout<T> {}

impl<T: 'static> CellLayout<T> {
    pub(super) const fn new(storage: abi::Storage, zero: abi::ZeroBytes, size: usize) -> Self {
        CellLayout { storage, zero, size, marker: PhantomData }
    }

    /// Whether cells are exactly T.
    pub(super) const fn is_inline(self) -> bool {
        self.storage == abi::STORAGE_INLINE
    }

    /// The object in a live cell.
    ///
    /// # Safety
    /// `cell` is live and stored as this layout says.
    #[inline(always)]
    pub(crate) unsafe fn object(self, cell: *mut u8) -> *mut T {
        if self.storage == abi::STORAGE_BOXED {
            // SAFETY: a boxed cell holds a pointer to its object.
            unsafe { cell.cast::<*mut T>().read() }
        } else {
            // Inline and tagged cells begin with the object.
            cell.cast()
        }
    }

    /// [`Storage::is_vacant`].
    ///
    /// # Safety
    /// As there, for the storage that this layout says.
    pub(super) unsafe fn is_vacant(self, cell: *const u8) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            match (self.storage, self.zero) {
                (abi::STORAGE_BOXED, _) => <Boxed as Storage<T>>::is_vacant(cell),
                (abi::STORAGE_TAGGED, _) => <Tagged as Storage<T>>::is_vacant(cell),
                (_, abi::ZERO_DEFAULT) => <InlineDefault as Storage<T>>::is_vacant(cell),
                _ => <InlineVacant as Storage<T>>::is_vacant(cell),
            }
        }
    }

    /// [`Storage::store`].
    ///
    /// # Safety
    /// As there, for the storage that this layout says.
    pub(super) unsafe fn store(self, cell: *mut u8, value: T) {
        // SAFETY: the caller's promise.
        unsafe {
            match (self.storage, self.zero) {
                (abi::STORAGE_BOXED, _) => <Boxed as Storage<T>>::store(cell, value),
                (abi::STORAGE_TAGGED, _) => <Tagged as Storage<T>>::store(cell, value),
                (_, abi::ZERO_DEFAULT) => <InlineDefault as Storage<T>>::store(cell, value),
                _ => <InlineVacant as Storage<T>>::store(cell, value),
            }
        }
    }
}
