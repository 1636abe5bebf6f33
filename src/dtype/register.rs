//! From a client's spec to a DType: checks, the class, casts, loops, identities.

use super::{
    DType, casts, class, promotion, scalar, sort,
    ufuncs::{self, core_dimensions},
    void_casts,
};
use crate::{
    abi::{self, Cast, ConstructFn, Element, ElementSpec, ElementVTable, Identity, Loop, LoopFn},
    erased::{ElementType, Registry, counting, read_prefixed},
    faults,
    numpy_abi::{self, NpyAuxData, NumpyApi, PyArray_DTypeMeta},
};
use pyo3::{
    IntoPyObjectExt,
    exceptions::{PyAttributeError, PyRuntimeError, PyTypeError, PyValueError},
    ffi,
    prelude::*,
    types::{PyTuple, PyType},
};
use std::{
    collections::HashMap,
    ffi::{CStr, CString, c_char, c_void},
    mem::{MaybeUninit, offset_of},
    ptr,
    sync::{LazyLock, RwLock},
};

/// All element types of the process.
pub static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::default);
/// Their DTypes, in the order of registration.
static DTYPES: RwLock<Vec<&'static DType>> = RwLock::new(Vec::new());

/// Types that have no DType of ours, in the order of registration.
static BARE: RwLock<Vec<&'static ElementType>> = RwLock::new(Vec::new());

/// What is registered for a DType beside its class. Filled once, before anybody can use it.
#[derive(Default)]
pub struct Operations {
    /// Ufunc loops.
    pub loops: Vec<&'static LoopData>,
    /// Ufuncs that go through loops of NumPy's own.
    pub delegated: Vec<Delegated>,
    /// Identities of reductions, by ufunc (borrowed pointer).
    pub identities: HashMap<usize, IdentityData>,
}

/// The type of one operand, resolved.
#[derive(Clone, Copy)]
pub enum OperandType {
    /// An element type: the one being registered or another.
    Element(&'static DType),
    /// A built-in type, by NumPy's type number.
    Numpy(i32),
}

/// One loop of one ufunc; NumPy hands it back to the loop as auxiliary data.
#[repr(C)]
pub struct LoopData {
    /// NumPy's head: `free` does nothing, `clone` returns the same.
    pub head: NpyAuxData,
    /// The ufunc, borrowed: NumPy's ufuncs live forever.
    pub ufunc: usize,
    /// Its name, for messages.
    pub name: CString,
    /// Inputs, then outputs.
    pub operands: Vec<OperandType>,
    /// How many inputs.
    pub input_count: usize,
    /// Core dimensions of each operand of a generalised ufunc.
    pub core: Option<Vec<Vec<usize>>>,
    /// The client's loop.
    pub function: LoopFn,
    /// Handed to it.
    pub context: *mut c_void,
}

/// A ufunc for which operands of a type are cast to numbers, and NumPy's own loop is taken.
pub struct Delegated {
    /// The ufunc, borrowed: NumPy's ufuncs live forever.
    pub ufunc: usize,
    /// Type numbers of the inputs, then of the outputs.
    pub operands: Vec<i32>,
    /// How many inputs.
    pub input_count: usize,
}

/// The identity of one ufunc.
pub struct IdentityData {
    /// Builds the value in a vacant cell.
    pub construct: ConstructFn,
    /// Handed to it.
    pub context: *mut c_void,
}

/// The head of auxiliary data that lives forever.
pub fn immortal_head() -> NpyAuxData {
    unsafe extern "C" fn free(_data: *mut NpyAuxData) {}
    unsafe extern "C" fn clone(data: *mut NpyAuxData) -> *mut NpyAuxData {
        data
    }
    NpyAuxData { free: Some(free), clone: Some(clone), reserved: [ptr::null_mut(); 2] }
}

/// The DType of a registered element type.
pub fn dtype_of(element: *const Element) -> Option<&'static DType> {
    let all = DTYPES.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    all.iter().copied().find(|dtype| ptr::from_ref(dtype.element()).cast() == element)
}

/// The DType of that name.
pub fn dtype_named(name: &str) -> Option<&'static DType> {
    let all = DTYPES.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    all.iter().copied().find(|dtype| dtype.element().name() == name)
}

/// All DTypes, in the order of registration.
pub fn all() -> Vec<&'static DType> {
    DTYPES.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
}

/// All element types in the order of registration, those without a DType last.
pub fn elements() -> Vec<&'static ElementType> {
    let bare = BARE.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    all().into_iter().map(DType::element).chain(bare.iter().copied()).collect()
}

/// The element type of a handle if it has no DType.
pub fn bare_element(element: *const Element) -> Option<&'static ElementType> {
    let bare = BARE.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    bare.iter().copied().find(|known| ptr::from_ref(*known).cast() == element)
}

/// The element type of a handle, with or without a DType.
pub fn element_of(element: *const Element) -> Option<&'static ElementType> {
    if let Some(dtype) = dtype_of(element) {
        return Some(dtype.element());
    }
    bare_element(element)
}

/// Registers a type without a DType, for handler mode. `registrant` is the module that does so.
///
/// # Errors
/// `ValueError` for a vtable with missing or wrong members and for a name that is taken.
///
/// # Safety
/// `vtable` is a client's vtable as [`crate::abi`] describes it.
pub unsafe fn register_bare(
    vtable: *const ElementVTable,
    registrant: Option<&str>,
) -> PyResult<&'static ElementType> {
    // SAFETY: the caller's promise.
    let element = unsafe { ElementType::from_vtable(vtable) }
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    if element.has_zero_promise() {
        return Err(PyValueError::new_err(format!(
            "{}: `zero_bytes` must be DENIZEN_ZERO_NO_PROMISE for a type without a dtype: its \
             objects lie where the init bitmap alone tells which of them live",
            element.name()
        )));
    }
    let (module, _) = module_and_name(&element)?;
    let registrant = registrant.unwrap_or(module).to_owned();
    let element = REGISTRY
        .register(element, &registrant)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    BARE.write().unwrap_or_else(|poisoned| poisoned.into_inner()).push(element);
    Ok(element)
}

/// The file that a type's functions are in. A module has no `__file__` while it is being made.
fn file_of(element: &ElementType) -> Option<String> {
    let vtable = element.vtable();
    let function = vtable
        .destroy
        .map(|destroy| destroy as *const c_void)
        .or_else(|| vtable.copy_construct.map(|copy| copy as *const c_void))?;
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` only looks an address up. Where it answers, it has filled the struct, whose
    // name ends with NUL and lives as long as the library: for good, as registered types do.
    unsafe {
        if libc::dladdr(function, found.as_mut_ptr()) == 0 {
            return None;
        }
        let name = (*found.as_ptr()).dli_fname;
        (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
    }
}

/// The parts of a type's name.
///
/// # Errors
/// `ValueError` where one of them is empty.
fn module_and_name(element: &ElementType) -> PyResult<(&str, &str)> {
    element
        .name()
        .rsplit_once('.')
        .filter(|(module, name)| {
            !name.is_empty() && !module.is_empty() && !module.split('.').any(str::is_empty)
        })
        .ok_or_else(|| {
            PyValueError::new_err(format!(
                "the name {:?} of an element type must be `module.Name`",
                element.name()
            ))
        })
}

/// Registers a type and adds its scalar class and DType class to `module`.
///
/// # Errors
/// `ValueError` for a vtable with missing or wrong members, for a name that is taken, for a type
/// that cannot live in NumPy arrays; `AttributeError` for a ufunc that is not there; what NumPy
/// refuses. The name is free again then.
///
/// # Safety
/// `spec` is a client's spec as [`crate::abi`] describes it.
pub unsafe fn register(
    module: &Bound<'_, PyModule>,
    spec: *const ElementSpec,
) -> PyResult<&'static DType> {
    let py = module.py();
    let numpy = numpy_abi::import(py)?;
    // SAFETY: the caller's promise.
    let spec = unsafe {
        read_prefixed(
            spec,
            |spec: &ElementSpec| spec.struct_size,
            offset_of!(ElementSpec, documentation),
        )
    }
    .map_err(|error| PyValueError::new_err(format!("element spec: {error}")))?;
    // SAFETY: the caller's promise.
    let element = unsafe { ElementType::from_vtable(spec.vtable) }
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    if let Some(reason) = class::unfit(&element) {
        return Err(PyValueError::new_err(reason));
    }
    // Two copies of a module have one name.
    let registrant = match file_of(&element) {
        Some(file) => format!("{} ({file})", module.name()?),
        None => module.name()?.to_string(),
    };
    let element = if faults::counts_elements() { element.counted() } else { element };
    let element = REGISTRY
        .register(element, &registrant)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    // SAFETY: the caller's promise.
    let outcome = unsafe { build(module, numpy, element, &spec) };
    if outcome.is_err() {
        REGISTRY.withdraw(element);
    }
    outcome
}

/// # Safety
/// As for [`register`].
unsafe fn build(
    module: &Bound<'_, PyModule>,
    numpy: &'static NumpyApi,
    element: &'static ElementType,
    spec: &ElementSpec,
) -> PyResult<&'static DType> {
    let py = module.py();
    let (module_name, name) = module_and_name(element)?;
    // SAFETY: NULL or NUL-terminated by contract.
    let documentation = unsafe { optional_text(spec.documentation) }
        .unwrap_or_else(|| format!("Element type {name}."));
    let scalar_class = if spec.scalar_class.is_null() {
        scalar::make_scalar_class(py, element, module_name, name, &documentation)?
    } else {
        // SAFETY: a borrowed class by contract.
        let class = unsafe { Bound::from_borrowed_ptr(py, spec.scalar_class.cast()) };
        class.cast_into::<PyType>().map_err(|_| {
            PyTypeError::new_err(format!("{}: the scalar class is no class", element.name()))
        })?
    };
    // The class lives as long as its DType: forever.
    let scalar_pointer = scalar_class.clone().into_ptr().cast::<ffi::PyTypeObject>();
    // SAFETY: the spec's arrays by contract.
    let mut cast_list = unsafe { list(spec.casts, spec.cast_count, &CAST_MEMBERS)? };
    if faults::counts_elements() {
        for cast in &mut cast_list {
            (cast.function, cast.context) = counting::counted_loop(cast.function, cast.context, 0);
        }
    }
    let mut cast_specs = casts::CastSpecs::new(numpy, element, &cast_list)?;
    let mut void_cast = void_casts::VoidCastSpec::new(numpy);
    let mut all_casts = cast_specs.pointers();
    all_casts.push(void_cast.as_mut_ptr());
    // SAFETY: a fresh class of its own; the cast specs live through the call.
    let dtype = unsafe {
        class::create(
            numpy,
            element,
            scalar_pointer,
            class::ClassSpec {
                name: &format!("{}DType", element.name()),
                documentation: &format!("DType of {}.", element.name()),
                casts: &mut all_casts,
            },
        )
    }
    .map_err(|()| PyErr::fetch(py))?;
    cast_specs.attach(dtype);
    // SAFETY: the spec's arrays by contract.
    let (loops, identities) = unsafe {
        (
            list(spec.loops, spec.loop_count, &LOOP_MEMBERS)?,
            list(spec.identities, spec.identity_count, &IDENTITY_MEMBERS)?,
        )
    };
    let mut operations = Operations::default();
    // SAFETY: the client's loops and identities by contract.
    let filled = unsafe { fill(py, &mut operations, numpy, dtype, &loops, &identities) };
    // Also where it failed: what was made for ever stays reachable.
    dtype.set_operations(operations);
    filled?;
    add_loops(py, numpy, dtype)?;
    sort::register(py, numpy, dtype)?;
    if !element.is_copyable() {
        super::guards::install_printing(py)?;
    }
    // Numbers of ours always have digits.
    if element.vtable().to_text.is_some() && !element.name().starts_with("denizen.") {
        super::guards::install_empty_text(py)?;
    }
    // SAFETY: the descriptor is alive.
    let descr = unsafe { Bound::from_borrowed_ptr(py, dtype.descr().cast()) };
    scalar_class.setattr("dtype", &descr)?;
    // What NumPy asks of any scalar without a look at its class: `np.testing`, `np.cov`.
    let attributes = [
        ("ndim", 0.into_bound_py_any(py)?),
        ("shape", PyTuple::empty(py).into_any()),
        ("size", 1.into_bound_py_any(py)?),
    ];
    for (attribute, value) in attributes {
        if !scalar_class.hasattr(attribute)? {
            scalar_class.setattr(attribute, value)?;
        }
    }
    module.add(name, &scalar_class)?;
    // SAFETY: the class is immortal.
    let class = unsafe { Bound::from_borrowed_ptr(py, dtype.class().cast()) };
    module.add(format!("{name}DType").as_str(), class)?;
    DTYPES.write().unwrap_or_else(|poisoned| poisoned.into_inner()).push(dtype);
    Ok(dtype)
}

/// Registers the loops of a type with their ufuncs, then the promoters: NumPy's choice between a
/// loop and two promoters that match as well depends on the order.
fn add_loops(py: Python<'_>, numpy: &'static NumpyApi, dtype: &'static DType) -> PyResult<()> {
    for data in &dtype.operations().loops {
        let mut dtypes: Vec<*mut PyArray_DTypeMeta> = data
            .operands
            .iter()
            .map(|operand| match operand {
                OperandType::Element(dtype) => Ok(dtype.class()),
                OperandType::Numpy(number) => builtin_class(py, numpy, *number),
            })
            .collect::<PyResult<_>>()?;
        // SAFETY: the ufunc was looked up, the data lives forever.
        unsafe { ufuncs::add_loop(numpy, data, &mut dtypes) }.map_err(|()| PyErr::fetch(py))?;
    }
    promotion::register_promoters(py, numpy, dtype)
}

/// The DType class of a type number, borrowed (it is immortal).
pub(super) fn builtin_class(
    py: Python<'_>,
    numpy: &NumpyApi,
    number: i32,
) -> PyResult<*mut PyArray_DTypeMeta> {
    // SAFETY: GIL held; an unknown number gives NULL and an exception.
    let descr = unsafe { numpy.descr_from_type(number) };
    if descr.is_null() {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: a new reference; classes of built-in types are immortal.
    unsafe {
        let class = ffi::Py_TYPE(descr.cast());
        ffi::Py_DECREF(descr.cast());
        Ok(class.cast())
    }
}

/// What an entry of the list of loops says.
enum LoopKind {
    Own(&'static LoopData),
    Delegated(Delegated),
}

/// # Safety
/// A client's loop by contract.
unsafe fn loop_data(
    py: Python<'_>,
    numpy: &NumpyApi,
    dtype: &'static DType,
    entry: &Loop,
) -> PyResult<LoopKind> {
    // SAFETY: NUL-terminated by contract.
    let name = unsafe { required_text(entry.ufunc, "loop")? };
    let ufunc = find_ufunc(py, dtype.element(), &name)?;
    let (input_count, output_count) = (entry.input_count as usize, entry.output_count as usize);
    let wanted: (usize, usize) =
        (ufunc.getattr("nin")?.extract()?, ufunc.getattr("nout")?.extract()?);
    if wanted != (input_count, output_count) {
        return Err(PyValueError::new_err(format!(
            "{}: the loop for {name} has {input_count} inputs and {output_count} outputs, the \
             ufunc {} and {}",
            dtype.element().name(),
            wanted.0,
            wanted.1
        )));
    }
    let mut operands = Vec::new();
    for index in 0..input_count + output_count {
        // SAFETY: so many operands by contract.
        let operand = unsafe { *entry.operands.add(index) };
        operands.push(resolve_operand(dtype, &operand)?);
    }
    let Some(function) = entry.function else {
        let delegated = delegate(py, numpy, dtype, &ufunc, &name, &operands, input_count)?;
        return Ok(LoopKind::Delegated(delegated));
    };
    let signature: Option<String> = ufunc.getattr("signature")?.extract()?;
    let short = name.rsplit([':', '.']).next().unwrap_or_default().to_owned();
    let core = core_dimensions(signature.as_deref());
    let (function, context) = if faults::counts_elements() {
        let counted = core.iter().flatten().flatten().max().map_or(0, |last| last + 1);
        counting::counted_loop(function, entry.context, counted)
    } else {
        (function, entry.context)
    };
    Ok(LoopKind::Own(Box::leak(Box::new(LoopData {
        head: immortal_head(),
        // The ufunc stays: a loop that is registered refers to it.
        ufunc: ufunc.into_ptr() as usize,
        name: CString::new(short).unwrap_or_default(),
        operands,
        input_count,
        core,
        function,
        context,
    }))))
}

/// Makes the operations of a type from its client's loops and identities.
///
/// # Safety
/// They are as the interface wants them.
unsafe fn fill(
    py: Python<'_>,
    operations: &mut Operations,
    numpy: &'static NumpyApi,
    dtype: &'static DType,
    loops: &[Loop],
    identities: &[Identity],
) -> PyResult<()> {
    for entry in loops {
        // SAFETY: the client's loop by contract.
        match unsafe { loop_data(py, numpy, dtype, entry)? } {
            LoopKind::Own(data) => operations.loops.push(data),
            LoopKind::Delegated(entry) => operations.delegated.push(entry),
        }
    }
    for entry in identities {
        // SAFETY: NUL-terminated by contract.
        let name = unsafe { required_text(entry.ufunc, "identity")? };
        let ufunc = find_ufunc(py, dtype.element(), &name)?;
        let (construct, context) = if faults::counts_elements() {
            counting::counted_identity(entry.construct, entry.context)
        } else {
            (entry.construct, entry.context)
        };
        operations.identities.insert(ufunc.as_ptr() as usize, IdentityData { construct, context });
    }
    Ok(())
}

/// A loop without a function: the type must cast to all numbers that stand for it.
fn delegate(
    py: Python<'_>,
    numpy: &NumpyApi,
    dtype: &'static DType,
    ufunc: &Bound<'_, PyAny>,
    name: &str,
    operands: &[OperandType],
    input_count: usize,
) -> PyResult<Delegated> {
    let refuse = |why: &str| {
        Err(PyValueError::new_err(format!(
            "{}: the loop for {name}: {why}",
            dtype.element().name()
        )))
    };
    let numbers: Option<Vec<i32>> = operands
        .iter()
        .map(|operand| match operand {
            OperandType::Numpy(number) => Some(*number),
            OperandType::Element(_) => None,
        })
        .collect();
    let Some(numbers) = numbers else {
        return refuse("`function` is NULL, which is for operands that are all numbers of NumPy");
    };
    let mut casts_to_one = false;
    for &number in &numbers[..input_count] {
        let class = builtin_class(py, numpy, number)?;
        casts_to_one |= casts::find(dtype.class(), class)
            .is_some_and(|entry| entry.level <= abi::CAST_SAME_KIND);
    }
    if !casts_to_one {
        return refuse(
            "NumPy's own loop needs a cast from the type to an input, safe or within the kind. \
             For float_functions() say cast_to(Casting::SameKind, f) with a function that returns \
             f64 (Rust) or cast_to<double>(denizen::casting::same_kind, f) (C++; cast<double>() \
             alone makes an unsafe one)",
        );
    }
    Ok(Delegated { ufunc: ufunc.as_ptr() as usize, operands: numbers, input_count })
}

/// The type of an operand.
pub(super) fn resolve_operand(
    dtype: &'static DType,
    operand: &abi::Operand,
) -> PyResult<OperandType> {
    match operand.kind {
        abi::OPERAND_SELF => Ok(OperandType::Element(dtype)),
        abi::OPERAND_NUMPY => Ok(OperandType::Numpy(operand.numpy_type)),
        abi::OPERAND_ELEMENT => {
            dtype_of(operand.element).map(OperandType::Element).ok_or_else(|| {
                PyValueError::new_err(format!(
                    "{}: an operand is of an element type that is not registered",
                    dtype.element().name()
                ))
            })
        }
        kind => Err(PyValueError::new_err(format!(
            "{}: unknown kind {kind} of an operand",
            dtype.element().name()
        ))),
    }
}

/// A ufunc by its name in `numpy`, or `module:name`; the element type is for messages.
fn find_ufunc<'py>(
    py: Python<'py>,
    element: &ElementType,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let (module, name) = name.split_once(':').unwrap_or(("numpy", name));
    py.import(module)?.getattr_opt(name)?.ok_or_else(|| {
        PyAttributeError::new_err(format!(
            "{}: there is no ufunc '{name}' in {module}",
            element.name()
        ))
    })
}

/// What the entries of a list must have: the list's name, and the pointers that must not be NULL,
/// by offset and name.
struct Members<T> {
    list: &'static str,
    required: &'static [(usize, &'static str)],
    struct_size: fn(&T) -> usize,
}

const LOOP_MEMBERS: Members<Loop> = Members {
    list: "loops",
    required: &[(offset_of!(Loop, ufunc), "ufunc"), (offset_of!(Loop, operands), "operands")],
    struct_size: |entry| entry.struct_size,
};
const CAST_MEMBERS: Members<Cast> = Members {
    list: "casts",
    required: &[(offset_of!(Cast, function), "function")],
    struct_size: |entry| entry.struct_size,
};
const IDENTITY_MEMBERS: Members<Identity> = Members {
    list: "identities",
    required: &[
        (offset_of!(Identity, ufunc), "ufunc"),
        (offset_of!(Identity, construct), "construct"),
    ],
    struct_size: |entry| entry.struct_size,
};

/// Reads an array of size-prefixed structs.
///
/// # Errors
/// `ValueError` naming list, index and member where one is missing or has a wrong size.
///
/// # Safety
/// `entries` points to `count` structs as the client knows them, or `count` is 0. The members
/// describe `T`.
unsafe fn list<T: Copy>(entries: *const T, count: usize, members: &Members<T>) -> PyResult<Vec<T>> {
    let list = members.list;
    let mut read = Vec::new();
    let mut next = entries;
    for index in 0..count {
        let refuse =
            |why: String| PyValueError::new_err(format!("element spec: {list}[{index}]: {why}"));
        // As bytes first: a function pointer that is NULL must not become a value of its type.
        // SAFETY: the caller's promise; all bytes are valid bytes, and the size is the first member.
        let entry = unsafe {
            read_prefixed(
                next.cast::<MaybeUninit<T>>(),
                |bytes| bytes.as_ptr().cast::<usize>().read(),
                size_of::<T>(),
            )
        }
        .map_err(refuse)?;
        for (offset, name) in members.required {
            // SAFETY: the member is a pointer, inside the struct, all of which was read.
            if unsafe { entry.as_ptr().byte_add(*offset).cast::<usize>().read() } == 0 {
                return Err(refuse(format!("`{name}` is NULL")));
            }
        }
        // SAFETY: all bytes were read, and no member that must not be NULL is.
        let entry = unsafe { entry.assume_init() };
        // SAFETY: the next struct follows after as many bytes as this one has.
        next = unsafe { next.byte_add((members.struct_size)(&entry)) };
        read.push(entry);
    }
    Ok(read)
}

/// # Safety
/// NULL or NUL-terminated.
unsafe fn optional_text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// # Safety
/// NULL or NUL-terminated.
unsafe fn required_text(text: *const c_char, what: &str) -> PyResult<String> {
    // SAFETY: the caller's promise.
    unsafe { optional_text(text) }
        .ok_or_else(|| PyRuntimeError::new_err(format!("element spec: a {what} has no name")))
}
