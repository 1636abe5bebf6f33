//! The ledger of one audit: what each type's objects did, and where those are that still live.

mod report;

use super::{operation::Operation, sites::Where, timeline::Timeline};
use crate::{
    abi::Stats,
    erased::{Cells, CountDelta, ElementType, Location, observer::Corrupted},
    owner_map,
    segment::Segment,
};
use std::{
    collections::HashMap,
    ptr::{self, NonNull},
    time::Instant,
};

/// Most objects outside segments whose places are kept; what comes later is in no known place.
const MOST_LOOSE: usize = 1 << 17;
/// Most rows of each table; what comes later is added to the row of its type without a site.
const MOST_ROWS: usize = 1 << 12;
/// Most corruptions that are kept.
const MOST_CORRUPTIONS: usize = 1000;

/// A type, by the address of its [`ElementType`].
type TypeKey = usize;

/// What identifies a row of the report: type, operation, site.
pub type RowKey = (TypeKey, Operation, Option<u32>);

/// The ledger of one audit.
#[derive(Debug)]
pub struct Session {
    started: Instant,
    types: Vec<TypeLedger>,
    segments: HashMap<usize, Tracked>,
    /// Segments that are being resized, by the number of the resize.
    leaving: HashMap<u64, Tracked>,
    /// Objects in scalars and in foreign memory, by address.
    loose: HashMap<usize, Loose>,
    foreign: HashMap<RowKey, ForeignRow>,
    reconciled: HashMap<RowKey, u64>,
    corruptions: Vec<Corruption>,
    timeline: Timeline,
}

#[derive(Debug)]
struct TypeLedger {
    key: TypeKey,
    /// The counters when the audit began.
    before: Stats,
    copied: u64,
    scalars: u64,
    live: i64,
    peak: i64,
}

/// A segment that was made or used during the audit.
#[derive(Clone, Copy, Debug)]
struct Tracked {
    /// Whether it was there before the audit.
    older: bool,
    /// When it was made, or when the first object was built in an older one.
    made: f64,
    /// Where it was made, or where the first object was built in an older one.
    at: Where,
    /// The type of the objects that were built there.
    key: TypeKey,
    /// How many more objects it holds than before the audit, as far as loops said.
    gained: i64,
}

/// An object outside segments.
#[derive(Clone, Copy, Debug)]
struct Loose {
    key: TypeKey,
    made: f64,
    at: Where,
    scalar: bool,
}

/// What an operation did in foreign memory at one site.
#[derive(Debug, Default)]
pub struct ForeignRow {
    /// Objects built there.
    pub constructed: u64,
    /// Objects moved there.
    pub relocated: u64,
    /// Loop calls.
    pub calls: u64,
}

/// Memory that was found corrupted.
#[derive(Clone, Debug)]
pub struct Corruption {
    /// Address of the cells.
    pub cells: usize,
    /// What is wrong.
    pub what: String,
    /// Where the segment was made.
    pub at: Where,
    /// The segment, if it was made or used in the audit.
    tracked: Option<Tracked>,
    /// Bytes of its cells, as far as that is known.
    bytes: usize,
}

/// Where objects are that outlive the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeakLocation {
    /// In segments.
    Managed,
    /// In segments that were found corrupted.
    Corrupted,
    /// In memory of NumPy's.
    Foreign,
    /// In Python scalars.
    Scalar,
    /// Not known.
    Unknown,
}

impl LeakLocation {
    /// Its word in the report.
    pub fn word(self) -> &'static str {
        match self {
            LeakLocation::Managed => "managed",
            LeakLocation::Corrupted => "corrupted",
            LeakLocation::Foreign => "foreign",
            LeakLocation::Scalar => "scalar",
            LeakLocation::Unknown => "unknown",
        }
    }
}

/// Objects of one type that outlive the audit, in one kind of place, made by one stack of calls as
/// far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Leak {
    /// Objects.
    pub count: u64,
    /// Where they are.
    pub location: LeakLocation,
    /// Arrays' segments that they are in.
    pub segments: usize,
    /// Bytes of those segments' cells, or of the objects' own.
    pub bytes: usize,
    /// When the first of them was made, in seconds.
    pub first_made: f64,
    /// Where they were made.
    pub at: Where,
}

/// What became of one type's objects.
#[derive(Clone, Copy, Debug)]
pub struct TypeReport {
    /// Differences of the counters since the beginning, `live` as it is.
    pub stats: Stats,
    /// Live when the audit began.
    pub live_before: i64,
    /// Objects that got the value of another by the type's own copy.
    pub copied: u64,
    /// Of those that the counters call foreign: built in Python scalars.
    pub scalars: u64,
    /// Most that lived at once.
    pub peak: i64,
}

impl Session {
    /// Begins an audit. `elements` are the types that exist.
    pub fn begin(elements: &[&'static ElementType]) -> Session {
        let mut session = Session {
            started: Instant::now(),
            types: Vec::new(),
            segments: HashMap::new(),
            leaving: HashMap::new(),
            loose: HashMap::new(),
            foreign: HashMap::new(),
            reconciled: HashMap::new(),
            corruptions: Vec::new(),
            timeline: Timeline::default(),
        };
        for element in elements {
            session.add_type(ptr::from_ref(*element).addr(), element.counters().read());
        }
        session
    }

    /// Seconds since the beginning.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn add_type(&mut self, key: TypeKey, before: Stats) -> usize {
        let live = before.live;
        self.types.push(TypeLedger { key, before, copied: 0, scalars: 0, live, peak: live });
        self.timeline.add_series(live)
    }

    /// The number of a type; one that appears later had no objects before.
    fn type_index(&mut self, element: &ElementType) -> usize {
        let key = ptr::from_ref(element).addr();
        match self.types.iter().position(|ledger| ledger.key == key) {
            Some(index) => index,
            None => self.add_type(key, Stats { struct_size: size_of::<Stats>(), ..NONE }),
        }
    }

    /// Enters a delta. `here` says where this thread is, `operation` what it is at.
    pub fn recorded(
        &mut self,
        element: &ElementType,
        delta: CountDelta,
        location: Location<'_>,
        operation: Operation,
        here: &mut dyn FnMut() -> Where,
    ) {
        let now = self.seconds();
        let key = ptr::from_ref(element).addr();
        let index = self.type_index(element);
        let gained = delta.constructed as i64 - delta.destroyed as i64;
        if delta.constructed + delta.destroyed > 0 {
            let ledger = &mut self.types[index];
            ledger.live += gained;
            ledger.peak = ledger.peak.max(ledger.live);
            let live = ledger.live;
            self.timeline.set(index, now, live);
        }
        if delta.reconciled > 0 {
            *row(&mut self.reconciled, (key, operation, here().site)) += delta.reconciled;
        }
        let proxy = operation == Operation::PROXY;
        let entry = Entry { key, element, now, scalar: proxy };
        match location {
            Location::Passing => {}
            Location::Scalar(address) => {
                let address = address.addr();
                self.types[index].scalars += delta.constructed;
                if gained > 0 {
                    self.add_loose(address, Entry { scalar: true, ..entry }, here());
                } else if gained < 0 {
                    self.loose.remove(&address);
                }
                return;
            }
            Location::Cells(cells) => {
                match segment_with(element, cells).filter(|_| delta.foreign == 0) {
                    Some(segment) => self.gain(segment, key, gained, here),
                    None => {
                        self.look_at_loose(entry, cells, None, here);
                    }
                }
            }
            Location::Moved { to, from } => {
                let moved = delta.relocated as i64;
                let known = match segment_with(element, from) {
                    Some(segment) => {
                        self.gain(segment, key, -moved, here);
                        None
                    }
                    None => self.look_at_loose(entry, from, None, here),
                };
                match segment_with(element, to) {
                    Some(segment) => {
                        self.gain(segment, key, moved - delta.destroyed as i64, here);
                    }
                    None => {
                        self.look_at_loose(entry, to, known, here);
                    }
                }
            }
        }
        if !proxy {
            self.touch_foreign(element, delta, location, operation, here);
        }
    }

    /// Enters that an operation built objects in foreign memory, or moved some there.
    fn touch_foreign(
        &mut self,
        element: &ElementType,
        delta: CountDelta,
        location: Location<'_>,
        operation: Operation,
        here: &mut dyn FnMut() -> Where,
    ) {
        let relocated = match location {
            Location::Moved { to, .. }
                if !to.is_empty()
                    && segment_with(element, to).is_none()
                    && owner_map::adopted_at(to.address(0)).is_none() =>
            {
                delta.relocated
            }
            _ => 0,
        };
        if delta.foreign + relocated == 0 {
            return;
        }
        let key = (ptr::from_ref(element).addr(), operation, here().site);
        let row = row(&mut self.foreign, key);
        row.constructed += delta.foreign;
        row.relocated += relocated;
        row.calls += 1;
    }

    /// A segment that may be older than the audit holds `gained` more objects.
    fn gain(
        &mut self,
        segment: Segment,
        key: TypeKey,
        gained: i64,
        here: &mut dyn FnMut() -> Where,
    ) {
        if gained == 0 {
            return;
        }
        let now = self.seconds();
        let tracked = self.segments.entry(segment.cells().addr().get()).or_insert_with(|| {
            let at = Where::default();
            Tracked { older: true, made: now, at, key, gained: 0 }
        });
        if gained > 0 && tracked.gained <= 0 {
            tracked.key = key;
            if tracked.older {
                tracked.made = now;
                tracked.at = here();
            }
        }
        tracked.gained += gained;
    }

    /// Notes which cells outside segments hold objects now. Objects that were there already keep
    /// where they were made; new ones were made at `known`, if that is known. Returns where the
    /// first object was made that is gone.
    fn look_at_loose(
        &mut self,
        entry: Entry<'_>,
        cells: Cells<'_>,
        known: Option<Where>,
        here: &mut dyn FnMut() -> Where,
    ) -> Option<Where> {
        let element = entry.element;
        // An owner's objects are in no figures.
        if !element.has_zero_promise()
            || cells.is_empty()
            || owner_map::adopted_at(cells.address(0)).is_some()
        {
            return None;
        }
        let mut gone = None;
        let mut at = known;
        for index in 0..if cells.stride() == 0 { 1 } else { cells.len() } {
            let address = cells.address(index);
            // SAFETY: `cells-readable`: whole cells of the type.
            if unsafe { element.vacancy().is_live(address) } {
                if !self.loose.contains_key(&address.addr()) {
                    let at = *at.get_or_insert_with(&mut *here);
                    self.add_loose(address.addr(), entry, at);
                }
            } else if let Some(loose) = self.loose.remove(&address.addr()) {
                gone.get_or_insert(loose.at);
            }
        }
        gone
    }

    fn add_loose(&mut self, address: usize, entry: Entry<'_>, at: Where) {
        if self.loose.len() < MOST_LOOSE {
            let Entry { key, now, scalar, .. } = entry;
            self.loose.insert(address, Loose { key, made: now, at, scalar });
        }
    }

    /// Enters copies.
    pub fn copied(&mut self, element: &ElementType, count: u64) {
        let index = self.type_index(element);
        self.types[index].copied += count;
    }

    /// Enters a new segment.
    pub fn made(&mut self, cells: NonNull<u8>, at: Where) {
        let tracked = Tracked { older: false, made: self.seconds(), at, key: 0, gained: 0 };
        self.segments.insert(cells.addr().get(), tracked);
    }

    /// Forgets a segment.
    pub fn gone(&mut self, cells: NonNull<u8>) {
        self.segments.remove(&cells.addr().get());
    }

    /// A segment is about to be resized.
    pub fn leaves(&mut self, number: u64, cells: NonNull<u8>) {
        if let Some(tracked) = self.segments.remove(&cells.addr().get()) {
            self.leaving.insert(number, tracked);
        }
    }

    /// A segment is where the resize left it.
    pub fn arrives(&mut self, number: u64, cells: NonNull<u8>) {
        match self.leaving.remove(&number) {
            Some(tracked) => {
                self.segments.insert(cells.addr().get(), tracked);
            }
            // An older one that nothing was built in: one made for the resize is older, too.
            None => {
                self.segments.remove(&cells.addr().get());
            }
        }
    }

    /// Where the segment with these cells was made.
    pub fn site_of(&self, cells: usize) -> Option<u32> {
        self.segments.get(&cells).filter(|tracked| !tracked.older)?.at.site
    }

    /// Enters a corruption, and what the segment holds, which no code can look at any more.
    pub fn corrupted(&mut self, found: &Corrupted<'_>) {
        // Where the header was overwritten, only the block is known.
        let inside = |cells: &&usize| found.block.contains(*cells);
        let cells = if found.cells.is_empty() {
            self.segments.keys().find(inside).copied().unwrap_or(found.cells.start)
        } else {
            found.cells.start
        };
        let tracked = self.segments.remove(&cells);
        if self.corruptions.len() < MOST_CORRUPTIONS {
            let at = tracked.map_or(Where::default(), |tracked| tracked.at);
            let (what, bytes) = (found.what.to_owned(), found.cells.len());
            self.corruptions.push(Corruption { cells, what, at, tracked, bytes });
        }
    }
}

/// What is entered.
#[derive(Clone, Copy)]
struct Entry<'a> {
    key: TypeKey,
    element: &'a ElementType,
    now: f64,
    scalar: bool,
}

const NONE: Stats = Stats {
    struct_size: 0,
    live: 0,
    constructed: 0,
    destroyed: 0,
    relocated: 0,
    foreign: 0,
    reconciled: 0,
    lent: 0,
    stale: 0,
};

/// The segment of the type that a run of cells is in.
fn segment_with(element: &ElementType, cells: Cells<'_>) -> Option<Segment> {
    if cells.is_empty() {
        return None;
    }
    // SAFETY: the operation that tells of cells keeps their memory meanwhile.
    unsafe { Segment::find(cells.address(0)) }.filter(|segment| segment.is_for(element))
}

/// The row of a table.
fn row<R: Default>(table: &mut HashMap<RowKey, R>, key: RowKey) -> &mut R {
    let full = table.len() >= MOST_ROWS && !table.contains_key(&key);
    table.entry(if full { (key.0, Operation::default(), None) } else { key }).or_default()
}
