//! Random sequences of every operation on segments, with failing allocations, failing and panicking
//! element operations, against `Vec<Option<value>>`.
#![cfg(not(loom))]

use denizen::testing::{Operation, Run, Storage, run};
use proptest::{collection::vec, prelude::*, sample::select};

proptest! {
    #[test]
    fn any_sequence_of_operations_agrees_with_a_plain_vector(
        storage in select(&Storage::ALL[..]),
        operations in vec(any::<[u8; 8]>().prop_map(Operation::from_bytes), 1..60),
    ) {
        run(storage, &operations);
    }
}

/// The model asks for an error wherever a planned failure happened; here each operation meets each
/// of them at several steps.
#[test]
fn each_operation_tells_of_each_failure() {
    let at = |slot, to| Run { slot, start: 3, count: 80, to, offset: 9 };
    let operations = [
        Operation::Allocate { slot: 0, count: 400, flags: 0 },
        Operation::Bind { slot: 3 },
        Operation::Resize { slot: 0, count: 20, extra: 0 },
        Operation::Resize { slot: 0, count: 690, extra: 3 },
        Operation::Construct(at(2, 0)),
        Operation::Materialise(at(2, 0)),
        Operation::Destroy(at(0, 0)),
        Operation::Loop(at(2, 1)),
        Operation::Copy(at(0, 1)),
        Operation::Copy(at(0, 2)),
        Operation::Copy(at(2, 0)),
        Operation::Copy(at(0, 0)),
        Operation::Relocate(at(0, 1)),
        Operation::Relocate(at(0, 2)),
        Operation::Relocate(at(2, 0)),
        Operation::Relocate(at(0, 0)),
        Operation::Clear { slot: 0 },
        Operation::Free { slot: 0 },
    ];
    for storage in Storage::ALL {
        for operation in operations {
            for after in [0, 30] {
                for plan in [
                    Operation::FailAllocation { after },
                    Operation::FailElement { after, panic: false },
                    Operation::FailDestructor { after },
                ] {
                    let all = Run { slot: 0, start: 0, count: 100, to: 0, offset: 5 };
                    let mut steps = vec![];
                    // Full but for a few, full, vacant, and without a type.
                    for slot in 0..4 {
                        let flags = if slot == 3 { 12 } else { 0 };
                        steps.push(Operation::Allocate { slot, count: 100, flags });
                        if slot < 2 {
                            steps.push(Operation::Materialise(Run { slot, ..all }));
                            steps.push(Operation::Set(Run { slot, ..all }));
                        }
                    }
                    steps.push(Operation::Destroy(Run { start: 40, count: 7, ..all }));
                    run(storage, &[&steps[..], &[plan, operation]].concat());
                }
            }
        }
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
