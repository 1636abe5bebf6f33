//! What a session says: figures, leaks, rows, the timeline.

use super::*;

impl Session {
    /// What became of a type's objects.
    pub fn type_report(&self, element: &ElementType) -> TypeReport {
        let now = element.counters().read();
        let ledger = self.ledger(element);
        let before = ledger.map_or(NONE, |ledger| ledger.before);
        let stats = Stats {
            struct_size: now.struct_size,
            live: now.live,
            constructed: now.constructed - before.constructed,
            destroyed: now.destroyed - before.destroyed,
            relocated: now.relocated - before.relocated,
            foreign: now.foreign - before.foreign,
            reconciled: now.reconciled - before.reconciled,
            lent: now.lent,
            stale: now.stale - before.stale,
        };
        TypeReport {
            stats,
            live_before: before.live,
            copied: ledger.map_or(0, |ledger| ledger.copied),
            scalars: ledger.map_or(0, |ledger| ledger.scalars),
            peak: ledger.map_or(now.live, |ledger| ledger.peak.max(now.live)),
        }
    }

    pub(super) fn ledger(&self, element: &ElementType) -> Option<&TypeLedger> {
        let key = ptr::from_ref(element).addr();
        self.types.iter().find(|ledger| ledger.key == key)
    }

    /// Where the objects of a type are that outlive the audit, as far as they are more than before;
    /// the largest groups first.
    ///
    /// Segments are looked at while the recorder is locked, so that none goes meanwhile.
    ///
    /// # Safety
    /// The GIL is held: no loop of a type without `thread_safe` is at work.
    pub unsafe fn leaks(&self, element: &ElementType) -> Vec<Leak> {
        let key = ptr::from_ref(element).addr();
        let report = self.type_report(element);
        let outlived = (report.stats.live - report.live_before).max(0) as u64;
        if outlived == 0 {
            return Vec::new();
        }
        let mut groups: HashMap<(LeakLocation, Where), Leak> = HashMap::new();
        let mut add = |location, at: Where, made: f64, count, segments, bytes| {
            let leak = groups.entry((location, at)).or_insert(Leak {
                count: 0,
                location,
                segments: 0,
                bytes: 0,
                first_made: made,
                at,
            });
            leak.count += count;
            leak.segments += segments;
            leak.bytes += bytes;
            leak.first_made = leak.first_made.min(made);
        };
        let mut found = 0;
        for (cells, tracked) in &self.segments {
            // SAFETY: a segment goes only after `gone`, which waits for the recorder.
            let Some(segment) = (unsafe { Segment::find(ptr::without_provenance(*cells)) }) else {
                continue;
            };
            let count = match tracked.older {
                // SAFETY: the caller's promise.
                false if segment.element().is_some_and(|known| ptr::eq(known, element)) => unsafe {
                    segment.count_live()
                },
                true if tracked.key == key => tracked.gained.max(0) as u64,
                _ => 0,
            };
            if count > 0 {
                found += count;
                add(LeakLocation::Managed, tracked.at, tracked.made, count, 1, segment.byte_len());
            }
        }
        for corruption in &self.corruptions {
            let Some(tracked) = corruption.tracked.filter(|tracked| tracked.key == key) else {
                continue;
            };
            // They are not counted where other code may have written.
            let count = (tracked.gained.max(0) as u64).min(outlived.saturating_sub(found));
            if count > 0 {
                found += count;
                add(LeakLocation::Corrupted, tracked.at, tracked.made, count, 1, corruption.bytes);
            }
        }
        // An object that NumPy moved as bytes is not known to be gone from where it was: the
        // youngest are believed first.
        let mut loose: Vec<&Loose> = self.loose.values().filter(|loose| loose.key == key).collect();
        loose.sort_by(|left, right| {
            right.scalar.cmp(&left.scalar).then(right.made.total_cmp(&left.made))
        });
        for loose in loose {
            if loose.scalar || found < outlived {
                found += 1;
                let location =
                    if loose.scalar { LeakLocation::Scalar } else { LeakLocation::Foreign };
                add(location, loose.at, loose.made, 1, 0, element.size());
            }
        }
        if found < outlived {
            add(LeakLocation::Unknown, Where::default(), 0.0, outlived - found, 0, 0);
        }
        let mut leaks: Vec<Leak> = groups.into_values().collect();
        leaks.sort_by(|left, right| {
            (right.count, right.bytes)
                .cmp(&(left.count, left.bytes))
                .then(left.first_made.total_cmp(&right.first_made))
        });
        leaks
    }

    /// What was done in foreign memory to objects of a type; the busiest rows first.
    pub fn foreign(&self, element: &ElementType) -> Vec<(RowKey, &ForeignRow)> {
        let mut rows = rows_of(&self.foreign, element);
        rows.sort_by_key(|(_, row)| {
            std::cmp::Reverse((row.constructed + row.relocated, row.calls))
        });
        rows
    }

    /// The bits of a type's init bitmaps that were wrong and corrected; the most first.
    pub fn reconciled(&self, element: &ElementType) -> Vec<(RowKey, &u64)> {
        let mut rows = rows_of(&self.reconciled, element);
        rows.sort_by_key(|(_, bits)| std::cmp::Reverse(**bits));
        rows
    }

    /// What was found corrupted, in order.
    pub fn corruptions(&self) -> &[Corruption] {
        &self.corruptions
    }

    /// Start of each bucket of the timeline until now, and each type's highest number of live
    /// objects in each; types without objects are left out.
    pub fn timeline(
        &mut self,
        elements: &[&'static ElementType],
    ) -> (Vec<f64>, Vec<(&'static ElementType, Vec<i64>)>) {
        let now = self.seconds();
        let seconds = self.timeline.seconds(now);
        let mut live = Vec::new();
        for element in elements {
            let key = ptr::from_ref(*element).addr();
            if let Some(index) = self.types.iter().position(|ledger| ledger.key == key) {
                let highest = self.timeline.highest(index, now);
                if highest.iter().any(|live| *live != 0) {
                    live.push((*element, highest.to_vec()));
                }
            }
        }
        (seconds, live)
    }
}

fn rows_of<'a, R>(table: &'a HashMap<RowKey, R>, element: &ElementType) -> Vec<(RowKey, &'a R)> {
    let key = ptr::from_ref(element).addr();
    table.iter().filter(|(row, _)| row.0 == key).map(|(row, value)| (*row, value)).collect()
}
