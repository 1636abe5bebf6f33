//! Sort and argsort: ArrayMethods, so that NumPy's own sorts, which permute bytes raw, are never
//! asked.
//!
//! Both are stable whatever kind is asked for. Vacant cells sort as the default value. NumPy hands
//! over contiguous, aligned cells: the array's own, or a buffer that it copied another layout into
//! (which a type without copies refuses).
//!
//! Cells in NumPy arrays are trivially relocatable, so a permutation moves their bytes. It is found
//! first, on indices: a comparison that fails, or contradicts itself, leaves every cell in place.

use crate::{
    abi::{self, ErrorOut},
    dtype::{
        handle::{DType, errors, trampoline},
        loops::{
            access::{self, Run},
            align, audited, compare, flags,
        },
    },
    erased::{Cells, ElementType, Failure},
    numpy_abi::{
        NpyAuxData, NumpyApi, NumpyVersion, PyArray_DTypeMeta, PyArray_Descr,
        PyArrayMethod_Context, PyArrayMethod_SortParameters, PyArrayMethod_Spec,
        PyArrayMethodObject, PyUFunc_LoopSlot, callbacks::StridedLoop, flags::*, slots,
    },
    segment::Segment,
};
use pyo3::{ffi, prelude::*};
use std::{
    cmp::Ordering,
    ffi::{c_char, c_int},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

/// `kind="heapsort"`, which NumPy maps to its default but leaves in the loop's parameters.
const HEAPSORT: c_int = 1;

/// Registers both methods with NumPy.
///
/// # Errors
/// What NumPy refuses.
pub fn register(py: Python<'_>, numpy: &'static NumpyApi, dtype: &'static DType) -> PyResult<()> {
    let element = dtype.element();
    let mut sort_dtypes = [dtype.class(), dtype.class()];
    let mut argsort_dtypes = [dtype.class(), numpy.intp_dtype()];
    // NumPy 2.4 calls without a method object, which its own `get_loop` would read: so we always
    // bring one (and the loops need no auxiliary data, which it does not pass on either).
    let mut sort_slots = [
        slots::method::resolve_descriptors(resolve),
        slots::method::get_loop(get_loop::<SORT>),
        slots::END,
    ];
    let mut argsort_slots = [
        slots::method::resolve_descriptors(resolve),
        slots::method::get_loop(get_loop::<ARGSORT>),
        slots::END,
    ];
    let spec = |name: &'static std::ffi::CStr,
                dtypes: &mut [*mut PyArray_DTypeMeta; 2],
                slots: &mut [ffi::PyType_Slot; 3]| PyArrayMethod_Spec {
        name: name.as_ptr(),
        nin: 1,
        nout: 1,
        casting: NPY_NO_CASTING,
        flags: flags::loop_flags(element),
        dtypes: dtypes.as_mut_ptr(),
        slots: slots.as_mut_ptr(),
    };
    let mut sort = spec(c"denizen_sort", &mut sort_dtypes, &mut sort_slots);
    let mut argsort = spec(c"denizen_argsort", &mut argsort_dtypes, &mut argsort_slots);
    // NumPy 2.4 looks functions up, later ones know them by bare names.
    let (sort_name, argsort_name) = if numpy.version() < NumpyVersion::new(2, 5, 0) {
        (c"numpy:sort", c"numpy:argsort")
    } else {
        (c"sort", c"argsort")
    };
    let mut list = [
        PyUFunc_LoopSlot { name: sort_name.as_ptr(), spec: &mut sort },
        PyUFunc_LoopSlot { name: argsort_name.as_ptr(), spec: &mut argsort },
        PyUFunc_LoopSlot { name: ptr::null(), spec: ptr::null_mut() },
    ];
    // SAFETY: GIL held; a list that ends with a NULL name, whose specs live through the call.
    if unsafe { numpy.add_loops_from_specs(list.as_mut_ptr()) } < 0 {
        return Err(PyErr::fetch(py));
    }
    Ok(())
}

/// Both descriptors are as given: the type's own and, for argsort, `intp`.
unsafe extern "C" fn resolve(
    _method: *mut PyArrayMethodObject,
    _dtypes: *const *mut PyArray_DTypeMeta,
    given: *const *mut PyArray_Descr,
    out: *mut *mut PyArray_Descr,
    _view_offset: *mut isize,
) -> c_int {
    trampoline::slot("resolve", || {
        for index in 0..2 {
            // SAFETY: NumPy's sorts give both descriptors and room for two; GIL held.
            unsafe {
                let descr = *given.add(index);
                ffi::Py_INCREF(descr.cast());
                *out.add(index) = descr;
            }
        }
        NPY_NO_CASTING
    })
}

const SORT: bool = false;
const ARGSORT: bool = true;

/// Picks the loop, where the type has an order and the kind is one that we know.
unsafe extern "C" fn get_loop<const INDICES: bool>(
    context: *mut PyArrayMethod_Context,
    _aligned: c_int,
    _move_references: c_int,
    _strides: *const isize,
    out_loop: *mut Option<StridedLoop>,
    out_auxdata: *mut *mut NpyAuxData,
    flags: *mut c_int,
) -> c_int {
    trampoline::slot("get_loop", || {
        // SAFETY: NumPy passes a context with our descriptor and valid places for the results; GIL
        // held.
        unsafe {
            let element = DType::of_descr(*(*context).descriptors).element();
            let vtable = element.vtable();
            let own = if INDICES { vtable.argsort.is_some() } else { vtable.sort.is_some() };
            if !own && vtable.compare.is_none() {
                errors::raise(&errors::missing(element, "ordering"));
                return -1;
            }
            let kind = kind(context);
            if kind & !(HEAPSORT | NPY_SORT_STABLE | NPY_SORT_DESCENDING) != 0 {
                errors::raise(&errors::missing(element, &format!("sort of kind {kind:#x}")));
                return -1;
            }
            *out_loop = Some(if INDICES { argsort_loop } else { sort_loop });
            *out_auxdata = ptr::null_mut();
            *flags = flags::loop_flags(element);
            if INDICES {
                audited::audit_loop::<Argsort>(out_loop);
            } else {
                audited::audit_loop::<Sort>(out_loop);
            }
        }
        0
    })
}

/// The `NPY_SORT_*` flags of a call.
///
/// # Safety
/// `context` is the one that NumPy's sorts pass.
unsafe fn kind(context: *const PyArrayMethod_Context) -> c_int {
    // SAFETY: the caller's promise: `parameters` are those of a sort, or NULL.
    unsafe {
        let parameters = (*context).parameters.cast::<PyArrayMethod_SortParameters>();
        if parameters.is_null() { NPY_SORT_DEFAULT } else { (*parameters).flags }
    }
}

audited::audited_loop!(Sort: sort_loop, "sort");
audited::audited_loop!(Argsort: argsort_loop, "argsort");

unsafe extern "C" fn sort_loop(
    context: *mut PyArrayMethod_Context,
    data: *const *mut c_char,
    dimensions: *const isize,
    strides: *const isize,
    _auxdata: *mut NpyAuxData,
) -> c_int {
    // SAFETY: NumPy's sorts pass one run of cells of the dtype, as input and as output.
    unsafe {
        let element = DType::of_descr(*(*context).descriptors).element();
        let run = Run::write((*data).cast(), *strides, *dimensions as usize);
        let descending = kind(context) & NPY_SORT_DESCENDING != 0;
        trampoline::looped_apart("sort", || sort_cells(element, run, descending))
    }
}

unsafe extern "C" fn argsort_loop(
    context: *mut PyArrayMethod_Context,
    data: *const *mut c_char,
    dimensions: *const isize,
    strides: *const isize,
    _auxdata: *mut NpyAuxData,
) -> c_int {
    // SAFETY: NumPy's argsort passes one run of cells of the dtype and as many indices.
    unsafe {
        let element = DType::of_descr(*(*context).descriptors).element();
        let count = *dimensions as usize;
        let run = Run::read((*data).cast(), *strides, count);
        let indices = std::slice::from_raw_parts_mut((*data.add(1)).cast::<isize>(), count);
        let descending = kind(context) & NPY_SORT_DESCENDING != 0;
        trampoline::looped_apart("argsort", || argsort_cells(element, run, indices, descending))
    }
}

/// Sorts a contiguous run in place, stably.
///
/// # Errors
/// What a comparison fails with; the cells are a permutation of those before.
///
/// # Safety
/// The run is aligned cells of `element` under rule 1.
pub unsafe fn sort_cells(
    element: &'static ElementType,
    run: Run,
    descending: bool,
) -> Result<(), Failure> {
    debug_assert!(align::is_aligned(element, run));
    debug_assert!(run.count <= 1 || run.stride == element.size() as isize);
    access::with_segments(element, [run], |[segment], _| {
        // SAFETY: the caller's promise; the run is locked.
        let outcome = unsafe {
            match element.vtable().sort {
                Some(sort) => sort_by_client(element, sort, run, descending),
                None => sort_by_compare(element, run, descending),
            }
        };
        if let Some(segment) = segment {
            follow(element, segment, run);
        }
        outcome
    })
}

/// # Safety
/// As for [`sort_cells`], and the run is this thread's.
unsafe fn sort_by_client(
    element: &ElementType,
    sort: abi::SortFn,
    run: Run,
    descending: bool,
) -> Result<(), Failure> {
    // Reversed before and after an ascending sort, equal cells keep their order.
    if descending {
        // SAFETY: the caller's promise.
        unsafe { reverse(element, run) };
    }
    let mut report = ErrorOut::new();
    // SAFETY: the vtable's contract: contiguous cells, in any state.
    let status = unsafe { sort(element.vtable().context, run.data, run.count, &mut report) };
    if descending {
        // SAFETY: the caller's promise.
        unsafe { reverse(element, run) };
    }
    Failure::check(status, &report)
}

/// Turns the order of the cells around.
///
/// # Safety
/// As for [`sort_cells`], and the run is this thread's.
unsafe fn reverse(element: &ElementType, run: Run) {
    let size = element.size();
    for index in 0..run.count / 2 {
        let (first, last) = (run.part(index, 1).data, run.part(run.count - 1 - index, 1).data);
        // SAFETY: two different cells of the run.
        unsafe { ptr::swap_nonoverlapping(first, last, size) };
    }
}

/// # Safety
/// As for [`sort_cells`], and the run is this thread's.
unsafe fn sort_by_compare(
    element: &ElementType,
    run: Run,
    descending: bool,
) -> Result<(), Failure> {
    let no_memory =
        |_| Failure::new(abi::ERROR_MEMORY, format!("no memory to sort {} elements", run.count));
    let mut order: Vec<usize> = Vec::new();
    order.try_reserve_exact(run.count).map_err(no_memory)?;
    order.extend(0..run.count);
    // SAFETY: the caller's promise.
    unsafe { order_by_compare(element, run, &mut order, descending) }?;
    let size = element.size();
    let mut sorted: Vec<u8> = Vec::new();
    sorted.try_reserve_exact(run.count * size).map_err(no_memory)?;
    for (position, &index) in order.iter().enumerate() {
        // SAFETY: room for `count` cells; `order` is a permutation of `0..count`, so each cell
        // moves to the buffer once, and all of them back.
        unsafe {
            let to = sorted.as_mut_ptr().add(position * size);
            to.copy_from_nonoverlapping(run.data.add(index * size), size);
        }
    }
    // SAFETY: as above.
    unsafe { run.data.copy_from_nonoverlapping(sorted.as_ptr(), run.count * size) };
    Ok(())
}

/// Fills `indices` with what sorts a run stably. They are 0, 1, .. before.
///
/// # Errors
/// What a comparison fails with; the indices mean nothing then.
///
/// # Safety
/// The run is aligned cells of `element` under rule 1.
pub unsafe fn argsort_cells(
    element: &'static ElementType,
    run: Run,
    indices: &mut [isize],
    descending: bool,
) -> Result<(), Failure> {
    debug_assert!(align::is_aligned(element, run));
    access::with_segments(element, [run], |_, _| {
        let Some(argsort) = element.vtable().argsort else {
            // SAFETY: the caller's promise; the run is locked.
            return unsafe { order_by_compare(element, run, indices, descending) };
        };
        // Seen from its end, the run sorts into the opposite order of equal cells, and read from
        // its end that result is the descending one, stable again.
        let last = run.count.saturating_sub(1) as isize;
        let (start, stride) = if descending {
            (run.data.wrapping_offset(last * run.stride), -run.stride)
        } else {
            (run.data, run.stride)
        };
        let mut report = ErrorOut::new();
        // SAFETY: the vtable's contract: cells in any state, and as many indices.
        let status = unsafe {
            argsort(
                element.vtable().context,
                start,
                stride,
                run.count,
                indices.as_mut_ptr(),
                &mut report,
            )
        };
        if descending {
            indices.reverse();
            for index in indices.iter_mut() {
                *index = last - *index;
            }
        }
        Failure::check(status, &report)
    })
}

/// An index as the two callers keep it.
trait Index: Copy {
    fn position(self) -> usize;
}

impl Index for usize {
    fn position(self) -> usize {
        self
    }
}

impl Index for isize {
    fn position(self) -> usize {
        self as usize
    }
}

/// Sorts indices of a run by the cells they stand for.
///
/// # Errors
/// What a comparison fails with, the first of them; `ValueError` where the comparisons contradict
/// each other so that the sort gave up. The indices are a permutation of those before.
///
/// # Safety
/// The run is aligned cells of `element` under rule 1 that no thread writes; every index is smaller
/// than its count.
unsafe fn order_by_compare<I: Index>(
    element: &ElementType,
    run: Run,
    indices: &mut [I],
    descending: bool,
) -> Result<(), Failure> {
    let mut failed: Option<Failure> = None;
    let cell = |index: I| run.data.wrapping_offset(index.position() as isize * run.stride);
    let sorted = catch_unwind(AssertUnwindSafe(|| {
        indices.sort_by(|&left, &right| {
            if failed.is_some() {
                // The order does not matter any more: get done without calling the client.
                return Ordering::Equal;
            }
            let (left, right) = if descending { (right, left) } else { (left, right) };
            // SAFETY: the caller's promise.
            match unsafe { compare::compare(element, cell(left), cell(right)) } {
                Ok(ordering) => ordering,
                Err(failure) => {
                    failed = Some(failure);
                    Ordering::Equal
                }
            }
        });
    }));
    match failed {
        Some(failure) => Err(failure),
        // `sort_by` may notice that the order is none, and panics then; all indices are there.
        None => sorted.map_err(|_| {
            Failure::new(
                abi::ERROR_VALUE,
                format!("the comparison of {} is no total order", element.name()),
            )
        }),
    }
}

/// Lets the init bitmap follow cells that a permutation has moved within a run. Nothing was
/// constructed or destroyed.
fn follow(element: &ElementType, segment: Segment, run: Run) {
    const BITS: usize = crate::erased::CELLS_PER_MASK;
    if segment.untouched() || !segment.is_for(element) {
        return;
    }
    let Some((first, true)) = segment.cell_index(run.data) else { return };
    let mut start = 0;
    while start < run.count.min(segment.cell_count() - first) {
        let part = run.part(start, (run.count - start).min(BITS));
        // SAFETY: cells of the run, which is still this thread's.
        let cells = unsafe { Cells::new(part.data, part.stride, part.count) };
        segment.follow(element, first + start, part.count, element.vacancy().live_mask(cells));
        start += part.count;
    }
}
