//! What happens when the process dies in the middle of a sequence: the sequence is printed first.
//!
//! A panic is caught and reported by the runner of the sequence. An error that AddressSanitizer
//! finds, a signal or an abort leave no time for that: their handlers print what this thread was
//! at, without allocating.

use super::Operation;
use std::{
    cell::{Cell, RefCell},
    fmt,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// How a sequence is written as a test.
pub(super) type WriteTest = fn(&mut dyn fmt::Write, &[Operation]) -> fmt::Result;

thread_local! {
    /// The sequence that this thread is at.
    static CURRENT: Cell<Option<(*const [Operation], WriteTest)>> = const { Cell::new(None) };
    /// What the last panic of this thread said, while a sequence runs.
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The finding is on the screen already.
static REPORTED: AtomicBool = AtomicBool::new(false);

/// Runs `work`, with panics kept silent and `operations` printed if the process dies.
pub(super) fn watched<R>(
    operations: &[Operation],
    write_test: WriteTest,
    work: impl FnOnce() -> R,
) -> R {
    install();
    CURRENT.set(Some((std::ptr::from_ref(operations), write_test)));
    let result = work();
    CURRENT.set(None);
    result
}

/// What the last panic of this thread said; forgets it.
pub(super) fn take_panic() -> Option<String> {
    super::heap::outside(|| LAST_PANIC.with_borrow_mut(Option::take))
}

/// Says that the finding has been printed: an abort that follows prints nothing more.
pub(super) fn note_reported() {
    REPORTED.store(true, Relaxed);
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |information| {
            if CURRENT.get().is_none() {
                return before(information);
            }
            super::heap::outside(|| {
                let text = match information.location() {
                    // The model's own complaints say all that there is.
                    Some(at) if !at.file().ends_with("src/testing/model.rs") => {
                        format!("{} ({}:{})", message(information), at.file(), at.line())
                    }
                    _ => message(information).to_owned(),
                };
                LAST_PANIC.with_borrow_mut(|last| *last = Some(text));
            });
        }));
        deaths::install();
    });
}

fn message<'a>(information: &'a std::panic::PanicHookInfo<'_>) -> &'a str {
    let payload = information.payload();
    match (payload.downcast_ref::<&'static str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "a panic without a message",
    }
}

/// Prints the sequence of this thread, if it is at one and nothing was printed yet.
fn print_current(cause: &str) {
    let Some((operations, write_test)) = CURRENT.take() else { return };
    if REPORTED.swap(true, Relaxed) {
        return;
    }
    let mut out = StandardError;
    // SAFETY: the sequence is borrowed by `watched`, further down on this thread's stack.
    let operations = unsafe { &*operations };
    let _ = write_death(&mut out, cause, operations);
    let _ = write_test(&mut out, operations);
}

fn write_death(out: &mut StandardError, cause: &str, operations: &[Operation]) -> fmt::Result {
    use fmt::Write;
    write!(out, "\ndenizen lifecheck: {cause}")?;
    let step = super::model::step();
    match operations.get(step) {
        Some(operation) => {
            write!(out, " in operation {} of {}, {operation:?}", step + 1, operations.len())?
        }
        None if step == operations.len() => out.write_str(" when everything was freed")?,
        None => {}
    }
    // Of a panic that cannot unwind, the message has not been shown.
    let _ = LAST_PANIC.try_with(|last| match last.try_borrow() {
        Ok(last) => last.as_ref().map_or(Ok(()), |said| write!(out, ": {said}")),
        Err(_) => Ok(()),
    });
    out.write_str(".\nThis test repeats it:\n\n")
}

/// File descriptor 2, without a buffer or a lock.
struct StandardError;

impl fmt::Write for StandardError {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            // SAFETY: readable bytes.
            let written = unsafe { libc::write(2, rest.as_ptr().cast(), rest.len()) };
            let Ok(written) = usize::try_from(written) else { return Err(fmt::Error) };
            rest = rest.get(written..).unwrap_or_default();
        }
        Ok(())
    }
}

/// Says something on standard error, past the capture of a test that passes.
pub(super) fn say(text: fmt::Arguments<'_>) {
    let _ = fmt::Write::write_fmt(&mut StandardError, text);
}

/// Whether this process runs under AddressSanitizer.
pub(super) fn under_asan() -> bool {
    deaths::asan().is_some()
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod deaths {
    use super::print_current;
    use std::{
        ffi::{c_char, c_int},
        mem::MaybeUninit,
        ptr,
        sync::atomic::{AtomicPtr, Ordering::Relaxed},
    };

    type ErrorCallback = extern "C" fn(report: *const c_char);
    type SetErrorCallback = unsafe extern "C" fn(callback: ErrorCallback);

    // A weak reference, which a stable compiler has no other way to write: the address of the
    // sanitizer's function, or zero in a process without it. (The callback for all deaths belongs to
    // libFuzzer.)
    std::arch::global_asm!(
        ".weak __asan_set_error_report_callback",
        ".pushsection .data.rel.ro.denizen_asan_entry, \"aw\"",
        ".balign 8",
        ".globl denizen_asan_entry",
        ".hidden denizen_asan_entry",
        "denizen_asan_entry:",
        ".quad __asan_set_error_report_callback",
        ".popsection",
    );
    unsafe extern "C" {
        static denizen_asan_entry: Option<SetErrorCallback>;
    }

    pub(super) fn asan() -> Option<SetErrorCallback> {
        // SAFETY: defined above, and never written to after the program was loaded.
        unsafe { denizen_asan_entry }
    }

    const SIGNALS: [(c_int, &str); 5] = [
        (libc::SIGSEGV, "a segmentation fault"),
        (libc::SIGBUS, "a bus error"),
        (libc::SIGABRT, "an abort"),
        (libc::SIGILL, "an illegal instruction"),
        (libc::SIGFPE, "an arithmetic trap"),
    ];

    /// What was installed before, signal by signal.
    static BEFORE: [AtomicPtr<libc::sigaction>; SIGNALS.len()] =
        [const { AtomicPtr::new(ptr::null_mut()) }; SIGNALS.len()];

    pub(super) fn install() {
        if let Some(set) = asan() {
            // SAFETY: AddressSanitizer is there; the callback lives for ever.
            unsafe { set(on_asan_report) };
        }
        for ((signal, _), before) in SIGNALS.iter().zip(&BEFORE) {
            // SAFETY: zero is a valid action; `handle` has the signature of a plain handler, and runs
            // on the thread's alternate stack where there is one.
            unsafe {
                let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
                action.sa_sigaction = handle as extern "C" fn(c_int) as usize;
                action.sa_flags = libc::SA_ONSTACK;
                let mut old = Box::new(MaybeUninit::<libc::sigaction>::zeroed().assume_init());
                if libc::sigaction(*signal, &raw const action, &raw mut *old) == 0 {
                    before.store(Box::into_raw(old), Relaxed);
                }
            }
        }
    }

    extern "C" fn on_asan_report(_report: *const c_char) {
        print_current("AddressSanitizer found the error above");
    }

    /// Prints, and lets the handler that was there before us see the same signal.
    extern "C" fn handle(signal: c_int) {
        let index = SIGNALS.iter().position(|(known, _)| *known == signal).unwrap_or(0);
        print_current(SIGNALS[index].1);
        let before = BEFORE[index].load(Relaxed);
        // SAFETY: what `sigaction` filled in; raised again, the signal comes once this returns.
        unsafe {
            if before.is_null() {
                libc::signal(signal, libc::SIG_DFL);
            } else {
                libc::sigaction(signal, before, ptr::null_mut());
            }
            libc::raise(signal);
        }
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod deaths {
    /// Elsewhere only panics are reported.
    pub(super) fn install() {}

    pub(super) fn asan() -> Option<std::convert::Infallible> {
        None
    }
}
