//! Cells of a type that only moves, lent out and used while their segments grow, shrink and go: each
//! proxy shows the object in its cell, or has taken it over.
#![no_main]

use arbitrary::Arbitrary;
use denizen::{
    abi::{self, ElementVTable, ErrorOut, OK, Status},
    erased::ElementType,
    faults,
    lock::Borrow,
    segment::{
        ProxyHooks, ResizeError, Segment, SegmentRequest, proxy_begins, proxy_ends, set_proxy_hooks,
    },
};
use libfuzzer_sys::fuzz_target;
use std::{
    cell::RefCell,
    ffi::c_void,
    mem::MaybeUninit,
    ops::Range,
    ptr::NonNull,
    sync::{
        LazyLock,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

const SLOTS: usize = 3;
const MOST_CELLS: usize = 90;

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Step {
    New {
        slot: u8,
        count: u8,
        hinted: bool,
    },
    Fill {
        slot: u8,
        start: u8,
        count: u8,
    },
    Destroy {
        slot: u8,
        cell: u8,
    },
    Lend {
        slot: u8,
        cell: u8,
    },
    /// Begins to read the object of a proxy, or stops.
    Use {
        proxy: u8,
    },
    End {
        proxy: u8,
    },
    Resize {
        slot: u8,
        count: u8,
        extra: u8,
    },
    Free {
        slot: u8,
    },
    FailAllocation {
        after: u8,
    },
}

/// An object: what it owns, and its value once more.
type Object = [u64; 2];
const SIZE: usize = size_of::<Object>();

static LIVE: AtomicI64 = AtomicI64::new(0);
static NUMBER: AtomicI64 = AtomicI64::new(0);

/// The number of a live object.
///
/// # Safety
/// The cell is live.
unsafe fn number(cell: *const u8) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        let [owned, number] = cell.cast::<Object>().read();
        let owned = std::ptr::with_exposed_provenance::<u64>(owned as usize);
        assert_eq!(*owned, number, "an object is overwritten");
        number
    }
}

unsafe extern "C" fn construct(
    _context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    _report: *mut ErrorOut,
) -> Status {
    for index in 0..count as isize {
        let number = NUMBER.fetch_add(1, Relaxed) as u64;
        let owned = Box::into_raw(Box::new(number)).expose_provenance() as u64;
        // SAFETY: `abi::ConstructFn`.
        unsafe { cells.offset(stride * index).cast::<Object>().write([owned, number]) };
        LIVE.fetch_add(1, Relaxed);
    }
    OK
}

unsafe extern "C" fn destroy(
    _context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    _report: *mut ErrorOut,
) -> Status {
    for index in 0..count as isize {
        // SAFETY: `abi::DestroyFn`; from the box in `construct`.
        unsafe {
            let cell = cells.offset(stride * index);
            number(cell);
            let [owned, _] = cell.cast::<Object>().read();
            let owned: *mut u64 = std::ptr::with_exposed_provenance_mut(owned as usize);
            drop(Box::from_raw(owned));
        }
        LIVE.fetch_sub(1, Relaxed);
    }
    OK
}

static UNIQUE: LazyLock<ElementType> = LazyLock::new(|| {
    // SAFETY: zero is valid for every member.
    let mut vtable: ElementVTable = unsafe { MaybeUninit::zeroed().assume_init() };
    vtable.struct_size = size_of::<ElementVTable>();
    vtable.abi_version = abi::ABI_VERSION;
    vtable.flags = abi::ELEMENT_TRIVIALLY_RELOCATABLE;
    vtable.name = c"fuzz.Unique".as_ptr();
    (vtable.size, vtable.align) = (SIZE, 8);
    (vtable.storage, vtable.zero_bytes) = (abi::STORAGE_INLINE, abi::ZERO_VACANT);
    vtable.vacancy_size = SIZE;
    vtable.construct = Some(construct);
    vtable.destroy = Some(destroy);
    // SAFETY: a complete vtable.
    unsafe { ElementType::from_vtable(&raw const vtable) }.expect("a vtable without mistakes")
});

fn unique() -> &'static ElementType {
    &UNIQUE
}

/// Who shows a cell.
struct Proxy {
    number: u64,
    /// The cell, or nothing once the object is in its own cell.
    shown: Option<NonNull<u8>>,
    /// A segment of one cell.
    own: Segment,
    /// The cells of a segment that is being read.
    used: Option<Borrow<'static>>,
}

impl Proxy {
    fn cell(&self) -> *const u8 {
        self.shown.unwrap_or(self.own.cells()).as_ptr()
    }
}

thread_local! {
    static PROXIES: RefCell<Vec<Proxy>> = const { RefCell::new(Vec::new()) };
}

fn detach(cells: Range<usize>) -> usize {
    PROXIES.with_borrow_mut(|proxies| {
        let mut used = 0;
        for proxy in proxies {
            let Some(shown) = proxy.shown.filter(|cell| cells.contains(&cell.as_ptr().addr()))
            else {
                continue;
            };
            if proxy.used.is_some() {
                used += 1;
                continue;
            }
            // SAFETY: a segment tells of its own cells; this thread is alone with all.
            unsafe {
                let from = Segment::find(shown.as_ptr()).expect("the cell's segment");
                let (index, _) = from.cell_index(shown.as_ptr()).expect("a cell");
                from.relocate(index..index + 1, proxy.own, 0).expect("bytes move");
            }
            proxy.shown = None;
        }
        used
    })
}

fn moved(cells: Range<usize>, new_start: NonNull<u8>) {
    PROXIES.with_borrow_mut(|proxies| {
        for proxy in proxies {
            let Some(shown) = proxy.shown.filter(|cell| cells.contains(&cell.as_ptr().addr()))
            else {
                continue;
            };
            let offset = shown.as_ptr().addr() - cells.start;
            proxy.shown = NonNull::new(new_start.as_ptr().wrapping_add(offset));
        }
    });
}

#[derive(Default)]
struct Model {
    slots: [Option<(Segment, Vec<Option<u64>>)>; SLOTS],
    fails: bool,
}

impl Model {
    fn slot(&mut self, slot: u8) -> &mut Option<(Segment, Vec<Option<u64>>)> {
        &mut self.slots[usize::from(slot) % SLOTS]
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::FailAllocation { after } => {
                faults::plan_failure((after % 4).into());
                self.fails = true;
                return;
            }
            Step::New { slot, count, hinted } => self.allocate(slot, count, hinted),
            Step::Fill { slot, start, count } => self.fill(slot, start, count),
            Step::Destroy { slot, cell } => self.destroy(slot, cell),
            Step::Lend { slot, cell } => self.lend(slot, cell),
            Step::Use { proxy } => Self::use_or_stop(proxy),
            Step::End { proxy } => Self::end(proxy),
            Step::Resize { slot, count, extra } => self.resize(slot, count, extra),
            Step::Free { slot } => self.free(slot),
        }
        faults::cancel();
        self.fails = false;
        self.check();
    }

    fn allocate(&mut self, slot: u8, count: u8, hinted: bool) {
        self.free(slot);
        if self.slot(slot).is_some() {
            return;
        }
        let count = usize::from(count) % MOST_CELLS;
        let hint = hinted.then(unique);
        match SegmentRequest::new(count * SIZE, 64).hint(hint).zeroed().allocate() {
            Err(error) => assert!(self.fails, "{error}"),
            Ok(segment) => match segment.bind(unique()) {
                Ok(()) => *self.slot(slot) = Some((segment, vec![None; count])),
                Err(error) => {
                    assert!(self.fails, "{error}");
                    // SAFETY: nobody else knows it.
                    unsafe { segment.free() }.expect("an empty segment");
                }
            },
        }
    }

    fn fill(&mut self, slot: u8, start: u8, count: u8) {
        let Some((segment, cells)) = self.slot(slot) else { return };
        let start = usize::from(start).min(cells.len());
        let end = (start + usize::from(count) % 20).min(cells.len());
        // SAFETY: this thread alone knows the segment.
        unsafe { segment.materialise(start..end) }.expect("construction does not fail");
        for (index, cell) in cells.iter_mut().enumerate().take(end).skip(start) {
            // SAFETY: a live cell.
            let found = unsafe { number(segment.cell_address(index).as_ptr()) };
            assert!(cell.is_none_or(|number| number == found), "a live cell is left alone");
            *cell = Some(found);
        }
    }

    fn destroy(&mut self, slot: u8, cell: u8) {
        let Some((segment, cells)) = self.slot(slot) else { return };
        if cells.is_empty() {
            return;
        }
        let cell = usize::from(cell) % cells.len();
        let address = segment.cell_address(cell);
        if PROXIES.with_borrow(|proxies| proxies.iter().any(|proxy| proxy.shown == Some(address))) {
            // The layer above has the proxy take the object over first.
            return;
        }
        // SAFETY: this thread alone knows the segment.
        unsafe { segment.destroy(cell..cell + 1) }.expect("no destructor fails");
        cells[cell] = None;
    }

    fn lend(&mut self, slot: u8, cell: u8) {
        let Some((segment, cells)) = self.slot(slot) else { return };
        let Some(cell) = usize::from(cell).checked_rem(cells.len()) else { return };
        let (Some(number), shown) = (cells[cell], segment.cell_address(cell)) else { return };
        PROXIES.with_borrow_mut(|proxies| {
            if proxies.len() >= 12 || proxies.iter().any(|proxy| proxy.shown == Some(shown)) {
                return;
            }
            // What a plan to fail is not for.
            faults::cancel();
            let own =
                SegmentRequest::new(SIZE, 8).hint(unique()).zeroed().allocate().expect("memory");
            own.bind(unique()).expect("memory");
            proxies.push(Proxy { number, shown: Some(shown), own, used: None });
            proxy_begins();
        });
    }

    fn use_or_stop(proxy: u8) {
        PROXIES.with_borrow_mut(|proxies| {
            let Some(index) = usize::from(proxy).checked_rem(proxies.len()) else { return };
            let proxy = &mut proxies[index];
            if proxy.used.take().is_some() {
                return;
            }
            let Some(shown) = proxy.shown else { return };
            // SAFETY: the cell's segment is alive, with its lock.
            unsafe {
                let segment = Segment::find(shown.as_ptr()).expect("the cell's segment");
                let start = shown.as_ptr().addr() - segment.cells().as_ptr().addr();
                let lock = NonNull::from(segment.lock()).as_ref();
                proxy.used =
                    Some(lock.try_borrow(start..start + SIZE, false).expect("readers only"));
            }
        });
    }

    fn end(proxy: u8) {
        let proxy = PROXIES.with_borrow_mut(|proxies| {
            let index = usize::from(proxy).checked_rem(proxies.len())?;
            Some(proxies.swap_remove(index))
        });
        let Some(proxy) = proxy else { return };
        drop(proxy.used);
        // SAFETY: nobody else knows it; empty, or with the object.
        unsafe { proxy.own.free() }.expect("no destructor fails");
        proxy_ends();
    }

    /// Proxies of the cells of a segment from one on: how many are used, and how many not.
    fn proxies_from(segment: Segment, first: usize) -> (usize, usize) {
        let start = segment.cells().as_ptr().addr();
        let cells = start + first * SIZE..start + segment.byte_len().max(1);
        PROXIES.with_borrow(|proxies| {
            let shown = |proxy: &&Proxy| {
                proxy.shown.is_some_and(|cell| cells.contains(&cell.as_ptr().addr()))
            };
            let used = proxies.iter().filter(shown).filter(|proxy| proxy.used.is_some()).count();
            (used, proxies.iter().filter(shown).count() - used)
        })
    }

    fn resize(&mut self, slot: u8, count: u8, extra: u8) {
        let fails = self.fails;
        let Some((segment, cells)) = self.slot(slot) else { return };
        let count = usize::from(count) % MOST_CELLS;
        let bytes = count * SIZE + usize::from(extra) % SIZE;
        let (used, _) = Self::proxies_from(*segment, 0);
        // SAFETY: this thread alone knows the segment.
        match unsafe { segment.resize(bytes) } {
            Ok(resized) => {
                assert_eq!(used, 0, "cells in use have moved");
                assert!(resized.destructor.is_none());
                *segment = resized.segment;
                cells.resize(count, None);
            }
            Err(ResizeError::InUse(_)) => assert!(used > 0),
            Err(error) => {
                assert!(fails && used == 0, "{error}");
                // Lent cells of the tail may have been taken over already.
                for (index, cell) in cells.iter_mut().enumerate() {
                    let address = segment.cell_address(index);
                    // SAFETY: a cell of the segment.
                    if cell.is_some() && !unsafe { segment.holds(index) } {
                        let taken = PROXIES.with_borrow(|proxies| {
                            proxies
                                .iter()
                                .any(|proxy| proxy.shown.is_none() && Some(proxy.number) == *cell)
                        });
                        assert!(taken && index >= count, "a lost object at {address:p}");
                        *cell = None;
                    }
                }
            }
        }
    }

    fn free(&mut self, slot: u8) {
        let Some((segment, cells)) = self.slot(slot) else { return };
        let (used, lent) = Self::proxies_from(*segment, 0);
        let before = LIVE.load(Relaxed);
        let live = cells.iter().flatten().count();
        // SAFETY: this thread alone knows the segment, and forgets it unless it is in use.
        match unsafe { segment.free() } {
            Ok(()) => {
                assert_eq!(used, 0, "cells in use are gone");
                assert_eq!(before - LIVE.load(Relaxed), (live - lent) as i64);
                *self.slot(slot) = None;
            }
            Err(error) => {
                // Nothing is destroyed, and the memory stays.
                assert!(used > 0 && error.kind == abi::ERROR_BORROW, "{error}");
                assert_eq!(before, LIVE.load(Relaxed));
                for (index, cell) in cells.iter_mut().enumerate() {
                    // SAFETY: a cell of the segment.
                    if !unsafe { segment.holds(index) } {
                        *cell = None;
                    }
                }
            }
        }
    }

    fn check(&self) {
        let mut live = 0;
        for (segment, cells) in self.slots.iter().flatten() {
            // SAFETY: this thread alone knows the segment.
            unsafe {
                assert_eq!(segment.check_integrity().ok(), Some(0));
                for (index, cell) in cells.iter().enumerate() {
                    assert_eq!(segment.holds(index), cell.is_some(), "cell {index}");
                    if let Some(expected) = cell {
                        assert_eq!(number(segment.cell_address(index).as_ptr()), *expected);
                        live += 1;
                    }
                }
            }
        }
        PROXIES.with_borrow(|proxies| {
            for proxy in proxies {
                // SAFETY: the object is in its cell, or in its own.
                assert_eq!(unsafe { number(proxy.cell()) }, proxy.number, "what a proxy shows");
                live += i64::from(proxy.shown.is_none());
            }
        });
        assert_eq!(LIVE.load(Relaxed), live, "objects");
        assert_eq!(unique().counters().read().live, live, "ledger");
    }
}

fuzz_target!(|steps: Vec<Step>| {
    set_proxy_hooks(ProxyHooks { detach, moved });
    let mut model = Model::default();
    for step in &steps {
        model.step(*step);
    }
    faults::cancel();
    // Proxies end before or after the memory of their cells.
    let half = PROXIES.with_borrow(Vec::len) / 2;
    for _ in 0..half {
        Model::end(0);
    }
    PROXIES.with_borrow_mut(|proxies| proxies.iter_mut().for_each(|proxy| proxy.used = None));
    for slot in 0..SLOTS as u8 {
        model.free(slot);
    }
    model.check();
    while PROXIES.with_borrow(|proxies| !proxies.is_empty()) {
        Model::end(0);
    }
    model.check();
    assert_eq!(LIVE.load(Relaxed), 0, "objects that nobody has");
});
