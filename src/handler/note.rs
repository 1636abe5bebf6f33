//! A note from the dtype to the allocation that follows it on the same thread: which element type
//! the new array has, and what to undo once the allocation has happened.
//!
//! The note is a hint. It decides how many bits the init bitmap gets and nothing else, so a note
//! that meets another allocation than it was meant for does no harm.

use crate::erased::ElementType;
use std::cell::Cell;

/// The note: the element type, and the function that ends the arming.
#[derive(Clone, Copy)]
struct Note {
    element: &'static ElementType,
    disarm: fn(),
}

thread_local! {
    static NOTE: Cell<Option<Note>> = const { Cell::new(None) };
}

/// Whether a note waits on this thread.
#[inline]
pub fn is_armed() -> bool {
    NOTE.with(|note| note.get().is_some())
}

/// Leaves a note. `disarm` is called once, by whoever takes it.
#[inline]
pub fn leave(element: &'static ElementType, disarm: fn()) {
    NOTE.with(|note| note.set(Some(Note { element, disarm })));
}

/// Replaces the element type of a waiting note.
#[inline]
pub fn amend(element: &'static ElementType) {
    NOTE.with(|note| {
        if let Some(waiting) = note.get() {
            note.set(Some(Note { element, ..waiting }));
        }
    });
}

/// Takes the note, if there is one, and ends the arming.
#[inline]
pub fn take() -> Option<&'static ElementType> {
    let note = NOTE.with(Cell::take)?;
    (note.disarm)();
    Some(note.element)
}
