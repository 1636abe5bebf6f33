//! Random sequences of every operation on segments, with failing allocations, failing and panicking
//! element operations, against `Vec<Option<value>>`.
#![cfg(not(loom))]

use denizen::testing::{Kind, Operation, run};
use proptest::{collection::vec, prelude::*, sample::select};

proptest! {
    #[test]
    fn any_sequence_of_operations_agrees_with_a_plain_vector(
        kind in select(&Kind::ALL[..]),
        operations in vec(any::<[u8; 8]>().prop_map(Operation::from_bytes), 1..60),
    ) {
        run(kind, &operations);
    }
}
