//! Which operation of NumPy's is at work on a thread, and where in the program it began.
//!
//! A loop that runs without the GIL cannot ask the interpreter where it is. NumPy asks for each loop
//! with the GIL held when an operation begins: that is where the thread was.

use super::sites::Where;
use std::cell::Cell;

/// An operation, in words that live for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Operation {
    /// What it is called: a ufunc's name, `cast`, `copy`, ..; empty where nothing is known.
    pub name: &'static str,
    /// What a cast is from.
    pub from: &'static str,
    /// What a cast is to.
    pub to: &'static str,
}

impl Operation {
    /// An operation of that name.
    pub const fn new(name: &'static str) -> Operation {
        Operation { name, from: "", to: "" }
    }

    /// What moves objects between cells and the scalars that show them: in no row of the report.
    pub const PROXY: Operation = Operation::new("proxy");

    /// A cast.
    pub const fn cast(from: &'static str, to: &'static str) -> Operation {
        Operation { name: "cast", from, to }
    }
}

/// What a thread is at.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    operation: Operation,
    /// Which recording `at` belongs to.
    recording: u64,
    at: Where,
}

thread_local! {
    static CURRENT: Cell<Current> = const {
        Cell::new(Current {
            operation: Operation::new(""),
            recording: 0,
            at: Where { site: None, stack: None },
        })
    };
}

/// The operation at work on this thread.
pub(super) fn current() -> Operation {
    CURRENT.try_with(|current| current.get().operation).unwrap_or_default()
}

/// Where this thread began its last operation, if that was in this recording.
pub(super) fn noted(recording: u64) -> Where {
    let current = CURRENT.try_with(Cell::get).unwrap_or_default();
    if current.recording == recording { current.at } else { Where::default() }
}

/// Notes where this thread begins an operation.
pub(super) fn note(recording: u64, at: Where) {
    let _ending = CURRENT.try_with(|current| {
        current.set(Current { recording, at, ..current.get() });
    });
}

/// The time in which an operation is at work; ends with what was before.
#[derive(Debug)]
pub struct AtWork(Current);

/// From here on `operation` is at work on this thread, until the value returned goes.
pub fn at_work(operation: Operation) -> AtWork {
    let before = CURRENT.try_with(|current| {
        let before = current.get();
        current.set(Current { operation, ..before });
        before
    });
    AtWork(before.unwrap_or_default())
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let _ending = CURRENT.try_with(|current| current.set(self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_nest_and_end() {
        let at = Where { site: Some(1), stack: Some(2) };
        note(7, at);
        {
            let _outer = at_work(Operation::new("add"));
            {
                let _inner = at_work(Operation::cast("int64", "Integer"));
                note(7, Where::default());
                assert_eq!(current().to, "Integer");
            }
            assert_eq!((current().name, noted(7)), ("add", at));
        }
        assert_eq!((current(), noted(7)), (Operation::default(), at));
        assert_eq!(noted(8), Where::default());
    }
}
