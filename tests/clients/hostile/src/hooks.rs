//! The places where client code runs, and what Python put there.
//!
//! A hook that is armed calls a Python function, which may do anything: use, change, resize or drop
//! the very array whose element is at hand. What the hook was given must not change meanwhile.

use pyo3::{exceptions::PyValueError, prelude::*, types::PyString};
use std::{
    cell::Cell,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::Relaxed},
    },
};

macro_rules! hooks {
    ($($hook:ident $name:literal,)*) => {
        /// A place where a type's own code runs.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub enum Hook { $($hook,)* }

        /// How Python names them, in the order of `Hook`.
        pub const NAMES: &[&str] = &[$($name,)*];
        const COUNT: usize = NAMES.len();
    };
}

hooks! {
    Clone "clone",
    Drop "drop",
    Default "default",
    Compare "compare",
    Equal "equal",
    Hash "hash",
    Display "display",
    Parse "parse",
    ToFloat "to_float",
    FromFloat "from_float",
    ToInt "to_int",
    FromInt "from_int",
    FromPython "from_python",
    Add "add",
    Subtract "subtract",
    Multiply "multiply",
    Negative "negative",
    InPlace "in_place",
    InPlaceBinary "in_place_binary",
    Predicate "predicate",
    Pair "pair",
    WithNumber "with_number",
    FromNumber "from_number",
    Nonzero "nonzero",
    HeapBytes "heap_bytes",
    Save "save",
    Load "load",
    Identity "identity",
}

/// What an armed hook does.
struct Armed {
    callable: Py<PyAny>,
    /// So many calls go by first.
    after: i64,
    /// So many calls do it.
    times: i64,
}

struct HookState {
    /// Whether `armed` is worth a look.
    is_armed: AtomicBool,
    armed: Mutex<Option<Armed>>,
    calls: AtomicI64,
    fired: AtomicI64,
}

static HOOKS: [HookState; COUNT] = [const {
    HookState {
        is_armed: AtomicBool::new(false),
        armed: Mutex::new(None),
        calls: AtomicI64::new(0),
        fired: AtomicI64::new(0),
    }
}; COUNT];

/// How deep hooks call Python from within what a hook called.
static DEEPEST: AtomicUsize = AtomicUsize::new(1);
static VIOLATIONS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// As many messages are kept.
const KEPT: usize = 50;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that the promise was broken; with HOSTILE_BACKTRACE=1 it says where.
pub fn violation(message: String) {
    // What an object that is gone says need not be text.
    let message = String::from_utf8_lossy(message.as_bytes()).escape_default().to_string();
    if std::env::var_os("HOSTILE_BACKTRACE").is_some() {
        eprintln!("{message}\n{}", std::backtrace::Backtrace::force_capture());
    }
    let mut all = locked(&VIOLATIONS);
    if all.len() < KEPT {
        all.push(message);
    }
}

pub fn name(hook: Hook) -> &'static str {
    NAMES[hook as usize]
}

/// Comes through a hook, whether or not anything is to be called.
///
/// # Errors
/// What the Python function raised, or returned as a text.
pub fn come_by(hook: Hook) -> Result<(), String> {
    let hook = &HOOKS[hook as usize];
    hook.calls.fetch_add(1, Relaxed);
    if !hook.is_armed.load(Relaxed) || DEPTH.get() >= DEEPEST.load(Relaxed) {
        return Ok(());
    }
    // At the interpreter's end there is nothing to call.
    Python::try_attach(|py| call(py, hook)).unwrap_or(Ok(()))
}

fn call(py: Python<'_>, hook: &HookState) -> Result<(), String> {
    let callable = {
        // Held under the GIL only, by code that keeps it.
        let mut armed = locked(&hook.armed);
        let Some(armed) = armed.as_mut() else { return Ok(()) };
        if armed.after > 0 {
            armed.after -= 1;
            return Ok(());
        }
        if armed.times == 0 {
            hook.is_armed.store(false, Relaxed);
            return Ok(());
        }
        armed.times -= 1;
        armed.callable.clone_ref(py)
    };
    hook.fired.fetch_add(1, Relaxed);
    // A destructor may run while an exception is on its way, and NumPy copies some arrays once more
    // after a copy has failed; what is called must not see it.
    let pending = PyErr::take(py);
    DEPTH.set(DEPTH.get() + 1);
    let answer = callable.call0(py);
    DEPTH.set(DEPTH.get() - 1);
    let result = match answer {
        Ok(answer) => match answer.bind(py).cast::<PyString>() {
            Ok(text) => Err(text.to_string()),
            Err(_) => Ok(()),
        },
        Err(error) => Err(error.to_string()),
    };
    drop(callable);
    if let Some(error) = pending {
        error.restore(py);
    }
    result
}

fn hook_of(name: &str) -> PyResult<&'static HookState> {
    NAMES
        .iter()
        .position(|known| *known == name)
        .map(|index| &HOOKS[index])
        .ok_or_else(|| PyValueError::new_err(format!("no hook {name:?}; there are {NAMES:?}")))
}

/// The names of all hooks.
#[pyfunction]
pub fn hooks() -> Vec<&'static str> {
    NAMES.to_vec()
}

/// Has a hook call `callable` in `times` of its calls (-1: in all), after the first `after`; None
/// ends that. A text that it returns, or what it raises, is the failure of the hook.
#[pyfunction]
#[pyo3(signature = (hook, callable, after=0, times=1))]
pub fn on(hook: &str, callable: Option<Py<PyAny>>, after: i64, times: i64) -> PyResult<()> {
    let hook = hook_of(hook)?;
    let is_armed = callable.is_some();
    let old = {
        let mut armed = locked(&hook.armed);
        std::mem::replace(&mut *armed, callable.map(|callable| Armed { callable, after, times }))
    };
    hook.is_armed.store(is_armed, Relaxed);
    // What Python gave may do something when it goes.
    drop(old);
    Ok(())
}

/// No hook calls anything.
#[pyfunction]
pub fn off() {
    for hook in &HOOKS {
        hook.is_armed.store(false, Relaxed);
        let old = locked(&hook.armed).take();
        drop(old);
    }
}

/// How deep hooks may call Python from within each other; 1 unless told otherwise.
#[pyfunction]
pub fn set_depth(depth: usize) {
    DEEPEST.store(depth, Relaxed);
}

/// How often each hook was come through, and how often it called Python, since the last time that
/// this was asked.
#[pyfunction]
pub fn calls() -> Vec<(&'static str, i64, i64)> {
    NAMES
        .iter()
        .zip(&HOOKS)
        .map(|(name, hook)| (*name, hook.calls.swap(0, Relaxed), hook.fired.swap(0, Relaxed)))
        .collect()
}

/// What went wrong so far, and forgets it.
#[pyfunction]
pub fn violations() -> Vec<String> {
    std::mem::take(&mut *locked(&VIOLATIONS))
}
