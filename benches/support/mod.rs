//! What the benchmarks share: element types, segments and blocks that are given back on drop, and
//! random numbers.

#![expect(dead_code, reason = "each benchmark uses what it needs")]

use denizen::{
    abi::{self, ElementVTable, ErrorOut, Status},
    erased::{CellsMut, ElementType, Exclusive},
    memory,
    segment::{Segment, SegmentRequest},
};
use std::{ffi::c_void, hint::black_box, mem::MaybeUninit, ptr::NonNull};

/// An object with heap data: one owning pointer.
#[derive(Clone)]
pub struct Heap(#[expect(dead_code, reason = "owned, never read")] Box<u64>);

impl Default for Heap {
    fn default() -> Self {
        Heap(Box::new(7))
    }
}

/// A small object without heap data. Each is made, copied and destroyed on its own, where the
/// compiler could do with all of them at once: `vec!` of plain numbers is a memset.
pub struct Word(u64);

impl Clone for Word {
    fn clone(&self) -> Self {
        Word(black_box(self.0))
    }
}

impl Default for Word {
    fn default() -> Self {
        Word(black_box(7))
    }
}

impl Drop for Word {
    fn drop(&mut self) {
        black_box(self.0);
    }
}

unsafe extern "C" fn construct<T: Default>(
    _context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    _error_out: *mut ErrorOut,
) -> Status {
    for index in 0..count {
        // SAFETY: `abi::ConstructFn`; `Default` of the types here does not panic.
        unsafe { cells.offset(stride * index as isize).cast::<T>().write(T::default()) };
    }
    abi::OK
}

unsafe extern "C" fn destroy<T>(
    _context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    _error_out: *mut ErrorOut,
) -> Status {
    for index in 0..count {
        // SAFETY: `abi::DestroyFn`.
        unsafe { cells.offset(stride * index as isize).cast::<T>().drop_in_place() };
    }
    abi::OK
}

/// An element type that is never unregistered.
pub fn element<T: Default>() -> &'static ElementType {
    // SAFETY: zero is valid for every member: numbers, pointers and optional functions.
    let mut vtable: ElementVTable = unsafe { MaybeUninit::zeroed().assume_init() };
    vtable.struct_size = size_of::<ElementVTable>();
    vtable.abi_version = abi::ABI_VERSION;
    vtable.flags = abi::ELEMENT_TRIVIALLY_RELOCATABLE | abi::ELEMENT_THREAD_SAFE;
    vtable.name = c"bench.Element".as_ptr();
    vtable.size = size_of::<T>();
    vtable.align = align_of::<T>();
    vtable.zero_bytes = abi::ZERO_VACANT;
    vtable.vacancy_size = size_of::<T>();
    vtable.construct = Some(construct::<T>);
    vtable.destroy = Some(destroy::<T>);
    // SAFETY: a complete vtable.
    Box::leak(Box::new(unsafe { ElementType::from_vtable(&raw const vtable) }.expect("a vtable")))
}

/// Frees a segment on drop, as a `Vec` does.
pub struct Owned(pub Segment);

impl Owned {
    /// A segment with a default object in each cell.
    pub fn full(element: &'static ElementType, count: usize) -> Owned {
        let segment =
            SegmentRequest::new(count * element.size(), 64).hint(element).zeroed().allocate();
        let segment = segment.expect("memory for the bench");
        segment.bind(element).expect("a new segment takes its type");
        // SAFETY: nobody else knows the segment.
        unsafe { segment.materialise(0..count) }.expect("defaults");
        Owned(segment)
    }

    /// Some of its cells.
    pub fn run(&self, start: usize, count: usize) -> CellsMut<'_> {
        // SAFETY: 8-byte cells of a segment that nobody else knows.
        unsafe { CellsMut::new(self.0.cells().as_ptr().add(8 * start), 8, count, Exclusive::own()) }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: nobody else knows the segment.
        unsafe { self.0.free() }.expect("destructors that do not fail");
    }
}

/// Live blocks of mixed sizes (four in five small), released at the end.
pub struct Blocks(Vec<(NonNull<u8>, usize)>);

impl Blocks {
    /// So many of them.
    pub fn new(count: usize) -> Self {
        let sizes = [128, 400, 1200, 9000, 40_000];
        let block = |k: usize| {
            let block = memory::allocate(sizes[k % sizes.len()], 64).expect("memory for the bench");
            (block.start, block.size)
        };
        Self((0..count).map(block).collect())
    }

    /// `count` addresses inside blocks, in random order.
    pub fn interior(&self, count: usize) -> Vec<*const u8> {
        let mut random = Random(1);
        let mut one = || {
            let (start, size) = self.0[random.next() % self.0.len()];
            start.as_ptr().wrapping_add(random.next() % size).cast_const()
        };
        (0..count).map(|_| one()).collect()
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, used no more.
        self.0.iter().for_each(|&(start, _)| unsafe { memory::release(start) });
    }
}

/// Steele and Vigna's SplitMix64.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) as usize
    }
}
