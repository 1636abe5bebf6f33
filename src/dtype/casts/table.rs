//! All casts: of which types, at which level, and by which route.

use crate::{
    abi::{CastLevel, LoopFn},
    dtype::{
        casts::numbers::{Number, Wide},
        handle::DType,
    },
    erased::ElementType,
    faults,
    numpy_abi::{NpyAuxData, PyArray_DTypeMeta},
};
use pyo3::ffi;
use std::{
    collections::HashMap,
    ffi::{CStr, CString, c_void},
    sync::{LazyLock, RwLock},
};

/// A client's loop with one input and one output.
#[derive(Clone, Copy)]
pub struct Client {
    pub function: LoopFn,
    pub context: *mut c_void,
}

/// How a cast is done.
#[derive(Clone, Copy)]
pub enum Route {
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
    pub fn counted(self) -> Self {
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
pub enum End {
    /// The type being registered.
    Own,
    /// Another element type.
    Other(&'static DType),
    /// A built-in type.
    Numpy(*mut PyArray_DTypeMeta),
}

/// One cast; NumPy hands it back to the loop as auxiliary data. Lives forever.
#[repr(C)]
pub struct CastEntry {
    pub head: NpyAuxData,
    pub name: CString,
    pub ends: [End; 2],
    /// The element types at the two ends.
    pub elements: [Option<&'static ElementType>; 2],
    /// NumPy's casting level: the worst one, where it depends on the descriptors.
    pub level: CastLevel,
    pub route: Route,
    /// The complex type at NumPy's end, of which the route is for the real parts.
    pub complex: Option<&'static Number>,
}

// SAFETY: written once, before it is seen elsewhere; the client's function and context may be
// used from any thread that the type's flags allow, the rest is plain or immortal.
unsafe impl Send for CastEntry {}

// SAFETY: as above.
unsafe impl Sync for CastEntry {}

impl CastEntry {
    /// Name of the type at an end; of a built-in type the name of its DType class.
    pub fn end_name(&'static self, index: usize) -> &'static str {
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
pub fn find(
    from: *const PyArray_DTypeMeta,
    to: *const PyArray_DTypeMeta,
) -> Option<&'static CastEntry> {
    let casts = CASTS.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    casts.get(&[from as usize, to as usize]).copied()
}

/// Makes a cast known to the loops.
pub fn add(classes: [usize; 2], entry: &'static CastEntry) {
    let mut casts = CASTS.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    casts.insert(classes, entry);
}
