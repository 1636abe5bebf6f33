//! Random calls against a plain map of ranges.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Call {
    Allocate { size: usize, align: usize, zeroed: bool },
    Release { which: usize, zeroed: bool },
    Remap { which: usize, size: usize },
    Grow { which: usize, size: usize },
    Find { which: usize, offset: isize },
    Wild(usize),
    Trim,
}

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![
        8 => 1_usize..2000,
        4 => 2000_usize..70_000,
        2 => 70_000_usize..600_000,
        1 => 3_000_000_usize..9_000_000,
    ]
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        6 => (size(), 0_u32..=12, any::<bool>())
            .prop_map(|(size, shift, zeroed)| Call::Allocate { size, align: 1 << shift, zeroed }),
        4 => (any::<usize>(), any::<bool>())
            .prop_map(|(which, zeroed)| Call::Release { which, zeroed }),
        3 => (any::<usize>(), size()).prop_map(|(which, size)| Call::Remap { which, size }),
        1 => (any::<usize>(), size()).prop_map(|(which, size)| Call::Grow { which, size }),
        4 => (any::<usize>(), -70_000_isize..700_000)
            .prop_map(|(which, offset)| Call::Find { which, offset }),
        1 => any::<usize>().prop_map(Call::Wild),
        1 => Just(Call::Trim),
    ]
}

/// A block's size, alignment, and the byte at its start, at its end and at every page.
#[derive(Clone, Copy)]
struct Known {
    size: usize,
    align: usize,
    mark: u8,
}

#[derive(Default)]
struct Model {
    blocks: BTreeMap<usize, Known>,
    calls: u8,
}

fn pointer(start: usize) -> NonNull<u8> {
    NonNull::new(ptr::with_exposed_provenance_mut(start)).expect("no block is at null")
}

fn places(size: usize) -> impl Iterator<Item = usize> {
    (0..size).step_by(PAGE).chain([size - 1])
}

const PAGE: usize = 4096;

impl Model {
    fn pick(&self, which: usize) -> Option<(usize, Known)> {
        let index = which.checked_rem(self.blocks.len())?;
        self.blocks.iter().nth(index).map(|(&start, &known)| (start, known))
    }

    /// Notes a block after checking that it is apart from all others, and marks it.
    fn add(&mut self, start: NonNull<u8>, size: usize, align: usize) {
        let address = start.as_ptr().expose_provenance();
        assert_eq!(address % align.max(MIN_ALIGN), 0);
        if let Some((&before, known)) = self.blocks.range(..address + size).next_back() {
            assert!(before + known.size <= address, "blocks overlap");
        }
        self.calls = self.calls.wrapping_add(1).max(1);
        // SAFETY: the block is ours and has `size` bytes.
        places(size).for_each(|place| unsafe { start.add(place).write(self.calls) });
        self.blocks.insert(address, Known { size, align, mark: self.calls });
    }

    fn check_marks(start: usize, mark: u8, size: usize, upto: usize) {
        for place in places(size).filter(|&place| place < upto) {
            // SAFETY: the block is ours and has at least `upto` bytes.
            assert_eq!(unsafe { pointer(start).add(place).read() }, mark);
        }
    }

    fn resized(&mut self, start: usize, old: Known, new: Resized) {
        let kept = old.size.min(new.size);
        self.blocks.remove(&start);
        assert!(new.zeroed_from >= kept && new.zeroed_from <= new.size);
        Self::check_marks(new.start.as_ptr().expose_provenance(), old.mark, old.size, kept);
        for place in (new.zeroed_from..new.size).step_by(64) {
            // SAFETY: the block is ours and has `new.size` bytes.
            assert_eq!(unsafe { new.start.add(place).read() }, 0);
        }
        self.add(new.start, new.size, old.align);
    }

    fn run(&mut self, call: &Call) {
        match *call {
            Call::Allocate { size, align, zeroed } => {
                let take = if zeroed { allocate_zeroed } else { allocate };
                let block = take(size, align).expect("memory for the test");
                assert!(block.size >= size && (block.zeroed || !zeroed));
                if block.zeroed {
                    // SAFETY: the block is ours and has this size.
                    let bytes =
                        unsafe { std::slice::from_raw_parts(block.start.as_ptr(), block.size) };
                    assert!(bytes.iter().all(|&byte| byte == 0));
                }
                self.add(block.start, block.size, align);
            }
            Call::Release { which, zeroed } => {
                let Some((start, known)) = self.pick(which) else { return };
                Self::check_marks(start, known.mark, known.size, known.size);
                self.blocks.remove(&start);
                // SAFETY: the block is ours, has this size, and is used no more.
                unsafe {
                    if zeroed {
                        pointer(start).write_bytes(0, known.size);
                        release_zeroed(pointer(start));
                    } else {
                        release(pointer(start));
                    }
                }
            }
            Call::Remap { which, size } => {
                let Some((start, known)) = self.pick(which) else { return };
                // SAFETY: the block is ours.
                let new = unsafe { remap(pointer(start), size, known.align) }
                    .expect("memory for the test");
                assert!(new.size >= size);
                self.resized(start, known, new);
            }
            Call::Grow { which, size } => {
                let Some((start, known)) = self.pick(which) else { return };
                // SAFETY: the block is ours.
                if let Some(new) = unsafe { try_grow_in_place(pointer(start), size) } {
                    assert!(new.start == pointer(start) && new.size >= size.max(known.size));
                    self.resized(start, known, new);
                }
            }
            Call::Find { which, offset } => {
                let Some((start, _)) = self.pick(which) else { return };
                self.find(start.wrapping_add_signed(offset));
            }
            Call::Wild(address) => self.find(address),
            Call::Trim => trim(),
        }
    }

    fn find(&self, address: usize) {
        let found = block_of(ptr::without_provenance(address));
        let near = self.blocks.range(..=address).next_back();
        let expected = near.filter(|&(start, known)| address - start < known.size);
        match (found, expected) {
            (found, Some((&start, known))) => {
                assert_eq!(found, Some(BlockInfo { start: pointer(start), size: known.size }));
            }
            // Tests in other threads have blocks too, but never across one of ours.
            (Some(found), None) => {
                let start = found.start.as_ptr().addr();
                assert!((start..start + found.size).contains(&address));
                assert!(self.blocks.range(start..start + found.size).next().is_none());
            }
            (None, None) => {}
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: the blocks are ours, and are used no more.
        self.blocks.keys().for_each(|&start| unsafe { release(pointer(start)) });
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 64 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_calls_match_a_map_of_ranges(calls in prop::collection::vec(call(), 1..120)) {
        let mut model = Model::default();
        calls.iter().for_each(|call| model.run(call));
    }
}
