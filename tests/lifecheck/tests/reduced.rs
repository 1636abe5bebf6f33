//! A sequence in smaller numbers does the same.

use denizen::testing::{replay, Operation, Tracer};

#[test]
fn smaller_numbers_build_the_same_objects() {
    denizen::__lifecheck_target!(Tracer, |u| u.arbitrary());
    let built = |operations: &[Operation]| {
        let before = Tracer::counts().built;
        replay::<LifecheckTarget>(operations);
        Tracer::counts().built - before
    };
    // What is made once, to try the closure.
    built(&[]);
    let mut state = 1u64;
    let (mut changed, mut total) = (0, 0);
    for _ in 0..300 {
        let bytes: Vec<u8> = (0..8 * 24)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 56) as u8
            })
            .collect();
        let operations = Operation::sequence(&bytes);
        let reduced = Operation::reduced(&operations, 130);
        assert_eq!(Operation::reduced(&reduced, 130), reduced);
        let objects = built(&operations);
        assert_eq!(objects, built(&reduced), "{operations:#?}\n{reduced:#?}");
        total += objects;
        changed += usize::from(operations != reduced);
    }
    assert!(changed > 290 && total > 5_000, "{changed} sequences, {total} objects");
}

#[test]
fn numbers_become_what_they_mean() {
    use denizen::testing::{Operation::*, Run};
    let found = [
        Allocate { slot: 0, count: 8614, flags: 91 },
        Loop(Run { slot: 20, start: 57344, count: 57568, to: 224, offset: 57504 }),
        Copy(Run { slot: 36, start: 11776, count: 36, to: 36, offset: 9440 }),
        Permute(Run { slot: 224, start: 224, count: 55342, to: 46, offset: 11992 }),
    ];
    let meant = [
        Allocate { slot: 0, count: 34, flags: 91 },
        Loop(Run { slot: 0, start: 20, count: 59, to: 0, offset: 0 }),
        Copy(Run { slot: 0, start: 16, count: 9, to: 0, offset: 25 }),
        Permute(Run { slot: 0, start: 8, count: 2, to: 0, offset: 0 }),
    ];
    assert_eq!(Operation::reduced(&found, 130), meant);
    // Where a slot holds nothing yet, or nothing hinted at the type, its number is below four.
    let found = [
        Put(Run { slot: 131, start: 9, count: 9, to: 0, offset: 183 }),
        Allocate { slot: 3, count: 5, flags: 0x0c },
        Put(Run { slot: 131, start: 9, count: 9, to: 0, offset: 183 }),
    ];
    let meant = [
        Put(Run { slot: 3, start: 0, count: 0, to: 0, offset: 183 }),
        Allocate { slot: 3, count: 5, flags: 0x0c },
        Put(Run { slot: 3, start: 3, count: 0, to: 0, offset: 183 }),
    ];
    assert_eq!(Operation::reduced(&found, 130), meant);
}
