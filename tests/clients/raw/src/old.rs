//! A type registered the way a client of an older, smaller version of the interface would: its
//! structs end earlier, and it knows only the beginning of the function table.

use denizen::abi::{self, Element, ElementSpec, ElementVTable, PyObject, Status};
use denizen::{ElementBuilder, ElementHandle, Raised, element};
use std::alloc::{Layout, alloc};
use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::sync::{Mutex, PoisonError};

/// A small number.
#[derive(Clone, Default)]
pub struct Old(pub u32);

fn builder() -> ElementBuilder<Old, denizen::client::Automatic> {
    element::<Old>("Old")
        .clone()
        .default()
        .binary("add", |x: &Old, y: &Old| Old(x.0.wrapping_add(y.0)))
        .cast_from(denizen::Casting::Safe, |x: u32| Old(x))
        .cast_to::<u32, _>(denizen::Casting::Unsafe, |x: &Old| x.0)
}

/// What the older version knows of the table.
#[repr(C)]
struct OldApi {
    struct_size: usize,
    abi_version: u32,
    reserved: u32,
    runtime_version: *const c_char,
    register_element: unsafe extern "C" fn(
        spec: *const ElementSpec,
        module: *mut PyObject,
        element: *mut *const Element,
    ) -> Status,
}

/// Where the structs of registered types are.
static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// The first `size` bytes of a struct that begins with its size, in memory that ends there.
///
/// # Safety
/// `T` begins with `struct_size: usize`, and `size` covers it.
unsafe fn truncated<T>(whole: &T, size: usize) -> *const T {
    let Ok(layout) = Layout::from_size_align(size, align_of::<T>()) else {
        return std::ptr::null();
    };
    // SAFETY: the size is not 0; it is at most that of T. A registered type stays, so the memory
    // is never freed (and can be reached from a static, for leak checkers).
    unsafe {
        let memory = alloc(layout);
        std::ptr::from_ref(whole).cast::<u8>().copy_to_nonoverlapping(memory, size);
        memory.cast::<usize>().write(size);
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(memory.expose_provenance());
        memory.cast()
    }
}

/// Registers the type.
///
/// # Safety
/// The GIL is held and `module` is a live module of this name.
pub unsafe fn register(module: *mut PyObject) -> Result<(), Raised> {
    let definition = builder().define("denizen_raw").unwrap_or_else(|error| panic!("{error}"));
    // SAFETY: both structs begin with their size; the older version had no `traverse` and no
    // `documentation`. The table is at least as big as `OldApi`, and the GIL is held.
    unsafe {
        let vtable: *const ElementVTable =
            truncated(definition.vtable(), offset_of!(ElementVTable, traverse));
        let spec = ElementSpec { vtable, ..definition.spec() };
        let spec: *const ElementSpec = truncated(&spec, offset_of!(ElementSpec, documentation));
        let table: *const c_void = std::ptr::from_ref(denizen::runtime()?).cast();
        let table = &*table.cast::<OldApi>();
        assert!(table.struct_size >= size_of::<OldApi>() && table.reserved == 0);
        assert!(table.abi_version >> 16 == 1 && !table.runtime_version.is_null());
        let mut element: *const Element = std::ptr::null();
        if (table.register_element)(spec, module, &raw mut element) != abi::OK {
            return Err(Raised);
        }
        definition.leak();
        let found = ElementHandle::<Old>::import_raw("denizen_raw.Old", builder())?;
        assert!(found.as_ptr() == element, "the type is found under its name");
    }
    Ok(())
}
