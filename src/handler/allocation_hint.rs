//! A hint from the dtype to the allocation that follows it on the same thread: what the new array
//! is of, and what to undo once the allocation has happened.
//!
//! It is no more than a hint: it decides how many bits the init bitmap gets and nothing else, so one
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

/// The hint: what the array is of, and the function that ends the arming.
#[derive(Clone, Copy)]
struct Hint {
    content: Content,
    disarm: fn(),
}

thread_local! {
    static HINT: Cell<Option<Hint>> = const { Cell::new(None) };
}

/// Whether a hint waits on this thread.
#[inline]
pub fn is_armed() -> bool {
    HINT.with(|hint| hint.get().is_some())
}

/// Leaves a hint. `disarm` is called once, by [`take`].
#[inline]
pub fn leave(content: Content, disarm: fn()) {
    HINT.with(|hint| hint.set(Some(Hint { content, disarm })));
}

/// Replaces the content of a waiting hint.
#[inline]
pub fn amend(content: Content) {
    HINT.with(|hint| {
        if let Some(waiting) = hint.get() {
            hint.set(Some(Hint { content, ..waiting }));
        }
    });
}

/// Takes the hint, if there is one, and ends the arming.
#[inline]
pub fn take() -> Option<Content> {
    let hint = HINT.with(Cell::take)?;
    (hint.disarm)();
    Some(hint.content)
}
