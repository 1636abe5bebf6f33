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
//! | complex | never | | | complex | float64 | `L`, complex64 `>=` same kind |
//!
//! That is what NumPy says of `int64`, `uint64` and `float64` themselves, except that a value
//! that does not fit is an error here, not another value. Text is in [`super::text_casts`];
//! objects go through getitem and setitem, which NumPy does by itself.

use super::{
    DType,
    access::{self, BLOCK, Run},
    class, errors,
    numbers::{self, CHUNK, Chunk, Family, NUMBERS, Number, Values, Wide},
    register::{self, OperandType, builtin_class, immortal_head},
    text_casts::{self, TextForm},
    within,
};
use crate::{
    abi::{self, Cast, CastLevel, LoopFn, Report},
    erased::{ElementType, Failure, rules},
    numpy_abi::{
        NpyAuxData, NumpyApi, PyArray_DTypeMeta, PyArray_Descr, PyArrayMethod_Context,
        PyArrayMethod_Spec, callbacks::StridedLoop, flags::*, slots,
    },
};
use pyo3::{exceptions::PyValueError, ffi, prelude::*};
use std::{
    collections::HashMap,
    ffi::{CString, c_char, c_int, c_void},
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
    /// NumPy's casting level.
    pub(super) level: CastLevel,
    route: Route,
}

// SAFETY: written once, before anybody else sees it; the client's function and context may be
// used from any thread that the type's flags allow, the rest is plain or immortal.
unsafe impl Send for CastEntry {}
// SAFETY: as above.
unsafe impl Sync for CastEntry {}

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

/// The casts of a type that is being registered, as NumPy wants them.
pub(super) struct CastSpecs {
    entries: Vec<&'static CastEntry>,
    dtypes: Vec<[*mut PyArray_DTypeMeta; 2]>,
    slots: Vec<Vec<ffi::PyType_Slot>>,
    specs: Vec<PyArrayMethod_Spec>,
}

impl CastSpecs {
    /// All casts that the client's list and the vtable's capabilities make possible.
    ///
    /// # Errors
    /// `ValueError` for a cast that does not have the type at exactly one end, that is given
    /// twice, whose level is unknown, or that is with a type that is not registered or no number.
    pub fn new(
        numpy: &'static NumpyApi,
        element: &'static ElementType,
        list: &[Cast],
    ) -> PyResult<CastSpecs> {
        // SAFETY: registration holds the GIL.
        let py = unsafe { Python::assume_attached() };
        let given = Given::read(element, list)?;
        let mut entries: Vec<&'static CastEntry> = Vec::new();
        let mut add = |name: &str, ends: [End; 2], level, route| {
            let elements = ends.map(|end| match end {
                End::Own => Some(element),
                End::Other(dtype) => Some(dtype.element()),
                End::Numpy(_) => None,
            });
            let name = CString::new(name).unwrap_or_default();
            entries.push(Box::leak(Box::new(CastEntry {
                head: immortal_head(),
                name,
                ends,
                elements,
                level,
                route,
            })));
        };
        for number in &NUMBERS {
            let builtin = End::Numpy(builtin_class(py, numpy, number.type_number)?);
            if let Some((level, route)) = given.towards_self(number) {
                let name = format!("denizen_from_{}", number.name);
                add(&name, [builtin, End::Own], level, route);
            }
            if let Some((level, route)) = given.away_from_self(element, number) {
                let name = format!("denizen_to_{}", number.name);
                add(&name, [End::Own, builtin], level, route);
            }
        }
        for (other, to_self, level, client) in given.elements {
            let ends = [End::Other(other), End::Own];
            let ends = if to_self { ends } else { [ends[1], ends[0]] };
            add("denizen_convert", ends, level, Route::Direct(client));
        }
        for text in [numpy.unicode_dtype(), numpy.bytes_dtype()] {
            if element.vtable().from_text.is_some() {
                let ends = [End::Numpy(text), End::Own];
                add("denizen_from_text", ends, abi::CAST_UNSAFE, Route::FromText);
            }
            if element.vtable().to_text.is_some() {
                let ends = [End::Own, End::Numpy(text)];
                add("denizen_to_text", ends, abi::CAST_SAME_KIND, Route::ToText);
            }
        }
        Ok(Self::assemble(entries))
    }

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
                let mut list = vec![slots::method::get_loop(get_loop)];
                match entry.route {
                    Route::FromText => {
                        list.push(slots::method::resolve_descriptors(text_casts::resolve_from_text))
                    }
                    Route::ToText => {
                        list.push(slots::method::resolve_descriptors(text_casts::resolve_to_text));
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

/// What the client gave, sorted.
struct Given {
    name: String,
    /// By number type and direction (`true`: to our type).
    numbers: Vec<(&'static Number, bool, CastLevel, Client)>,
    elements: Vec<(&'static DType, bool, CastLevel, Client)>,
}

impl Given {
    fn read(element: &'static ElementType, list: &[Cast]) -> PyResult<Given> {
        let mut given =
            Given { name: element.name().to_owned(), numbers: Vec::new(), elements: Vec::new() };
        for cast in list {
            let to_self = cast.to.kind == abi::OPERAND_SELF;
            let other = if to_self { cast.from } else { cast.to };
            let own = if to_self { cast.to } else { cast.from };
            if own.kind != abi::OPERAND_SELF || other.kind == abi::OPERAND_SELF {
                return Err(given.refuse("a cast has the type itself at exactly one end"));
            }
            if !(abi::CAST_SAFE..=abi::CAST_UNSAFE).contains(&cast.level) {
                return Err(given.refuse(&format!("{} is no casting level", cast.level)));
            }
            let client = Client { function: cast.function, context: cast.context };
            let twice = match other_type(element, &other)? {
                OperandType::Element(dtype) => {
                    let taken = given.elements.iter().any(|(known, direction, ..)| {
                        ptr::eq(*known, dtype) && *direction == to_self
                    }) || known_already(dtype, element, to_self);
                    given.elements.push((dtype, to_self, cast.level, client));
                    taken
                }
                OperandType::Numpy(type_number) => {
                    let number = numbers::number(type_number).ok_or_else(|| {
                        given.refuse(&format!(
                            "a cast with NumPy's type number {type_number}, which is no number"
                        ))
                    })?;
                    let taken = given.numbers.iter().any(|(known, direction, ..)| {
                        known.type_number == number.type_number && *direction == to_self
                    });
                    given.numbers.push((number, to_self, cast.level, client));
                    taken
                }
            };
            if twice {
                return Err(given.refuse("a cast is given twice"));
            }
        }
        Ok(given)
    }

    fn refuse(&self, why: &str) -> PyErr {
        PyValueError::new_err(format!("{}: {why}", self.name))
    }

    /// The client's cast with that very type, else with one of the same bytes.
    fn exact(&self, number: &Number, to_self: bool) -> Option<(CastLevel, Client)> {
        let same = |wanted: &dyn Fn(&Number) -> bool| {
            self.numbers
                .iter()
                .find(|(known, direction, ..)| *direction == to_self && wanted(known))
                .map(|&(_, _, level, client)| (level, client))
        };
        same(&|known| known == number).or_else(|| same(&|known| known.is_same_as(number)))
    }

    /// The client's cast with one of the three wide types.
    fn wide(&self, wide: Wide, to_self: bool) -> Option<(CastLevel, Client)> {
        let type_number = match wide {
            Wide::I64 => NPY_LONG,
            Wide::U64 => NPY_ULONG,
            Wide::F64 => NPY_DOUBLE,
        };
        self.exact(numbers::number(type_number)?, to_self)
    }

    /// The first of the ways that the client's casts allow.
    fn through(
        &self,
        to_self: bool,
        ways: &[(Wide, CastLevel)],
    ) -> Option<(CastLevel, Wide, Client)> {
        ways.iter().find_map(|&(wide, least)| {
            let (level, client) = self.wide(wide, to_self)?;
            Some((level.max(least), wide, client))
        })
    }

    fn towards_self(&self, number: &'static Number) -> Option<(CastLevel, Route)> {
        if let Some((level, client)) = self.exact(number, true) {
            return Some((level, Route::Direct(client)));
        }
        use Wide::{F64, I64, U64};
        const ANY: CastLevel = abi::CAST_SAFE;
        const KIND: CastLevel = abi::CAST_SAME_KIND;
        const UNSAFE: CastLevel = abi::CAST_UNSAFE;
        let ways: &[(Wide, CastLevel)] = match (number.family, number.size) {
            (Family::Bool, _) => &[(I64, ANY), (U64, ANY), (F64, ANY)],
            (Family::Signed, 8) => &[(U64, KIND), (F64, KIND)],
            (Family::Signed, _) => &[(I64, ANY), (F64, ANY), (U64, KIND)],
            (Family::Unsigned, 8) => &[(I64, KIND), (F64, KIND)],
            (Family::Unsigned, _) => &[(I64, ANY), (U64, ANY), (F64, ANY)],
            (Family::Float, 2 | 4) => &[(F64, ANY)],
            (Family::Float, 16) => &[(F64, UNSAFE)],
            _ => &[],
        };
        let (level, wide, client) = self.through(true, ways)?;
        Some((level, Route::Widened(number, wide, client)))
    }

    fn away_from_self(
        &self,
        element: &ElementType,
        number: &'static Number,
    ) -> Option<(CastLevel, Route)> {
        if let Some((level, client)) = self.exact(number, false) {
            return Some((level, Route::Direct(client)));
        }
        use Wide::{F64, I64, U64};
        const ANY: CastLevel = abi::CAST_SAFE;
        const KIND: CastLevel = abi::CAST_SAME_KIND;
        const UNSAFE: CastLevel = abi::CAST_UNSAFE;
        let ways: &[(Wide, CastLevel)] = match (number.family, number.size) {
            (Family::Bool, _) => {
                element.vtable().nonzero?;
                return Some((UNSAFE, Route::Truth));
            }
            (Family::Signed, _) => &[(I64, KIND), (U64, KIND), (F64, UNSAFE)],
            (Family::Unsigned, _) => &[(U64, KIND), (I64, UNSAFE), (F64, UNSAFE)],
            (Family::Float, 16) => &[(F64, ANY)],
            (Family::Float, _) => &[(F64, KIND)],
            (Family::Complex, 8) => &[(F64, KIND)],
            (Family::Complex, _) => &[(F64, ANY)],
        };
        let (level, wide, client) = self.through(false, ways)?;
        Some((level, Route::Narrowed(number, wide, client)))
    }
}

/// The type at the other end of a cast.
fn other_type(element: &ElementType, other: &abi::Operand) -> PyResult<OperandType> {
    if other.kind == abi::OPERAND_NUMPY {
        return Ok(OperandType::Numpy(other.numpy_type));
    }
    register::dtype_of(other.element).map(OperandType::Element).ok_or_else(|| {
        PyValueError::new_err(format!(
            "{}: a cast is with an element type that is not registered",
            element.name()
        ))
    })
}

/// Whether the other type brought a cast with a type of this element already. It cannot: this one
/// was not registered when the other was.
fn known_already(other: &DType, element: &'static ElementType, to_self: bool) -> bool {
    let casts = CASTS.read().unwrap_or_else(|poisoned| poisoned.into_inner());
    casts.values().any(|entry| {
        let wanted = [other.element(), element];
        let wanted = if to_self { wanted } else { [wanted[1], wanted[0]] };
        entry
            .elements
            .iter()
            .zip(wanted)
            .all(|(known, wanted)| known.is_some_and(|known| ptr::eq(known, wanted)))
    })
}

impl CastEntry {
    /// Whether the cast may run without the GIL.
    fn is_free(&self, moves: bool) -> bool {
        self.elements.iter().enumerate().all(|(index, element)| {
            element.is_none_or(|element| {
                // The output's old objects end here, and the input's where they are moved.
                let destroys = index == 1 || moves;
                element.is_thread_safe() && !(destroys && element.destroy_needs_gil())
            })
        })
    }

    /// Casts a whole run, with locks and ledger; afterwards the source cells are vacant where
    /// NumPy gave them away.
    ///
    /// # Safety
    /// Cells or values of the cast's types, as NumPy hands them to a loop.
    unsafe fn run(&self, form: TextForm, to: Run, from: Run, moves: bool) -> Result<(), Failure> {
        let operands = [
            self.elements[1].map(|element| (element, to)),
            self.elements[0].map(|element| (element, from)),
        ];
        access::with_operands(operands, |[segment, source_segment]| {
            let converted = blocks(to.count, |start, count| {
                let (to, from) = (to.part(start, count), from.part(start, count));
                let Some(element) = self.elements[1] else {
                    // SAFETY: the caller's promise.
                    return unsafe { self.block(form, to, from) };
                };
                // SAFETY: the caller's promise; the segment is locked or the GIL held.
                unsafe { access::with_ledger(element, segment, to, || self.block(form, to, from)) }
            });
            let Some(element) = self.elements[0].filter(|_| moves) else {
                return converted;
            };
            // Whatever became of the cast, the source is not NumPy's to clear any more.
            let cleared = blocks(from.count, |start, count| {
                let from = from.part(start, count);
                // SAFETY: as above; NumPy gave the source cells away.
                unsafe {
                    access::with_ledger(element, source_segment, from, || {
                        within::aligned(element, from, |cells| rules::clear(element, cells))
                    })
                }
            });
            converted.and(cleared)
        })
    }

    /// Casts a block: all at once where the cells are aligned, else one by one.
    ///
    /// # Safety
    /// As for [`Self::run`]; the cells are exclusively this thread's or only read.
    unsafe fn block(&self, form: TextForm, to: Run, from: Run) -> Result<(), Failure> {
        let aligned = |index: usize, run: Run| {
            self.elements[index].is_none_or(|element| within::is_aligned(element, run))
        };
        if aligned(0, from) && aligned(1, to) {
            // SAFETY: the caller's promise.
            return unsafe { self.convert(form, to, from) };
        }
        for index in 0..to.count {
            let (to, from) = (to.part(index, 1), from.part(index, 1));
            // SAFETY: the caller's promise, cell by cell; both visit aligned memory.
            unsafe {
                visit(self.elements[0], from, |from| {
                    visit(self.elements[1], to, |to| self.convert(form, to, from))
                })
            }
            .map_err(|failure| failure.after(index))?;
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Self::block`], and cells are aligned.
    unsafe fn convert(&self, form: TextForm, to: Run, from: Run) -> Result<(), Failure> {
        match self.route {
            // SAFETY: the caller's promise.
            Route::Direct(client) => unsafe { client.call(to, from) },
            Route::Widened(number, wide, client) => {
                let mut chunk = Chunk([0; CHUNK]);
                chunks(to.count, |start, count| {
                    let values = values(from.part(start, count));
                    // SAFETY: the caller's promise.
                    let widened =
                        unsafe { numbers::widen(number, wide, values, count, &mut chunk) };
                    // What came before a refused value is converted all the same.
                    let ready = widened.as_ref().map_or_else(|failure| failure.done, |()| count);
                    let source = Run::read(chunk.as_mut_ptr(), 8, ready);
                    // SAFETY: the caller's promise; `ready` wide values are on the stack.
                    unsafe { client.call(to.part(start, ready), source) }?;
                    widened
                })
            }
            Route::Narrowed(number, wide, client) => {
                let mut chunk = Chunk([0; CHUNK]);
                chunks(to.count, |start, count| {
                    let target = Run::write(chunk.as_mut_ptr(), 8, count);
                    // SAFETY: the caller's promise; there is room for `count` wide values.
                    let called = unsafe { client.call(target, from.part(start, count)) };
                    let ready = called.as_ref().map_or_else(|failure| failure.done, |()| count);
                    let values = values(to.part(start, count));
                    // SAFETY: the caller's promise.
                    unsafe { numbers::narrow(number, wide, values, ready.min(count), &chunk) }?;
                    called
                })
            }
            Route::Truth => {
                let Some((element, nonzero)) =
                    self.elements[0].and_then(|element| Some((element, element.vtable().nonzero?)))
                else {
                    return Err(Failure::new(abi::ERROR_TYPE, "the type has no truth"));
                };
                let mut report = Report::new();
                // SAFETY: the vtable's contract and the caller's promise.
                let status = unsafe {
                    nonzero(
                        element.vtable().context,
                        from.data,
                        from.stride,
                        from.count,
                        to.data,
                        to.stride,
                        &mut report,
                    )
                };
                Failure::check(status, &report)
            }
            Route::FromText => match self.elements[1] {
                // SAFETY: the caller's promise.
                Some(element) => unsafe { text_casts::from_text(element, form, to, from) },
                None => Ok(()),
            },
            Route::ToText => match self.elements[0] {
                // SAFETY: the caller's promise.
                Some(element) => unsafe { text_casts::to_text(element, form, to, from) },
                None => Ok(()),
            },
        }
    }
}

impl Client {
    /// # Safety
    /// Runs of the client's two types and of one length, cells aligned.
    unsafe fn call(&self, to: Run, from: Run) -> Result<(), Failure> {
        debug_assert_eq!(to.count, from.count);
        if to.count == 0 {
            return Ok(());
        }
        let mut report = Report::new();
        let arguments = [from.data, to.data];
        let dimensions = [to.count as isize];
        let strides = [from.stride, to.stride];
        // SAFETY: the client's contract and the caller's promise.
        let status = unsafe {
            (self.function)(
                self.context,
                arguments.as_ptr(),
                dimensions.as_ptr(),
                strides.as_ptr(),
                &mut report,
            )
        };
        Failure::check(status, &report)
    }
}

fn values(run: Run) -> Values {
    Values { data: run.data, stride: run.stride }
}

/// Cuts a length into blocks of at most [`BLOCK`].
fn blocks(
    length: usize,
    body: impl FnMut(usize, usize) -> Result<(), Failure>,
) -> Result<(), Failure> {
    pieces::<BLOCK>(length, body)
}

/// Cuts a length into what fits a [`Chunk`].
fn chunks(
    length: usize,
    body: impl FnMut(usize, usize) -> Result<(), Failure>,
) -> Result<(), Failure> {
    pieces::<CHUNK>(length, body)
}

fn pieces<const SIZE: usize>(
    length: usize,
    mut body: impl FnMut(usize, usize) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut start = 0;
    while start < length {
        let count = (length - start).min(SIZE);
        body(start, count).map_err(|failure| failure.after(start))?;
        start += count;
    }
    Ok(())
}

/// Lends one cell at an aligned address, or one value of a built-in type as it is.
///
/// # Safety
/// `run` is one cell or value, exclusively this thread's or only read by `work`.
unsafe fn visit(
    element: Option<&'static ElementType>,
    run: Run,
    work: impl FnOnce(Run) -> Result<(), Failure>,
) -> Result<(), Failure> {
    match element {
        None => work(run),
        // SAFETY: the caller's promise.
        Some(element) => unsafe {
            within::with_aligned_cell(element, run.data, |data| work(Run { data, ..run }))
        },
    }
}

unsafe extern "C" fn get_loop(
    context: *mut PyArrayMethod_Context,
    _aligned: c_int,
    move_references: c_int,
    _strides: *const isize,
    out_loop: *mut Option<StridedLoop>,
    out_auxdata: *mut *mut NpyAuxData,
    flags: *mut c_int,
) -> c_int {
    // SAFETY: NumPy passes a context with two descriptors, whose types are DType classes, and
    // valid places for the results; GIL held.
    unsafe {
        let class_of = |index: usize| -> *const PyArray_DTypeMeta {
            let descr: *mut PyArray_Descr = *(*context).descriptors.add(index);
            ffi::Py_TYPE(descr.cast()).cast()
        };
        let Some(entry) = find(class_of(0), class_of(1)) else {
            errors::set(abi::ERROR_RUNTIME, "denizen has no record of a cast that it registered");
            return -1;
        };
        let moves = move_references != 0 && entry.elements[0].is_some();
        *out_loop = Some(if moves { cast_loop::<true> } else { cast_loop::<false> });
        *out_auxdata = ptr::from_ref(entry).cast_mut().cast();
        *flags = class::cast_flags();
    }
    0
}

unsafe extern "C" fn cast_loop<const MOVES: bool>(
    context: *mut PyArrayMethod_Context,
    data: *const *mut c_char,
    dimensions: *const isize,
    strides: *const isize,
    auxdata: *mut NpyAuxData,
) -> c_int {
    // SAFETY: NumPy hands back our auxiliary data, and its convention gives a context, one
    // dimension, and two pointers and strides.
    unsafe {
        let entry = &*auxdata.cast::<CastEntry>();
        let form = match entry.route {
            Route::FromText => TextForm::of(*(*context).descriptors),
            Route::ToText => TextForm::of(*(*context).descriptors.add(1)),
            _ => TextForm::NONE,
        };
        let count = *dimensions as usize;
        let from = Run { data: (*data).cast(), stride: *strides, count, write: MOVES };
        let to = Run::write((*data.add(1)).cast(), *strides.add(1), count);
        let work = || entry.run(form, to, from, MOVES);
        within::finish(if entry.is_free(MOVES) { access::without_gil(count, work) } else { work() })
    }
}

/// Reads a Python number into a vacant cell through the casts that the type has: `bool` and `int`
/// as `int64` or `uint64`, larger ones as text, `float` as `float64`, `complex` as `complex128`.
/// `false` where the object is none of these or the type has no such cast.
///
/// # Errors
/// What the client's cast fails with; the cell is vacant then.
///
/// # Safety
/// `object` is a Python object, `cell` vacant and aligned and nobody else's; GIL held.
pub unsafe fn number_into_cell(
    dtype: &'static DType,
    object: *mut ffi::PyObject,
    cell: *mut u8,
) -> Result<bool, Failure> {
    let Some(numpy) = crate::numpy_abi::get() else { return Ok(false) };
    let to = Run::write(cell, dtype.element().size() as isize, 1);
    let convert = |from: *mut PyArray_DTypeMeta, value: &mut [u64; 2]| {
        let Some(entry) = find(from, dtype.class()) else { return Ok(false) };
        let source = Run::read(value.as_mut_ptr().cast(), 8, 1);
        // SAFETY: one value of that type, and the caller's cell.
        unsafe { entry.convert(TextForm::NONE, to, source) }.map(|()| true)
    };
    // SAFETY: GIL held, a valid object; the int that `PyNumber_Index` makes is given back.
    unsafe {
        if ffi::PyFloat_Check(object) != 0 {
            let value = ffi::PyFloat_AsDouble(object);
            return convert(numpy.double_dtype(), &mut [value.to_bits(), 0]);
        }
        if ffi::PyComplex_Check(object) != 0 {
            let parts = [ffi::PyComplex_RealAsDouble(object), ffi::PyComplex_ImagAsDouble(object)];
            return convert(numpy.cdouble_dtype(), &mut parts.map(f64::to_bits));
        }
        if ffi::PyIndex_Check(object) == 0 {
            return Ok(false);
        }
        let integer = ffi::PyNumber_Index(object);
        if integer.is_null() {
            return Err(super::convert::already_raised());
        }
        let outcome = integer_into_cell(numpy, dtype, integer, to, convert);
        ffi::Py_DECREF(integer);
        outcome
    }
}

/// # Safety
/// As for [`number_into_cell`], with a Python `int`.
unsafe fn integer_into_cell(
    numpy: &NumpyApi,
    dtype: &'static DType,
    integer: *mut ffi::PyObject,
    to: Run,
    convert: impl Fn(*mut PyArray_DTypeMeta, &mut [u64; 2]) -> Result<bool, Failure>,
) -> Result<bool, Failure> {
    let (signed, unsigned) = (numpy.long_dtype(), numpy.ulong_dtype());
    let mut overflow = 0;
    // SAFETY: GIL held, a Python int.
    let small = unsafe { ffi::PyLong_AsLongLongAndOverflow(integer, &mut overflow) };
    if overflow == 0 {
        return convert(signed, &mut [small.cast_unsigned(), 0]);
    }
    if overflow > 0 {
        // SAFETY: as above.
        let large = unsafe { ffi::PyLong_AsUnsignedLongLong(integer) };
        // SAFETY: as above.
        if unsafe { ffi::PyErr_Occurred() }.is_null() {
            if convert(unsigned, &mut [large, 0])? {
                return Ok(true);
            }
        } else {
            // SAFETY: as above; it was an OverflowError.
            unsafe { ffi::PyErr_Clear() };
        }
    }
    let element = dtype.element();
    let Some(from_text) = element.vtable().from_text else {
        return if find(signed, dtype.class()).is_some() {
            Err(Failure::new(
                abi::ERROR_OVERFLOW,
                format!("the int is out of the range of 64 bits that {} takes", element.name()),
            ))
        } else {
            Ok(false)
        };
    };
    // SAFETY: as above. The text is freed after its use; the cell is the caller's.
    unsafe {
        let text = ffi::PyNumber_ToBase(integer, 10);
        let mut size = 0;
        let bytes = if text.is_null() {
            ptr::null()
        } else {
            ffi::PyUnicode_AsUTF8AndSize(text, &mut size)
        };
        let outcome = if bytes.is_null() {
            Err(super::convert::already_raised())
        } else {
            let mut report = Report::new();
            let context = element.vtable().context;
            let status = from_text(context, to.data, bytes.cast(), size as usize, &mut report);
            Failure::check(status, &report)
        };
        ffi::Py_XDECREF(text);
        outcome.map(|()| true)
    }
}
