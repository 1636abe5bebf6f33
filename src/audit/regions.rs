//! How many pieces of memory some runs of cells lie in.

use std::collections::BTreeMap;

/// Runs with fewer bytes between them count as one piece: fields between the cells of a structured
/// array, for example.
const GAP: usize = 256;
/// Most pieces that are told apart.
const MOST: usize = 256;

/// Pieces of memory by their first byte, with their ends. None of them touch.
#[derive(Debug, Default)]
pub struct Regions(BTreeMap<usize, usize>);

impl Regions {
    /// Adds bytes `start .. end`.
    pub fn add(&mut self, mut start: usize, mut end: usize) {
        if self.0.len() >= MOST {
            return;
        }
        while let Some((&first, &last)) = self.0.range(..=end.saturating_add(GAP)).next_back() {
            if last.saturating_add(GAP) < start {
                break;
            }
            self.0.remove(&first);
            (start, end) = (start.min(first), end.max(last));
        }
        self.0.insert(start, end);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_touch_are_one_piece() {
        let mut regions = Regions::default();
        let mut count = |start, end| {
            regions.add(start, end);
            regions.count()
        };
        assert_eq!(count(10_000, 11_000), 1);
        assert_eq!(count(20_000, 21_000), 2);
        assert_eq!(count(11_000, 12_000), 2);
        assert_eq!(count(10_500, 10_600), 2);
        assert_eq!(count(9_000, 9_900), 2);
        assert_eq!(count(30_000, 30_008), 3);
        assert_eq!(count(12_000, 20_000), 2);
        assert_eq!(count(0, 100_000), 1);
    }
}
