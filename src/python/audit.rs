//! What `denizen.audit` needs of the runtime: the recorder's ledger as Python objects, and where the
//! program is as the recorder asks for it.

use crate::{
    audit::{self, Code, Frame, Interpreter, Line, Operation, Session, Sites, Stack, Where},
    dtype::handle::{errors, registry},
    erased::ElementType,
};
use pyo3::{
    exceptions::PyRuntimeError,
    ffi,
    prelude::*,
    types::{PyDict, PyList},
};
use std::{
    ffi::CStr,
    ptr,
    sync::{PoisonError, RwLock},
};

/// Beginnings of names of files, and whether code in them is a library's: the longest decides.
static LIBRARIES: RwLock<Vec<(String, bool)>> = RwLock::new(Vec::new());

const INTERPRETER: Interpreter = Interpreter { walk, adopt, line, release };

/// Begins an audit: everything that happens to objects is recorded until `_audit_end`. Frames in
/// files of libraries are no sites; of the beginnings of names in `libraries` the longest that fits
/// says whether a file is one. With `trace` every stack is whole.
#[pyfunction]
#[pyo3(name = "_audit_begin")]
pub fn begin(trace: bool, libraries: Vec<(String, bool)>) -> u64 {
    *LIBRARIES.write().unwrap_or_else(PoisonError::into_inner) = libraries;
    audit::begin(&registry::elements(), Some(INTERPRETER), trace)
}

/// Ends an audit.
#[pyfunction]
#[pyo3(name = "_audit_end")]
pub fn end(number: u64) {
    audit::end(number);
}

/// The ledger of an audit. Sites are indices into `lines`, a list of code objects and numbers of
/// lines; stacks are lists of such, the innermost first, with the number of frames that are left out
/// in the middle. A leak is of one stack.
///
/// # Errors
/// `RuntimeError` for an audit that has ended.
#[pyfunction]
#[pyo3(name = "_audit_ledger")]
pub fn ledger<'py>(py: Python<'py>, number: u64) -> PyResult<Bound<'py, PyDict>> {
    let elements = registry::elements();
    let ledger =
        audit::with(number, |session, sites| AuditLedger::copy(py, session, sites, &elements))
            .ok_or_else(|| PyRuntimeError::new_err("this audit has ended"))?;
    ledger.to_python(py)
}

/// A row that has an operation and a site.
struct Row {
    name: &'static str,
    operation: Operation,
    site: Option<u32>,
    numbers: Vec<(&'static str, u64)>,
}

/// A leak with its stack.
struct LeakRow {
    name: &'static str,
    leak: audit::Leak,
    stack: Stack,
}

/// A copy of the ledger, made while everybody waits, without Python objects.
struct AuditLedger {
    seconds: f64,
    types: Vec<(&'static str, audit::TypeReport)>,
    leaks: Vec<LeakRow>,
    foreign: Vec<Row>,
    reconciled: Vec<Row>,
    corruptions: Vec<(audit::Corruption, Stack)>,
    timeline: (Vec<f64>, Vec<(&'static str, Vec<i64>)>),
    lines: Vec<(Py<PyAny>, i32)>,
}

impl AuditLedger {
    fn copy(
        py: Python<'_>,
        session: &mut Session,
        sites: &Sites,
        elements: &[&'static ElementType],
    ) -> AuditLedger {
        let stack = |at: Where| sites.stack(at);
        let mut ledger = AuditLedger {
            seconds: session.seconds(),
            types: Vec::new(),
            leaks: Vec::new(),
            foreign: Vec::new(),
            reconciled: Vec::new(),
            corruptions: Vec::new(),
            timeline: (Vec::new(), Vec::new()),
            lines: sites.lines().iter().map(|line| (code_of(py, line), line.number)).collect(),
        };
        let (seconds, live) = session.timeline(elements);
        ledger.timeline =
            (seconds, live.into_iter().map(|(element, live)| (element.name(), live)).collect());
        for element in elements {
            let name = element.name();
            ledger.types.push((name, session.type_report(element)));
            // SAFETY: GIL held, as in every function of the module.
            for leak in unsafe { session.leaks(element) } {
                ledger.leaks.push(LeakRow { name, stack: stack(leak.at), leak });
            }
            for ((_, operation, site), row) in session.foreign(element) {
                let numbers = vec![
                    ("constructed", row.constructed),
                    ("relocated", row.relocated),
                    ("calls", row.calls),
                ];
                ledger.foreign.push(Row { name, operation, site, numbers });
            }
            for ((_, operation, site), bits) in session.reconciled(element) {
                ledger.reconciled.push(Row {
                    name,
                    operation,
                    site,
                    numbers: vec![("bits", *bits)],
                });
            }
        }
        ledger.corruptions = session
            .corruptions()
            .iter()
            .map(|corruption| (corruption.clone(), stack(corruption.at)))
            .collect();
        ledger
    }

    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        all.set_item("seconds", self.seconds)?;
        let types = PyDict::new(py);
        for (name, report) in &self.types {
            let counts = PyDict::new(py);
            let stats = &report.stats;
            counts.set_item("constructed", stats.constructed)?;
            counts.set_item("copied", report.copied)?;
            counts.set_item("relocated", stats.relocated)?;
            counts.set_item("destroyed", stats.destroyed)?;
            counts.set_item("foreign", stats.foreign.saturating_sub(report.scalars))?;
            counts.set_item("scalars", report.scalars)?;
            counts.set_item("reconciled", stats.reconciled)?;
            counts.set_item("live_before", report.live_before)?;
            counts.set_item("live", stats.live)?;
            counts.set_item("peak", report.peak)?;
            types.set_item(name, counts)?;
        }
        all.set_item("types", types)?;
        let leaks = PyList::empty(py);
        for LeakRow { name, leak, stack } in &self.leaks {
            let entry = PyDict::new(py);
            entry.set_item("type", name)?;
            entry.set_item("count", leak.count)?;
            entry.set_item("where", leak.location.word())?;
            entry.set_item("segments", leak.segments)?;
            entry.set_item("bytes", leak.bytes)?;
            entry.set_item("first_made", leak.first_made)?;
            entry.set_item("site", leak.at.site)?;
            entry.set_item("stack", &stack.lines)?;
            entry.set_item("left_out", stack.left_out)?;
            leaks.append(entry)?;
        }
        all.set_item("leaks", leaks)?;
        for (key, rows) in [("foreign", &self.foreign), ("reconciled", &self.reconciled)] {
            let list = PyList::empty(py);
            for row in rows {
                let entry = PyDict::new(py);
                entry.set_item("type", row.name)?;
                let Operation { name, from, to } = row.operation;
                entry.set_item("operation", (name, from, to))?;
                entry.set_item("site", row.site)?;
                for (name, number) in &row.numbers {
                    entry.set_item(name, number)?;
                }
                list.append(entry)?;
            }
            all.set_item(key, list)?;
        }
        let corruptions = PyList::empty(py);
        for (corruption, stack) in &self.corruptions {
            let entry = PyDict::new(py);
            entry.set_item("segment", format!("{:#x}", corruption.cells))?;
            entry.set_item("what", &corruption.what)?;
            entry.set_item("site", corruption.at.site)?;
            entry.set_item("stack", &stack.lines)?;
            entry.set_item("left_out", stack.left_out)?;
            corruptions.append(entry)?;
        }
        all.set_item("corruptions", corruptions)?;
        let timeline = PyDict::new(py);
        timeline.set_item("seconds", &self.timeline.0)?;
        let live = PyDict::new(py);
        for (name, highest) in &self.timeline.1 {
            live.set_item(name, highest)?;
        }
        timeline.set_item("live", live)?;
        all.set_item("timeline", timeline)?;
        let lines = PyList::empty(py);
        for (code, number) in &self.lines {
            lines.append((code, number))?;
        }
        all.set_item("lines", lines)?;
        Ok(all)
    }
}

/// The code object of a line that the recorder knows.
fn code_of(py: Python<'_>, line: &Line) -> Py<PyAny> {
    // SAFETY: GIL held, and the recorder, which is locked, keeps the code object alive.
    unsafe { Bound::from_borrowed_ptr(py, ptr::with_exposed_provenance_mut(line.code)) }.unbind()
}

// Not bound by pyo3 for all versions that we support.
unsafe extern "C" {
    fn PyFrame_GetCode(frame: *mut ffi::PyFrameObject) -> *mut ffi::PyObject;
    fn PyFrame_GetBack(frame: *mut ffi::PyFrameObject) -> *mut ffi::PyFrameObject;
    fn PyCode_Addr2Line(code: *mut ffi::PyObject, instruction: i32) -> i32;
    fn PyFrame_GetLasti(frame: *mut ffi::PyFrameObject) -> i32;
}

/// Calls `visit` with the frames of this thread. Runs no Python code: frames are made for code that
/// is at work, so none of them ends here, and the collector is off meanwhile.
fn walk(visit: &mut dyn FnMut(Frame) -> bool) {
    // SAFETY: callable in any thread.
    if unsafe { ffi::PyGILState_Check() } == 0 {
        return;
    }
    // SAFETY: GIL held. All references are new ones that are given back; no exception stays.
    unsafe {
        let collects = ffi::PyGC_Disable() != 0;
        errors::keeping_exception(|| {
            let mut frame = ffi::PyThreadState_GetFrame(ffi::PyThreadState_Get());
            while !frame.is_null() {
                let code = PyFrame_GetCode(frame);
                let found =
                    Frame { code: code.expose_provenance(), instruction: PyFrame_GetLasti(frame) };
                let more = visit(found);
                ffi::Py_DECREF(code);
                let back = if more { PyFrame_GetBack(frame) } else { ptr::null_mut() };
                ffi::Py_DECREF(frame.cast());
                frame = back;
            }
            ffi::PyErr_Clear();
        });
        if collects {
            ffi::PyGC_Enable();
        }
    }
}

/// Keeps a code object and tells of it.
fn adopt(code: usize) -> Code {
    let code: *mut ffi::PyObject = ptr::with_exposed_provenance_mut(code);
    // SAFETY: GIL held, and the code is at work (`walk`).
    let (file, function) = unsafe {
        ffi::Py_INCREF(code);
        (member(code, c"co_filename"), member(code, c"co_qualname"))
    };
    let libraries = LIBRARIES.read().unwrap_or_else(PoisonError::into_inner);
    let longest = libraries
        .iter()
        .filter(|(start, _)| file.starts_with(start.as_str()))
        .max_by_key(|(start, _)| start.len());
    Code { library: longest.is_some_and(|(_, library)| *library), file, function }
}

/// A text that is a member of a code object: read without Python code. Empty where that fails.
///
/// # Safety
/// GIL held; `code` is a code object.
unsafe fn member(code: *mut ffi::PyObject, name: &CStr) -> String {
    // SAFETY: the caller's promise; the attribute is a new reference, its text lives as long.
    unsafe {
        let value = ffi::PyObject_GetAttrString(code, name.as_ptr());
        let mut size = 0;
        let text = if value.is_null() {
            ptr::null()
        } else {
            ffi::PyUnicode_AsUTF8AndSize(value, &mut size)
        };
        let owned = if text.is_null() {
            String::new()
        } else {
            let bytes = std::slice::from_raw_parts(text.cast::<u8>(), size as usize);
            String::from_utf8_lossy(bytes).into_owned()
        };
        ffi::PyErr_Clear();
        ffi::Py_XDECREF(value);
        owned
    }
}

/// The line of a frame. GIL held, and the code is at work.
fn line(frame: Frame) -> i32 {
    // SAFETY: the code object lives; its table of lines is read without Python code.
    unsafe { PyCode_Addr2Line(ptr::with_exposed_provenance_mut(frame.code), frame.instruction) }
}

/// Lets a code object go. GIL held.
fn release(code: usize) {
    // SAFETY: GIL held; the reference that `adopt` took.
    unsafe { ffi::Py_DECREF(ptr::with_exposed_provenance_mut(code)) };
}
