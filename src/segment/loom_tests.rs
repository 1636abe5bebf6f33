//! How threads settle the type of one segment, in every interleaving.

use std::{ffi::CStr, mem::MaybeUninit};

use super::*;
use crate::{
    abi::{self, ElementVTable},
    sync::{Arc, thread},
};

const BYTES: usize = 4096;

/// A type with a zero promise. Types of one byte have more cells than a hint at one of eight bytes
/// has left bits for.
fn element(name: &'static CStr, size: usize) -> &'static ElementType {
    // SAFETY: zero is valid for every member: numbers, pointers and optional functions.
    let mut vtable: ElementVTable = unsafe { MaybeUninit::zeroed().assume_init() };
    vtable.struct_size = size_of::<ElementVTable>();
    vtable.abi_version = abi::ABI_VERSION;
    vtable.flags = abi::ELEMENT_THREAD_SAFE | abi::ELEMENT_TRIVIALLY_RELOCATABLE;
    vtable.name = name.as_ptr();
    (vtable.size, vtable.align) = (size, size);
    vtable.zero_bytes = abi::ZERO_VACANT;
    vtable.vacancy_size = size;
    // SAFETY: a complete vtable of a type that is never built.
    let element = unsafe { ElementType::from_vtable(&raw const vtable) };
    Box::leak(Box::new(element.unwrap()))
}

/// Types: the one that the segment is hinted at, and two others, of one byte and of eight.
struct Shared {
    segment: Segment,
    hinted: &'static ElementType,
    small: &'static ElementType,
    other: &'static ElementType,
}

// SAFETY: what threads do to the segment at once is what the tests are about.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn new() -> Arc<Shared> {
        let hinted = element(c"loom.Hinted", 8);
        let segment = SegmentRequest::new(BYTES, 64).hint(hinted).zeroed().allocate().unwrap();
        let (small, other) = (element(c"loom.Small", 1), element(c"loom.Other", 8));
        Arc::new(Shared { segment, hinted, small, other })
    }

    /// Binds the segment to a type; what is settled then is whole: there is a bit for each cell.
    fn bind(&self, element: &'static ElementType) -> bool {
        let bound = self.segment.bind(element).is_ok();
        let settled = self.segment.element().unwrap();
        assert_eq!(bound, std::ptr::eq(settled, element));
        let bits = self.segment.bitmap().unwrap();
        assert_eq!(bits.len(), BYTES / settled.size());
        assert_eq!(bits.count(0, bits.len()), 0);
        bound
    }
}

fn explore(work: [fn(&Shared) -> bool; 2], winners: std::ops::RangeInclusive<usize>) {
    loom::model(move || {
        let shared = Shared::new();
        let other = {
            let shared = shared.clone();
            thread::spawn(move || work[1](&shared))
        };
        let won = [work[0](&shared), other.join().unwrap()];
        assert!(winners.contains(&won.into_iter().filter(|won| *won).count()));
        assert!(shared.segment.header().is_signed());
        // SAFETY: no other thread has the segment any more.
        unsafe { shared.segment.free() }.unwrap();
    });
}

#[test]
fn loom_two_types_that_want_a_segment_settle_it_for_one() {
    explore([|shared| shared.bind(shared.small), |shared| shared.bind(shared.other)], 1..=1);
}

#[test]
fn loom_two_threads_that_want_it_for_one_type_both_get_it() {
    explore([|shared| shared.bind(shared.small), |shared| shared.bind(shared.small)], 2..=2);
    explore([|shared| shared.bind(shared.hinted), |shared| shared.bind(shared.hinted)], 2..=2);
}

#[test]
fn loom_the_hinted_type_and_another_settle_it_for_one() {
    explore([|shared| shared.bind(shared.hinted), |shared| shared.bind(shared.small)], 1..=1);
}

#[test]
fn loom_a_first_object_settles_the_hinted_type_for_whoever_binds_it() {
    fn build(shared: &Shared) -> bool {
        shared.segment.note_built();
        !shared.segment.untouched() && shared.segment.is_for(shared.hinted)
    }
    explore([build, build], 2..=2);
    explore([build, |shared| shared.bind(shared.hinted)], 2..=2);
}
