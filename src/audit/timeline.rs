//! How many objects of each type were alive over the time of an audit, in bounded memory.

/// Most buckets of a timeline.
pub const BUCKETS: usize = 2000;
/// Seconds of a bucket at first.
const FIRST_WIDTH: f64 = 1e-4;

/// The highest number of live objects in each span of time; spans double when there are too many.
#[derive(Debug)]
pub struct Timeline {
    /// Seconds of a bucket.
    width: f64,
    series: Vec<Series>,
}

/// The objects of one type.
#[derive(Debug)]
struct Series {
    /// Live at the moment.
    live: i64,
    /// The most in each bucket so far.
    highest: Vec<i64>,
}

impl Series {
    /// Fills up to bucket `index` with what is alive, since nothing happened in between.
    fn extend_to(&mut self, index: usize) {
        if self.highest.len() <= index {
            self.highest.resize(index + 1, self.live);
        }
    }
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline { width: FIRST_WIDTH, series: Vec::new() }
    }
}

impl Timeline {
    /// A new series that was at `live` from the start; its number.
    pub fn add_series(&mut self, live: i64) -> usize {
        self.series.push(Series { live, highest: Vec::new() });
        self.series.len() - 1
    }

    /// The number of live objects of series `index` is `live` from `seconds` on.
    pub fn set(&mut self, index: usize, seconds: f64, live: i64) {
        let bucket = self.bucket(seconds);
        let series = &mut self.series[index];
        series.extend_to(bucket);
        series.highest[bucket] = series.highest[bucket].max(live);
        series.live = live;
    }

    /// Start of each bucket up to `seconds`, in seconds.
    pub fn seconds(&mut self, seconds: f64) -> Vec<f64> {
        (0..=self.bucket(seconds)).map(|index| index as f64 * self.width).collect()
    }

    /// The highest number of live objects of series `index` in each bucket up to `seconds`.
    pub fn highest(&mut self, index: usize, seconds: f64) -> &[i64] {
        let bucket = self.bucket(seconds);
        let series = &mut self.series[index];
        series.extend_to(bucket);
        &series.highest[..=bucket]
    }

    /// The bucket of a moment; makes room for it. Time does not run backwards by more than a
    /// bucket: what is late counts where it comes.
    fn bucket(&mut self, seconds: f64) -> usize {
        while seconds >= self.width * BUCKETS as f64 {
            self.width *= 2.0;
            for series in &mut self.series {
                let merged = series.highest.chunks(2).filter_map(|pair| pair.iter().max().copied());
                series.highest = merged.collect();
            }
        }
        (seconds / self.width) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_keeps_its_highest_number_and_quiet_ones_the_last() {
        let mut timeline = Timeline::default();
        let index = timeline.add_series(5);
        timeline.set(index, 1.5 * FIRST_WIDTH, 9);
        timeline.set(index, 1.6 * FIRST_WIDTH, 2);
        assert_eq!(timeline.highest(index, 3.5 * FIRST_WIDTH), [5, 9, 2, 2]);
        assert_eq!(timeline.seconds(3.5 * FIRST_WIDTH).len(), 4);
    }

    #[test]
    fn long_times_merge_buckets_and_lose_no_peak() {
        let mut timeline = Timeline::default();
        let index = timeline.add_series(0);
        let mut highest = 0;
        for step in 0..50_000_i64 {
            let live = step * 7919 % 10_007;
            highest = highest.max(live);
            timeline.set(index, step as f64 * 1e-3, live);
        }
        let seconds = timeline.seconds(50.0);
        assert!(seconds.len() <= BUCKETS && seconds.len() > BUCKETS / 2 - 1);
        let kept = timeline.highest(index, 50.0);
        assert_eq!(kept.len(), seconds.len());
        assert_eq!(kept.iter().max(), Some(&highest));
    }

    #[test]
    fn a_series_that_begins_late_was_at_its_start_before() {
        let mut timeline = Timeline::default();
        timeline.bucket(1000.0);
        let index = timeline.add_series(3);
        timeline.set(index, 1000.0, 4);
        let (first, last) = {
            let kept = timeline.highest(index, 1000.0);
            (kept[0], kept[kept.len() - 1])
        };
        assert_eq!((first, last), (3, 4));
    }
}
