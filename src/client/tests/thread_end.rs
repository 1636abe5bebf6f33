//! A thread that the interpreter ends at its exit, inside an object's destructor: it waits for the
//! end of the process, which goes on.

use super::cells::Cells;
use crate::client::data::Adopted;
use crate::client::element;
use std::ffi::c_void;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

// As CPython calls it, in a function that may unwind; the crate `libc` says that it never does.
unsafe extern "C-unwind" {
    fn pthread_exit(value: *mut c_void) -> !;
}

/// In its destructor its thread ends, as it does where it asks for the GIL.
struct Ends(Sender<()>);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.send(());
        // SAFETY: every frame up to the one that catches is Rust's and may be unwound.
        unsafe { pthread_exit(std::ptr::null_mut()) }
    }
}

/// Runs `work` in a thread, which is still there some time after the destructor ran.
fn waits(work: impl FnOnce(Ends) + Send + 'static) {
    let (sender, ran): (_, Receiver<()>) = channel();
    let thread = thread::spawn(move || work(Ends(sender)));
    assert_eq!(ran.recv(), Ok(()));
    thread::sleep(Duration::from_millis(50));
    assert!(!thread.is_finished());
}

#[test]
fn a_thread_that_ends_in_a_destructor_waits() {
    waits(|ends| {
        let definition = element::<Ends>("Ends").boxed().define("test").expect("a definition");
        let cells = Cells::of(&definition, [ends]);
        let _ = cells.destroy(0, cells.stride(), 1);
    });
}

#[test]
fn a_thread_that_ends_in_the_release_of_adopted_memory_waits() {
    waits(|ends| {
        // SAFETY: a sender holds a pointer, which is never null, and its kind, and has no padding that
        // this test looks at.
        let builder = unsafe { element::<Ends>("Ends").zero_is_vacant() };
        let definition = builder.define("test").expect("a definition");
        let adopted = Box::new(Adopted::new(vec![ends], definition.cell()));
        // SAFETY: the owner is given up to it.
        unsafe { Adopted::<Ends>::release(Box::into_raw(adopted).cast()) };
    });
}
