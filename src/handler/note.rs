//! A note from the dtype to the allocation that follows it on the same thread: what the new array
//! is of, and what to undo once the allocation has happened.
//!
//! The note is a hint. It decides how many bits the init bitmap gets and nothing else, so a note
//! that meets another allocation than it was meant for does no harm.

use crate::erased::ElementType;
use std::cell::Cell;

/// What a new array is of.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    /// Cells of one element type, side by side.
    Cells(&'static ElementType),
    /// Structures, whose fields of element types lie between other bytes. The segment stays without
    /// a type: the cells tell what is live, and NumPy clears them before it frees the memory.
    Structures,
}

impl Content {
    /// The type that a segment of this content is hinted at.
    pub fn element(self) -> Option<&'static ElementType> {
        match self {
            Content::Cells(element) => Some(element),
            Content::Structures => None,
        }
    }
}

/// The note: what the array is of, and the function that ends the arming.
#[derive(Clone, Copy)]
struct Note {
    content: Content,
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
pub fn leave(content: Content, disarm: fn()) {
    NOTE.with(|note| note.set(Some(Note { content, disarm })));
}

/// Replaces the content of a waiting note.
#[inline]
pub fn amend(content: Content) {
    NOTE.with(|note| {
        if let Some(waiting) = note.get() {
            note.set(Some(Note { content, ..waiting }));
        }
    });
}

/// Takes the note, if there is one, and ends the arming.
#[inline]
pub fn take() -> Option<Content> {
    let note = NOTE.with(Cell::take)?;
    (note.disarm)();
    Some(note.content)
}
