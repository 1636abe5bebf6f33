//! A reader of a bucket beside a writer, in every interleaving of up to two preemptions.

use std::ptr::{self, NonNull};

use loom::thread;

use super::{bucket::Bucket, *};

fn adopted(range: Range<usize>) -> Adopted {
    let payload = NonNull::new(ptr::without_provenance_mut(range.start)).unwrap();
    Adopted { range, payload, adoptions: 1 }
}

fn find(bucket: &Bucket, address: usize) -> Option<Adopted> {
    bucket.read(|entries| containing(entries, address)?.read())
}

#[test]
fn loom_a_reader_sees_a_whole_range_or_none() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let bucket = Bucket::create().unwrap();
        let there = adopted(16..24);
        bucket.reserve().unwrap();
        bucket.insert(&there);
        bucket.reserve().unwrap();
        let writer = thread::spawn(move || {
            // In front of the other, which has to move.
            bucket.insert(&adopted(8..16));
        });
        if let Some(found) = find(bucket, 8) {
            assert_eq!(found, adopted(8..16));
        }
        writer.join().unwrap();
        assert_eq!((find(bucket, 8), find(bucket, 23)), (Some(adopted(8..16)), Some(there)));
    });
}
