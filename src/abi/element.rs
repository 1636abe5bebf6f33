//! Element types as a client describes them: the vtable, loops, casts and identities.
//!
//! # Cells
//! A cell is the storage of one element in an array. The functions of [`ElementVTable`] that
//! build or end objects work on *batches* of cells whose state the caller knows (all live or all
//! vacant). All others ([`Loop`], [`Cast`], conversions) work on cells as NumPy hands them out:
//! a cell whose vacancy bytes are all zero is vacant and reads as the default value, anything
//! else is a live object; an output cell may be either, and may be an input cell too.

use super::{ErrorOut, PyObject, Sink, Status};
use std::ffi::{c_char, c_void};

/// What a cell of zero bytes means.
pub type ZeroBytes = u32;
/// No promise: only the init bitmap tells. Such a type lives in the core and in handler mode,
/// not in NumPy arrays.
pub const ZERO_NO_PROMISE: ZeroBytes = 0;
/// A live object never has all vacancy bytes zero: zero means vacant.
pub const ZERO_VACANT: ZeroBytes = 1;
/// Zero bytes are a valid default value with nothing to destroy.
pub const ZERO_DEFAULT: ZeroBytes = 2;

/// How an object sits in its cell.
pub type Storage = u32;
/// The cell is exactly T.
pub const STORAGE_INLINE: Storage = 0;
/// The cell is T and a tag; tag 0 is vacant.
pub const STORAGE_TAGGED: Storage = 1;
/// The cell is one owning pointer to T.
pub const STORAGE_BOXED: Storage = 2;

/// Bits of [`ElementVTable::flags`].
pub type ElementFlags = u32;
/// Cells may be moved with memcpy. Every cell in a NumPy array must.
pub const ELEMENT_TRIVIALLY_RELOCATABLE: ElementFlags = 1;
/// Objects may be used from several threads, one writer or many readers each (`Send + Sync`):
/// loops run without the GIL. Without it they hold it.
pub const ELEMENT_THREAD_SAFE: ElementFlags = 2;
/// Destruction needs the GIL.
pub const ELEMENT_DESTROY_NEEDS_GIL: ElementFlags = 4;

/// Builds default objects in `count` vacant cells. Sets `error_out.done` on failure; cells before
/// it are live, the others vacant.
pub type ConstructFn = unsafe extern "C" fn(
    context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status;

/// Copies `count` live objects from `source` to `destination`, strictly in order; whether the
/// destination is vacant or live depends on the member. A destination may be a source cell that
/// was copied before it, never one that comes later. Sets `error_out.done` on failure; cells before
/// it are done, the others as they were.
///
/// With [`ZERO_DEFAULT`] a cell of zero bytes counts as live here, in `assign` and in `destroy`.
pub type CopyFn = unsafe extern "C" fn(
    context: *mut c_void,
    destination: *mut u8,
    destination_stride: isize,
    source: *const u8,
    source_stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status;

/// Moves `count` live objects from `source` to vacant cells at `destination`; the source cells
/// are vacant afterwards (their bytes are the caller's). Ranges do not overlap. Sets
/// `error_out.done` on failure; cells before it have moved.
pub type RelocateFn = unsafe extern "C" fn(
    context: *mut c_void,
    destination: *mut u8,
    destination_stride: isize,
    source: *mut u8,
    source_stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status;

/// Destroys `count` live objects, all of them even where a destructor fails; a failure is then
/// reported. The bytes are the caller's afterwards.
pub type DestroyFn = unsafe extern "C" fn(
    context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status;

/// Three-way comparison of two cells: writes -1, 0 or 1, a total order. Values that compare with
/// nothing (NaN) sort last.
pub type CompareFn = unsafe extern "C" fn(
    context: *mut c_void,
    left: *const u8,
    right: *const u8,
    result: *mut i32,
    error_out: *mut ErrorOut,
) -> Status;

/// Sorts `count` contiguous cells in place, stably, in the order of [`CompareFn`]. Whatever
/// happens, the cells afterwards are a permutation of the cells before.
pub type SortFn = unsafe extern "C" fn(
    context: *mut c_void,
    cells: *mut u8,
    count: usize,
    error_out: *mut ErrorOut,
) -> Status;

/// Permutes `count` indices (already 0, 1, ..) so that they sort the cells stably.
pub type ArgsortFn = unsafe extern "C" fn(
    context: *mut c_void,
    cells: *const u8,
    stride: isize,
    count: usize,
    indices: *mut isize,
    error_out: *mut ErrorOut,
) -> Status;

/// Writes 1 where the value is true in the sense of Python's `bool`, else 0.
pub type NonzeroFn = unsafe extern "C" fn(
    context: *mut c_void,
    cells: *const u8,
    stride: isize,
    count: usize,
    results: *mut u8,
    result_stride: isize,
    error_out: *mut ErrorOut,
) -> Status;

/// Adds up the heap bytes that `count` objects own beside their cells.
pub type HeapBytesFn = unsafe extern "C" fn(
    context: *mut c_void,
    cells: *const u8,
    stride: isize,
    count: usize,
    bytes: *mut usize,
) -> Status;

/// Writes the hash of one value, equal for equal values. It must agree with the hash of the
/// Python scalar.
pub type HashFn = unsafe extern "C" fn(
    context: *mut c_void,
    cell: *const u8,
    hash: *mut i64,
    error_out: *mut ErrorOut,
) -> Status;

/// Writes one value as text or as bytes of the codec.
pub type SaveFn = unsafe extern "C" fn(
    context: *mut c_void,
    cell: *const u8,
    sink: *mut Sink,
    error_out: *mut ErrorOut,
) -> Status;

/// Reads one value from text (UTF-8) or from bytes of the codec into a cell that may be live.
/// All bytes must be used. On failure the cell is as it was. The bytes may be anything: a pickle that
/// was changed by other code is passed on as it is.
pub type LoadFn = unsafe extern "C" fn(
    context: *mut c_void,
    cell: *mut u8,
    bytes: *const u8,
    size: usize,
    error_out: *mut ErrorOut,
) -> Status;

/// Makes the Python scalar of one value: a new reference, or NULL with an exception set or the
/// [`ErrorOut`] filled (`error_out.kind` and a message). GIL held.
pub type ToPythonFn = unsafe extern "C" fn(
    context: *mut c_void,
    cell: *const u8,
    error_out: *mut ErrorOut,
) -> *mut PyObject;

/// Reads a Python object (borrowed) into a cell that may be live. On failure ([`super::FAILED`]
/// or [`super::RAISED`]) the cell is as it was. GIL held.
pub type FromPythonFn = unsafe extern "C" fn(
    context: *mut c_void,
    cell: *mut u8,
    object: *mut PyObject,
    error_out: *mut ErrorOut,
) -> Status;

/// Visits the Python objects that one value refers to. Reserved: the runtime does not call it
/// yet.
pub type TraverseFn = unsafe extern "C" fn(
    context: *mut c_void,
    cell: *const u8,
    visit: Option<unsafe extern "C" fn(object: *mut PyObject, argument: *mut c_void) -> i32>,
    argument: *mut c_void,
) -> i32;

/// The operations of one element type.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ElementVTable {
    /// Bytes of this struct that the client filled.
    pub struct_size: usize,
    /// [`super::ABI_VERSION`] of the client.
    pub abi_version: u32,
    /// [`ElementFlags`].
    pub flags: ElementFlags,
    /// The type's name, `module.Name`, UTF-8.
    pub name: *const c_char,
    /// The name of the type in its own language, for checks when it is imported elsewhere.
    pub language_name: *const c_char,
    /// Bytes of one cell; at least 1, a multiple of `align`.
    pub size: usize,
    /// Alignment of a cell, a power of two up to 4096; in NumPy arrays up to 16.
    pub align: usize,
    /// How the object sits in the cell.
    pub storage: Storage,
    /// What zero bytes mean.
    pub zero_bytes: ZeroBytes,
    /// First vacancy byte in the cell (tagged: the tag; else 0).
    pub vacancy_offset: usize,
    /// How many vacancy bytes (tagged: the tag's size; else `size`).
    pub vacancy_size: usize,
    /// Handed to every function below.
    pub context: *mut c_void,

    /// Default construction; NULL: T has no default.
    pub construct: Option<ConstructFn>,
    /// Copy construction into vacant cells; NULL: T cannot be copied.
    pub copy_construct: Option<CopyFn>,
    /// Copy assignment to live cells, reusing their storage; NULL: destroy and copy-construct.
    pub assign: Option<CopyFn>,
    /// Relocation; NULL: memcpy.
    pub relocate: Option<RelocateFn>,
    /// Destruction; NULL: nothing to do.
    pub destroy: Option<DestroyFn>,

    /// Three-way comparison; NULL: T has no ordering.
    pub compare: Option<CompareFn>,
    /// Sort; NULL: made from `compare`.
    pub sort: Option<SortFn>,
    /// Argsort; NULL: made from `compare`.
    pub argsort: Option<ArgsortFn>,
    /// Truth; NULL: refused.
    pub nonzero: Option<NonzeroFn>,
    /// Hash; NULL: the scalar is unhashable.
    pub hash: Option<HashFn>,
    /// Owned heap bytes; NULL: unknown.
    pub heap_bytes: Option<HeapBytesFn>,
    /// Text; NULL: `<module.Name>`.
    pub to_text: Option<SaveFn>,
    /// Value from text; NULL: strings are refused.
    pub from_text: Option<LoadFn>,
    /// Codec for pickle; NULL: text where T has both directions, else refused.
    pub save: Option<SaveFn>,
    /// The other direction of `save`, which also gets bytes that no `save` made.
    pub load: Option<LoadFn>,
    /// Python scalar; NULL: the scalar class that the runtime makes.
    pub to_python: Option<ToPythonFn>,
    /// From a Python object; NULL: only scalars of the class, and text where T reads it.
    pub from_python: Option<FromPythonFn>,
    /// Reserved.
    pub traverse: Option<TraverseFn>,

    /// `sizeof(T)`, of the object itself, however it sits in its cell. Two modules that share a type
    /// must agree on it ([`super::Api::import_element`]). Since 1.2.
    pub object_size: usize,
    /// `alignof(T)`; 0: it and `object_size` are not told, as in clients before 1.2.
    pub object_align: usize,
}

/// The type of one operand of a loop or cast.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Operand {
    /// [`OPERAND_SELF`], [`OPERAND_NUMPY`] or [`OPERAND_ELEMENT`].
    pub kind: u32,
    /// NumPy's type number (`NPY_DOUBLE` = 12, ..), with `OPERAND_NUMPY`.
    pub numpy_type: i32,
    /// Another registered type, with `OPERAND_ELEMENT`.
    pub element: *const Element,
}
/// The element type being registered.
pub const OPERAND_SELF: u32 = 0;
/// A built-in NumPy type.
pub const OPERAND_NUMPY: u32 = 1;
/// Another element type.
pub const OPERAND_ELEMENT: u32 = 2;

/// A registered element type, opaque to clients.
#[repr(C)]
pub struct Element {
    _opaque: [u8; 0],
    _marker: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// An inner loop in NumPy's convention: `dimensions[0]` is the number of iterations, core
/// dimensions of a generalised ufunc follow; `arguments` and `strides` have one entry an
/// operand, core strides follow. Data of built-in types may be unaligned; cells of element types
/// are aligned. Sets `error_out.done` on failure: outputs before it are written.
pub type LoopFn = unsafe extern "C" fn(
    context: *mut c_void,
    arguments: *const *mut u8,
    dimensions: *const isize,
    strides: *const isize,
    error_out: *mut ErrorOut,
) -> Status;

/// One loop of one ufunc.
///
/// Without a function, and with operands that are all numbers of NumPy: NumPy's own loop for
/// these numbers, to which operands of the type are cast (within the kind, so the type needs such a
/// cast). Wider floats and complex numbers beside them, or as the type that a caller fixes, take
/// NumPy's loop for those.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Loop {
    /// Bytes of this struct.
    pub struct_size: usize,
    /// Name of the ufunc in `numpy`, or `module:name` elsewhere.
    pub ufunc: *const c_char,
    /// `input_count + output_count` operands.
    pub operands: *const Operand,
    /// How many inputs.
    pub input_count: u32,
    /// How many outputs.
    pub output_count: u32,
    /// The function, or NULL.
    pub function: Option<LoopFn>,
    /// Handed to it.
    pub context: *mut c_void,
    /// Reserved, 0.
    pub flags: u64,
}

/// NumPy's casting levels.
pub type CastLevel = u32;
/// Every value survives.
pub const CAST_SAFE: CastLevel = 2;
/// Within a kind.
pub const CAST_SAME_KIND: CastLevel = 3;
/// Only on request.
pub const CAST_UNSAFE: CastLevel = 4;

/// One cast: a loop with one input and one output. One of the two operands is the type itself.
///
/// From the casts of `int64`, `uint64` and `float64` the runtime makes those of the other widths
/// where none is given.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Cast {
    /// Bytes of this struct.
    pub struct_size: usize,
    /// Source type.
    pub from: Operand,
    /// Target type.
    pub to: Operand,
    /// NumPy's casting level.
    pub level: CastLevel,
    /// Reserved, 0.
    pub flags: u32,
    /// The function.
    pub function: LoopFn,
    /// Handed to it.
    pub context: *mut c_void,
}

/// The value that a reduction of a ufunc starts from (also its result for no elements).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Identity {
    /// Bytes of this struct.
    pub struct_size: usize,
    /// Name of the ufunc.
    pub ufunc: *const c_char,
    /// Builds the value in one vacant cell.
    pub construct: ConstructFn,
    /// Handed to it.
    pub context: *mut c_void,
}

/// Everything about one type, for registration. Nothing in it needs to outlive the call but the
/// functions and their contexts.
///
/// Functions, and contexts that are a library's own data, keep that library in the process for good:
/// the runtime pins it, and `dlclose` does not unload it any more. Functions in no library (code made
/// at run time, closures of libffi) and contexts on a heap are the client's to keep.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ElementSpec {
    /// Bytes of this struct.
    pub struct_size: usize,
    /// The operations.
    pub vtable: *const ElementVTable,
    /// Loops, `loop_count` of them.
    pub loops: *const Loop,
    /// How many loops.
    pub loop_count: usize,
    /// Casts, `cast_count` of them.
    pub casts: *const Cast,
    /// How many casts.
    pub cast_count: usize,
    /// Identities, `identity_count` of them.
    pub identities: *const Identity,
    /// How many identities.
    pub identity_count: usize,
    /// The scalar class (borrowed), or NULL: the runtime makes one.
    pub scalar_class: *mut PyObject,
    /// Documentation of the scalar class, or NULL.
    pub documentation: *const c_char,
}
