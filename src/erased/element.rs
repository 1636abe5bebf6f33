//! An element type: a client's vtable, checked once, behind methods that return `Result`s.

use super::{
    Cells, CellsMut, Counters, Failure, InvalidElement, SpareCell, Vacancy, read_vtable,
    vtable::{check_object, text},
};
use crate::abi::{self, ElementVTable, ErrorOut};
use std::alloc::Layout;

/// Largest alignment of an element.
const MAX_ALIGN: usize = 4096;

/// How a registered type differs from what a client has under its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch(String);

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mismatch {}

/// A registered element type. Lives forever once registered.
pub struct ElementType {
    vtable: ElementVTable,
    name: String,
    language_name: Option<String>,
    vacancy: Vacancy,
    counters: Counters,
}

// SAFETY: the vtable is never written after `from_vtable`, its functions are plain code, and what
// `context` points to is shared by contract; the counters are atomic.
unsafe impl Send for ElementType {}
// SAFETY: as above.
unsafe impl Sync for ElementType {}

impl ElementType {
    /// Checks a client's vtable and takes a copy of it.
    ///
    /// # Errors
    /// [`InvalidElement`] names the member that is missing or wrong.
    ///
    /// # Safety
    /// `vtable` points to `struct_size` readable bytes of a vtable whose functions keep what
    /// [`crate::abi`] promises, forever.
    pub unsafe fn from_vtable(vtable: *const ElementVTable) -> Result<Self, InvalidElement> {
        // SAFETY: the caller's promise.
        let vtable = unsafe { read_vtable(vtable)? };
        let refuse = |name: &str, what: String| Err(InvalidElement(format!("{name}: {what}")));
        // SAFETY: the caller's promise: NUL-terminated or NULL.
        let Some(name) = (unsafe { text(vtable.name) }).filter(|name| !name.is_empty()) else {
            return refuse("element vtable", "`name` is missing or not UTF-8".into());
        };
        if !vtable.align.is_power_of_two() || vtable.align > MAX_ALIGN {
            return refuse(
                &name,
                format!("`align`, {}, is not a power of two up to {MAX_ALIGN}", vtable.align),
            );
        }
        if vtable.size == 0
            || !vtable.size.is_multiple_of(vtable.align)
            || Layout::from_size_align(vtable.size, vtable.align).is_err()
        {
            return refuse(
                &name,
                format!(
                    "`size`, {}, is not a positive multiple of `align`, {}",
                    vtable.size, vtable.align
                ),
            );
        }
        if vtable.storage > abi::STORAGE_BOXED {
            return refuse(&name, format!("`storage` has the unknown value {}", vtable.storage));
        }
        if vtable.zero_bytes > abi::ZERO_DEFAULT {
            return refuse(
                &name,
                format!("`zero_bytes` has the unknown value {}", vtable.zero_bytes),
            );
        }
        let in_cell = vtable
            .vacancy_offset
            .checked_add(vtable.vacancy_size)
            .is_some_and(|end| end <= vtable.size);
        if vtable.vacancy_size == 0 || !in_cell {
            return refuse(
                &name,
                format!(
                    "the vacancy bytes, {} + {} (`vacancy_offset` + `vacancy_size`), do not lie in \
                     the cell of {} bytes",
                    vtable.vacancy_offset, vtable.vacancy_size, vtable.size
                ),
            );
        }
        if let Err(what) = check_object(&vtable) {
            return refuse(&name, what);
        }
        if vtable.relocate.is_none() && vtable.flags & abi::ELEMENT_TRIVIALLY_RELOCATABLE == 0 {
            return refuse(&name, "neither trivially relocatable nor given `relocate`".into());
        }
        if vtable.save.is_some() != vtable.load.is_some() {
            return refuse(&name, "`save` and `load` come together".into());
        }
        Ok(ElementType {
            vacancy: Vacancy::new(vtable.vacancy_offset, vtable.vacancy_size),
            // SAFETY: as for the name.
            language_name: unsafe { text(vtable.language_name) },
            name,
            vtable,
            counters: Counters::default(),
        })
    }

    /// The same type, with functions in which each element can be made to fail.
    #[must_use]
    pub fn fault_injected(self) -> Self {
        ElementType { vtable: crate::faults::elements::fault_injected(self.vtable), ..self }
    }

    /// `module.Name`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type's name in its own language.
    pub fn language_name(&self) -> Option<&str> {
        self.language_name.as_deref()
    }

    /// Bytes of one cell.
    #[inline]
    pub fn size(&self) -> usize {
        self.vtable.size
    }

    /// Alignment of a cell.
    #[inline]
    pub fn align(&self) -> usize {
        self.vtable.align
    }

    /// Compares the type with what a client has under its name: all that says what a cell and an
    /// object look like.
    ///
    /// # Errors
    /// What differs, with both values.
    ///
    /// # Safety
    /// `expected` is a client's vtable as [`crate::abi`] describes it; its functions are not
    /// looked at.
    pub unsafe fn compare(&self, expected: &ElementVTable) -> Result<(), Mismatch> {
        let own = &self.vtable;
        let differ = |what: &str, own: String, theirs: String| {
            Err(Mismatch(format!(
                "{} was registered with {what} {own}, not {theirs}: the two modules were not built \
                 from the same definition with the same settings; build both with the same version \
                 of the type, compiler flags and macros (for Eigen also the same -march)",
                self.name
            )))
        };
        // SAFETY: the caller's promise: NUL-terminated or NULL.
        let theirs = unsafe { text(expected.language_name) };
        if let (Some(own), Some(theirs)) = (self.language_name(), theirs)
            && own != theirs
        {
            return Err(Mismatch(format!(
                "{} was registered as the type {own}, not {theirs}",
                self.name
            )));
        }
        let layout = |size: usize, align: usize| format!("of {size} bytes aligned to {align}");
        let told = own.object_align != 0 && expected.object_align != 0;
        let objects = (own.object_size, own.object_align);
        let theirs = (expected.object_size, expected.object_align);
        if told && objects != theirs {
            return differ("objects", layout(objects.0, objects.1), layout(theirs.0, theirs.1));
        }
        if own.storage != expected.storage {
            let storage = |storage| match storage {
                abi::STORAGE_INLINE => "inline".to_owned(),
                abi::STORAGE_TAGGED => "tagged".to_owned(),
                abi::STORAGE_BOXED => "boxed".to_owned(),
                unknown => format!("the unknown {unknown}"),
            };
            return differ("the storage", storage(own.storage), storage(expected.storage));
        }
        if (own.size, own.align) != (expected.size, expected.align) {
            let theirs = layout(expected.size, expected.align);
            return differ("cells", layout(own.size, own.align), theirs);
        }
        if own.zero_bytes != expected.zero_bytes {
            let promise = |promise| match promise {
                abi::ZERO_NO_PROMISE => "no promise",
                abi::ZERO_VACANT => "vacant",
                abi::ZERO_DEFAULT => "the default value",
                _ => "unknown",
            };
            let (own, theirs) = (promise(own.zero_bytes), promise(expected.zero_bytes));
            return differ("the meaning of zero bytes", own.to_owned(), theirs.to_owned());
        }
        let vacancy = (own.vacancy_offset, own.vacancy_size);
        let theirs = (expected.vacancy_offset, expected.vacancy_size);
        if vacancy != theirs {
            let bytes = |(offset, size)| format!("{size} from {offset}");
            return differ("vacancy bytes", bytes(vacancy), bytes(theirs));
        }
        Ok(())
    }

    /// The vtable, for the optional operations.
    #[inline]
    pub fn vtable(&self) -> &ElementVTable {
        &self.vtable
    }

    /// Which cells hold an object. Means something only where there is a zero promise.
    #[inline]
    pub fn vacancy(&self) -> Vacancy {
        self.vacancy
    }

    /// Whether cells tell by themselves which of them are live (else only the bitmap does).
    #[inline]
    pub fn has_zero_promise(&self) -> bool {
        self.vtable.zero_bytes != abi::ZERO_NO_PROMISE
    }

    /// Whether zero bytes are a valid default value with nothing to destroy.
    #[inline]
    pub fn zero_is_default(&self) -> bool {
        self.vtable.zero_bytes == abi::ZERO_DEFAULT
    }

    /// Whether a vacant cell can be read as a default value.
    #[inline]
    pub fn has_default(&self) -> bool {
        self.zero_is_default() || self.vtable.construct.is_some()
    }

    /// Whether objects can be copied. Those that only move are lent where others are copied
    /// (`segment::ProxyHooks`).
    #[inline]
    pub fn is_copyable(&self) -> bool {
        self.vtable.copy_construct.is_some()
    }

    /// Whether cells move with memcpy.
    #[inline]
    pub fn is_trivially_relocatable(&self) -> bool {
        self.vtable.flags & abi::ELEMENT_TRIVIALLY_RELOCATABLE != 0
    }

    /// Whether several threads may work on objects of the type, without the GIL.
    ///
    /// Of all other types an object that leaves its cell, or that another replaces, ends when no
    /// lock is held any more ([`super::Staging`]): its destructor may run Python code, which may
    /// look at the very array.
    #[inline]
    pub fn is_thread_safe(&self) -> bool {
        const ASKED: u32 = abi::ELEMENT_THREAD_SAFE | abi::ELEMENT_DESTROY_NEEDS_GIL;
        self.vtable.flags & ASKED == abi::ELEMENT_THREAD_SAFE
    }

    /// Whether ending an object needs the GIL.
    #[inline]
    pub fn destroy_needs_gil(&self) -> bool {
        self.vtable.flags & abi::ELEMENT_DESTROY_NEEDS_GIL != 0
    }

    /// Objects constructed, destroyed, ..
    #[inline]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Builds default objects.
    ///
    /// # Errors
    /// `done` cells are live, the others vacant. A type without a default fails at once.
    ///
    /// # Safety
    /// All cells are vacant memory of this type.
    pub unsafe fn construct(&self, cells: CellsMut<'_>) -> Result<(), Failure> {
        let Some(construct) = self.vtable.construct else {
            return Err(self.no_default());
        };
        let mut error_out = ErrorOut::new();
        // SAFETY: the vtable's contract and the caller's promise.
        let status = unsafe {
            construct(
                self.vtable.context,
                cells.address(0),
                cells.stride(),
                cells.len(),
                &mut error_out,
            )
        };
        Failure::check(status, &error_out)
    }

    /// Copies live objects into vacant cells, in order.
    ///
    /// # Errors
    /// `done` cells are live, the others vacant. A type without copies fails at once.
    ///
    /// # Safety
    /// Both runs are cells of this type and equally long, sources live, destinations vacant; no
    /// destination is a source cell that comes later.
    pub unsafe fn copy_construct(&self, to: CellsMut<'_>, from: Cells<'_>) -> Result<(), Failure> {
        debug_assert_eq!(to.len(), from.len());
        let Some(copy) = self.vtable.copy_construct else {
            return Err(self.not_copyable());
        };
        let mut error_out = ErrorOut::new();
        // SAFETY: the vtable's contract and the caller's promise.
        let status = unsafe {
            copy(
                self.vtable.context,
                to.address(0),
                to.stride(),
                from.address(0),
                from.stride(),
                to.len(),
                &mut error_out,
            )
        };
        let done = if status == abi::OK { to.len() } else { error_out.done };
        self.record_copies(to.as_cells(), done);
        Failure::check(status, &error_out)
    }

    /// Copies live objects over live objects, in order.
    ///
    /// # Errors
    /// `done` cells have their new value, the others their old one. A type without copies fails
    /// at once.
    ///
    /// # Safety
    /// As for [`Self::copy_construct`], but destinations are live.
    pub unsafe fn assign(&self, mut to: CellsMut<'_>, from: Cells<'_>) -> Result<(), Failure> {
        debug_assert_eq!(to.len(), from.len());
        let Some(assign) = self.vtable.assign else {
            for index in 0..to.len() {
                // SAFETY: the caller's promise, cell by cell.
                unsafe { self.replace(to.part(index, 1), from.part(index, 1)) }
                    .map_err(|failure| failure.after(index))?;
            }
            return Ok(());
        };
        let mut error_out = ErrorOut::new();
        // SAFETY: the vtable's contract and the caller's promise.
        let status = unsafe {
            assign(
                self.vtable.context,
                to.address(0),
                to.stride(),
                from.address(0),
                from.stride(),
                to.len(),
                &mut error_out,
            )
        };
        let done = if status == abi::OK { to.len() } else { error_out.done };
        self.record_copies(to.as_cells(), done);
        Failure::check(status, &error_out)
    }

    /// Assignment for types without one: copy to a spare cell, destroy the old value, move the
    /// copy in. The old value survives a failing copy.
    ///
    /// # Safety
    /// As for [`Self::assign`], with one cell each.
    unsafe fn replace(&self, mut to: CellsMut<'_>, from: Cells<'_>) -> Result<(), Failure> {
        if to.address(0) == from.address(0) {
            return Ok(());
        }
        let mut spare = SpareCell::new(self)?;
        // SAFETY: the spare cell is vacant; afterwards it is live, moves to `to` once `to` is
        // vacant, and is vacant again when it is given back.
        unsafe {
            self.copy_construct(spare.cells(), from)?;
            if self.is_trivially_relocatable() {
                // The old object ends last: its destructor may look at the cell.
                std::ptr::swap_nonoverlapping(to.address(0), spare.cells().address(0), self.size());
                return self.destroy(spare.cells());
            }
            let destroyed = self.destroy(to.reborrow());
            self.relocate(to, spare.cells())?;
            destroyed
        }
    }

    /// Moves live objects into vacant cells. The source cells are vacant afterwards, their bytes
    /// anything.
    ///
    /// # Errors
    /// `done` objects have moved.
    ///
    /// # Safety
    /// Both runs are cells of this type, equally long, and do not overlap; sources live,
    /// destinations vacant.
    pub unsafe fn relocate(&self, to: CellsMut<'_>, from: CellsMut<'_>) -> Result<(), Failure> {
        debug_assert_eq!(to.len(), from.len());
        if let Some(relocate) = self.vtable.relocate {
            let mut error_out = ErrorOut::new();
            // SAFETY: the vtable's contract and the caller's promise.
            let status = unsafe {
                relocate(
                    self.vtable.context,
                    to.address(0),
                    to.stride(),
                    from.address(0),
                    from.stride(),
                    to.len(),
                    &mut error_out,
                )
            };
            return Failure::check(status, &error_out);
        }
        // SAFETY: the caller's promise; a type without `relocate` moves as bytes.
        unsafe { self.move_bytes(to, from) };
        Ok(())
    }

    /// Moves the bytes of cells in any state, as all cells in arrays of NumPy move.
    ///
    /// # Safety
    /// As for [`Self::relocate`], but for the state of the cells; the type is trivially
    /// relocatable.
    pub unsafe fn move_bytes(&self, to: CellsMut<'_>, from: CellsMut<'_>) {
        let size = self.size();
        if to.is_contiguous(size) && from.is_contiguous(size) {
            // SAFETY: contiguous runs of `len * size` bytes that do not overlap.
            unsafe {
                to.address(0).copy_from_nonoverlapping(from.address(0), to.len() * size);
            }
        } else {
            for index in 0..to.len() {
                // SAFETY: single cells of the two runs, which do not overlap.
                unsafe {
                    to.address(index).copy_from_nonoverlapping(from.address(index), size);
                }
            }
        }
    }

    /// Destroys live objects, all of them. The cells' bytes are the caller's afterwards.
    ///
    /// # Errors
    /// A destructor failed; every object is gone all the same.
    ///
    /// # Safety
    /// All cells are live objects of this type.
    pub unsafe fn destroy(&self, cells: CellsMut<'_>) -> Result<(), Failure> {
        let Some(destroy) = self.vtable.destroy else {
            return Ok(());
        };
        let mut error_out = ErrorOut::new();
        // SAFETY: the vtable's contract and the caller's promise.
        let status = unsafe {
            destroy(
                self.vtable.context,
                cells.address(0),
                cells.stride(),
                cells.len(),
                &mut error_out,
            )
        };
        Failure::check(status, &error_out)
    }

    /// The failure of reading a vacant cell of a type without a default.
    #[cold]
    pub fn no_default(&self) -> Failure {
        Failure::new(
            abi::ERROR_VACANT,
            format!("{} has no default value, and the cell was never filled", self.name),
        )
    }

    /// The failure of copying an object that only moves.
    #[cold]
    pub fn not_copyable(&self) -> Failure {
        Failure::new(
            abi::ERROR_TYPE,
            format!("{} is not copyable: its objects only move", self.name),
        )
    }
}

impl std::fmt::Debug for ElementType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ElementType")
            .field("name", &self.name)
            .field("size", &self.size())
            .field("align", &self.align())
            .field("vacancy", &self.vacancy)
            .finish_non_exhaustive()
    }
}
