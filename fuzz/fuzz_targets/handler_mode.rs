//! Cells of legacy dtypes in handler mode: touched, stored, copied as bytes, resized, swept; chosen by
//! coverage instead of at random.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use denizen::testing::{
    Storage,
    legacy::{LEGACY_STORAGES, LegacyStep, run_legacy},
};
use libfuzzer_sys::fuzz_target;

#[derive(Debug)]
struct Sequence {
    storage: Storage,
    steps: Vec<LegacyStep>,
}

impl<'a> Arbitrary<'a> for Sequence {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let storage = LEGACY_STORAGES[usize::from(u.arbitrary::<u8>()?) % LEGACY_STORAGES.len()];
        let (records, _) = u.bytes(u.len())?.as_chunks();
        let steps = records.iter().take(100).map(|bytes| LegacyStep::from_bytes(*bytes));
        Ok(Sequence { storage, steps: steps.collect() })
    }
}

fuzz_target!(|sequence: Sequence| run_legacy(sequence.storage, &sequence.steps));
