//! A registration before NumPy hears of it: everything in a client's spec that can be wrong is
//! looked at here, and nothing is made that stays. Dropping a [`Plan`] leaves no trace.
//!
//! What follows ([`super::register`]) cannot be undone: NumPy's table of classes, its ufuncs and
//! casts keep what they were given.

use crate::{
    abi::{self, ConstructFn, ElementSpec, ElementVTable, Identity, Loop, LoopFn},
    dtype::{
        casts::{numbers, specs::CastPlan},
        class,
        handle::{
            DType, OperandType, library,
            registry::{self, REGISTRY},
        },
        register::spec::{
            self, CAST_MEMBERS, IDENTITY_MEMBERS, LOOP_MEMBERS, list, optional_text, required_text,
        },
        scalar_class::class::make_scalar_class,
        ufuncs::ufunc::core_dimensions,
    },
    erased::ElementType,
    numpy_abi::NumpyApi,
};
use pyo3::{
    exceptions::{PyAttributeError, PyTypeError, PyValueError},
    ffi,
    prelude::*,
    types::PyType,
};
use std::{
    ffi::{CString, c_void},
    ptr,
};

/// A checked registration, but for the type itself.
pub struct Plan<'py> {
    /// The last part of the type's name.
    pub name: String,
    /// Who registers it, for messages.
    pub registrant: String,
    /// The client's class, or a fresh one.
    pub scalar_class: Bound<'py, PyType>,
    /// Its casts.
    pub casts: CastPlan,
    /// Its own loops.
    pub loops: Vec<LoopPlan<'py>>,
    /// Ufuncs that go through loops of NumPy's own.
    pub delegated: Vec<DelegatedPlan<'py>>,
    /// Identities of reductions.
    pub identities: Vec<IdentityPlan<'py>>,
    /// The libraries that all of it is in.
    pub libraries: library::Held,
}

/// The type of one operand.
#[derive(Clone, Copy)]
pub enum OperandPlan {
    /// The type that is being registered.
    Own,
    /// Another element type.
    Other(&'static DType),
    /// A number type of NumPy's.
    Numpy(i32),
}

impl OperandPlan {
    /// The same, once the type has its class.
    pub fn resolve(self, own: &'static DType) -> OperandType {
        match self {
            OperandPlan::Own => OperandType::Element(own),
            OperandPlan::Other(dtype) => OperandType::Element(dtype),
            OperandPlan::Numpy(number) => OperandType::Numpy(number),
        }
    }

    fn is(self, other: Self) -> bool {
        match (self, other) {
            (OperandPlan::Own, OperandPlan::Own) => true,
            (OperandPlan::Other(left), OperandPlan::Other(right)) => ptr::eq(left, right),
            (OperandPlan::Numpy(left), OperandPlan::Numpy(right)) => left == right,
            _ => false,
        }
    }
}

/// A loop of the client's.
pub struct LoopPlan<'py> {
    pub ufunc: Bound<'py, PyAny>,
    /// Without its module.
    pub name: CString,
    pub operands: Vec<OperandPlan>,
    pub input_count: usize,
    /// Core dimensions of each operand of a generalised ufunc.
    pub core: Option<Vec<Vec<usize>>>,
    pub function: LoopFn,
    pub context: *mut c_void,
}

/// A loop of NumPy's, for numbers that the type casts to.
pub struct DelegatedPlan<'py> {
    pub ufunc: Bound<'py, PyAny>,
    pub operands: Vec<i32>,
    pub input_count: usize,
}

/// What a reduction starts from.
pub struct IdentityPlan<'py> {
    pub ufunc: Bound<'py, PyAny>,
    pub construct: ConstructFn,
    pub context: *mut c_void,
}

/// Reads and checks a vtable.
///
/// # Errors
/// `ValueError` naming the member.
///
/// # Safety
/// A client's vtable as [`crate::abi`] describes it.
pub unsafe fn element(vtable: *const ElementVTable) -> PyResult<ElementType> {
    // SAFETY: the caller's promise.
    unsafe { ElementType::from_vtable(vtable) }.map_err(|error| value_error(error.to_string()))
}

/// The parts of a type's name.
///
/// # Errors
/// `ValueError` where one of them is empty.
pub fn module_and_name(element: &ElementType) -> PyResult<(&str, &str)> {
    element
        .name()
        .rsplit_once('.')
        .filter(|(module, name)| {
            !name.is_empty() && !module.is_empty() && !module.split('.').any(str::is_empty)
        })
        .ok_or_else(|| {
            value_error(format!(
                "the name {:?} of an element type must be `module.Name`",
                element.name()
            ))
        })
}

/// Holds the libraries of functions and contexts.
///
/// # Errors
/// `ValueError` naming the first that is in a library which cannot be held.
pub fn hold(
    libraries: &mut library::Held,
    element: &ElementType,
    addresses: library::Addresses,
) -> PyResult<()> {
    for (what, address) in addresses {
        libraries
            .add(address)
            .map_err(|error| value_error(format!("{}: {what} {error}", element.name())))?;
    }
    Ok(())
}

impl<'py> Plan<'py> {
    /// Checks a spec: the type, which is known nowhere yet, and the rest.
    ///
    /// # Errors
    /// As for [`register::register`].
    ///
    /// # Safety
    /// `spec` is a client's spec as [`crate::abi`] describes it.
    pub unsafe fn new(
        module: &Bound<'py, PyModule>,
        numpy: &'static NumpyApi,
        spec: *const ElementSpec,
    ) -> PyResult<(ElementType, Self)> {
        let py = module.py();
        // SAFETY: the caller's promise.
        let spec = unsafe { spec::read(spec)? };
        // SAFETY: as above.
        let element = unsafe { element(spec.vtable)? };
        if let Some(reason) = class::unfit(&element) {
            return Err(value_error(reason));
        }
        let (module_name, name) = module_and_name(&element)?;
        let (module_name, name) = (module_name.to_owned(), name.to_owned());
        // Two copies of a module have one name.
        let registrant = match library::file_of(element.vtable()) {
            Some(file) => format!("{} ({file})", module.name()?),
            None => module.name()?.to_string(),
        };
        REGISTRY
            .check(element.name(), &registrant)
            .map_err(|error| value_error(error.to_string()))?;
        // SAFETY: the spec's lists and texts by contract.
        let (cast_list, loop_list, identity_list, documentation) = unsafe {
            (
                list(spec.casts, spec.cast_count, &CAST_MEMBERS)?,
                list(spec.loops, spec.loop_count, &LOOP_MEMBERS)?,
                list(spec.identities, spec.identity_count, &IDENTITY_MEMBERS)?,
                optional_text(spec.documentation),
            )
        };
        let mut libraries = library::Held::default();
        hold(&mut libraries, &element, library::of_vtable(element.vtable()))?;
        let of_lists = library::of_lists(&loop_list, &cast_list, &identity_list);
        hold(&mut libraries, &element, of_lists)?;
        let casts = CastPlan::new(py, numpy, &element, &cast_list)?;
        let (mut loops, mut delegated, mut identities) = (Vec::new(), Vec::new(), Vec::new());
        for entry in &loop_list {
            // SAFETY: the client's loop by contract.
            match unsafe { plan_loop(py, numpy, &element, &casts, entry)? } {
                (Some(own), _) => {
                    refuse_twice(&element, &loops, &own)?;
                    loops.push(own);
                }
                (None, numbers) => delegated.extend(numbers),
            }
        }
        for entry in &identity_list {
            // SAFETY: the client's identity by contract.
            identities.push(unsafe { plan_identity(py, &element, entry)? });
        }
        let scalar_class = if spec.scalar_class.is_null() {
            let text = documentation.unwrap_or_else(|| format!("Element type {name}."));
            make_scalar_class(py, &element, &module_name, &name, &text)?
        } else {
            // SAFETY: a borrowed class by contract.
            let class = unsafe { Bound::from_borrowed_ptr(py, spec.scalar_class.cast()) };
            given_class(&element, class)?
        };
        let plan =
            Plan { name, registrant, scalar_class, casts, loops, delegated, identities, libraries };
        Ok((element, plan))
    }
}

/// The client's own scalar class: what NumPy and the runtime write into it can be written.
fn given_class<'py>(
    element: &ElementType,
    class: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyType>> {
    let name = element.name();
    let class = class
        .cast_into::<PyType>()
        .map_err(|_| PyTypeError::new_err(format!("{name}: the scalar class is no class")))?;
    // SAFETY: a Python type; GIL held.
    let flags = unsafe { ffi::PyType_GetFlags(class.as_type_ptr()) };
    if flags & ffi::Py_TPFLAGS_IMMUTABLETYPE != 0 {
        return Err(PyTypeError::new_err(format!(
            "{name}: the scalar class {} takes no attributes, and it needs one, `dtype`",
            class.repr()?
        )));
    }
    // NumPy notes the dtype of a class there, and does so once.
    let own = class.getattr("__dict__")?;
    if own.contains("__associated_array_dtype__")? || registry::has_scalar_class(&class) {
        return Err(value_error(format!(
            "{name}: the scalar class {} belongs to another dtype already",
            class.repr()?
        )));
    }
    Ok(class)
}

/// A loop of the client's, or one of NumPy's that it asks for.
///
/// # Safety
/// A client's loop by contract.
unsafe fn plan_loop<'py>(
    py: Python<'py>,
    numpy: &'static NumpyApi,
    element: &ElementType,
    casts: &CastPlan,
    entry: &Loop,
) -> PyResult<(Option<LoopPlan<'py>>, Option<DelegatedPlan<'py>>)> {
    // SAFETY: NUL-terminated by contract.
    let name = unsafe { required_text(entry.ufunc, "loop")? };
    let ufunc = find_ufunc(py, element, &name)?;
    let (input_count, output_count) = (entry.input_count as usize, entry.output_count as usize);
    let wanted: (usize, usize) =
        (ufunc.getattr("nin")?.extract()?, ufunc.getattr("nout")?.extract()?);
    let refuse =
        |why: String| Err(value_error(format!("{}: the loop for {name} {why}", element.name())));
    if wanted != (input_count, output_count) {
        return refuse(format!(
            "has {input_count} inputs and {output_count} outputs, the ufunc {} and {}",
            wanted.0, wanted.1
        ));
    }
    let mut operands = Vec::new();
    for index in 0..input_count + output_count {
        // SAFETY: so many operands by contract.
        let operand = unsafe { *entry.operands.add(index) };
        operands.push(match plan_operand(element, &operand)? {
            OperandPlan::Numpy(number) if numbers::number(number).is_none() => {
                return refuse(format!(
                    "has an operand with `numpy_type` {number}, which is none of NumPy's number \
                     types (NPY_BOOL, 0, to NPY_CLONGDOUBLE, 16, and NPY_HALF, 23)"
                ));
            }
            known => known,
        });
    }
    let Some(function) = entry.function else {
        let plan = delegate(py, numpy, element, casts, ufunc, &name, &operands, input_count)?;
        return Ok((None, Some(plan)));
    };
    if !operands.iter().any(|operand| operand.is(OperandPlan::Own)) {
        return refuse(
            "has no operand of the type itself (DENIZEN_OPERAND_SELF), so it belongs to another \
             type"
                .to_owned(),
        );
    }
    let signature: Option<String> = ufunc.getattr("signature")?.extract()?;
    let short = name.rsplit([':', '.']).next().unwrap_or_default().to_owned();
    let plan = LoopPlan {
        ufunc,
        name: CString::new(short).unwrap_or_default(),
        operands,
        input_count,
        core: core_dimensions(signature.as_deref()),
        function,
        context: entry.context,
    };
    Ok((Some(plan), None))
}

/// NumPy has one loop for the same operands.
fn refuse_twice(element: &ElementType, known: &[LoopPlan<'_>], new: &LoopPlan<'_>) -> PyResult<()> {
    let twice = known.iter().any(|known| {
        known.ufunc.is(&new.ufunc)
            && known.operands.iter().zip(&new.operands).all(|(left, right)| left.is(*right))
    });
    if twice {
        return Err(value_error(format!(
            "{}: two loops for {} have the same operands",
            element.name(),
            new.name.to_string_lossy()
        )));
    }
    Ok(())
}

/// A loop without a function: the type must cast to a number that stands for it.
#[expect(clippy::too_many_arguments, reason = "what `plan_loop` has found out so far")]
fn delegate<'py>(
    py: Python<'py>,
    numpy: &'static NumpyApi,
    element: &ElementType,
    casts: &CastPlan,
    ufunc: Bound<'py, PyAny>,
    name: &str,
    operands: &[OperandPlan],
    input_count: usize,
) -> PyResult<DelegatedPlan<'py>> {
    let refuse =
        |why: &str| Err(value_error(format!("{}: the loop for {name}: {why}", element.name())));
    let numbers: Option<Vec<i32>> = operands
        .iter()
        .map(|operand| match operand {
            OperandPlan::Numpy(number) => Some(*number),
            _ => None,
        })
        .collect();
    let Some(numbers) = numbers else {
        return refuse("`function` is NULL, which is for operands that are all numbers of NumPy");
    };
    let mut casts_to_one = false;
    for &number in &numbers[..input_count] {
        let class = registry::builtin_class(py, numpy, number)?;
        casts_to_one |= casts.level_to(class).is_some_and(|level| level <= abi::CAST_SAME_KIND);
    }
    if !casts_to_one {
        return refuse(
            "NumPy's own loop needs a cast from the type to an input, safe or within the kind. \
             For float_functions() say cast_to(Casting::SameKind, f) with a function that returns \
             f64 (Rust) or cast_to<double>(denizen::casting::same_kind, f) (C++; cast<double>() \
             alone makes an unsafe one)",
        );
    }
    Ok(DelegatedPlan { ufunc, operands: numbers, input_count })
}

/// # Safety
/// A client's identity by contract.
unsafe fn plan_identity<'py>(
    py: Python<'py>,
    element: &ElementType,
    entry: &Identity,
) -> PyResult<IdentityPlan<'py>> {
    // SAFETY: NUL-terminated by contract.
    let name = unsafe { required_text(entry.ufunc, "identity")? };
    let ufunc = find_ufunc(py, element, &name)?;
    Ok(IdentityPlan { ufunc, construct: entry.construct, context: entry.context })
}

/// The type of an operand.
pub fn plan_operand(element: &ElementType, operand: &abi::Operand) -> PyResult<OperandPlan> {
    match operand.kind {
        abi::OPERAND_SELF => Ok(OperandPlan::Own),
        abi::OPERAND_NUMPY => Ok(OperandPlan::Numpy(operand.numpy_type)),
        abi::OPERAND_ELEMENT => {
            registry::dtype_of(operand.element).map(OperandPlan::Other).ok_or_else(|| {
                value_error(format!(
                    "{}: an operand is of an element type that is not registered",
                    element.name()
                ))
            })
        }
        kind => Err(value_error(format!("{}: unknown kind {kind} of an operand", element.name()))),
    }
}

/// A ufunc by its name in `numpy`, or `module:name`; the element type is for messages.
fn find_ufunc<'py>(
    py: Python<'py>,
    element: &ElementType,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let (module, name) = name.split_once(':').unwrap_or(("numpy", name));
    let found = py.import(module)?.getattr_opt(name)?.ok_or_else(|| {
        PyAttributeError::new_err(format!(
            "{}: there is no ufunc '{name}' in {module}",
            element.name()
        ))
    })?;
    let ufunc = py.import("numpy")?.getattr("ufunc")?;
    if !found.is_instance(&ufunc)? {
        return Err(PyTypeError::new_err(format!(
            "{}: '{name}' in {module} is no ufunc but {}",
            element.name(),
            found.get_type().repr()?
        )));
    }
    Ok(found)
}

fn value_error(message: String) -> PyErr {
    PyValueError::new_err(message)
}
