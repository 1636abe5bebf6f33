//! Element vtables of hostile bytes: any size, version, flags, storage, alignment, name, and any set
//! of functions. Pointers are what the contract says they are. What the runtime accepts is used.
#![no_main]

use arbitrary::Arbitrary;
use denizen::{
    abi::{self, ElementVTable, ErrorOut, OK, Status},
    erased::{ElementType, Registry},
    segment::SegmentRequest,
};
use libfuzzer_sys::fuzz_target;
use std::{
    ffi::c_void,
    mem::{MaybeUninit, offset_of},
    ptr,
    sync::atomic::{AtomicI64, Ordering::Relaxed},
};

/// Largest cells that are used once they are accepted.
const MOST_BYTES: usize = 1 << 14;

#[derive(Arbitrary, Clone, Debug)]
enum StructSize {
    /// All of it.
    Whole,
    /// Up to a member, and some bytes.
    Prefix(u16),
    /// More than it has, all zero.
    Longer(u8),
    Any(usize),
}

#[derive(Arbitrary, Clone, Debug)]
enum Name<'a> {
    Null,
    Bytes(&'a [u8]),
    /// As long as that, of one letter.
    Long(u32),
}

#[derive(Arbitrary, Clone, Debug)]
enum Number {
    Small(u8),
    Power(u8),
    /// A power of two, and a bit more or less.
    Near(u8, i8),
    Any(usize),
}

/// Bytes of a cell.
#[derive(Arbitrary, Clone, Debug)]
enum Size {
    /// As they should be: so many alignments.
    Aligned(u8),
    Other(Number),
}

/// A number of an enumeration; mostly one that is known.
#[derive(Arbitrary, Clone, Debug)]
enum Choice {
    Known(u8),
    Other(u32),
}

#[derive(Arbitrary, Clone, Debug)]
enum Vacancy {
    /// All bytes.
    Whole,
    /// Some of them.
    Part(u8, u8),
    Other(Number, Number),
}

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    struct_size: StructSize,
    version: Option<u32>,
    flags: Choice,
    size: Size,
    align: Number,
    storage: Choice,
    zero_bytes: Choice,
    vacancy: Vacancy,
    /// Which functions there are not.
    functions: u8,
    /// What happens to the cells.
    steps: [u8; 12],
    name: Name<'a>,
    language_name: Name<'a>,
}

impl Number {
    fn value(&self) -> usize {
        match self {
            Number::Small(value) => (*value).into(),
            Number::Power(bits) => 1 << (bits % 14),
            Number::Near(bits, near) => (1usize << (bits % 64)).wrapping_add_signed((*near).into()),
            Number::Any(value) => *value,
        }
    }
}

impl Choice {
    fn value(&self, known: u32) -> u32 {
        match self {
            Choice::Known(value) => u32::from(*value) % known,
            Choice::Other(value) => *value,
        }
    }
}

impl Name<'_> {
    /// The bytes up to the first NUL, which is there.
    fn bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = match self {
            Name::Null => return None,
            Name::Bytes(bytes) => bytes.to_vec(),
            Name::Long(length) => vec![b'a'; *length as usize % (1 << 18)],
        };
        if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
            bytes.truncate(end);
        }
        bytes.push(0);
        Some(bytes)
    }
}

/// Objects of any size, which fill their cell with one byte that is not zero.
struct Ground {
    size: usize,
    /// Whether a zero byte is a value, the default.
    zero: bool,
    live: AtomicI64,
}

impl Ground {
    /// # Safety
    /// A vacant cell.
    unsafe fn build(&self, cell: *mut u8, value: u8) {
        // SAFETY: the caller's promise.
        unsafe { cell.write_bytes(value, self.size) };
        self.live.fetch_add(i64::from(!self.zero || value != 0), Relaxed);
    }

    /// # Safety
    /// A live cell.
    unsafe fn value(&self, cell: *const u8) -> u8 {
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(cell, self.size) };
        assert!(bytes.iter().all(|byte| *byte == bytes[0]), "an object is overwritten");
        assert!(self.zero || bytes[0] != 0, "no object is in the cell");
        bytes[0]
    }

    /// # Safety
    /// A live cell.
    unsafe fn end(&self, cell: *mut u8) {
        // SAFETY: the caller's promise.
        let value = unsafe { self.value(cell) };
        self.live.fetch_sub(i64::from(!self.zero || value != 0), Relaxed);
    }
}

/// # Safety
/// `context` is a [`Ground`].
unsafe fn ground<'a>(context: *mut c_void) -> &'a Ground {
    // SAFETY: the caller's promise.
    unsafe { &*context.cast() }
}

unsafe extern "C" fn construct(
    context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    _error_out: *mut ErrorOut,
) -> Status {
    for index in 0..count as isize {
        // SAFETY: `abi::ConstructFn`.
        unsafe {
            let ground = ground(context);
            ground.build(cells.offset(stride * index), u8::from(!ground.zero));
        }
    }
    OK
}

unsafe extern "C" fn copy_construct(
    context: *mut c_void,
    to: *mut u8,
    to_stride: isize,
    from: *const u8,
    from_stride: isize,
    count: usize,
    _error_out: *mut ErrorOut,
) -> Status {
    for index in 0..count as isize {
        // SAFETY: `abi::CopyFn`.
        unsafe {
            let ground = ground(context);
            let value = ground.value(from.offset(from_stride * index));
            ground.build(to.offset(to_stride * index), value);
        }
    }
    OK
}

unsafe extern "C" fn assign(
    context: *mut c_void,
    to: *mut u8,
    to_stride: isize,
    from: *const u8,
    from_stride: isize,
    count: usize,
    _error_out: *mut ErrorOut,
) -> Status {
    for index in 0..count as isize {
        // SAFETY: `abi::CopyFn`.
        unsafe {
            let (ground, to) = (ground(context), to.offset(to_stride * index));
            let value = ground.value(from.offset(from_stride * index));
            ground.end(to);
            ground.build(to, value);
        }
    }
    OK
}

unsafe extern "C" fn relocate(
    context: *mut c_void,
    to: *mut u8,
    to_stride: isize,
    from: *mut u8,
    from_stride: isize,
    count: usize,
    _error_out: *mut ErrorOut,
) -> Status {
    for index in 0..count as isize {
        // SAFETY: `abi::RelocateFn`.
        unsafe {
            let (ground, from) = (ground(context), from.offset(from_stride * index));
            let value = ground.value(from);
            ground.end(from);
            ground.build(to.offset(to_stride * index), value);
            from.write_bytes(0xee, ground.size);
        }
    }
    OK
}

unsafe extern "C" fn destroy(
    context: *mut c_void,
    cells: *mut u8,
    stride: isize,
    count: usize,
    _error_out: *mut ErrorOut,
) -> Status {
    for index in 0..count as isize {
        // SAFETY: `abi::DestroyFn`.
        unsafe { ground(context).end(cells.offset(stride * index)) };
    }
    OK
}

unsafe extern "C" fn save(
    _context: *mut c_void,
    _cell: *const u8,
    _sink: *mut abi::Sink,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the caller's `ErrorOut`.
    unsafe { &mut *error_out }.fail(abi::ERROR_RUNTIME, "nobody asks")
}

unsafe extern "C" fn load(
    _context: *mut c_void,
    _cell: *mut u8,
    _bytes: *const u8,
    _size: usize,
    error_out: *mut ErrorOut,
) -> Status {
    // SAFETY: the caller's `ErrorOut`.
    unsafe { &mut *error_out }.fail(abi::ERROR_RUNTIME, "nobody asks")
}

/// Builds, copies, moves, resizes and destroys in segments, with an object counted for each.
fn use_it(element: &'static ElementType, ground: &Ground, steps: &[u8]) {
    let size = element.size();
    let mut segment =
        match SegmentRequest::new(3 * size, element.align()).hint(element).zeroed().allocate() {
            Ok(segment) => segment,
            Err(error) => panic!("{error}"),
        };
    assert!(segment.cells().as_ptr().addr().is_multiple_of(element.align()));
    segment.bind(element).expect("a segment made for the type");
    let mut count = 3;
    for step in steps {
        let (low, high) =
            (usize::from(step >> 3 & 3).min(count), usize::from(step >> 5).min(count));
        let range = low.min(high)..low.max(high);
        // SAFETY: this thread alone knows the segment.
        unsafe {
            let outcome = match step % 8 {
                0 => segment.construct_default(range),
                1 | 2 => segment.materialise(range),
                3 => segment.destroy(range),
                4 => segment.copy(range.clone(), segment, count - range.len()),
                5 => segment.relocate(range.clone(), segment, count - range.len()),
                6 => {
                    let bytes = usize::from(step >> 3) % 9 * size + usize::from(*step) % size;
                    segment = segment.resize(bytes).expect("memory").segment;
                    count = bytes / size;
                    Ok(())
                }
                _ if step >> 3 & 1 == 0 => segment.clear_all(),
                _ if count == 0 => Ok(()),
                _ => {
                    // An object from outside, which counts once it is copied.
                    let object = vec![step | 1; size];
                    segment.put(low.min(count - 1), object.as_ptr())
                }
            };
            if let Err(failure) = outcome {
                // No function fails: one is not there, or the cells are not as it wants them.
                assert!(!failure.to_string().is_empty());
            }
            assert_eq!(segment.check_integrity(), Ok(0));
            let snapshot = segment.snapshot();
            let mut live = 0;
            for (index, is_live) in snapshot.live.iter().enumerate() {
                if *is_live {
                    ground.value(segment.cell_address(index).as_ptr());
                    live += 1;
                }
            }
            if element.vtable().destroy.is_some() {
                assert_eq!(ground.live.load(Relaxed), live, "objects and live cells");
            }
        }
    }
    // SAFETY: as above.
    unsafe { segment.free() }.expect("no destructor fails");
    if element.vtable().destroy.is_some() {
        assert_eq!(ground.live.load(Relaxed), 0, "objects outlive their segment");
    }
}

fuzz_target!(|input: Input<'_>| {
    let (name, language_name) = (input.name.bytes(), input.language_name.bytes());
    let pointer =
        |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(ptr::null(), |bytes| bytes.as_ptr().cast());
    // SAFETY: zero is valid for every member: numbers, pointers and optional functions.
    let mut vtable: ElementVTable = unsafe { MaybeUninit::zeroed().assume_init() };
    vtable.struct_size = match &input.struct_size {
        StructSize::Whole => size_of::<ElementVTable>(),
        StructSize::Prefix(bytes) => usize::from(*bytes) % size_of::<ElementVTable>(),
        StructSize::Longer(bytes) => size_of::<ElementVTable>() + usize::from(*bytes),
        StructSize::Any(bytes) => *bytes,
    };
    vtable.abi_version = input.version.unwrap_or(abi::ABI_VERSION);
    vtable.flags = input.flags.value(8);
    vtable.name = pointer(&name);
    vtable.language_name = pointer(&language_name);
    vtable.align = input.align.value();
    vtable.size = match &input.size {
        Size::Aligned(count) => vtable.align.wrapping_mul((*count).into()),
        Size::Other(size) => size.value(),
    };
    (vtable.storage, vtable.zero_bytes) = (input.storage.value(3), input.zero_bytes.value(3));
    (vtable.vacancy_offset, vtable.vacancy_size) = match &input.vacancy {
        Vacancy::Whole => (0, vtable.size),
        Vacancy::Part(offset, size) => {
            let offset = usize::from(*offset).checked_rem(vtable.size).unwrap_or(0);
            (offset, usize::from(*size).checked_rem(vtable.size - offset).map_or(0, |n| n + 1))
        }
        Vacancy::Other(offset, size) => (offset.value(), size.value()),
    };
    let ground = Ground {
        size: vtable.size,
        zero: vtable.zero_bytes == abi::ZERO_DEFAULT,
        live: AtomicI64::new(0),
    };
    vtable.context = (&raw const ground).cast_mut().cast();
    let has = |bit: u32| input.functions >> bit & 1 == 0;
    vtable.construct = has(0).then_some(construct);
    vtable.copy_construct = has(1).then_some(copy_construct);
    vtable.assign = has(2).then_some(assign);
    vtable.relocate = has(3).then_some(relocate);
    vtable.destroy = has(4).then_some(destroy);
    vtable.save = has(5).then_some(save);
    vtable.load = has(6).then_some(load);

    // As many bytes as the struct says it has, so that whoever reads more is seen. A size beyond all
    // structs is never followed.
    let said = vtable.struct_size;
    let readable = if said > 1 << 16 { 8 } else { said.max(8) };
    let mut bytes = vec![0u8; readable].into_boxed_slice();
    let copied = readable.min(size_of::<ElementVTable>());
    // SAFETY: both are at least that long.
    unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping((&raw const vtable).cast(), copied) };
    // SAFETY: as the contract says, whatever the members are.
    let refused = match unsafe { ElementType::from_vtable(bytes.as_ptr().cast()) } {
        Err(error) => error.to_string(),
        Ok(element) => {
            let covers = said >= offset_of!(ElementVTable, compare);
            assert!(covers && vtable.abi_version >> 16 == abi::ABI_VERSION >> 16);
            let name = name.as_deref().map(|name| &name[..name.len() - 1]);
            assert_eq!(Some(element.name().as_bytes()), name);
            assert!(element.align().is_power_of_two() && element.size() > 0);
            assert!(element.vtable().compare.is_none(), "a member that is not there");

            let registry = Registry::default();
            let element = registry.register(element, "one").expect("a new name");
            assert!(ptr::eq(registry.find(element.name()).expect("its name"), element));
            // SAFETY: as above.
            if let Ok(twin) = unsafe { ElementType::from_vtable(bytes.as_ptr().cast()) } {
                let error = registry.register(twin, "two").map(|_| ()).expect_err("taken");
                assert!(error.to_string().contains("two"));
            }
            if element.size() <= MOST_BYTES {
                // Vacancy bytes of part of the cell tell as much as all of them: an object's bytes
                // are all alike.
                use_it(element, &ground, &input.steps);
            }
            registry.give_up(element);
            assert!(registry.find(element.name()).is_none());
            assert!(registry.check(element.name(), "two").is_err(), "the name stays taken");
            drop(registry);
            // SAFETY: the registry leaked it, nothing knows it any more.
            drop(unsafe { Box::from_raw(ptr::from_ref(element).cast_mut()) });
            return;
        }
    };
    assert!(!refused.is_empty());
});
