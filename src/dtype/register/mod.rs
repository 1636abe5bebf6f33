//! From a client's spec to a DType: what was checked ([`plan`]) becomes the class, its casts,
//! loops and identities, which stay for good.

pub mod plan;
pub mod spec;

use crate::{
    abi::{ElementSpec, ElementVTable},
    dtype::{
        class,
        handle::{
            DType, Delegated, IdentityData, LoopData, OperandType, Operations, immortal_head,
            library,
            registry::{self, REGISTRY, builtin_class},
        },
        numpy_patches,
        register::plan::{IdentityPlan, LoopPlan, Plan},
        slots::sort,
        ufuncs::{add_loop, promote},
    },
    erased::{ElementType, RegistryError},
    faults,
    numpy_abi::{self, NumpyApi, PyArray_DTypeMeta},
};
use pyo3::{
    IntoPyObjectExt,
    exceptions::PyValueError,
    prelude::*,
    types::{PyTuple, PyType},
};

fn name_error(error: &RegistryError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Registers a type without a DType, for handler mode. `registrant` is the module that does so.
///
/// # Errors
/// `ValueError` for a vtable with missing or wrong members, for a name that is taken, for functions
/// in a library that cannot be kept loaded.
///
/// # Safety
/// `vtable` is a client's vtable as [`crate::abi`] describes it.
pub unsafe fn register_bare(
    vtable: *const ElementVTable,
    registrant: Option<&str>,
) -> PyResult<&'static ElementType> {
    // SAFETY: the caller's promise.
    let element = unsafe { plan::element(vtable)? };
    if element.has_zero_promise() {
        return Err(PyValueError::new_err(format!(
            "{}: `zero_bytes` must be DENIZEN_ZERO_NO_PROMISE for a type without a dtype: its \
             objects lie where the init bitmap alone tells which of them live",
            element.name()
        )));
    }
    let (module, _) = plan::module_and_name(&element)?;
    let registrant = registrant.unwrap_or(module).to_owned();
    REGISTRY.check(element.name(), &registrant).map_err(|error| name_error(&error))?;
    let mut libraries = library::Held::default();
    plan::hold(&mut libraries, &element, library::of_vtable(element.vtable()))?;
    keep(libraries, element.name())?;
    let element = REGISTRY.register(element, &registrant).map_err(|error| name_error(&error))?;
    registry::add_bare(element);
    Ok(element)
}

/// Keeps the libraries of a type loaded for good.
fn keep(libraries: library::Held, name: &str) -> PyResult<()> {
    libraries
        .keep()
        .map_err(|error| PyValueError::new_err(format!("{name}: one of its functions {error}")))
}

/// Registers a type and adds its scalar class and DType class to `module`.
///
/// # Errors
/// `ValueError` for a spec with missing or wrong members, for a name that is taken, for a type that
/// cannot live in NumPy arrays, for functions in a library that cannot be kept loaded;
/// `AttributeError` for a ufunc that is not there. Nothing stays of such a registration, and the
/// name is free. Else what NumPy refuses, or the module; the type is `kept` then, with all that it
/// refers to, as NumPy has its class, and can be neither used nor registered again.
///
/// # Safety
/// `spec` is a client's spec as [`crate::abi`] describes it.
pub unsafe fn register(
    module: &Bound<'_, PyModule>,
    spec: *const ElementSpec,
    kept: &mut Option<&'static ElementType>,
) -> PyResult<&'static DType> {
    let py = module.py();
    let numpy = numpy_abi::import(py)?;
    // SAFETY: the caller's promise.
    let (element, plan) = unsafe { Plan::new(module, numpy, spec)? };
    numpy_patches::install_for(py, numpy, &element)?;
    // What follows cannot be undone.
    keep(plan.libraries, element.name())?;
    let element = if faults::elements_can_fail() { element.fault_injected() } else { element };
    // Python code has run since the name was found free.
    let element =
        REGISTRY.register(element, &plan.registrant).map_err(|error| name_error(&error))?;
    *kept = Some(element);
    let given_up = |error| {
        REGISTRY.give_up(element);
        error
    };
    let mut casts = plan.casts.commit(element);
    let mut void_cast = numpy_patches::void_casts::VoidCastSpec::new(numpy);
    let mut all_casts = casts.pointers();
    all_casts.push(void_cast.as_mut_ptr());
    // SAFETY: a class that was made for the type, or that no DType has (`plan::given_class`), whose
    // reference stays with the DType; the cast specs live through the call.
    let dtype = unsafe {
        class::create(
            numpy,
            element,
            plan.scalar_class.clone().into_ptr().cast(),
            class::ClassSpec {
                name: &format!("{}DType", element.name()),
                documentation: &format!("DType of {}.", element.name()),
                casts: &mut all_casts,
            },
        )
    }
    .map_err(|()| given_up(PyErr::fetch(py)))?;
    casts.attach(dtype);
    dtype.set_operations(operations(dtype, plan.loops, plan.delegated, plan.identities));
    let names = (plan.name.as_str(), format!("{}DType", plan.name));
    publish(module, numpy, dtype, &plan.scalar_class, (names.0, &names.1)).map_err(|error| {
        dtype.abandon();
        withdraw(module, &plan.scalar_class, [names.0, &names.1]);
        given_up(error)
    })?;
    registry::add(dtype);
    Ok(dtype)
}

/// What was planned for a type, for good: NumPy keeps pointers to it.
fn operations(
    dtype: &'static DType,
    loops: Vec<LoopPlan<'_>>,
    delegated: Vec<plan::DelegatedPlan<'_>>,
    identities: Vec<IdentityPlan<'_>>,
) -> Operations {
    let counts = faults::elements_can_fail();
    let own_loop = |planned: LoopPlan<'_>| -> &'static LoopData {
        let (function, context) = if counts {
            let counted = planned.core.iter().flatten().flatten().max().map_or(0, |last| last + 1);
            faults::elements::fault_injected_loop(planned.function, planned.context, counted)
        } else {
            (planned.function, planned.context)
        };
        Box::leak(Box::new(LoopData {
            head: immortal_head(),
            ufunc: planned.ufunc.into_ptr() as usize,
            name: planned.name,
            operands: planned.operands.iter().map(|operand| operand.resolve(dtype)).collect(),
            input_count: planned.input_count,
            core: planned.core,
            function,
            context,
        }))
    };
    let identity = |planned: IdentityPlan<'_>| {
        let (construct, context) = if counts {
            faults::elements::fault_injected_identity(planned.construct, planned.context)
        } else {
            (planned.construct, planned.context)
        };
        (planned.ufunc.into_ptr() as usize, IdentityData { construct, context })
    };
    Operations {
        loops: loops.into_iter().map(own_loop).collect(),
        delegated: delegated
            .into_iter()
            .map(|planned| Delegated {
                ufunc: planned.ufunc.into_ptr() as usize,
                operands: planned.operands,
                input_count: planned.input_count,
            })
            .collect(),
        identities: identities.into_iter().map(identity).collect(),
    }
}

/// Gives NumPy the loops and sorts of a type, and Python its names.
fn publish(
    module: &Bound<'_, PyModule>,
    numpy: &'static NumpyApi,
    dtype: &'static DType,
    scalar_class: &Bound<'_, PyType>,
    (name, dtype_name): (&str, &str),
) -> PyResult<()> {
    let py = module.py();
    add_loops(py, numpy, dtype)?;
    sort::register(py, numpy, dtype)?;
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
    module.add(name, scalar_class)?;
    // SAFETY: the class is immortal.
    let class = unsafe { Bound::from_borrowed_ptr(py, dtype.class().cast()) };
    module.add(dtype_name, class)
}

/// Takes the names of a type back that cannot be used. What refuses that keeps them.
fn withdraw(module: &Bound<'_, PyModule>, scalar_class: &Bound<'_, PyType>, names: [&str; 2]) {
    let _ = scalar_class.delattr("dtype");
    if module.getattr(names[0]).is_ok_and(|found| found.is(scalar_class)) {
        for name in names {
            let _ = module.delattr(name);
        }
    }
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
        unsafe { add_loop::add_loop(numpy, data, &mut dtypes) }.map_err(|()| PyErr::fetch(py))?;
    }
    promote::register_promoters(py, numpy, dtype)
}
