//! A global allocator that watches the heap of the type under test.
//!
//! What the type's own code allocates is in its ledger until it is freed. A freed block is kept until
//! the sequence has ended, so that a second `free` is seen. In a second pass it is also filled with a
//! pattern: a write through a stale pointer is seen then, and a read gives a value that the model does
//! not know. (In the first pass it is left alone, since a destructor that runs on patterns seldom gets
//! as far as the second `free`.) Under AddressSanitizer, which does all that better, blocks are only
//! counted.

use super::{hooks, model};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

/// The global allocator of a test binary or fuzz target that checks the heap of element types.
///
/// ```
/// #[global_allocator]
/// static HEAP: denizen::testing::Heap = denizen::testing::Heap;
/// ```
///
/// Outside of the sequences of [`lifecheck!`](crate::lifecheck) it is the system's allocator. A
/// binary without it still finds wrong values, failing destructors and missing objects; leaks and
/// blocks that are freed twice are then left to AddressSanitizer and the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap;

/// A block that code of the type under test allocated.
#[derive(Clone, Copy)]
struct Block {
    layout: Layout,
    /// Which sequence.
    run: usize,
    /// Which operation of it.
    step: usize,
    /// The number of the value that the closure was making.
    number: Option<u16>,
    /// Fills the block once it is freed, in a second pass; another one for each of many blocks, so
    /// that two stale pointers do not read the same.
    pattern: Option<u8>,
    freed: bool,
}

struct HeapLedger {
    /// Blocks that were ever entered.
    entered: usize,
    blocks: BTreeMap<usize, Block>,
    /// What went wrong, and in which sequence.
    troubles: Vec<(usize, String)>,
}

/// Fills fresh blocks.
const FRESH: u8 = 0xcd;

static LEDGER: Mutex<HeapLedger> =
    Mutex::new(HeapLedger { entered: 0, blocks: BTreeMap::new(), troubles: Vec::new() });
static INSTALLED: AtomicBool = AtomicBool::new(false);
/// Sequences under way on all threads.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
static LATEST_RUN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The sequence of this thread.
    static RUN: Cell<usize> = const { Cell::new(0) };
    /// Whether freed blocks are filled.
    static FILLS: Cell<bool> = const { Cell::new(false) };
    /// How many calls of the type's code this thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// The number of the value that is being made.
    static NUMBER: Cell<Option<u16>> = const { Cell::new(None) };
    /// The ledger itself allocates.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Whether [`Heap`] is the global allocator of this process.
pub(super) fn is_installed() -> bool {
    INSTALLED.load(Relaxed)
}

/// Runs code of the type under test: what it allocates is entered in the ledger.
pub(super) fn scope<R>(code: impl FnOnce() -> R) -> R {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            DEPTH.set(DEPTH.get() - 1);
        }
    }
    DEPTH.set(DEPTH.get() + 1);
    let _end = End;
    code()
}

/// Runs code of ours that was called from the type's: what it allocates does not count.
pub(super) fn outside<R>(code: impl FnOnce() -> R) -> R {
    let depth = DEPTH.replace(0);
    let result = code();
    DEPTH.set(depth);
    result
}

/// Makes the value of a number: its blocks are known by it.
pub(super) fn making<R>(number: u16, code: impl FnOnce() -> R) -> R {
    struct End(Option<u16>);
    impl Drop for End {
        fn drop(&mut self) {
            NUMBER.set(self.0);
        }
    }
    let _end = End(NUMBER.replace(Some(number)));
    code()
}

/// Blocks that were never freed.
pub(super) struct Leak {
    pub(super) message: String,
    /// The number of the value that one of them was allocated for, where the closure allocated it.
    pub(super) number: Option<u16>,
}

/// The heap of one sequence.
pub(super) struct Watch {
    run: usize,
}

impl Watch {
    /// Begins a sequence on this thread; `fills` says whether freed blocks are filled.
    pub(super) fn begin(fills: bool) -> Watch {
        RUNNING.fetch_add(1, Relaxed);
        let run = LATEST_RUN.fetch_add(1, Relaxed) + 1;
        RUN.set(run);
        DEPTH.set(0);
        FILLS.set(fills);
        Watch { run }
    }

    /// Ends the sequence: gives back what was freed, and says what was not, or was written to
    /// afterwards.
    pub(super) fn leaks(self) -> Result<Option<Leak>, String> {
        let written = with_ledger(|ledger| {
            let mut mine = Vec::new();
            ledger.blocks.retain(|address, block| {
                if block.run == self.run {
                    mine.push((*address, *block));
                }
                block.run != self.run
            });
            let (freed, leaked): (Vec<_>, Vec<_>) =
                mine.into_iter().partition(|(_, block)| block.freed);
            let mut written = None;
            for (address, block) in freed {
                let start = std::ptr::with_exposed_provenance_mut::<u8>(address);
                // SAFETY: a block of the system's that was kept; no code may use it.
                unsafe {
                    let bytes = std::slice::from_raw_parts(start, block.layout.size());
                    if block.pattern.is_some_and(|filled| bytes.iter().any(|byte| *byte != filled))
                    {
                        written =
                            Some(format!("{} was written to after it was freed", name(&block)));
                    }
                    System.dealloc(start, block.layout);
                }
            }
            (written, leaked)
        });
        let (written, leaked) = written;
        if let Some(written) = written {
            return Err(written);
        }
        let first = leaked.iter().find(|(_, block)| block.number.is_some()).or(leaked.first());
        let Some((_, first)) = first else { return Ok(None) };
        let bytes: usize = leaked.iter().map(|(_, block)| block.layout.size()).sum();
        // Each value is also kept beside the cells, to be compared with.
        let blocks = match leaked.len() {
            1 => "1 block",
            count => &format!("{count} blocks"),
        };
        let why = match leaked.len() {
            1 => "",
            _ => " (a value may own several, and is made once more to compare with)",
        };
        let message = format!(
            "{blocks} ({bytes} bytes) of its heap memory were never freed{why}: {}",
            name(first)
        );
        Ok(Some(Leak { message, number: first.number }))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        RUN.set(0);
        RUNNING.fetch_sub(1, Relaxed);
    }
}

/// What went wrong on the heap in this thread's sequence since the last call.
pub(super) fn trouble() -> Option<String> {
    if !is_installed() {
        return None;
    }
    let run = RUN.get();
    with_ledger(|ledger| {
        let index = ledger.troubles.iter().position(|(of, _)| *of == run)?;
        let (_, first) = ledger.troubles.swap_remove(index);
        ledger.troubles.retain(|(of, _)| *of != run);
        Some(first)
    })
}

fn name(block: &Block) -> String {
    let size = block.layout.size();
    match block.step.checked_add(1) {
        Some(step) => format!("a block of {size} bytes from operation {step}"),
        None => format!("a block of {size} bytes"),
    }
}

fn with_ledger<R>(work: impl FnOnce(&mut HeapLedger) -> R) -> R {
    let busy = BUSY.replace(true);
    let mut ledger: MutexGuard<'_, HeapLedger> =
        LEDGER.lock().unwrap_or_else(PoisonError::into_inner);
    let result = work(&mut ledger);
    drop(ledger);
    BUSY.set(busy);
    result
}

/// Whether calls of this thread go past the ledger.
fn is_unwatched() -> bool {
    RUNNING.load(Relaxed) == 0 || BUSY.get()
}

fn enter(start: *mut u8, layout: Layout) {
    let (run, step, number) = (RUN.get(), model::step(), NUMBER.get());
    with_ledger(|ledger| {
        ledger.entered += 1;
        let pattern = FILLS.get().then_some(0xa0 + (ledger.entered % 0x5f) as u8);
        let block = Block { layout, run, step, number, pattern, freed: false };
        ledger.blocks.insert(start.expose_provenance(), block);
    });
}

// SAFETY: all memory is the system's; what is kept after `dealloc` is given back once.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !INSTALLED.load(Relaxed) {
            INSTALLED.store(true, Relaxed);
        }
        // SAFETY: the caller's promise.
        let start = unsafe { System.alloc(layout) };
        if DEPTH.get() != 0 && RUN.get() != 0 && !start.is_null() && !is_unwatched() {
            if !hooks::under_asan() {
                // SAFETY: a fresh block of that size.
                unsafe { start.write_bytes(FRESH, layout.size()) };
            }
            enter(start, layout);
        }
        start
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let start = unsafe { System.alloc_zeroed(layout) };
        if DEPTH.get() != 0 && RUN.get() != 0 && !start.is_null() && !is_unwatched() {
            enter(start, layout);
        }
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if is_unwatched() {
            // SAFETY: the caller's promise.
            return unsafe { System.dealloc(start, layout) };
        }
        let give_back = with_ledger(|ledger| {
            let HeapLedger { blocks, troubles, .. } = ledger;
            let Some(block) = blocks.get_mut(&start.addr()) else { return true };
            if block.freed {
                troubles.push((block.run, format!("{} was freed twice", name(block))));
                return false;
            }
            if block.layout != layout {
                let what = format!("{} was freed as one of {}", name(block), layout.size());
                troubles.push((block.run, what));
            }
            if hooks::under_asan() {
                blocks.remove(&start.addr());
                return true;
            }
            if let Some(pattern) = block.pattern {
                // SAFETY: a live block of that size.
                unsafe { start.write_bytes(pattern, block.layout.size()) };
            }
            block.freed = true;
            false
        });
        if give_back {
            // SAFETY: the caller's promise; nothing was kept.
            unsafe { System.dealloc(start, layout) };
        }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let watched = !is_unwatched()
            && (DEPTH.get() != 0
                || with_ledger(|ledger| ledger.blocks.contains_key(&start.addr())));
        if !watched {
            // SAFETY: the caller's promise.
            return unsafe { System.realloc(start, layout, size) };
        }
        // SAFETY: the caller's promise: the new layout is valid, both blocks hold the common part.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(start, layout.size().min(size));
                self.dealloc(start, layout);
            }
            moved
        }
    }
}
