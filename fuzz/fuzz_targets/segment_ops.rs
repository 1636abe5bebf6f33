//! The operations of `tests/segment_model.rs`, chosen by coverage instead of at random.
#![no_main]

use arbitrary::Arbitrary;
use denizen::testing::{Kind, Operation, run};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Sequence {
    kind: u8,
    operations: Vec<[u8; 8]>,
}

fuzz_target!(|sequence: Sequence| {
    let kind = Kind::ALL[usize::from(sequence.kind) % Kind::ALL.len()];
    let operations: Vec<Operation> =
        sequence.operations.iter().map(|bytes| Operation::from_bytes(*bytes)).collect();
    run(kind, &operations);
});
