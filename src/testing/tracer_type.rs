//! An element type that counts its objects and checks itself, in every way an object can sit in a
//! cell.
//!
//! The counts are kept beside the runtime's own, by the objects themselves, so that a test can
//! compare the two.

use crate::{
    abi::{self, ElementVTable, ErrorOut, Status},
    erased::{CellsMut, ElementType},
    faults::type_code::{Fault, Left, PlannedPanic},
};
use std::{
    ffi::{CString, c_void},
    mem::MaybeUninit,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed},
    },
};

mod functions;

use functions::{assign, construct, copy_construct, destroy, relocate};

/// How the object sits in its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A pointer and a value, 16 bytes; zero is never live.
    Inline,
    /// The bare value, 8 bytes; any bytes may be live, so only the bitmap tells.
    NoPromise,
    /// A pointer or zero, 8 bytes; zero is the live default value with nothing to destroy.
    ZeroDefault,
    /// A pointer, a value and a tag byte, 24 bytes.
    Tagged,
    /// One owning pointer, 8 bytes.
    Boxed,
    /// Its own address and a value, 16 bytes: moves only through `relocate`. Zero is never live.
    SelfPointing,
    /// As `SelfPointing`, but without a zero promise.
    SelfPointingNoPromise,
    /// A pointer and a value in 64 bytes aligned to 64.
    OverAligned,
    /// As `Inline`, but its destructor asks for the GIL: an object leaves its cell before it ends.
    Held,
    /// As `Boxed`, but without copies.
    MoveOnly,
}

impl Storage {
    /// All of them.
    pub const ALL: [Storage; 10] = [
        Storage::Inline,
        Storage::NoPromise,
        Storage::ZeroDefault,
        Storage::Tagged,
        Storage::Boxed,
        Storage::SelfPointing,
        Storage::SelfPointingNoPromise,
        Storage::OverAligned,
        Storage::Held,
        Storage::MoveOnly,
    ];

    fn is_self_pointing(self) -> bool {
        matches!(self, Storage::SelfPointing | Storage::SelfPointingNoPromise)
    }

    /// Size and alignment of a cell.
    fn layout(self) -> (usize, usize) {
        match self {
            Storage::Inline
            | Storage::Held
            | Storage::SelfPointing
            | Storage::SelfPointingNoPromise => (16, 8),
            Storage::NoPromise | Storage::ZeroDefault | Storage::Boxed | Storage::MoveOnly => {
                (8, 8)
            }
            Storage::Tagged => (24, 8),
            Storage::OverAligned => (64, 64),
        }
    }
}

/// What the objects themselves counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Objects that exist.
    pub live: i64,
    /// Objects built, by construction or copy.
    pub built: u64,
    /// Objects destroyed.
    pub ended: u64,
    /// Objects moved through `relocate`.
    pub moved: u64,
}

/// The state behind one TracerType; the vtable's context.
struct Ground {
    storage: Storage,
    built: AtomicU64,
    ended: AtomicU64,
    moved: AtomicU64,
    /// Fallible steps until the fault; negative: none is planned.
    countdown: AtomicI64,
    fault: Mutex<Fault>,
    /// Destructors until one fails; negative: none is planned.
    destructor_countdown: AtomicI64,
    /// An object found itself overwritten, moved or ended twice.
    broken: AtomicBool,
}

/// One element type of tracers, with its counts. Every call of [`TracerType::new`] makes another type, so
/// that tests which run side by side do not see each other's objects.
#[derive(Clone, Copy)]
pub struct TracerType {
    /// The element type.
    pub element: &'static ElementType,
    ground: &'static Ground,
}

/// Keeps every type reachable: element types live forever, and are no leak.
static ALL: Mutex<Vec<TracerType>> = Mutex::new(Vec::new());
/// Types not in use at present.
static IDLE: Mutex<Vec<TracerType>> = Mutex::new(Vec::new());

/// What a pointer in a cell owns.
pub(super) struct Owned {
    value: i64,
    check: u64,
}

const CHECK: u64 = 0x7e57_ab1e_0b1e_c7ed;

impl Owned {
    pub(super) fn new(value: i64) -> *mut Owned {
        Box::into_raw(Box::new(Owned { value, check: CHECK ^ value as u64 }))
    }

    /// The value, once the object is found whole.
    ///
    /// # Safety
    /// From [`Owned::new`], not ended yet.
    pub(super) unsafe fn check(pointer: *const Owned) -> i64 {
        // SAFETY: the caller's promise.
        let owned = unsafe { &*pointer };
        assert_eq!(owned.check, CHECK ^ owned.value as u64, "a tracer's heap part is overwritten");
        owned.value
    }

    /// # Safety
    /// As for [`Self::check`], and no other code uses it.
    pub(super) unsafe fn set(pointer: *mut Owned, value: i64) {
        // SAFETY: the caller's promise.
        unsafe { *pointer = Owned { value, check: CHECK ^ value as u64 } };
    }

    /// # Safety
    /// As for [`Self::set`]; it is gone afterwards.
    pub(super) unsafe fn end(pointer: *mut Owned) {
        // SAFETY: the caller's promise; a pointer that is left over finds no valid check.
        unsafe {
            (*pointer).check = 0;
            drop(Box::from_raw(pointer));
        }
    }
}

impl Ground {
    /// # Safety
    /// The cell is memory of this storage, not live.
    unsafe fn build(&self, cell: *mut u8, value: i64) {
        let words = cell.cast::<u64>();
        assert!(cell.addr().is_multiple_of(self.storage.layout().1), "misaligned cell");
        let owned = || Owned::new(value).expose_provenance() as u64;
        // SAFETY: the caller's promise; each storage stays inside its size.
        unsafe {
            match self.storage {
                Storage::NoPromise => words.write(value as u64),
                Storage::ZeroDefault => words.write(if value == 0 { 0 } else { owned() }),
                Storage::Boxed | Storage::MoveOnly => words.write(owned()),
                Storage::Inline | Storage::Held | Storage::OverAligned => {
                    words.write(owned());
                    words.add(1).write(value as u64);
                }
                Storage::Tagged => {
                    words.write(owned());
                    words.add(1).write(value as u64);
                    // The padding after the tag is not looked at.
                    words.add(2).write(0xa5a5_a5a5_a5a5_a500 | 1);
                }
                Storage::SelfPointing | Storage::SelfPointingNoPromise => {
                    words.write(cell.addr() as u64);
                    words.add(1).write(value as u64);
                }
            }
        }
        self.built.fetch_add(1, Relaxed);
    }

    /// The heap part of a live cell, or null.
    ///
    /// # Safety
    /// The cell is live.
    unsafe fn owned(&self, cell: *const u8) -> *mut Owned {
        match self.storage {
            Storage::NoPromise | Storage::SelfPointing | Storage::SelfPointingNoPromise => {
                std::ptr::null_mut()
            }
            _ => {
                // SAFETY: the caller's promise; the other storages begin with the pointer.
                let address = unsafe { cell.cast::<u64>().read() };
                std::ptr::with_exposed_provenance_mut(address as usize)
            }
        }
    }

    /// The value, once the object has been found whole.
    ///
    /// # Safety
    /// The cell is live.
    unsafe fn read(&self, cell: *const u8) -> i64 {
        let words = cell.cast::<u64>();
        // SAFETY: the caller's promise.
        unsafe {
            let owned = self.owned(cell);
            match self.storage {
                Storage::NoPromise => words.read() as i64,
                Storage::ZeroDefault if owned.is_null() => 0,
                Storage::ZeroDefault | Storage::Boxed | Storage::MoveOnly => Owned::check(owned),
                Storage::Inline | Storage::Held | Storage::OverAligned | Storage::Tagged => {
                    let value = words.add(1).read() as i64;
                    assert_eq!(Owned::check(owned), value, "a tracer's two halves differ");
                    if self.storage == Storage::Tagged {
                        assert_eq!(cell.add(16).read(), 1, "a tracer's tag is overwritten");
                    }
                    value
                }
                Storage::SelfPointing | Storage::SelfPointingNoPromise => {
                    assert_eq!(words.read(), cell.addr() as u64, "a tracer was moved as bytes");
                    words.add(1).read() as i64
                }
            }
        }
    }

    /// # Safety
    /// The cell is live; it is not afterwards.
    unsafe fn end(&self, cell: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            self.read(cell);
            let owned = self.owned(cell);
            if !owned.is_null() {
                Owned::end(owned);
            } else if self.storage == Storage::ZeroDefault {
                // Nothing was built in a cell of zero bytes, and nothing ends.
                return;
            }
        }
        self.ended.fetch_add(1, Relaxed);
    }

    /// Counts one fallible step, which may be the one that goes wrong.
    fn step(&self) -> Result<(), &'static str> {
        if self.countdown.load(Relaxed) < 0 || self.countdown.fetch_sub(1, Relaxed) != 0 {
            return Ok(());
        }
        match *self.fault.lock().unwrap_or_else(PoisonError::into_inner) {
            Fault::Fail => Err("a planned failure"),
            Fault::Panic => {
                // Unwinds without the panic hook's message.
                resume_unwind(Box::new(PlannedPanic))
            }
        }
    }
}

impl Ground {
    /// Gives a live cell another value in place.
    ///
    /// # Safety
    /// The cell is live.
    unsafe fn set(&self, cell: *mut u8, value: i64) {
        let words = cell.cast::<u64>();
        // SAFETY: the caller's promise.
        unsafe {
            let owned = self.owned(cell);
            match self.storage {
                Storage::NoPromise => words.write(value as u64),
                Storage::ZeroDefault if owned.is_null() || value == 0 => {
                    self.end(cell);
                    self.build(cell, value);
                    if value == 0 {
                        self.built.fetch_sub(1, Relaxed);
                    }
                }
                Storage::SelfPointing | Storage::SelfPointingNoPromise => {
                    words.add(1).write(value as u64);
                }
                Storage::ZeroDefault | Storage::Boxed | Storage::MoveOnly => {
                    Owned::set(owned, value);
                }
                Storage::Inline | Storage::Held | Storage::OverAligned | Storage::Tagged => {
                    Owned::set(owned, value);
                    words.add(1).write(value as u64);
                }
            }
        }
    }
}

impl TracerType {
    /// A new element type of that storage, with counts of its own.
    ///
    /// # Panics
    /// The runtime refuses the vtable.
    pub fn new(storage: Storage) -> TracerType {
        let ground: &'static Ground = Box::leak(Box::new(Ground {
            storage,
            built: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            countdown: AtomicI64::new(-1),
            fault: Mutex::new(Fault::Fail),
            destructor_countdown: AtomicI64::new(-1),
            broken: AtomicBool::new(false),
        }));
        let name = CString::new(format!("denizen.testing.{storage:?}")).unwrap_or_default();
        let (size, align) = storage.layout();
        // SAFETY: zero is valid for every member: numbers, pointers and optional functions.
        let mut vtable: ElementVTable = unsafe { MaybeUninit::zeroed().assume_init() };
        vtable.struct_size = size_of::<ElementVTable>();
        vtable.abi_version = abi::ABI_VERSION;
        vtable.flags = abi::ELEMENT_THREAD_SAFE;
        if !storage.is_self_pointing() {
            vtable.flags |= abi::ELEMENT_TRIVIALLY_RELOCATABLE;
        }
        if storage == Storage::Held {
            vtable.flags |= abi::ELEMENT_DESTROY_NEEDS_GIL;
        }
        vtable.name = name.as_ptr();
        vtable.size = size;
        vtable.align = align;
        (vtable.storage, vtable.zero_bytes) = match storage {
            Storage::Inline | Storage::Held | Storage::SelfPointing | Storage::OverAligned => {
                (abi::STORAGE_INLINE, abi::ZERO_VACANT)
            }
            Storage::NoPromise | Storage::SelfPointingNoPromise => {
                (abi::STORAGE_INLINE, abi::ZERO_NO_PROMISE)
            }
            Storage::ZeroDefault => (abi::STORAGE_INLINE, abi::ZERO_DEFAULT),
            Storage::Tagged => (abi::STORAGE_TAGGED, abi::ZERO_VACANT),
            Storage::Boxed | Storage::MoveOnly => (abi::STORAGE_BOXED, abi::ZERO_VACANT),
        };
        (vtable.vacancy_offset, vtable.vacancy_size) =
            if storage == Storage::Tagged { (16, 1) } else { (0, size) };
        vtable.context = std::ptr::from_ref(ground).cast_mut().cast();
        vtable.construct = Some(construct);
        vtable.copy_construct = (storage != Storage::MoveOnly).then_some(copy_construct);
        // One storage that copies has none, so that the fallback is exercised as well.
        vtable.assign = (!matches!(storage, Storage::Boxed | Storage::MoveOnly)).then_some(assign);
        // Relocatable storages: some by their own function, some by memcpy.
        vtable.relocate = if storage.is_self_pointing() || storage == Storage::Tagged {
            Some(relocate)
        } else {
            None
        };
        vtable.destroy = Some(destroy);
        // SAFETY: a complete vtable, whose functions keep the promises of `abi`.
        let element = unsafe { ElementType::from_vtable(&raw const vtable) };
        let element = match element {
            Ok(element) => Box::leak(Box::new(element)),
            Err(error) => panic!("{error}"),
        };
        let tracer = TracerType { element, ground };
        ALL.lock().unwrap_or_else(PoisonError::into_inner).push(tracer);
        tracer
    }

    /// A type of that storage which no other test uses until it is given back: for those who need
    /// thousands of them, one after the other.
    pub fn borrow(storage: Storage) -> TracerType {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        match idle.iter().position(|tracer| tracer.storage() == storage) {
            Some(index) => idle.swap_remove(index),
            None => TracerType::new(storage),
        }
    }

    /// Gives a borrowed type back, with no object alive.
    pub fn give_back(self) {
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(self);
    }

    /// How the object sits in its cell.
    pub fn storage(self) -> Storage {
        self.ground.storage
    }

    /// What the objects counted so far.
    ///
    /// # Panics
    /// An object found itself broken.
    pub fn counts(self) -> Counts {
        assert!(!self.ground.broken.load(Relaxed), "an object found itself broken");
        let load = |counter: &AtomicU64| counter.load(Relaxed);
        let (built, ended) = (load(&self.ground.built), load(&self.ground.ended));
        Counts {
            live: built.wrapping_sub(ended) as i64,
            built,
            ended,
            moved: load(&self.ground.moved),
        }
    }

    /// Has the construction, copy, assignment or relocation after `steps` more go wrong, once.
    pub fn plan_fault(self, steps: u32, fault: Fault) {
        *self.ground.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
        self.ground.countdown.store(steps.into(), Relaxed);
    }

    /// Has the destructor after `steps` more report a failure, once.
    pub fn plan_destructor_failure(self, steps: u32) {
        self.ground.destructor_countdown.store(steps.into(), Relaxed);
    }

    /// Takes plans back; says which of them had not happened yet.
    pub fn cancel_plans(self) -> Left {
        Left {
            fault: self.ground.countdown.swap(-1, Relaxed) >= 0,
            destructor: self.ground.destructor_countdown.swap(-1, Relaxed) >= 0,
        }
    }

    /// The value of a live cell, which is checked to be whole.
    ///
    /// # Safety
    /// The cell is live, of this type, and no code writes to it.
    pub unsafe fn value(self, cell: *const u8) -> i64 {
        // SAFETY: the same contract.
        unsafe { self.ground.read(cell) }
    }

    /// Gives every cell of a run of live cells another value, in place.
    ///
    /// # Safety
    /// The cells are live and of this type.
    pub unsafe fn set(self, cells: &mut CellsMut<'_>, value: i64) {
        for index in 0..cells.len() {
            // SAFETY: the same contract.
            unsafe { self.ground.set(cells.address(index), value) };
        }
    }
}
