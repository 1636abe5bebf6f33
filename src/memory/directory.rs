//! Who owns an address: the page map of this process, and what its words mean.

use std::{ops::Range, ptr};

use super::{large_block::Large, page_map::PageMap, span::Span};

/// All addresses of user space on x86-64 and on aarch64 with 48 bits.
static MAP: PageMap<{ 1 << 16 }, { 1 << 16 }> = PageMap::new();

/// Set in a word that points to a [`Large`], clear in one that points to a [`Span`].
const LARGE: usize = 1;

/// What an address belongs to, whether or not a live block is there.
#[derive(Clone, Copy)]
pub(super) enum Record {
    Span(&'static Span),
    Large(&'static Large),
}

/// The record for an address, if it is of ours.
#[inline]
pub(super) fn find(address: usize) -> Option<Record> {
    record_of(MAP.get(address))
}

/// Calls `visit` with each slab of ours, by its address, and with its record.
pub(super) fn for_each(mut visit: impl FnMut(usize, Record)) {
    MAP.for_each(|slab, word| {
        if let Some(record) = record_of(word) {
            visit(slab, record);
        }
    });
}

/// What a word of the page map means.
#[inline]
fn record_of(word: *mut ()) -> Option<Record> {
    if word.is_null() {
        return None;
    }
    let record = word.map_addr(|address| address & !LARGE);
    // SAFETY: words are written by `insert` alone, from references that live for ever.
    unsafe {
        Some(if word.addr() & LARGE == 0 {
            Record::Span(&*record.cast::<Span>())
        } else {
            Record::Large(&*record.cast::<Large>())
        })
    }
}

/// Makes room for [`insert`]; false when there is no memory for that.
pub(super) fn reserve(range: Range<usize>) -> bool {
    MAP.reserve(range).is_ok()
}

/// Notes whom a range of reserved addresses belongs to.
///
/// The caller owns the addresses.
pub(super) fn insert(range: Range<usize>, record: Record) {
    let word = match record {
        Record::Span(span) => (&raw const *span).cast_mut().cast::<()>(),
        Record::Large(large) => {
            (&raw const *large).cast_mut().cast::<()>().map_addr(|address| address | LARGE)
        }
    };
    MAP.set(range, word);
}

/// Forgets a range. The caller still owns the addresses, and unmaps them after this.
pub(super) fn remove(range: Range<usize>) {
    MAP.set(range, ptr::null_mut());
}
