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

/// The C++ half (cpp-bridge/include/denizen/testing) is held to the same table by its own test.
#[test]
fn bytes_are_the_operations_that_the_table_shared_with_cpp_says() {
    let table = include_str!("../cpp-bridge/tests/lifecheck/operations.txt");
    let mut names = std::collections::BTreeSet::new();
    for line in table.lines() {
        let (hex, text) = line.split_once(' ').expect("bytes and an operation");
        let bytes = u64::from_str_radix(hex, 16).expect("eight bytes").to_be_bytes();
        let operation = format!("{:?}", Operation::from_bytes(bytes));
        assert_eq!(operation, text, "{hex}");
        names.extend(operation.split([' ', '(']).next().map(String::from));
    }
    assert_eq!((table.lines().count(), names.len()), (384, 21), "{names:?}");
}
