//! Casts between an element type and the types of NumPy and of other clients.
//!
//! Where the client gave a cast for exactly a type, that one runs. The others are made from the
//! client's casts of `int64`, `uint64` and `float64` ([`super::numbers`]), at these levels
//! (`L` is the level of the client's cast, `>=` means no better than):
//!
//! | from | through | level | | to | through | level |
//! |---|---|---|---|---|---|---|
//! | bool | int64, uint64 or float64 | `L` | | bool | the type's truth | unsafe |
//! | narrower integers | int64; else uint64, float64 | `L` (changing sign: `>=` same kind) | | narrower integers | the same sign's 64 bits | `>=` same kind |
//! | 64-bit integers | the other sign, float64 | `>=` same kind | | unsigned integers | int64 | unsafe |
//! | | | | | integers | float64 | unsafe |
//! | float16, float32 | float64 | `L` | | float16, float32 | float64 | `>=` same kind |
//! | longdouble | float64, where exact | unsafe | | longdouble | float64 | `L` |
//! | complex, where real | the float of its parts | unsafe | | complex | the float of its parts | its |
//! | text, StringDType | the type's reading of text | unsafe | | text without a size, StringDType | the type's text | safe |
//! | | | | | text of a size | the type's text | same kind |
//!
//! That is what NumPy says of `int64`, `uint64` and `float64` themselves, except that a value
//! that does not fit is an error here, not another value.
//!
//! * [`given`]: the client's casts, and which route each other one takes;
//! * [`run`]: a cast at work; [`text`] that of text, which [`text_form`] reads and writes;
//! * [`objects`]: Python's numbers; NumPy casts all other objects through getitem and setitem.

mod given;
mod objects;
mod run;
mod text;
mod text_form;

pub use objects::number_into_cell;

use super::{
    DType, class,
    numbers::{NUMBERS, Number, Wide},
    register::{builtin_class, immortal_head},
};
use crate::{
    abi::{self, Cast, CastLevel, LoopFn},
    erased::ElementType,
    faults,
    numpy_abi::{NpyAuxData, NumpyApi, PyArray_DTypeMeta, PyArrayMethod_Spec, flags::*, slots},
};
use given::Given;
use pyo3::{ffi, prelude::*};
use std::{
    collections::HashMap,
    ffi::{CStr, CString, c_int, c_void},
    ptr,
    sync::{LazyLock, RwLock},
};

/// A client's loop with one input and one output.
#[derive(Clone, Copy)]
struct Client {
    function: LoopFn,
    context: *mut c_void,
}

/// How a cast is done.
#[derive(Clone, Copy)]
enum Route {
    /// By the client's loop.
    Direct(Client),
    /// The values of a number type, widened, then the client's loop.
    Widened(&'static Number, Wide, Client),
    /// The client's loop, then narrowed.
    Narrowed(&'static Number, Wide, Client),
    /// The type's truth.
    Truth,
    /// Text to a value.
    FromText,
    /// A value to text.
    ToText,
}

impl Route {
    /// The same with the client's loop counting its elements, where a process asked for that.
    fn counted(self) -> Self {
        if !faults::elements_can_fail() {
            return self;
        }
        let counted = |client: Client| {
            let (function, context) =
                faults::elements::fault_injected_loop(client.function, client.context, 0);
            Client { function, context }
        };
        match self {
            Route::Direct(client) => Route::Direct(counted(client)),
            Route::Widened(number, wide, client) => Route::Widened(number, wide, counted(client)),
            Route::Narrowed(number, wide, client) => Route::Narrowed(number, wide, counted(client)),
            other => other,
        }
    }
}

/// One end of a cast.
#[derive(Clone, Copy)]
enum End {
    /// The type being registered.
    Own,
    /// Another element type.
    Other(&'static DType),
    /// A built-in type.
    Numpy(*mut PyArray_DTypeMeta),
}

/// One cast; NumPy hands it back to the loop as auxiliary data. Lives forever.
#[repr(C)]
pub(super) struct CastEntry {
    head: NpyAuxData,
    name: CString,
    ends: [End; 2],
    /// The element types at the two ends.
    elements: [Option<&'static ElementType>; 2],
    /// NumPy's casting level: the worst one, where it depends on the descriptors.
    pub(super) level: CastLevel,
    route: Route,
    /// The complex type at NumPy's end, of which the route is for the real parts.
    complex: Option<&'static Number>,
}

// SAFETY: written once, before anybody else sees it; the client's function and context may be
// used from any thread that the type's flags allow, the rest is plain or immortal.
unsafe impl Send for CastEntry {}
// SAFETY: as above.
unsafe impl Sync for CastEntry {}

impl CastEntry {
    /// Name of the type at an end; of a built-in type the name of its DType class.
    fn end_name(&'static self, index: usize) -> &'static str {
        match (self.elements[index], self.ends[index]) {
            (Some(element), _) => element.name(),
            // SAFETY: classes of built-in types are immortal, and their names with them.
            (None, End::Numpy(class)) => unsafe {
                let name = (*class.cast::<ffi::PyTypeObject>()).tp_name;
                CStr::from_ptr(name).to_str().unwrap_or_default()
            },
            (None, _) => "",
        }
    }
}

/// All casts, by the DType classes at their ends.
static CASTS: LazyLock<RwLock<HashMap<[usize; 2], &'static CastEntry>>> =
    LazyLock::new(RwLock::default);

/// The cast from one DType class to another, where an element type is at one end.
pub(super) fn find(
    from: *const PyArray_DTypeMeta,
    to: *const PyArray_DTypeMeta,
) -> Option<&'static CastEntry> {
    let casts = CASTS.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    casts.get(&[from as usize, to as usize]).copied()
}

/// A cast of a type that is not registered yet.
struct Planned {
    name: String,
    ends: [End; 2],
    level: CastLevel,
    route: Route,
    complex: Option<&'static Number>,
}

/// The casts that a type will have, checked. Nothing stays of it until [`CastPlan::commit`].
pub(super) struct CastPlan(Vec<Planned>);

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
        let given = Given::read(element, list)?;
        let mut plan: Vec<Planned> = Vec::new();
        let mut add = |name: String, ends: [End; 2], level, route, complex| {
            plan.push(Planned { name, ends, level, route, complex });
        };
        for number in &NUMBERS {
            let builtin = End::Numpy(builtin_class(py, numpy, number.type_number)?);
            if let Some((level, route, complex)) = given.towards_self(number) {
                let name = format!("denizen_from_{}", number.name);
                add(name, [builtin, End::Own], level, route, complex);
            }
            if let Some((level, route, complex)) = given.away_from_self(element, number) {
                let name = format!("denizen_to_{}", number.name);
                add(name, [End::Own, builtin], level, route, complex);
            }
        }
        for (other, to_self, level, client) in given.elements {
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
pub(super) struct CastSpecs {
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
                flags: class::cast_flags() | NPY_METH_SUPPORTS_UNALIGNED,
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
        let mut casts = CASTS.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        for entry in self.entries {
            let classes = entry.ends.map(|end| match end {
                End::Own => dtype.class() as usize,
                End::Other(other) => other.class() as usize,
                End::Numpy(class) => class as usize,
            });
            casts.insert(classes, entry);
        }
    }
}
