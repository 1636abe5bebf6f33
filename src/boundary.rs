//! Where unwinding stops: a panic becomes a value, the end of a thread waits.
//!
//! Every function that C code calls into goes through [`catch`] where anything in it may panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a panic carried.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Runs `body`; a panic in it is the error.
///
/// # Errors
/// The payload of the panic. It goes to [`discard`] in the end: its destructor may panic as well.
#[inline(always)]
pub(crate) fn catch<R>(body: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(|| {
        let thread_end = ThreadEnd;
        let result = body();
        thread_end.passed();
        result
    }))
}

/// Ends what a panic carried; if that panics too, its payload is given up.
#[cold]
pub(crate) fn discard(payload: Payload) {
    if let Err(second) = catch(move || drop(payload)) {
        std::mem::forget(second);
    }
}

/// The text of a panic, where it has one.
#[cold]
pub(crate) fn text(payload: &Payload) -> Option<&str> {
    payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

/// Whether a panic with this text is a lack of memory: big number crates panic where an allocation
/// fails, and so does `Vec` for a size that no address space has.
#[cfg(feature = "client")]
#[cold]
pub(crate) fn is_lack_of_memory(text: &str) -> bool {
    matches!(text, "out of memory" | "try to allocate too much memory" | "capacity overflow")
}

/// Where a thread waits for the end of the process, if the interpreter ends it in a call.
///
/// When Python shuts down, CPython before 3.14 ends every other thread that asks for the GIL, with
/// `pthread_exit`: that unwinds, and a frame that catches panics aborts the process. Whatever is
/// called in a frame of [`catch`] may run Python code, so the frame must not see that. The thread is
/// left hanging instead, without the GIL, as CPython does from 3.14 on
/// (<https://github.com/python/cpython/issues/87135>). Frames further in have been left by then, and
/// with them the locks that they held.
struct ThreadEnd;

impl ThreadEnd {
    /// The body has returned: nothing unwinds.
    #[inline(always)]
    fn passed(self) {
        std::mem::forget(self);
    }
}

impl Drop for ThreadEnd {
    #[cold]
    fn drop(&mut self) {
        // What unwinds without a panic is not Rust's.
        while !std::thread::panicking() {
            std::thread::park();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{catch, discard, text};

    struct PanicsAgain;
    impl Drop for PanicsAgain {
        fn drop(&mut self) {
            panic!("again");
        }
    }

    #[test]
    fn a_panic_is_a_value_with_its_text() {
        let outcome: Result<(), _> = catch(|| panic!("stop {}", 5));
        assert_eq!(outcome.err().as_ref().and_then(text), Some("stop 5"));
        assert_eq!(catch(|| 7).ok(), Some(7));
    }

    #[test]
    fn a_payload_whose_destructor_panics_is_given_up() {
        match catch(|| std::panic::panic_any(PanicsAgain)) {
            Ok(()) => unreachable!("it panics"),
            Err(payload) => discard(payload),
        }
    }
}
