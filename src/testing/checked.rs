//! A user's type under the model: the vtable and the loops that the client interface generates for
//! it, and values that are made and kept apart from all cells.

use super::{
    Fault, fault_injected,
    generate::Generator,
    heap, hooks,
    operation::value_bytes,
    probe::{Same, Show},
    subject::Subject,
};
use crate::{
    abi::{self, ErrorOut, Loop, LoopFn, Stats},
    client::{Definition, ElementBuilder, StorageChoice},
    erased::{CellsMut, ElementType, Exclusive, Failure},
    faults::type_code::{self, Left},
};
use arbitrary::Unstructured;
use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    cell::{Cell, RefCell},
    cmp::Ordering,
    collections::VecDeque,
    ffi::{CStr, c_void},
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
};

/// The name of the loop that stores made values.
const PLACE: &CStr = c"denizen.testing.make";
/// Loops over arrays, whose operands are no single cells.
const GENERALISED: [&CStr; 4] = [c"matmul", c"vecdot", c"matvec", c"vecmat"];
/// Loops after which a value is left alone: it may double its size in each.
const DEEPEST: u32 = 3;
/// More cells than a segment ever has; more than two bitmap words.
pub(super) const MOST_CELLS: usize = 130;
/// Longest text of a value in a finding.
const LONGEST: usize = 200;

thread_local! {
    /// Numbers of the values that the next cells get.
    static NUMBERS: RefCell<VecDeque<u16>> = const { RefCell::new(VecDeque::new()) };
}

/// An element type under test. Lives for ever, as registered types do.
pub struct Checked<T: 'static> {
    /// With planned faults.
    element: &'static ElementType,
    definition: &'static Definition<T>,
    place: (LoopFn, *mut c_void),
    loops: Vec<Loop>,
    same: Option<Same<T>>,
    show: Option<Show<T>>,
    /// The text of a value says the same of an equal one: it shows no address.
    readable: Cell<bool>,
    /// Said that some values are compared with nothing.
    said: Cell<bool>,
    /// Made when it is first needed, once a sequence.
    default: RefCell<Option<Value<T>>>,
}

/// What the model keeps for a live cell.
type Value<T> = Rc<Pristine<T>>;

/// A value in a cell of its own, which no operation ever touches.
pub(super) struct Pristine<T: 'static> {
    checked: &'static Checked<T>,
    cell: *mut u8,
    live: bool,
    /// How many loops it has come through.
    depth: u32,
}

/// A value from `number`, as the closure makes it.
fn make<T>(make: Generator<T>, number: u16) -> Option<T> {
    make(&mut Unstructured::new(&value_bytes(number)))
}

impl<T: 'static> Checked<T> {
    /// The type that a builder describes, whose values are made by `maker`.
    ///
    /// # Panics
    /// The description or the closure is of no use: it says why.
    pub fn new<S: StorageChoice<T>>(
        builder: ElementBuilder<T, S>,
        maker: Generator<T>,
        same: Option<Same<T>>,
        show: Option<Show<T>>,
    ) -> &'static Checked<T> {
        let place = PLACE.to_str().unwrap_or_default();
        let builder = builder.nullary(place, move || {
            let number = NUMBERS.with_borrow_mut(VecDeque::pop_front).unwrap_or_default();
            heap::making(number, || make(maker, number))
        });
        let definition = match builder.define("lifecheck") {
            Ok(definition) => Box::leak(Box::new(definition)),
            Err(error) => panic!("{error}"),
        };
        let vtable = fault_injected::wrapped(definition.vtable());
        // SAFETY: a complete vtable, whose functions are those of the definition or call them.
        let element = match unsafe { ElementType::from_vtable(&raw const vtable) } {
            Ok(element) => Box::leak(Box::new(element)),
            Err(error) => panic!("{error}"),
        };
        // SAFETY: the names of a definition's loops are NUL-terminated.
        let name = |entry: &Loop| unsafe { CStr::from_ptr(entry.ufunc) };
        let all = definition.loops();
        let place = all.iter().find(|entry| name(entry) == PLACE);
        let place = place.and_then(|entry| Some((entry.function?, entry.context)));
        let Some(place) = place else { unreachable!("added above") };
        let loops = all.iter().filter(|entry| {
            let count = (entry.input_count + entry.output_count) as usize;
            // SAFETY: as many operands as the two counts say.
            let operands = unsafe { std::slice::from_raw_parts(entry.operands, count) };
            entry.function.is_some()
                && entry.output_count == 1
                && matches!(entry.input_count, 1 | 2)
                && operands.iter().all(|operand| operand.kind == abi::OPERAND_SELF)
                && !GENERALISED.contains(&name(entry))
        });
        let loops = loops.copied().collect();
        let default = RefCell::new(None);
        let (readable, said) = (Cell::new(true), Cell::new(false));
        let checked =
            Checked { element, definition, place, loops, same, show, readable, said, default };
        Box::leak(Box::new(checked))
    }

    /// Whether the closure can be used: it makes values, and equal ones of equal bytes.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn try_maker(&'static self) -> Result<(), String> {
        let made: Vec<_> =
            (0..64).filter_map(|number| Some((number, self.value(number)?))).collect();
        if made.is_empty() {
            return Err(
                "the closure made no value of 64 different inputs: return a value whatever \
                        the bytes are, for example with `unwrap_or_default`"
                    .to_owned(),
            );
        }
        // Both exist at once, so that no two have the same address.
        let twins: Vec<_> = made
            .into_iter()
            .filter_map(|(number, value)| Some((value, self.value(number)?)))
            .collect();
        if self.same.is_none() && self.show.is_none() {
            self.say_incomparable();
        }
        let readable =
            twins.iter().all(|(value, twin)| self.text(value.object()) == self.text(twin.object()));
        self.readable.set(readable);
        for (value, twin) in twins {
            self.compare(twin.object(), &value).map_err(|difference| {
                format!(
                    "two values that the closure made of the same bytes differ: the second \
                     {difference}. Make values of `u` alone; and a value must survive that it is \
                     returned"
                )
            })?;
        }
        Ok(())
    }

    /// Forgets what outlives a sequence.
    pub(super) fn forget(&self) {
        self.default.take();
    }

    /// A vacant cell apart from all segments.
    fn apart(&'static self, depth: u32) -> Pristine<T> {
        let layout = Pristine::<T>::layout(self.element);
        // SAFETY: cells have a size.
        let cell = unsafe { alloc_zeroed(layout) };
        if cell.is_null() {
            handle_alloc_error(layout);
        }
        Pristine { checked: self, cell, live: false, depth }
    }

    /// Calls a loop of the type.
    ///
    /// # Safety
    /// The operands fit the loop, and `count` elements from each are there.
    unsafe fn call<const N: usize>(
        &self,
        (function, context): (LoopFn, *mut c_void),
        operands: [*mut u8; N],
        strides: [isize; N],
        count: usize,
    ) -> Result<(), Failure> {
        let mut error_out = ErrorOut::new();
        let dimensions = [count as isize];
        // SAFETY: the caller's promise.
        let status = heap::scope(|| unsafe {
            function(
                context,
                operands.as_ptr(),
                dimensions.as_ptr(),
                strides.as_ptr(),
                &raw mut error_out,
            )
        });
        Failure::check(status, &error_out)
    }

    /// Stores the values of `NUMBERS`, in order.
    ///
    /// # Safety
    /// Cells of the type, under rule 1.
    unsafe fn place(
        &self,
        cells: CellsMut<'_>,
        numbers: impl Iterator<Item = u16>,
    ) -> Result<(), Failure> {
        NUMBERS.with_borrow_mut(|queue| {
            queue.clear();
            queue.extend(numbers);
        });
        // SAFETY: the same contract.
        unsafe { self.call(self.place, [cells.address(0)], [cells.stride()], cells.len()) }
    }

    /// Whether an object is equal to a value, and what is different where it is not. Types that can
    /// neither be compared nor shown are always equal.
    fn compare(&self, object: &T, value: &Pristine<T>) -> Result<(), String> {
        let expected = value.object();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            heap::scope(|| {
                let shown = |value: &T| self.show.map(|show| show(value));
                match self.same {
                    Some(same) if same(object, expected) => true,
                    // A value that is not equal to itself (NaN) is compared as text.
                    Some(same) if same(expected, expected) => false,
                    _ if !self.readable.get() => {
                        self.say_unreadable();
                        true
                    }
                    _ => shown(object) == shown(expected),
                }
            })
        }));
        match outcome {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!(
                "holds {} where {} was expected",
                self.describe(object),
                self.describe(expected)
            )),
            Err(payload) => {
                drop(payload);
                let said = hooks::take_panic().unwrap_or_else(|| "no message".to_owned());
                Err(format!("panicked when it was compared with its value: {said}"))
            }
        }
    }

    /// The whole text of a value; nothing where there is none, or it panics.
    fn text(&self, value: &T) -> Option<String> {
        let show = self.show?;
        let shown = catch_unwind(AssertUnwindSafe(|| heap::scope(|| show(value))));
        shown.inspect_err(|_| drop(hooks::take_panic())).ok()
    }

    fn say_incomparable(&self) {
        if !self.said.replace(true) {
            hooks::say(format_args!(
                "denizen lifecheck: {}: it has neither PartialEq nor Debug, so its values are not \
                 compared; the heap, the balance and all else are checked.\n",
                std::any::type_name::<T>()
            ));
        }
    }

    fn say_unreadable(&self) {
        if self.said.replace(true) {
            return;
        }
        let which = match self.same {
            Some(_) => "values that are not equal to themselves",
            None => "values",
        };
        hooks::say(format_args!(
            "denizen lifecheck: {}: the Debug text of a value differs each time that the value is \
             made of the same bytes (it shows an address, or an order by chance). So {which} are not \
             compared; the heap, the balance and all else are checked.\n",
            std::any::type_name::<T>()
        ));
    }

    /// The value of a number, as text, if it can be shown.
    pub(super) fn named(&'static self, number: u16) -> Option<String> {
        self.show?;
        let value = catch_unwind(AssertUnwindSafe(|| self.value(number)));
        let text = value.ok().flatten().map(|value| self.describe(value.object()));
        drop(hooks::take_panic());
        text
    }

    /// A value as text.
    fn describe(&self, value: &T) -> String {
        let Some(show) = self.show else { return "a value that cannot be shown".to_owned() };
        let shown = catch_unwind(AssertUnwindSafe(|| heap::scope(|| show(value))));
        let Ok(mut text) = shown else { return "a value that panics when it is shown".to_owned() };
        if text.len() > LONGEST {
            let cut = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(cut);
            text.push_str("..");
        }
        text
    }

    /// The value that a cell reads as: its own, or the default.
    fn read(&'static self, value: Option<&Value<T>>) -> Option<Value<T>> {
        match value {
            Some(value) => Some(Rc::clone(value)),
            None => self.element.has_default().then(|| self.default_value()),
        }
    }
}

impl<T> Pristine<T> {
    fn layout(element: &ElementType) -> Layout {
        Layout::from_size_align(element.size(), element.align()).unwrap_or(Layout::new::<u8>())
    }

    fn cells(&self) -> CellsMut<'_> {
        // SAFETY: one cell, which lives as long as `self`; a writer of it owns `self`.
        unsafe {
            CellsMut::new(self.cell, self.checked.element.size() as isize, 1, Exclusive::own())
        }
    }

    /// The object. (Zero bytes are one where they are the default value.)
    fn object(&self) -> &T {
        // SAFETY: a value that the model keeps is live.
        unsafe { &*self.checked.definition.cell().object(self.cell) }
    }
}

impl<T> fmt::Debug for Pristine<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.checked.describe(self.object()))
    }
}

impl<T> Drop for Pristine<T> {
    fn drop(&mut self) {
        let vtable = self.checked.definition.vtable();
        if let Some(destroy) = vtable.destroy
            && self.live
        {
            let mut error_out = ErrorOut::new();
            // SAFETY: one live cell, not used any more. A destructor that fails shows in cells, too.
            heap::scope(|| unsafe {
                destroy(vtable.context, self.cell, 0, 1, &raw mut error_out);
            });
        }
        // SAFETY: allocated in `apart` with the same layout.
        unsafe { dealloc(self.cell, Self::layout(self.checked.element)) };
    }
}

impl<T: 'static> Subject for &'static Checked<T> {
    type Value = Value<T>;
    const FILLS_VACANT: bool = true;

    fn element(&self) -> &'static ElementType {
        self.element
    }

    fn most_cells(&self) -> usize {
        MOST_CELLS
    }

    fn value(&self, number: u16) -> Option<Value<T>> {
        let mut value = self.apart(0);
        drop(hooks::take_panic());
        // SAFETY: one vacant cell.
        let placed = unsafe { self.place(value.cells(), [number].into_iter()) };
        if placed.is_err() {
            if let Some(said) = hooks::take_panic() {
                panic!("the closure panicked: {said}");
            }
            return None;
        }
        value.live = true;
        Some(Rc::new(value))
    }

    fn default_value(&self) -> Value<T> {
        if let Some(default) = &*self.default.borrow() {
            return Rc::clone(default);
        }
        let mut value = self.apart(0);
        let vtable = self.definition.vtable();
        if let Some(construct) = vtable.construct {
            let mut error_out = ErrorOut::new();
            // SAFETY: one vacant cell.
            let status = heap::scope(|| unsafe {
                construct(vtable.context, value.cell, 0, 1, &raw mut error_out)
            });
            if let Err(failure) = Failure::check(status, &error_out) {
                panic!("the default value cannot be made: {failure}");
            }
            value.live = true;
        }
        let value = Rc::new(value);
        *self.default.borrow_mut() = Some(Rc::clone(&value));
        value
    }

    fn canonical(&self, value: Value<T>) -> Option<Value<T>> {
        // SAFETY: a cell of the type.
        let zero = self.element.zero_is_default()
            && !unsafe { self.element.vacancy().is_live(value.cell) };
        (!zero).then_some(value)
    }

    unsafe fn check(
        &self,
        cell: *const u8,
        live: bool,
        expected: Option<&Value<T>>,
    ) -> Result<(), String> {
        let zero_is_default = self.element.zero_is_default();
        let expected = match (live, expected) {
            (false, None) if !zero_is_default => return Ok(()),
            (true, None) if !zero_is_default => {
                return Err("is live where it was expected to be vacant".to_owned());
            }
            (false, Some(value)) if !zero_is_default => {
                let hint = match self.element.vtable().storage {
                    abi::STORAGE_INLINE => {
                        "; zero_is_vacant promises that no value has all its bytes zero"
                    }
                    _ => "",
                };
                let value = self.describe(value.object());
                return Err(format!("is vacant where {value} was expected{hint}"));
            }
            (_, Some(value)) => Rc::clone(value),
            // The default value, with or without bytes that are not zero.
            (_, None) => self.default_value(),
        };
        // SAFETY: the cell is live, or its zero bytes are promised to be a value.
        let object = unsafe { &*self.definition.cell().object(cell.cast_mut()) };
        let compared = self.compare(object, &expected);
        if !live && zero_is_default {
            return compared.map_err(|what| {
                format!("{what} (zero_is_default promises that zero bytes are the default value)")
            });
        }
        compared
    }

    unsafe fn store(&self, cells: CellsMut<'_>, numbers: &[u16]) -> Result<(), Failure> {
        // SAFETY: the same contract.
        unsafe { self.place(cells, numbers.iter().copied()) }
    }

    unsafe fn fill(&self, cells: CellsMut<'_>, number: u16) -> Result<(), Failure> {
        let numbers = std::iter::repeat_n(number, cells.len());
        // SAFETY: the same contract.
        unsafe { self.place(cells, numbers) }
    }

    fn loop_count(&self) -> usize {
        self.loops.len()
    }

    fn apply(
        &self,
        which: usize,
        from: Option<&Value<T>>,
        to: Option<&Value<T>>,
    ) -> Option<Result<Value<T>, String>> {
        let (from, to) = (self.read(from)?, self.read(to)?);
        if from.depth.max(to.depth) >= DEEPEST {
            return None;
        }
        let mut result = self.apart(from.depth.max(to.depth) + 1);
        // SAFETY: single cells of the type; the loop reads the inputs.
        let outcome = unsafe { self.step(which, &result.cells(), &from.cells(), &to.cells()) };
        match outcome {
            Ok(()) => {
                result.live = true;
                Some(Ok(Rc::new(result)))
            }
            Err(failure) => Some(Err(failure.message.clone())),
        }
    }

    unsafe fn compute(
        &self,
        which: usize,
        to: CellsMut<'_>,
        from: CellsMut<'_>,
    ) -> Result<(), Failure> {
        // SAFETY: the same contract.
        unsafe { self.step(which, &to, &from, &to) }
    }

    fn sorts(&self) -> bool {
        self.definition.vtable().sort.is_some() && self.definition.vtable().compare.is_some()
    }

    fn order(&self, left: Option<&Value<T>>, right: Option<&Value<T>>) -> Ordering {
        let vtable = self.definition.vtable();
        let (Some(left), Some(right), Some(compare)) =
            (self.read(left), self.read(right), vtable.compare)
        else {
            return Ordering::Equal;
        };
        let (mut error_out, mut result) = (ErrorOut::new(), 0);
        // SAFETY: two live cells, to read.
        let status = heap::scope(|| unsafe {
            compare(vtable.context, left.cell, right.cell, &raw mut result, &raw mut error_out)
        });
        if let Err(failure) = Failure::check(status, &error_out) {
            panic!("two values cannot be compared: {failure}");
        }
        result.cmp(&0)
    }

    unsafe fn sort(&self, cells: CellsMut<'_>) -> Result<(), Failure> {
        let vtable = self.definition.vtable();
        let Some(sort) = vtable.sort else { return Ok(()) };
        let mut error_out = ErrorOut::new();
        // SAFETY: the same contract.
        let status = heap::scope(|| unsafe {
            sort(vtable.context, cells.address(0), cells.len(), &raw mut error_out)
        });
        Failure::check(status, &error_out)
    }

    fn plan_fault(&self, steps: u32, fault: Fault) {
        type_code::plan(steps, fault);
    }

    fn plan_destructor_failure(&self, steps: u32) {
        type_code::plan_destructor(steps);
    }

    fn cancel_plans(&self) -> Left {
        type_code::cancel()
    }

    fn audit(&self, _live: i64, _ledger: Stats) -> Result<(), String> {
        heap::trouble().map_or(Ok(()), Err)
    }
}

impl<T: 'static> Checked<T> {
    /// Runs a loop over cells: the second input, where it has one, is `second`.
    ///
    /// # Safety
    /// Cells of the type, under rule 1, equally many; `to` may be written.
    unsafe fn step(
        &self,
        which: usize,
        to: &CellsMut<'_>,
        first: &CellsMut<'_>,
        second: &CellsMut<'_>,
    ) -> Result<(), Failure> {
        let entry = &self.loops[which];
        let Some(function) = entry.function else { return Ok(()) };
        let function = (function, entry.context);
        let operand = |cells: &CellsMut<'_>| (cells.address(0), cells.stride());
        let ((x, by), (y, along), (out, step)) = (operand(first), operand(second), operand(to));
        // SAFETY: the same contract; the loop has as many operands.
        unsafe {
            if entry.input_count == 1 {
                self.call(function, [x, out], [by, step], to.len())
            } else {
                self.call(function, [x, y, out], [by, along, step], to.len())
            }
        }
    }
}
