//! The function table behind the capsule `denizen._runtime._C_API`.

use super::{Element, ElementSpec, ElementVTable, ErrorOut, PyObject, Status};
use std::ffi::{c_char, c_void};

/// Name of the capsule, as `PyCapsule_Import` takes it.
pub const CAPSULE_NAME: &std::ffi::CStr = c"denizen._runtime._C_API";

/// Most dimensions an array can have.
pub const MAX_DIMENSIONS: usize = 64;

/// Bits of the `flags` argument of [`Api::view`].
pub type ViewFlags = u32;
/// The view writes. Refused on read-only arrays; excludes every other access while it lasts.
pub const VIEW_WRITE: ViewFlags = 1;
/// Vacant cells are an error ([`super::ERROR_VACANT`], naming the index) instead of being
/// filled with the default value.
pub const VIEW_REFUSE_VACANT: ViewFlags = 2;
/// Vacant cells are lent as they are. The client looks at their vacancy bytes before it reads,
/// and fills those that it likes; `release_view` counts what is there then.
pub const VIEW_KEEP_VACANT: ViewFlags = 4;

/// Bits of the `flags` argument of [`Api::adopt`].
pub type AdoptFlags = u32;
/// The array is not writeable.
pub const ADOPT_READ_ONLY: AdoptFlags = 1;

/// Bytes of a cell in handler mode: the itemsize of a legacy dtype.
pub const CELL_SIZE: usize = 24;
/// Alignment that such a dtype declares.
pub const CELL_ALIGN: usize = 8;
/// Most objects of one type that are lent to foreign memory at once; where there would be more,
/// those go that were not used for longest.
pub const LENT_LIMIT: usize = 1 << 16;
/// [`Api::peek`] met a raw copy whose original is gone or has another value by now. No failure.
pub const STALE: Status = 1;

/// The cells of an array, lent to a client until [`Api::release_view`].
#[repr(C)]
pub struct View {
    /// Bytes of this struct that the client provides.
    pub struct_size: usize,
    /// First cell.
    pub data: *mut u8,
    /// How many dimensions.
    pub dimension_count: usize,
    /// Elements along each dimension.
    pub shape: [isize; MAX_DIMENSIONS],
    /// Bytes from one element to the next along each dimension.
    pub strides: [isize; MAX_DIMENSIONS],
    /// The type of the cells.
    pub element: *const Element,
    /// The array, kept alive.
    pub array: *mut PyObject,
    /// For the runtime.
    pub token: *mut c_void,
}

/// Counters of one type.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of this struct that the client provides.
    pub struct_size: usize,
    /// Objects alive now.
    pub live: i64,
    /// Objects constructed, copies included.
    pub constructed: u64,
    /// Objects destroyed.
    pub destroyed: u64,
    /// Objects moved from one cell to another.
    pub relocated: u64,
    /// Objects constructed in foreign memory.
    pub foreign: u64,
    /// Bits of init bitmaps corrected after NumPy moved bytes raw.
    pub reconciled: u64,
    /// Of `live`: objects lent to foreign memory by [`Api::touch`] and [`Api::store`].
    pub lent: u64,
    /// How often [`Api::peek`] met a raw copy whose original is gone or has another value.
    pub stale: u64,
}

/// The function table. Members are appended, never moved.
///
/// All functions need the GIL except [`Api::segment_of`]. Those that return a [`Status`] or a
/// pointer to a Python object set a Python exception when they fail.
#[repr(C)]
pub struct Api {
    /// Bytes of this struct that the runtime filled.
    pub struct_size: usize,
    /// [`super::ABI_VERSION`] of the runtime.
    pub abi_version: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// Version of the runtime, as text.
    pub runtime_version: *const c_char,

    /// Registers a type and adds its scalar class as `Name` and its DType class as `NameDType`
    /// to `module`. Writes the handle of the type.
    ///
    /// What is wrong with the spec is found before NumPy hears of the type: then the failure leaves
    /// nothing behind, the name is free, `*element` is NULL, and the client may free all that the
    /// spec refers to. A failure after NumPy has the type's DType class cannot be undone: `*element`
    /// is not NULL then, the type can neither be used nor registered again in this process, and its
    /// functions and contexts stay, as those of a registered type.
    pub register_element: unsafe extern "C" fn(
        spec: *const ElementSpec,
        module: *mut PyObject,
        element: *mut *const Element,
    ) -> Status,
    /// Finds a registered type by its full name, after comparing cell size, alignment and (where
    /// not NULL) language name. NULL with an exception set where there is none or it differs. A
    /// client that has objects of the type asks [`Api::import_element`].
    pub find_element: unsafe extern "C" fn(
        name: *const c_char,
        size: usize,
        align: usize,
        language_name: *const c_char,
    ) -> *const Element,
    /// The dtype (descriptor) of a type: a new reference.
    pub dtype: unsafe extern "C" fn(element: *const Element) -> *mut PyObject,
    /// A new array of `shape`, every cell the default value: a new reference.
    pub empty: unsafe extern "C" fn(
        element: *const Element,
        dimension_count: usize,
        shape: *const isize,
    ) -> *mut PyObject,
    /// A new array over `data` (inline types only), without a copy: a new reference. `release`
    /// is called once with `owner` when the last view is gone, or at once on failure.
    pub adopt: unsafe extern "C" fn(
        element: *const Element,
        data: *mut u8,
        dimension_count: usize,
        shape: *const isize,
        strides: *const isize,
        owner: *mut c_void,
        release: Option<unsafe extern "C" fn(owner: *mut c_void)>,
        flags: u32,
    ) -> *mut PyObject,
    /// Lends the cells of an array of exactly this type. Vacant cells are filled with the
    /// default value first.
    pub view: unsafe extern "C" fn(
        array: *mut PyObject,
        element: *const Element,
        flags: ViewFlags,
        view: *mut View,
    ) -> Status,
    /// Ends a view. Idempotent.
    pub release_view: unsafe extern "C" fn(view: *mut View),
    /// Reads a type's counters.
    pub stats: unsafe extern "C" fn(element: *const Element, stats: *mut Stats) -> Status,
    /// The first cell of the segment that holds `pointer`, or NULL for foreign memory. Callable
    /// without the GIL.
    pub segment_of: unsafe extern "C" fn(pointer: *const c_void) -> *mut c_void,
    /// Turns a failure of a client's own function into a Python exception.
    pub raise: unsafe extern "C" fn(error_out: *const ErrorOut),

    /// Registers a type that gets no NumPy dtype of ours: for a legacy dtype whose arrays are made
    /// in handler mode. Its cells in NumPy arrays have [`CELL_SIZE`] bytes (the itemsize), which
    /// name an object of the type's own size and alignment; `zero_bytes` is
    /// [`super::ZERO_NO_PROMISE`], and trivial relocation is not asked for. `module` (may be NULL) is named where the name is taken.
    pub register_type: unsafe extern "C" fn(
        vtable: *const ElementVTable,
        module: *mut PyObject,
        element: *mut *const Element,
    ) -> Status,
    /// The object of the cell at `pointer`, to be changed: default-constructed where there is
    /// none, the cell's own where NumPy copied the cell's bytes. Touch the cells that an operation
    /// writes before those that it reads. The address is good until NumPy is called again.
    ///
    /// Fails where the type has no default, where the memory holds another type, and where no cell
    /// begins there.
    pub touch: unsafe extern "C" fn(
        pointer: *mut c_void,
        element: *const Element,
        object: *mut *mut c_void,
    ) -> Status,
    /// The object of the cell at `pointer`, to be read, or NULL where there is none, which means
    /// the type's default. Builds nothing. [`STALE`] with NULL: the cell is a raw copy that NumPy
    /// made of another one, whose object is gone or has another value by now.
    pub peek: unsafe extern "C" fn(
        pointer: *const c_void,
        element: *const Element,
        object: *mut *const c_void,
    ) -> Status,
    /// Copies `object`, of the type, into the cell at `pointer`: assigned where there is an object,
    /// else copy-constructed.
    pub store: unsafe extern "C" fn(
        pointer: *mut c_void,
        element: *const Element,
        object: *const c_void,
    ) -> Status,
    /// Makes the cell at `pointer` vacant; its object is destroyed.
    pub vacate: unsafe extern "C" fn(pointer: *mut c_void, element: *const Element) -> Status,
    /// Destroys the objects that are lent to foreign memory (NumPy's buffers), of one type or (NULL)
    /// of all, and returns how many. Call it while no operation on the type is at work. Without it
    /// at most [`LENT_LIMIT`] of a type stay, those used last.
    pub sweep: unsafe extern "C" fn(element: *const Element) -> usize,

    /// Finds the registered type of the name in `expected`, for a client that has the same type of
    /// its own: after comparing all that says what a cell and an object look like. These are size,
    /// alignment, storage, meaning of zero bytes and vacancy bytes of the cell, `object_size` and
    /// `object_align` where both sides tell them, and the language name where both have one. Other
    /// members are not looked at. NULL with an exception set: `LookupError` where there is no such
    /// type, `TypeError` where it differs, naming both values. Since 1.2.
    pub import_element: unsafe extern "C" fn(expected: *const ElementVTable) -> *const Element,
}
