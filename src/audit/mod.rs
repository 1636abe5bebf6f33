//! What happened to objects while an audit ran: the recorder behind `denizen.audit`.
//!
//! While at least one audit runs, the recorder is the [`Observer`] of the core. Each audit has a ledger
//! of its own ([`session::Session`]), so audits nest and run beside each other; each sees all
//! threads. Places in the Python program ([`sites`]) are kept once for all of them.
//!
//! The recorder's lock is the last of all: nothing that an observer's function does takes another
//! one, waits for the GIL or runs Python code.

mod operation;
mod session;
mod sites;
#[cfg(test)]
mod tests;
mod timeline;

pub use operation::{AtWork, Operation, at_work};
pub use session::{Corruption, ForeignRow, Leak, LeakLocation, RowKey, Session, TypeReport};
pub use sites::{Code, Frame, Interpreter, Line, Sites, Stack, Where};

use crate::{
    erased::{
        CountDelta, ElementType, Location,
        observer::{self, Corrupted, Observer},
    },
    fork::{self, Layer, Step},
    handler::allocation_hint,
    memory::lock::Lock,
    segment,
};
use std::ptr::NonNull;

/// All audits that run.
struct Recorder {
    sessions: Vec<(u64, bool, Session)>,
    sites: Sites,
    interpreter: Option<Interpreter>,
    /// Counts audits and resizes.
    next: u64,
    /// Number of the recording: from the first audit that begins to the last that ends.
    recording: u64,
    /// Whether segments were checked as thoroughly as can be before the recording, as they are
    /// while it goes on.
    checked_before: bool,
}

static RECORDER: Lock<Option<Recorder>> = Lock::new(None);
static STEP: Step = Step { prepare, parent: resume, child: resume };
static OBSERVER: Observer = Observer {
    recorded,
    copied,
    segment_made,
    segment_gone,
    segment_leaves,
    segment_arrives,
    corrupted,
};

fn prepare() {
    RECORDER.acquire();
}

fn resume() {
    // SAFETY: `prepare` took the lock in this thread, or in the one it is a copy of.
    unsafe { RECORDER.release() };
}

impl Recorder {
    /// Where this thread is: asked of the interpreter, or noted when its operation began.
    fn here(&mut self) -> Where {
        // Between arming and allocation no Python object may be made.
        let interpreter = self.interpreter.filter(|_| !allocation_hint::is_armed());
        let every = self.sessions.iter().any(|(_, trace, _)| *trace);
        let here = interpreter
            .map_or_else(Where::default, |interpreter| self.sites.here(interpreter, every));
        if here.site.is_none() { operation::noted(self.recording) } else { here }
    }
}

/// Runs `action` with the recorder, if there is one.
fn with_recorder<R: Default>(action: impl FnOnce(&mut Recorder) -> R) -> R {
    RECORDER.lock().as_mut().map_or_else(R::default, action)
}

/// Begins an audit and returns its number. `trace`: every stack is kept whole. GIL held.
pub fn begin(
    elements: &[&'static ElementType],
    interpreter: Option<Interpreter>,
    trace: bool,
) -> u64 {
    fork::arm(Layer::Audit, &STEP);
    segment::set_site_hook(site_of);
    let mut guard = RECORDER.lock();
    let recorder = guard.get_or_insert_with(|| Recorder {
        sessions: Vec::new(),
        sites: Sites::default(),
        interpreter: None,
        next: 0,
        recording: 0,
        checked_before: false,
    });
    recorder.next += 1;
    let number = recorder.next;
    if recorder.sessions.is_empty() {
        recorder.recording = number;
        recorder.checked_before = segment::set_checked(true);
    }
    recorder.interpreter = interpreter;
    recorder.sessions.push((number, trace, Session::begin(elements)));
    observer::set_observer(Some(&OBSERVER));
    number
}

/// Runs `action` with the ledger of an audit, and the sites it speaks of; `None` if it has ended.
/// Everybody who allocates waits meanwhile: `action` runs no Python code.
pub fn with<R>(number: u64, action: impl FnOnce(&mut Session, &Sites) -> R) -> Option<R> {
    let mut guard = RECORDER.lock();
    let recorder = guard.as_mut()?;
    let session = recorder.sessions.iter_mut().find(|(known, ..)| *known == number)?;
    Some(action(&mut session.2, &recorder.sites))
}

/// Where the segment with these cells was made, in words, as far as an audit that runs knows.
pub fn site_of(cells: usize) -> Option<String> {
    with_recorder(|recorder| {
        let site = recorder.sessions.iter().find_map(|(.., session)| session.site_of(cells))?;
        recorder.sites.text(site)
    })
}

/// Ends an audit. GIL held.
pub fn end(number: u64) {
    let left = with_recorder(|recorder| {
        recorder.sessions.retain(|(known, ..)| *known != number);
        if !recorder.sessions.is_empty() {
            return None;
        }
        observer::set_observer(None);
        segment::set_checked(recorder.checked_before);
        Some((recorder.interpreter?, std::mem::take(&mut recorder.sites)))
    });
    // Without the lock: the last reference to a code object may run Python code.
    if let Some((interpreter, sites)) = left {
        sites.release(interpreter);
    }
}

/// Whether an audit runs.
#[inline(always)]
pub fn is_running() -> bool {
    observer::is_watching()
}

/// Notes where this thread begins an operation. GIL held.
#[cold]
pub fn note_operation() {
    with_recorder(|recorder| {
        let here = recorder.here();
        operation::note(recorder.recording, here);
    });
}

fn recorded(element: &ElementType, delta: CountDelta, location: Location<'_>) {
    let operation = operation::current();
    with_recorder(|recorder| {
        let mut sessions = std::mem::take(&mut recorder.sessions);
        let mut found = None;
        let mut here = || *found.get_or_insert_with(|| recorder.here());
        for (_, _, session) in &mut sessions {
            session.recorded(element, delta, location, operation, &mut here);
        }
        recorder.sessions = sessions;
    });
}

fn copied(element: &ElementType, count: u64) {
    with_recorder(|recorder| {
        recorder.sessions.iter_mut().for_each(|(.., session)| session.copied(element, count));
    });
}

fn segment_made(cells: NonNull<u8>) {
    with_recorder(|recorder| {
        let here = recorder.here();
        recorder.sessions.iter_mut().for_each(|(.., session)| session.made(cells, here));
    });
}

fn segment_gone(cells: NonNull<u8>) {
    with_recorder(|recorder| {
        recorder.sessions.iter_mut().for_each(|(.., session)| session.gone(cells));
    });
}

fn segment_leaves(cells: NonNull<u8>) -> u64 {
    with_recorder(|recorder| {
        recorder.next += 1;
        let number = recorder.next;
        recorder.sessions.iter_mut().for_each(|(.., session)| session.leaves(number, cells));
        number
    })
}

fn segment_arrives(number: u64, cells: NonNull<u8>) {
    with_recorder(|recorder| {
        recorder.sessions.iter_mut().for_each(|(.., session)| session.arrives(number, cells));
    });
}

fn corrupted(found: &Corrupted<'_>) {
    with_recorder(|recorder| {
        recorder.sessions.iter_mut().for_each(|(.., session)| session.corrupted(found));
    });
}
