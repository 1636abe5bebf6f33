//! Operations with the numbers that they mean: slots and cells that exist.

use super::{Operation, Run, model::SLOTS};

/// What is known of a slot before an operation, whatever the type.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// Cells, unless that depends on whether a planned failure came.
    cells: Option<usize>,
    /// The highest bit of a slot's number says nothing: the segment is settled, was not hinted at, or
    /// there is none. Else it says how the segment is settled.
    plain: bool,
}

impl Operation {
    /// The same sequence in smaller numbers, for segments of fewer than `most_cells`.
    #[doc(hidden)]
    pub fn reduced(operations: &[Operation], most_cells: usize) -> Vec<Operation> {
        let mut slots = [Slot { cells: Some(0), plain: true }; SLOTS];
        let mut fails = false;
        let reduce = |operation: &Operation| {
            let reduced = reduce(*operation, &slots, most_cells);
            follow(reduced, &mut slots, fails);
            // A plan is for one step; several plans may be for the same.
            fails = match reduced {
                Operation::FailAllocation { .. } | Operation::FailElement { .. } => true,
                Operation::FailDestructor { .. } => fails,
                _ => false,
            };
            reduced
        };
        operations.iter().map(reduce).collect()
    }

    /// Its numbers, in the order of the fields.
    pub(super) fn numbers(self) -> Vec<u32> {
        let mut numbers = Vec::new();
        self.changed(|number| {
            numbers.push(number);
            number
        });
        numbers
    }

    /// The operation with another number in that place.
    pub(super) fn with_number(self, which: usize, number: u32) -> Operation {
        let mut place = 0..;
        self.changed(|old| if place.next() == Some(which) { number } else { old })
    }

    /// The operation on another slot, where it is on `from`.
    pub(super) fn with_slot(self, from: u32, to: u32) -> Operation {
        use Operation::*;
        let slots = match self {
            Wild { .. } | FailAllocation { .. } | FailElement { .. } | FailDestructor { .. } => 0,
            Copy(_) | Relocate(_) | Compute(_) => 2,
            _ => 1,
        };
        let mut place = 0..;
        self.changed(|old| {
            let named = place.next().is_some_and(|at| at < slots) && old & 3 == from;
            if named { old & !3 | to } else { old }
        })
    }

    fn changed(mut self, mut change: impl FnMut(u32) -> u32) -> Operation {
        use Operation::*;
        let mut numbers: (Vec<&mut u8>, Vec<&mut u16>) = Default::default();
        match &mut self {
            Allocate { slot, count, flags } => numbers = (vec![slot, flags], vec![count]),
            Resize { slot, count, extra } => numbers = (vec![slot, extra], vec![count]),
            Bind { slot } | Clear { slot } | Free { slot } => numbers.0.push(slot),
            Lookup { slot, offset } => numbers = (vec![slot], vec![offset]),
            Wild { bits, shift } => {
                *bits = change(*bits);
                numbers.0.push(shift);
            }
            FailAllocation { after } | FailElement { after, .. } | FailDestructor { after } => {
                numbers.0.push(after);
            }
            Construct(run) | Materialise(run) | Destroy(run) | Set(run) | Loop(run) | Copy(run)
            | Relocate(run) | Permute(run) | Put(run) | Compute(run) | Sort(run) => {
                let Run { slot, start, count, to, offset } = run;
                numbers = (vec![slot, to], vec![start, count, offset]);
            }
        }
        // None is made larger than it was.
        for byte in numbers.0 {
            *byte = change((*byte).into()) as u8;
        }
        for wide in numbers.1 {
            *wide = change((*wide).into()) as u16;
        }
        self
    }
}

/// Which slot a number means.
fn index(slot: u8) -> usize {
    usize::from(slot) % SLOTS
}

/// A remainder, which is as small as what it was taken from.
fn rest(number: u16, of: usize) -> u16 {
    (usize::from(number) % of) as u16
}

/// The number of the value that is made of the same bytes.
fn plain(number: u16) -> u16 {
    if number.is_multiple_of(4) { number % 32 } else { number }
}

fn reduce(operation: Operation, slots: &[Slot; SLOTS], most_cells: usize) -> Operation {
    use Operation::*;
    let named = |slot: u8| slot & if slots[index(slot)].plain { 0x03 } else { 0x83 };
    match operation {
        Allocate { slot, count, flags } => {
            Allocate { slot: slot & 0x43, count: rest(count, most_cells), flags }
        }
        Resize { slot, count, extra } => {
            Resize { slot: slot & 3, count: rest(count, most_cells), extra }
        }
        Bind { slot } => Bind { slot: named(slot) },
        Clear { slot } => Clear { slot: named(slot) },
        Free { slot } => Free { slot: slot & 3 },
        Lookup { slot, offset } => Lookup { slot: slot & 3, offset },
        Wild { bits, shift } => Wild { bits, shift: shift % 64 },
        FailAllocation { .. } | FailElement { .. } | FailDestructor { .. } => operation,
        Construct(run) => Construct(cells(run, slots, named, 1)),
        Materialise(run) => Materialise(cells(run, slots, named, 1)),
        Destroy(run) => Destroy(cells(run, slots, named, 1)),
        Sort(run) => Sort(cells(run, slots, named, 1)),
        Permute(run) => Permute(cells(run, slots, named, 2)),
        Set(run) => Set(Run { offset: plain(run.offset), ..cells(run, slots, named, 1) }),
        Put(run) => Put(Run { offset: run.offset, ..cells(run, slots, named, 1) }),
        Loop(run) => Loop(strided(run, slots, named, most_cells)),
        Copy(run) => Copy(Run { to: named(run.to), ..pair(run, slots, named) }),
        Relocate(run) => Relocate(Run { to: named(run.to), ..pair(run, slots, named) }),
        // The other bits say which loop.
        Compute(run) => Compute(pair(run, slots, named)),
    }
}

/// A run inside a part of the cells, where it is known how many there are.
fn cells(run: Run, slots: &[Slot; SLOTS], named: impl Fn(u8) -> u8, parts: usize) -> Run {
    let Run { slot, mut start, mut count, .. } = run;
    if let Some(cells) = slots[index(slot)].cells.map(|cells| cells / parts) {
        start = rest(start, cells + 1);
        count = rest(count, cells - usize::from(start) + 1);
    }
    Run { slot: named(slot), start, count, to: 0, offset: 0 }
}

fn pair(run: Run, slots: &[Slot; SLOTS], named: impl Fn(u8) -> u8) -> Run {
    let Run { to, mut offset, .. } = run;
    let mut reduced = cells(run, slots, named, 1);
    if let Some(there) = slots[index(to)].cells {
        offset = rest(offset, there + 1);
        if slots[index(run.slot)].cells.is_some() {
            reduced.count = reduced.count.min(there as u16 - offset);
        }
    }
    Run { to, offset, ..reduced }
}

fn strided(run: Run, slots: &[Slot; SLOTS], named: impl Fn(u8) -> u8, most_cells: usize) -> Run {
    let Run { slot, mut start, mut count, to, offset } = run;
    let stride = (to as i8) % 8;
    if let Some(cells @ 1..) = slots[index(slot)].cells {
        start = rest(start, cells);
        let first = usize::from(start);
        let room = match stride {
            0 => most_cells,
            1.. => (cells - 1 - first) / stride as usize + 1,
            _ => first / usize::from(stride.unsigned_abs()) + 1,
        };
        count = rest(count, room + 1);
    }
    Run { slot: named(slot), start, count, to: stride as u8, offset: plain(offset >> 8) << 8 }
}

/// What is known after an operation.
fn follow(operation: Operation, slots: &mut [Slot; SLOTS], fails: bool) {
    use Operation::*;
    let counted = |count: u16| Some(usize::from(count)).filter(|_| !fails);
    match operation {
        Allocate { slot, count, flags } => {
            let hinted = (flags >> 2) & 3 < 2;
            slots[index(slot)] = Slot { cells: counted(count), plain: !hinted };
        }
        Resize { slot, count, .. } => slots[index(slot)].cells = counted(count),
        Bind { slot } | Clear { slot } => slots[index(slot)].plain |= !fails,
        Free { slot } => slots[index(slot)] = Slot { cells: Some(0), plain: true },
        Set(run) | Put(run) | Destroy(run) => slots[index(run.slot)].plain |= !fails,
        Copy(run) | Relocate(run) => {
            slots[index(run.slot)].plain |= !fails;
            // Left alone where there is no source.
        }
        _ => {}
    }
}
