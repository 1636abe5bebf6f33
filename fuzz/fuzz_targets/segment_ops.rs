//! The operations of `tests/segment_model.rs`, chosen by coverage instead of at random.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use denizen::testing::{Operation, Storage, run};
use libfuzzer_sys::fuzz_target;

#[derive(Debug)]
struct Sequence {
    storage: Storage,
    operations: Vec<Operation>,
}

impl<'a> Arbitrary<'a> for Sequence {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let storage = Storage::ALL[usize::from(u.arbitrary::<u8>()?) % Storage::ALL.len()];
        Ok(Sequence { storage, operations: Operation::sequence(u.bytes(u.len())?) })
    }
}

fuzz_target!(|sequence: Sequence| run(sequence.storage, &sequence.operations));
