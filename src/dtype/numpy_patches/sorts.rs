//! NumPy's own quicksort trusts comparisons: one that contradicts itself sends it out of the array.
//! It sorts structures with elements, and `partition` falls back to it. So for arrays that hold our
//! elements the methods below go through `denizen._numpy_patches`, which asks for sorts that stay inside
//! whatever a comparison says. Arrays of other dtypes go straight to NumPy's method. So does `lexsort`,
//! which copies keys that are not contiguous.

use super::{
    super::{
        DType,
        handle::{errors, pyobj::text, trampoline},
        loops::access,
    },
    calls::{all_arguments, returned},
    holding::holds_ours,
    swap::{self, Original, OriginalObject},
};
use crate::numpy_abi::{self, Array, PyArrayObject};
use pyo3::{
    ffi,
    prelude::*,
    types::{PyList, PyTuple},
};

const COUNT: usize = 4;
/// Methods of `ndarray`, and functions of `denizen._numpy_patches`.
const NAMES: [&str; COUNT] = ["sort", "argsort", "partition", "argpartition"];
/// Those that our own sorts serve, for arrays whose dtype is ours.
const SORTS: usize = 2;

static ORIGINALS: [Original<ffi::PyCFunctionFastWithKeywords>; COUNT] =
    [const { Original::new() }; COUNT];
/// The same as unbound methods, for Python.
static METHODS: [OriginalObject; COUNT] = [const { OriginalObject::new() }; COUNT];

static LEXSORT: Original<ffi::PyCFunctionFastWithKeywords> = Original::new();
static LEXSORT_FUNCTION: OriginalObject = OriginalObject::new();

pub(super) fn install(py: Python<'_>) -> PyResult<bool> {
    let class = swap::class(py, "ndarray")?;
    let wrappers: [ffi::PyCFunctionFastWithKeywords; COUNT] =
        [sort::<0>, sort::<1>, sort::<2>, sort::<3>];
    for (index, wrapper) in wrappers.into_iter().enumerate() {
        let originals = (&ORIGINALS[index], &METHODS[index]);
        // SAFETY: methods for objects of the class.
        if !unsafe { swap::method_with_object(&class, NAMES[index], originals, wrapper)? } {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Wraps `lexsort`, of which `np.lexsort` is a dispatcher.
pub(super) fn install_lexsort(py: Python<'_>) -> PyResult<bool> {
    let originals = (&LEXSORT, &LEXSORT_FUNCTION);
    let ours: ffi::PyCFunctionFastWithKeywords = lexsort;
    // SAFETY: a function for any objects.
    unsafe { swap::method_with_object(&swap::functions(py)?, "lexsort", originals, ours) }
}

unsafe extern "C" fn sort<const INDEX: usize>(
    array: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("sort", || {
        // SAFETY: Python's convention for `METH_FASTCALL | METH_KEYWORDS`, which the original keeps as
        // well, on an array; GIL held.
        unsafe {
            let descr = (*array.cast::<PyArrayObject>()).descr;
            if !holds_ours(descr) {
                return ORIGINALS[INDEX].get()(array, arguments, count, names);
            }
            let sorted = || {
                if INDEX < SORTS && DType::try_of_descr(descr).is_some() {
                    return Ok(ORIGINALS[INDEX].get()(array, arguments, count, names));
                }
                let py = Python::assume_attached();
                let all = all_arguments(arguments, count, names);
                let given = std::iter::once(&array).chain(all).copied();
                let given = (given, count as usize + 1, names);
                Ok(returned(py, through_python(py, NAMES[INDEX], &METHODS[INDEX], given)))
            };
            // NumPy sorts copies of what is not contiguous, and writes them back: the memory stays where
            // it is while they are compared.
            access::pinned((*array.cast::<PyArrayObject>()).data.cast(), sorted).unwrap_or_else(
                |failure| {
                    errors::raise(&failure);
                    std::ptr::null_mut()
                },
            )
        }
    })
}

unsafe extern "C" fn lexsort(
    module: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    trampoline::slot("lexsort", || {
        // SAFETY: Python's convention for `METH_FASTCALL | METH_KEYWORDS`, which the original keeps as
        // well; GIL held.
        unsafe {
            let py = Python::assume_attached();
            // The keys come first, in whatever way they are given: the other argument is a number.
            let all = all_arguments(arguments, count, names);
            if !all.iter().any(|object| may_hold_ours(&Bound::from_borrowed_ptr(py, *object))) {
                return LEXSORT.get()(module, arguments, count, names);
            }
            let given = (all.iter().copied(), count as usize, names);
            returned(py, through_python(py, "lexsort", &LEXSORT_FUNCTION, given))
        }
    })
}

/// `denizen._numpy_patches.NAME(original, ..)`, of arguments, how many of them have no name, and names.
///
/// # Safety
/// Borrowed references, alive through the call, of which those at the end have names; GIL held.
unsafe fn through_python<'py>(
    py: Python<'py>,
    name: &str,
    original: &OriginalObject,
    (given, count, names): (impl Iterator<Item = *mut ffi::PyObject>, usize, *mut ffi::PyObject),
) -> PyResult<Bound<'py, PyAny>> {
    let module = py.import(text(py, "denizen._numpy_patches")?)?;
    let function = module.getattr(text(py, name)?)?;
    let all: Vec<_> = std::iter::once(original.bind(py)?.as_ptr()).chain(given).collect();
    // SAFETY: the caller's promise.
    unsafe {
        let result = ffi::PyObject_Vectorcall(function.as_ptr(), all.as_ptr(), count + 1, names);
        Bound::from_owned_ptr_or_err(py, result)
    }
}

/// Whether an object is an array that holds elements of ours, or a sequence that may give one.
fn may_hold_ours(object: &Bound<'_, PyAny>) -> bool {
    let Some(numpy) = numpy_abi::get() else { return false };
    let is_ours = |object: &Bound<'_, PyAny>| {
        // SAFETY: the descriptor of a living array; GIL held.
        Array::of(numpy, object).map(|array| unsafe { holds_ours(array.descr()) })
    };
    if let Some(is_ours) = is_ours(object) {
        return is_ours;
    }
    let any = |mut keys: Box<dyn Iterator<Item = Bound<'_, PyAny>> + '_>| {
        keys.any(|key| is_ours(&key).unwrap_or(false))
    };
    match (object.cast::<PyList>(), object.cast::<PyTuple>()) {
        (Ok(list), _) => any(Box::new(list.iter())),
        (_, Ok(tuple)) => any(Box::new(tuple.iter())),
        // Of other sequences, what they give is not known before it is asked for.
        // SAFETY: an object; GIL held.
        _ => unsafe { ffi::PySequence_Check(object.as_ptr()) != 0 },
    }
}
