//! Operations that move, copy, compute and sort objects.

use super::*;

/// Two ranges of equal length.
struct Pair<V> {
    from: Segment,
    source: Vec<Option<V>>,
    to: Segment,
    old: Vec<Option<V>>,
    range: std::ops::Range<usize>,
    offset: usize,
    /// Destination cells in the order in which they are written.
    order: Vec<usize>,
}

impl<S: Subject> Model<'_, S> {
    /// Source, destination and the order of copying for two ranges.
    fn pair(&mut self, run: Run) -> Option<Pair<S::Value>> {
        let (from, source) = self.typed(run.slot)?;
        let (to, old) = self.typed(run.to)?;
        let mut range = Self::range(run, source.len());
        let offset = usize::from(run.offset) % (old.len() + 1);
        range.end = range.end.min(range.start + old.len() - offset);
        let mut order: Vec<usize> = (offset..offset + range.len()).collect();
        if from == to && offset > range.start && offset - range.start < range.len() {
            order.reverse();
        }
        Some(Pair { from, source, to, old, range, offset, order })
    }

    pub(super) fn copy(&mut self, run: Run) {
        let Some(pair) = self.pair(run) else { return };
        let same_place = pair.from == pair.to && pair.range.start == pair.offset;
        // SAFETY: this thread alone knows the segments.
        let outcome = unsafe { pair.from.copy(pair.range.clone(), pair.to, pair.offset) };
        if !self.element().is_copyable() && !pair.range.is_empty() && !same_place {
            let done = outcome.map_err(|failure| failure.done);
            return assert_eq!(done, Err(0), "copies of a type that has none");
        }
        let mut new = pair.old.clone();
        new[pair.offset..][..pair.range.len()].clone_from_slice(&pair.source[pair.range.clone()]);
        self.settle(run.to, pair.to, outcome, &pair.old, &new, &pair.order);
    }

    pub(super) fn relocate(&mut self, run: Run) {
        let Some(pair) = self.pair(run) else { return };
        // SAFETY: this thread alone knows the segments.
        let outcome = unsafe { pair.from.relocate(pair.range.clone(), pair.to, pair.offset) };
        if let Err(failure) = &outcome {
            assert!(self.element_fails || self.destructor_fails, "it failed: {failure}");
            self.told = true;
        }
        let same = pair.from == pair.to;
        if same && pair.range.start == pair.offset {
            return;
        }
        let done = outcome.map_or_else(|failure| failure.done, |()| pair.order.len());
        // Where the segments are one, all is in `target`.
        let (mut source, mut target) = (pair.source, pair.old);
        for (position, &to) in pair.order.iter().enumerate() {
            let from = to - pair.offset + pair.range.start;
            if position < done {
                let moved = if same { target[from].take() } else { source[from].take() };
                target[to] = moved;
            }
        }
        let live = Self::live(pair.to);
        for &to in pair.order.iter().skip(done) {
            // Its object is destroyed already, or not yet.
            target[to] = self.found(pair.to, to, live[to], &[&target[to], &None]);
        }
        if !same {
            self.note(run.slot, pair.from, source);
        }
        self.note(run.to, pair.to, target);
    }

    pub(super) fn compute(&mut self, run: Run) {
        let loops = self.subject.loop_count();
        let element = self.element();
        if loops == 0 {
            return;
        }
        let Some(mut pair) = self.pair(run) else { return };
        let (mut count, same) = (pair.range.len(), pair.from == pair.to);
        let apart = pair.range.start.abs_diff(pair.offset) >= count;
        // NumPy copies operands that overlap in any other way.
        if count == 0 || (same && !apart && pair.range.start != pair.offset) {
            return;
        }
        // From the first two cells on that hold something to compute with.
        let reads = |cell: &Option<S::Value>| cell.is_some() || element.has_default();
        let skipped = (0..count).find(|position| {
            reads(&pair.source[pair.range.start + position])
                && reads(&pair.old[pair.offset + position])
        });
        let Some(skipped) = skipped else { return };
        pair.range.start += skipped;
        pair.offset += skipped;
        pair.order.drain(..skipped);
        count -= skipped;
        let which = usize::from(run.to >> 2) % loops;
        let mut new = pair.old.clone();
        let mut fails = None;
        for position in 0..count {
            let (from, to) = (pair.range.start + position, pair.offset + position);
            match self.subject.apply(which, pair.source[from].as_ref(), pair.old[to].as_ref()) {
                // Up to the first cell that holds nothing to compute with.
                None => {
                    count = position;
                    break;
                }
                Some(Ok(value)) => new[to] = self.subject.canonical(value),
                Some(Err(message)) => {
                    fails = Some((position, message));
                    break;
                }
            }
        }
        if count == 0 {
            return;
        }
        let mut target = self.cells(pair.to, pair.offset, 1, count);
        let ledger = Ledger::open(element, Some(pair.to), &target);
        // SAFETY: cells of segments that this thread alone knows, the same or apart.
        let outcome = unsafe {
            let source = self.cells(pair.from, pair.range.start, 1, count);
            type_code::armed(|| self.subject.compute(which, target.reborrow(), source))
        };
        ledger.close(target.as_cells());
        let mut done = fails.as_ref().map_or(count, |(position, _)| *position);
        match outcome {
            // A planned panic in the middle of what the loop does with one element.
            Err(failure) if self.element_fails && type_code::fired_inside() => {
                assert!(failure.done <= done, "{failure:?} of {done}");
                done = failure.done;
                self.told = true;
            }
            outcome => {
                let outcome = outcome.map_err(|failure| (failure.done, failure.message.clone()));
                assert_eq!(
                    outcome.err(),
                    fails,
                    "a loop fails where it fails on one element alone"
                );
            }
        }
        self.settle(run.to, pair.to, Ok(()), &pair.old, &new, &pair.order[..done]);
    }

    pub(super) fn sort(&mut self, run: Run) {
        let element = self.element();
        if !self.subject.sorts() {
            return;
        }
        let Some((segment, old)) = self.typed(run.slot) else { return };
        let range = Self::range(run, old.len());
        let vacant = Self::live(segment)[range.clone()].contains(&false);
        if range.is_empty() || (vacant && !element.has_default()) {
            return;
        }
        let mut cells = self.cells(segment, range.start, 1, range.len());
        let ledger = Ledger::open(element, Some(segment), &cells);
        // SAFETY: contiguous cells of a segment that this thread alone knows.
        let outcome = unsafe { self.subject.sort(cells.reborrow()) };
        ledger.close(cells.as_cells());
        let mut new = old.clone();
        let subject = self.subject;
        for pair in old[range.clone()].windows(2) {
            let (left, right) = (pair[0].as_ref(), pair[1].as_ref());
            let order = subject.order(left, right);
            let sane =
                order == subject.order(right, left).reverse() && subject.order(left, left).is_eq();
            assert!(
                sane,
                "no order: {left:?} and {right:?} compare as {order:?} one way round only"
            );
        }
        new[range.clone()].sort_by(|left, right| subject.order(left.as_ref(), right.as_ref()));
        for triple in new[range.clone()].windows(3) {
            let [first, middle, last] = triple else { continue };
            assert!(
                subject.order(first.as_ref(), last.as_ref()).is_le(),
                "no order: {first:?} is sorted before {middle:?}, and that before {last:?}, but the \
                 first is greater than the last"
            );
        }
        self.settle(run.slot, segment, outcome, &old, &new, &range.collect::<Vec<_>>());
    }

    pub(super) fn permute(&mut self, run: Run) {
        let element = self.element();
        if !element.has_zero_promise() || !element.is_trivially_relocatable() {
            return;
        }
        let Some((segment, mut cells)) = self.typed(run.slot) else { return };
        let half = cells.len() / 2;
        let range = Self::range(run, half);
        let size = element.size();
        let live = Self::live(segment);
        let wrong = 2 * range.clone().filter(|i| live[*i] != live[*i + half]).count() as u64;
        for index in range.clone() {
            cells.swap(index, index + half);
        }
        // SAFETY: two ranges of the segment's cells that do not overlap, known to this thread alone.
        unsafe {
            let first = segment.cells().as_ptr().add(range.start * size);
            std::ptr::swap_nonoverlapping(first, first.add(half * size), range.len() * size);
        }
        let all = self.cells(segment, 0, 1, cells.len());
        let before = element.counters().read();
        let delta = Ledger::open(element, Some(segment), &all).close(all.as_cells());
        assert_eq!((delta.reconciled, delta.constructed, delta.destroyed), (wrong, 0, 0));
        assert_eq!(element.counters().read().reconciled - before.reconciled, wrong);
        self.note(run.slot, segment, cells);
    }
}
