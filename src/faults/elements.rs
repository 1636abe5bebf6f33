//! Functions that stand for a client's own and count their elements, so that each element can fail once.
//!
//! Where the process was started with `DENIZEN_FAULTS=1`, a type's functions are replaced at its
//! registration by these, which know the client's own by their context. A batch in which an element
//! is to fail is handed over up to that element; the failure is then reported as the client would.
//! Functions that end objects do their work first, and sorts fail before it or after it.

use super::interpose::{batches, client, life_batches};
use crate::abi::{self, ConstructFn, ElementVTable, ErrorOut, LoopFn, PyObject, Sink, Status};
use std::ffi::c_void;

/// The client's vtable, with each of its functions replaced by a fault-injected one. The copy that these
/// refer to lives forever.
pub(crate) fn fault_injected(client: ElementVTable) -> ElementVTable {
    let context: *const ElementVTable = Box::leak(Box::new(client));
    let mut injected = client;
    injected.context = context.cast_mut().cast();
    macro_rules! replace {
        ($($member:ident)*) => {
            $(injected.$member = client.$member.map(|_| $member as _);)*
        };
    }
    replace!(construct copy_construct assign relocate destroy);
    replace!(compare sort argsort nonzero hash heap_bytes);
    replace!(to_text from_text save load to_python from_python traverse);
    injected
}

/// A loop whose elements can fail, and its context. Its dimensions are that of the iterations and `core` more.
pub fn fault_injected_loop(
    function: LoopFn,
    context: *mut c_void,
    core: usize,
) -> (LoopFn, *mut c_void) {
    let injected = Box::leak(Box::new(Injected { function, context, core }));
    (run_loop, std::ptr::from_mut(injected).cast())
}

/// An identity that can fail, and its context.
pub fn fault_injected_identity(
    function: ConstructFn,
    context: *mut c_void,
) -> (ConstructFn, *mut c_void) {
    let injected = Box::leak(Box::new(Injected { function, context, core: 0 }));
    (construct_identity, std::ptr::from_mut(injected).cast())
}

/// A client's function with what belongs to it.
struct Injected<F> {
    function: F,
    context: *mut c_void,
    core: usize,
}

/// Reports the planned failure of a function after `done` elements.
///
/// # Safety
/// `error_out` points to a writable [`ErrorOut`], or is NULL.
unsafe fn fail(name: &str, error_out: *mut ErrorOut, done: usize) -> Status {
    // SAFETY: the caller's promise.
    if let Some(error_out) = unsafe { error_out.as_mut() } {
        error_out.done = done;
        return error_out.fail(abi::ERROR_RUNTIME, &format!("planned fault in {name}"));
    }
    abi::FAILED
}

/// Runs a batch up to the element that fails.
///
/// # Safety
/// `error_out` points to a writable [`ErrorOut`].
unsafe fn batch(
    name: &str,
    count: usize,
    error_out: *mut ErrorOut,
    run: impl Fn(usize) -> Status,
) -> Status {
    let Some(due) = super::failing_element(count) else { return run(count) };
    let status = if due == 0 { abi::OK } else { run(due) };
    // SAFETY: the caller's promise.
    if status == abi::OK { unsafe { fail(name, error_out, due) } } else { status }
}

/// Runs a function of one element unless that fails.
///
/// # Safety
/// As for [`fail`].
unsafe fn single(name: &str, error_out: *mut ErrorOut, run: impl FnOnce() -> Status) -> Status {
    if super::failing_element(1).is_some() {
        // SAFETY: the caller's promise.
        return unsafe { fail(name, error_out, 0) };
    }
    run()
}

life_batches!(batch);
batches! {
    batch;
    nonzero(cells: *const u8, stride: isize; count, results: *mut u8, result_stride: isize)
}

/// Functions of the vtable for one element, which is done or not.
macro_rules! singles {
    ($($member:ident($($argument:ident: $kind:ty),*))*) => {
        $(unsafe extern "C" fn $member(
            context: *mut c_void,
            $($argument: $kind,)*
            error_out: *mut ErrorOut,
        ) -> Status {
            // SAFETY: the client's own contract.
            unsafe {
                let client = client(context);
                single(stringify!($member), error_out, || match client.$member {
                    Some(own) => own(client.context, $($argument,)* error_out),
                    None => abi::OK,
                })
            }
        })*
    };
}

singles! {
    compare(left: *const u8, right: *const u8, result: *mut i32)
    hash(cell: *const u8, hash: *mut i64)
    to_text(cell: *const u8, sink: *mut Sink)
    from_text(cell: *mut u8, bytes: *const u8, size: usize)
    save(cell: *const u8, sink: *mut Sink)
    load(cell: *mut u8, bytes: *const u8, size: usize)
    from_python(cell: *mut u8, object: *mut PyObject)
}

/// Destroys all, as the contract wants, and then says that one failed.
unsafe extern "C" fn destroy(
    context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the client's own contract.
    unsafe {
        let client = client(context);
        let status = match client.destroy {
            Some(own) => own(client.context, cells, stride, count, error_out),
            None => abi::OK,
        };
        if super::failing_element(count).is_some() {
            fail("destroy", error_out, count)
        } else {
            status
        }
    }
}

unsafe extern "C" fn sort(
    context: *mut c_void,
    cells: *mut u8,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the client's own contract.
    unsafe {
        let client = client(context);
        let run = || match client.sort {
            Some(own) => own(client.context, cells, count, error_out),
            None => abi::OK,
        };
        whole("sort", error_out, run)
    }
}

unsafe extern "C" fn argsort(
    context: *mut c_void,
    cells: *const u8,
    stride: isize,
    count: usize,
    indices: *mut isize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the client's own contract.
    unsafe {
        let client = client(context);
        let run = || match client.argsort {
            Some(own) => own(client.context, cells, stride, count, indices, error_out),
            None => abi::OK,
        };
        whole("argsort", error_out, run)
    }
}

/// Fails before all or after it: two steps.
///
/// # Safety
/// As for [`fail`].
unsafe fn whole(name: &str, error_out: *mut ErrorOut, run: impl FnOnce() -> Status) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        let status = single(name, error_out, run);
        if status == abi::OK { single(name, error_out, || abi::OK) } else { status }
    }
}

unsafe extern "C" fn heap_bytes(
    context: *mut c_void,
    cells: *const u8,
    stride: isize,
    count: usize,
    bytes: *mut usize,
) -> Status {
    // SAFETY: the client's own contract.
    unsafe {
        let client = client(context);
        single("heap_bytes", std::ptr::null_mut(), || match client.heap_bytes {
            Some(own) => own(client.context, cells, stride, count, bytes),
            None => abi::OK,
        })
    }
}

unsafe extern "C" fn to_python(
    context: *mut c_void,
    cell: *const u8,
    error_out: *mut ErrorOut,
) -> *mut PyObject {
    // SAFETY: the client's own contract.
    unsafe {
        let client = client(context);
        match client.to_python.filter(|_| super::failing_element(1).is_none()) {
            Some(own) => own(client.context, cell, error_out),
            None => {
                fail("to_python", error_out, 0);
                std::ptr::null_mut()
            }
        }
    }
}

/// Nothing that can fail.
unsafe extern "C" fn traverse(
    context: *mut c_void,
    cell: *const u8,
    visit: Option<unsafe extern "C" fn(object: *mut PyObject, argument: *mut c_void) -> i32>,
    argument: *mut c_void,
) -> i32 {
    // SAFETY: the client's own contract.
    unsafe {
        let client = client(context);
        client.traverse.map_or(0, |own| own(client.context, cell, visit, argument))
    }
}

unsafe extern "C" fn run_loop(
    context: *mut c_void,
    arguments: *const *mut u8,
    dimensions: *const isize,
    strides: *const isize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: a context of `fault_injected_loop`, and the client's own contract: there are `core` more
    // dimensions, and fewer iterations are a loop as well.
    unsafe {
        let injected = &*context.cast::<Injected<LoopFn>>();
        let given = std::slice::from_raw_parts(dimensions, 1 + injected.core);
        batch("a loop", given[0] as usize, error_out, |count| {
            if count == given[0] as usize {
                return (injected.function)(
                    injected.context,
                    arguments,
                    dimensions,
                    strides,
                    error_out,
                );
            }
            let mut part = given.to_vec();
            part[0] = count as isize;
            (injected.function)(injected.context, arguments, part.as_ptr(), strides, error_out)
        })
    }
}

unsafe extern "C" fn construct_identity(
    context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: a context of `fault_injected_identity`, and the client's own contract.
    unsafe {
        let injected = &*context.cast::<Injected<ConstructFn>>();
        batch("an identity", count, error_out, |count| {
            (injected.function)(injected.context, cells, stride, count, error_out)
        })
    }
}
