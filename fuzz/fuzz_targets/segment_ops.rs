//! The operations of `tests/segment_model.rs`, chosen by coverage instead of at random.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use denizen::testing::{Kind, Operation, run};
use libfuzzer_sys::fuzz_target;

#[derive(Debug)]
struct Sequence {
    kind: Kind,
    operations: Vec<Operation>,
}

impl<'a> Arbitrary<'a> for Sequence {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let kind = Kind::ALL[usize::from(u.arbitrary::<u8>()?) % Kind::ALL.len()];
        Ok(Sequence { kind, operations: Operation::sequence(u.bytes(u.len())?) })
    }
}

fuzz_target!(|sequence: Sequence| run(sequence.kind, &sequence.operations));
