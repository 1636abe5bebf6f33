//! Element types that order, compare and print in every way.
//!
//! * `Number`: has everything;
//! * `Compared`: has an order but no sorts of its own, and a comparison that can be told to fail;
//! * `Ticket`: as `Number`, without a default;
//! * `Unique`: only moves;
//! * `Opaque`: has no order, no text, no hash, no truth;
//! * `Wide`: is aligned to 16 bytes, and prints whether it was found at such an address.

mod counted;

use counted::Counted;
use denizen::{
    Casting, Error,
    abi::{self, ElementVTable, ErrorOut, PyObject, Status},
    element,
};
use pyo3::{exceptions::PyRuntimeError, prelude::*};
use std::{
    ffi::c_void,
    fmt,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

type Number = Counted<0>;
type Compared = Counted<1>;
type Ticket = Counted<2>;
type Unique = Counted<3>;
type Opaque = Counted<4>;

/// Where the vtable of `Compared` is. (A plain word that nobody reads would be optimised away.)
static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());

#[pymodule]
fn denizen_sorting(module: &Bound<'_, PyModule>) -> PyResult<()> {
    element::<Number>("Number")
        .clone()
        .default()
        .ordering()
        .text()
        .hash()
        .thread_safe()
        .default_is_zero()
        .nonzero(|x: &Number| x.value() != 0)
        .binary("add", |x: &Number, y: &Number| Number::new(x.value() + y.value()))
        .binary("subtract", |x: &Number, y: &Number| Number::new(x.value() - y.value()))
        .binary("multiply", |x: &Number, y: &Number| Number::new(x.value() * y.value()))
        .binary("floor_divide", |x: &Number, y: &Number| {
            match x.value().checked_div_euclid(y.value()) {
                Some(value) => Ok(Number::new(value)),
                None => Err(Error::zero_division("division by zero")),
            }
        })
        .unary("negative", |x: &Number| Number::new(-x.value()))
        .unary("absolute", |x: &Number| Number::new(x.value().abs()))
        .cast_from(Casting::Safe, |x: i64| Number::new(x))
        .cast_to::<i64, _>(Casting::SameKind, |x: &Number| Some(x.value()))
        .cast_to::<f64, _>(Casting::SameKind, |x: &Number| Some(x.value() as f64))
        .module("denizen_sorting")
        .add_to(module)?;
    let compared = element::<Compared>("Compared").clone().default().ordering().text();
    // SAFETY: comparisons are told to misbehave only as a client's may.
    unsafe { register_compared(module, compared.thread_safe().define("denizen_sorting"))? };
    element::<Ticket>("Ticket")
        .clone()
        .ordering()
        .text()
        .thread_safe()
        .module("denizen_sorting")
        .add_to(module)?;
    element::<Unique>("Unique")
        .default()
        .ordering()
        .text()
        .thread_safe()
        .module("denizen_sorting")
        .add_to(module)?;
    element::<Opaque>("Opaque")
        .clone()
        .default()
        .cast_from(Casting::Safe, |x: i64| Opaque::new(x))
        .module("denizen_sorting")
        .add_to(module)?;
    // SAFETY: a Wide has a non-zero byte.
    unsafe { element::<Wide>("Wide").zero_is_vacant() }
        .clone()
        .default()
        .display()
        .module("denizen_sorting")
        .add_to(module)?;
    module.add_function(wrap_pyfunction!(live, module)?)?;
    module.add_function(wrap_pyfunction!(misbehave, module)?)?;
    Ok(())
}

/// Objects alive, of all types here but `Wide`.
#[pyfunction]
fn live() -> i64 {
    counted::live()
}

/// What comparisons of `Compared` do.
static MODE: AtomicI64 = AtomicI64::new(WELL);
const WELL: i64 = -1;
const AT_RANDOM: i64 = -2;

/// Tells comparisons of `Compared` to fail after some ("fail", count), to answer "random", or to
/// behave "well".
#[pyfunction]
#[pyo3(signature = (how, count=0))]
fn misbehave(how: &str, count: i64) -> PyResult<()> {
    MODE.store(
        match how {
            "fail" => count,
            "random" => AT_RANDOM,
            "well" => WELL,
            _ => return Err(PyRuntimeError::new_err("no such way")),
        },
        Relaxed,
    );
    Ok(())
}

/// The client's own comparison.
static HONEST: OnceLock<abi::CompareFn> = OnceLock::new();

/// Registers `Compared` with this comparison and without its sorts.
unsafe fn register_compared(
    module: &Bound<'_, PyModule>,
    definition: Result<denizen::client::Definition<Compared>, Error>,
) -> PyResult<()> {
    let definition = definition.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let own = definition.vtable();
    if let Some(compare) = own.compare {
        let _ = HONEST.set(compare);
    }
    let vtable: &'static ElementVTable = Box::leak(Box::new(ElementVTable {
        compare: Some(compare),
        sort: None,
        argsort: None,
        ..*own
    }));
    // From here a leak checker finds it.
    KEPT.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(std::ptr::from_ref(vtable).expose_provenance());
    let mut spec = definition.spec();
    spec.vtable = vtable;
    let mut handle = std::ptr::null();
    // SAFETY: the GIL is held, the spec is whole, and what it points to is leaked below.
    unsafe {
        let api = denizen::runtime().map_err(|_| PyErr::fetch(module.py()))?;
        let module_pointer = module.as_ptr().cast::<PyObject>();
        if (api.register_element)(&spec, module_pointer, &mut handle) != abi::OK {
            return Err(PyErr::fetch(module.py()));
        }
    }
    definition.leak();
    Ok(())
}

unsafe extern "C" fn compare(
    context: *mut c_void,
    left: *const u8,
    right: *const u8,
    result: *mut i32,
    error_out: *mut ErrorOut,
) -> Status {
    static STATE: AtomicI64 = AtomicI64::new(88_172_645_463_325_252);
    let mode = MODE.load(Relaxed);
    if mode == AT_RANDOM {
        let mut state = STATE.load(Relaxed);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        STATE.store(state, Relaxed);
        // SAFETY: writable by contract.
        unsafe { *result = (state.rem_euclid(3) - 1) as i32 };
        return abi::OK;
    }
    if mode == 0 {
        // SAFETY: the caller's `ErrorOut`.
        return unsafe { (*error_out).fail(abi::ERROR_OVERFLOW, "told to fail") };
    }
    if mode > 0 {
        MODE.store(mode - 1, Relaxed);
    }
    match HONEST.get() {
        // SAFETY: the arguments are those of this call.
        Some(honest) => unsafe { honest(context, left, right, result, error_out) },
        None => abi::FAILED,
    }
}

/// Aligned to 16 bytes.
#[derive(Clone)]
#[repr(C, align(16))]
struct Wide {
    words: [u64; 2],
}

impl Default for Wide {
    fn default() -> Self {
        Wide { words: [1, 2] }
    }
}

impl fmt::Display for Wide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let aligned = std::ptr::from_ref(self).addr().is_multiple_of(16);
        write!(f, "{} {}", if aligned { "aligned" } else { "astray" }, self.words[1])
    }
}
