//! Faults in the code of a type under test, planned for this thread.

use std::{cell::Cell, panic::resume_unwind};

/// How an operation goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It returns a failure.
    Fail,
    /// It panics inside; the boundary turns that into a failure.
    Panic,
}

/// Plans that had not happened when they were taken back.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    /// Of an object that goes wrong.
    pub fault: bool,
    /// Of a destructor that fails.
    pub destructor: bool,
}

/// The payload of a planned panic: it unwinds without the panic hook's message.
pub(crate) struct PlannedPanic;

thread_local! {
    /// Elements until one goes wrong at the boundary, and how.
    static PLAN: Cell<Option<(u32, Fault)>> = const { Cell::new(None) };
    /// Destructors until one fails.
    static DESTRUCTOR: Cell<Option<u32>> = const { Cell::new(None) };
    /// Steps of `testing::Tracer`s until one panics.
    static FUSE: Cell<Option<u32>> = const { Cell::new(None) };
    /// Only what the runtime called may panic, not the model's own copies.
    static ARMED: Cell<bool> = const { Cell::new(false) };
    static FIRED: Cell<bool> = const { Cell::new(false) };
}

/// Has the construction, copy, assignment or relocation after `steps` more go wrong, once.
pub(crate) fn plan(steps: u32, fault: Fault) {
    // A panic comes from inside the element if it can: else the boundary would be there before.
    PLAN.set(Some((steps + u32::from(fault == Fault::Panic), fault)));
    FUSE.set((fault == Fault::Panic).then_some(steps));
    FIRED.set(false);
}

/// Has the destructor after `steps` more report a failure, once.
pub(crate) fn plan_destructor(steps: u32) {
    DESTRUCTOR.set(Some(steps));
}

/// Takes all plans back.
pub(crate) fn cancel() -> Left {
    FUSE.set(None);
    FIRED.set(false);
    Left { fault: PLAN.take().is_some(), destructor: DESTRUCTOR.take().is_some() }
}

/// Whether a panic came from inside the type's own code since the plan was made.
pub(crate) fn fired_inside() -> bool {
    FIRED.get()
}

/// Counts `count` elements of a batch; says how many succeed before one goes wrong, and how.
pub(crate) fn due(count: usize) -> Option<(usize, Fault)> {
    countdown(&PLAN, count)
}

/// Counts `count` destructors; whether one is to fail.
pub(crate) fn destructor_due(count: usize) -> bool {
    let plan = DESTRUCTOR.get().filter(|left| (*left as usize) < count);
    DESTRUCTOR.set(match plan {
        Some(_) => None,
        None => DESTRUCTOR.get().map(|left| left - count as u32),
    });
    plan.is_some()
}

fn countdown(
    plan: &'static std::thread::LocalKey<Cell<Option<(u32, Fault)>>>,
    count: usize,
) -> Option<(usize, Fault)> {
    let (left, fault) = plan.get()?;
    if (left as usize) < count {
        plan.set(None);
        return Some((left as usize, fault));
    }
    plan.set(Some((left - count as u32, fault)));
    None
}

/// Runs what the runtime asked of the type's code; tracers inside it may panic meanwhile.
pub(crate) fn armed<R>(code: impl FnOnce() -> R) -> R {
    let before = ARMED.replace(true);
    let result = code();
    ARMED.set(before);
    result
}

/// One step of a tracer, which may be the one that panics.
pub(crate) fn step() {
    if !ARMED.get() {
        return;
    }
    match FUSE.get() {
        None => {}
        Some(0) => {
            FUSE.set(None);
            PLAN.set(None);
            FIRED.set(true);
            resume_unwind(Box::new(PlannedPanic));
        }
        Some(left) => FUSE.set(Some(left - 1)),
    }
}
