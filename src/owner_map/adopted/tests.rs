//! Adopted ranges against a plain list, and with readers beside a writer.

use std::ptr::NonNull;

use proptest::prelude::*;

use super::*;

type Ranges = AdoptedRanges<4, 64>;

fn payload(number: usize) -> Payload {
    NonNull::new(ptr::without_provenance_mut(number)).expect("numbers from 1")
}

#[test]
fn the_same_range_and_its_parts_count_on_the_first() {
    let ranges = Ranges::new();
    let outer = SLAB - 100..3 * SLAB;
    let first = ranges.insert(outer.clone(), payload(1)).unwrap();
    assert_eq!(first, Adopted { range: outer.clone(), payload: payload(1), adoptions: 1 });
    let second = ranges.insert(outer.clone(), payload(2)).unwrap();
    assert_eq!(second, Adopted { adoptions: 2, ..first.clone() });
    let part = ranges.insert(2 * SLAB..2 * SLAB + 8, payload(3)).unwrap();
    assert_eq!(part, Adopted { adoptions: 3, ..first.clone() });
    for left in (1..3).rev() {
        assert_eq!(ranges.remove(2 * SLAB).map(|gone| gone.adoptions), Some(left));
        assert_eq!(ranges.find(SLAB), Some(Adopted { adoptions: left, ..first.clone() }));
    }
    assert_eq!(ranges.remove(outer.start).map(|gone| gone.adoptions), Some(0));
    assert_eq!((ranges.find(SLAB), ranges.remove(SLAB)), (None, None));
    assert_eq!(ranges.ranges.load(Ordering::Relaxed), 0);
}

#[test]
fn a_range_that_is_new_in_part_is_refused_and_changes_nothing() {
    let ranges = Ranges::new();
    let there = SLAB + 10..2 * SLAB + 10;
    ranges.insert(there.clone(), payload(1)).unwrap();
    let refused = [SLAB..SLAB + 11, 2 * SLAB..3 * SLAB, SLAB..3 * SLAB, SLAB + 10..2 * SLAB + 11];
    for range in refused {
        assert_eq!(ranges.insert(range, payload(2)), Err(AdoptError::Overlap));
    }
    for range in [SLAB..SLAB, 0..8, 255 * SLAB..256 * SLAB + 1] {
        assert_eq!(ranges.insert(range, payload(2)), Err(AdoptError::Invalid));
    }
    assert_eq!(ranges.find(SLAB + 9), None);
    assert_eq!(ranges.find(2 * SLAB + 10), None);
    assert_eq!(ranges.find(2 * SLAB + 9).map(|found| found.adoptions), Some(1));
}

#[test]
fn readers_see_whole_ranges_while_others_come_and_go() {
    let ranges = Ranges::new();
    let ranges = &ranges;
    ranges.insert(SLAB + 1000..2 * SLAB + 50, payload(1)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for round in 0..if cfg!(miri) { 20 } else { 5000 } {
                let neighbours = (0..50).map(|k| SLAB + 20 * k).filter(|start| start % 3 < 2);
                for start in neighbours.clone() {
                    ranges.insert(start..start + 10 + round % 10, payload(start)).unwrap();
                }
                for start in neighbours {
                    ranges.remove(start).unwrap();
                }
            }
        });
        for round in 0..if cfg!(miri) { 200 } else { 200_000 } {
            let found = ranges.find(SLAB + 1000 + round % 60_000).unwrap();
            assert_eq!((found.range.start, found.payload), (SLAB + 1000, payload(1)));
            if let Some(found) = ranges.find(SLAB + round % 1000) {
                assert_eq!(found.payload, payload(found.range.start));
                assert!(found.range.len() < 20 && found.adoptions <= 1);
            }
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Against a plain list of ranges.
    #[test]
    fn random_adoptions_match_a_list(
        calls in prop::collection::vec((0_u8..3, 1_usize..200_000, 1_usize..100_000), 1..100),
    ) {
        let ranges = Ranges::new();
        let mut model: Vec<Adopted> = Vec::new();
        for (number, (call, start, length)) in calls.into_iter().enumerate() {
            let start = SLAB / 2 + start;
            let at = model.iter().position(|known| known.range.contains(&start));
            match call {
                0 => prop_assert_eq!(ranges.find(start), at.map(|at| model[at].clone())),
                1 => {
                    let gone = at.map(|at| {
                        model[at].adoptions -= 1;
                        let gone = model[at].clone();
                        if gone.adoptions == 0 {
                            model.remove(at);
                        }
                        gone
                    });
                    prop_assert_eq!(ranges.remove(start), gone);
                }
                _ => {
                    let range = start..start + (length >> (number % 12)).max(1);
                    let result = ranges.insert(range.clone(), payload(number + 1));
                    let touched = model
                        .iter()
                        .any(|known| known.range.start < range.end && start < known.range.end);
                    match at {
                        Some(at) if range.end <= model[at].range.end => {
                            model[at].adoptions += 1;
                            prop_assert_eq!(result, Ok(model[at].clone()));
                        }
                        _ if touched => prop_assert_eq!(result, Err(AdoptError::Overlap)),
                        _ => {
                            let new = Adopted { range, payload: payload(number + 1), adoptions: 1 };
                            prop_assert_eq!(result, Ok(new.clone()));
                            model.push(new);
                        }
                    }
                }
            }
        }
    }
}
