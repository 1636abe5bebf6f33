//! What was overwritten, in words.

use crate::{abi, erased::Failure};
use std::{
    fmt::{self, Write as _},
    ops::Range,
};

/// The part of a segment that was overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of the header, as far as can be told: it says no longer that it is one.
    Header,
    /// A field of the header: size, place, type, dependency.
    Fields,
    /// The lock in the header.
    Lock,
    /// What stands in front of a block in another allocator's memory.
    UpstreamRecord,
    /// The canary in front of the cells.
    Front,
    /// The canary behind the cells.
    Behind,
    /// The init bitmap: bits of cells that do not exist.
    Bitmap,
    /// Cells: they are not what the init bitmap says, nor are they permuted.
    Cells,
}

impl Part {
    /// What `denizen.check_memory` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Part::Header => "header",
            Part::Fields => "fields",
            Part::Lock => "lock",
            Part::UpstreamRecord => "upstream record",
            Part::Front => "front",
            Part::Behind => "behind",
            Part::Bitmap => "bitmap",
            Part::Cells => "cells",
        }
    }
}

/// What is broken in a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corruption {
    /// Which part was overwritten.
    pub part: Part,
    /// Addresses of the block: header, bitmap, cells and what is behind them.
    pub block: Range<usize>,
    /// Addresses of the cells, where the header can still be believed.
    pub cells: Option<Range<usize>>,
    /// The name of the element type, where the header can still be believed and there is one.
    pub element: Option<&'static str>,
    /// Cells of that type.
    pub count: usize,
    /// What was found, and where: a clause about "its" parts.
    pub found: String,
    /// Where the segment was made, if an audit keeps a record.
    pub site: Option<String>,
}

impl Corruption {
    /// The segment, for a reader: addresses, type, number of cells, origin.
    pub fn segment(&self) -> String {
        let Some(cells) = &self.cells else {
            return format!(
                "the memory block at {:#x} ({} bytes with header and cells)",
                self.block.start,
                self.block.len()
            );
        };
        let mut text = format!("the segment at {:#x}", cells.start);
        let _ = match self.element {
            Some(name) => write!(text, " ({} cells of {name}, {} bytes", self.count, cells.len()),
            None => write!(text, " ({} bytes without an element type", cells.len()),
        };
        if let Some(site) = &self.site {
            let _ = write!(text, ", made at {site}");
        }
        text.push(')');
        text
    }
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is corrupted: {}", self.segment(), self.found)
    }
}

impl std::error::Error for Corruption {}

impl From<Corruption> for Failure {
    fn from(corruption: Corruption) -> Failure {
        Failure::new(
            abi::ERROR_INTEGRITY,
            format!(
                "{corruption}. Something wrote there that had no business to. Nothing in the segment is \
                 destroyed and its memory is not used again (both leak). To find who wrote, run \
                 under AddressSanitizer; to find where the array was made, `denizen audit --trace`; \
                 see docs/how-it-is-tested.md, \"Integrity\""
            ),
        )
    }
}

/// What an address is that [`super::Segment::find`] knows nothing of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// No memory of ours.
    Foreign,
    /// A segment that was found corrupted before.
    Quarantined,
    /// A segment whose header was overwritten, found now and quarantined.
    Corrupted(Box<Corruption>),
}
