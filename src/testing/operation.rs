//! One step of a sequence of operations on segments, and the bytes that stand for it.

use super::random::SplitMix;

/// Bytes that a value is made from.
pub(super) const VALUE_BYTES: usize = 64;
/// Most operations of one sequence.
const MOST: usize = 256;

/// One step. Slots, cells and sizes are taken modulo what exists, so that any numbers will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Frees what is in the slot and allocates anew; untyped, hinted, or hinted wrongly; of our own
    /// memory or another allocator's.
    Allocate {
        /// Where, and in whose memory.
        slot: u8,
        /// Cells.
        count: u16,
        /// Picks alignment, hint, zeroing, and bytes beyond the last cell.
        flags: u8,
    },
    /// Settles the type; by binding it, or as the first loop does where it is hinted at.
    Bind {
        /// Which segment.
        slot: u8,
    },
    /// Resizes.
    Resize {
        /// Which segment.
        slot: u8,
        /// Cells.
        count: u16,
        /// Bytes beyond the last cell.
        extra: u8,
    },
    /// Builds default objects.
    Construct(Run),
    /// Fills vacant cells.
    Materialise(Run),
    /// Destroys.
    Destroy(Run),
    /// Gives cells a value: all of them, or (of the core's own types) the live ones.
    Set(Run),
    /// A loop as NumPy runs it: a strided run, materialised and set, with a ledger around it.
    Loop(Run),
    /// Copies to another place or segment.
    Copy(Run),
    /// Moves to another place or segment.
    Relocate(Run),
    /// Swaps two ranges as bytes, where cells tell by themselves what they hold, and mends the
    /// bits.
    Permute(Run),
    /// Destroys everything.
    Clear {
        /// Which segment.
        slot: u8,
    },
    /// Frees.
    Free {
        /// Which segment.
        slot: u8,
    },
    /// Looks up an interior pointer, and its neighbourhood.
    Lookup {
        /// Which segment.
        slot: u8,
        /// Byte.
        offset: u16,
    },
    /// Looks up any address.
    Wild {
        /// Its leading bits.
        bits: u32,
        /// How far they are shifted up.
        shift: u8,
    },
    /// Gives each cell a value of its own.
    Put(Run),
    /// A loop of the type itself, such as the one for `add`: from cells, and what is in the
    /// destination, to the destination.
    Compute(Run),
    /// Sorts.
    Sort(Run),
    /// Has an allocation fail during the next step.
    FailAllocation {
        /// How many succeed before.
        after: u8,
    },
    /// Has a construction, copy, assignment or relocation fail during the next step.
    FailElement {
        /// How many succeed before.
        after: u8,
        /// Whether it panics.
        panic: bool,
    },
    /// Has a destructor fail during the next step.
    FailDestructor {
        /// How many succeed before.
        after: u8,
    },
}

/// Cells of one segment, and where to in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Which segment.
    pub slot: u8,
    /// First cell.
    pub start: u16,
    /// How many cells; for loops also the stride.
    pub count: u16,
    /// The other segment.
    pub to: u8,
    /// First cell there, or the number of a value.
    pub offset: u16,
}

impl Operation {
    /// Any eight bytes are an operation.
    pub fn from_bytes(bytes: [u8; 8]) -> Operation {
        let [opcode, slot, a, b, c, d, e, f] = bytes;
        let wide = |low, high| u16::from_le_bytes([low, high]);
        let run = Run { slot, start: wide(a, b), count: wide(c, d), to: e, offset: wide(f, e) };
        // Mostly soon, so that it happens while something has been done already.
        let after = if b & 2 == 0 { a % 8 } else { a };
        match opcode % 64 {
            0..4 => Operation::Allocate { slot, count: wide(a, b), flags: c },
            4 => Operation::Bind { slot },
            5..10 => Operation::Resize { slot, count: wide(a, b), extra: c },
            10..12 => Operation::Construct(run),
            12..18 => Operation::Materialise(run),
            18..20 => Operation::Destroy(run),
            20..23 => Operation::Set(run),
            23..26 => Operation::Loop(run),
            26..29 => Operation::Copy(run),
            29..32 => Operation::Relocate(run),
            32 => Operation::Permute(run),
            33 => Operation::Clear { slot },
            34 => Operation::Free { slot },
            35 => Operation::Lookup { slot, offset: wide(a, b) },
            36 => Operation::Wild { bits: u32::from_le_bytes([a, b, c, d]), shift: e },
            37..40 => Operation::FailAllocation { after: a % 4 },
            40..46 => Operation::FailElement { after, panic: b & 1 == 1 },
            46..48 => Operation::FailDestructor { after },
            48..56 => Operation::Put(run),
            56..60 => Operation::Compute(run),
            _ => Operation::Sort(run),
        }
    }

    /// The operations that `bytes` stand for: eight bytes each, a rest of fewer says nothing.
    pub fn sequence(bytes: &[u8]) -> Vec<Operation> {
        bytes.as_chunks().0.iter().take(MOST).map(|record| Operation::from_bytes(*record)).collect()
    }
}

/// The bytes that value `number` is made from. A quarter of all numbers make one of eight plain
/// values, zero among them; in the others what a generator makes of the number follows it.
pub(super) fn value_bytes(number: u16) -> [u8; VALUE_BYTES] {
    let mut bytes = [0; VALUE_BYTES];
    if number.is_multiple_of(4) {
        bytes[0] = (number / 4 % 8) as u8;
        return bytes;
    }
    bytes[..2].copy_from_slice(&number.to_le_bytes());
    let mut random = SplitMix(number.into());
    for chunk in bytes[2..].chunks_mut(8) {
        chunk.copy_from_slice(&random.next().to_le_bytes()[..chunk.len()]);
    }
    bytes
}
