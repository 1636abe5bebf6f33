//! The casts of a type that is being registered: planned, then made, then given to NumPy.

use crate::{
    abi::{self, Cast, CastLevel},
    dtype::{
        casts::{
            numbers::{NUMBERS, Number},
            routes::Routes,
            run,
            table::{self, CastEntry, End, Route},
            text,
        },
        handle::{DType, immortal_head, registry::builtin_class},
        loops::flags,
    },
    erased::ElementType,
    numpy_abi::{NumpyApi, PyArray_DTypeMeta, PyArrayMethod_Spec, flags::*, slots},
};
use pyo3::{ffi, prelude::*};
use std::{
    ffi::{CString, c_int},
    ptr,
};

/// A cast of a type that is not registered yet.
struct Planned {
    name: String,
    ends: [End; 2],
    level: CastLevel,
    route: Route,
    complex: Option<&'static Number>,
}

/// The casts that a type will have, checked. Nothing stays of it until [`CastPlan::commit`].
pub struct CastPlan(Vec<Planned>);

impl CastPlan {
    /// All casts that the client's list and the vtable's capabilities make possible.
    ///
    /// # Errors
    /// `ValueError` for a cast that does not have the type at exactly one end, that is given
    /// twice, whose level is unknown, or that is with a type that is not registered or no number.
    pub fn new(
        py: Python<'_>,
        numpy: &'static NumpyApi,
        element: &ElementType,
        list: &[Cast],
    ) -> PyResult<CastPlan> {
        let routes = Routes::read(element, list)?;
        let mut plan: Vec<Planned> = Vec::new();
        let mut add = |name: String, ends: [End; 2], level, route, complex| {
            plan.push(Planned { name, ends, level, route, complex });
        };
        for number in &NUMBERS {
            let builtin = End::Numpy(builtin_class(py, numpy, number.type_number)?);
            if let Some((level, route, complex)) = routes.towards_self(number) {
                let name = format!("denizen_from_{}", number.name);
                add(name, [builtin, End::Own], level, route, complex);
            }
            if let Some((level, route, complex)) = routes.away_from_self(element, number) {
                let name = format!("denizen_to_{}", number.name);
                add(name, [End::Own, builtin], level, route, complex);
            }
        }
        for (other, to_self, level, client) in routes.elements {
            let ends = [End::Other(other), End::Own];
            let ends = if to_self { ends } else { [ends[1], ends[0]] };
            add("denizen_convert".to_owned(), ends, level, Route::Direct(client), None);
        }
        for text in [numpy.unicode_dtype(), numpy.bytes_dtype(), numpy.string_dtype()] {
            if element.vtable().from_text.is_some() {
                let ends = [End::Numpy(text), End::Own];
                let name = "denizen_from_text".to_owned();
                add(name, ends, abi::CAST_UNSAFE, Route::FromText, None);
            }
            if element.vtable().to_text.is_some() {
                let ends = [End::Own, End::Numpy(text)];
                let name = "denizen_to_text".to_owned();
                add(name, ends, abi::CAST_SAME_KIND, Route::ToText, None);
            }
        }
        Ok(CastPlan(plan))
    }

    /// The level of the cast from the type to a built-in one.
    pub fn level_to(&self, class: *mut PyArray_DTypeMeta) -> Option<CastLevel> {
        let to = |planned: &&Planned| matches!(planned.ends, [End::Own, End::Numpy(found)] if found == class);
        self.0.iter().find(to).map(|planned| planned.level)
    }

    /// Makes the casts, for good.
    pub fn commit(self, element: &'static ElementType) -> CastSpecs {
        let entry = |planned: Planned| -> &'static CastEntry {
            let elements = planned.ends.map(|end| match end {
                End::Own => Some(element),
                End::Other(dtype) => Some(dtype.element()),
                End::Numpy(_) => None,
            });
            Box::leak(Box::new(CastEntry {
                head: immortal_head(),
                name: CString::new(planned.name).unwrap_or_default(),
                ends: planned.ends,
                elements,
                level: planned.level,
                route: planned.route.counted(),
                complex: planned.complex,
            }))
        };
        CastSpecs::assemble(self.0.into_iter().map(entry).collect())
    }
}

/// The casts of a type that is being registered, as NumPy wants them.
pub struct CastSpecs {
    entries: Vec<&'static CastEntry>,
    dtypes: Vec<[*mut PyArray_DTypeMeta; 2]>,
    slots: Vec<Vec<ffi::PyType_Slot>>,
    specs: Vec<PyArrayMethod_Spec>,
}

impl CastSpecs {
    fn assemble(entries: Vec<&'static CastEntry>) -> CastSpecs {
        let mut dtypes: Vec<_> = entries
            .iter()
            .map(|entry| {
                entry.ends.map(|end| match end {
                    End::Own => ptr::null_mut(),
                    End::Other(dtype) => dtype.class(),
                    End::Numpy(class) => class,
                })
            })
            .collect();
        let mut slots: Vec<_> = entries
            .iter()
            .map(|entry| {
                let mut list = vec![slots::method::get_loop(run::get_loop)];
                match entry.route {
                    Route::FromText => {
                        list.push(slots::method::resolve_descriptors(text::resolve_from_text))
                    }
                    Route::ToText => {
                        list.push(slots::method::resolve_descriptors(text::resolve_to_text));
                    }
                    _ => {}
                }
                list.push(slots::END);
                list
            })
            .collect();
        let specs = entries
            .iter()
            .zip(dtypes.iter_mut().zip(&mut slots))
            .map(|(entry, (dtypes, slots))| PyArrayMethod_Spec {
                name: entry.name.as_ptr(),
                nin: 1,
                nout: 1,
                casting: entry.level as c_int,
                flags: flags::cast_flags() | NPY_METH_SUPPORTS_UNALIGNED,
                dtypes: dtypes.as_mut_ptr(),
                slots: slots.as_mut_ptr(),
            })
            .collect();
        CastSpecs { entries, dtypes, slots, specs }
    }

    /// The specs, for the call that makes the class.
    pub fn pointers(&mut self) -> Vec<*mut PyArrayMethod_Spec> {
        debug_assert_eq!(self.dtypes.len(), self.slots.len());
        self.specs.iter_mut().map(ptr::from_mut).collect()
    }

    /// Makes the casts known to the loops, once the class is made.
    pub fn attach(self, dtype: &'static DType) {
        for entry in self.entries {
            let classes = entry.ends.map(|end| match end {
                End::Own => dtype.class() as usize,
                End::Other(other) => other.class() as usize,
                End::Numpy(class) => class as usize,
            });
            table::add(classes, entry);
        }
    }
}
