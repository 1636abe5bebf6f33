//! Memory is overwritten on purpose, and what was hit is named.
#![cfg(all(feature = "testing", not(loom)))]
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "every block works on segments that the test owns alone"
)]

use super::{super::SegmentRequest, *};
use crate::{
    abi,
    segment::Source,
    testing::{Allocator, Storage, TracerType},
};

/// Segments of ten cells, five of them with an object: of each storage of element, in our memory and in
/// another allocator's, checked and not, with the bitmap in front of the cells and on its own.
fn each_segment(mut test: impl FnMut(TracerType, Segment)) {
    let allocator = Allocator::borrow();
    for storage in Storage::ALL {
        for source in [Source::MEMORY, allocator.source()] {
            for checked in [false, true] {
                for hinted in [false, true] {
                    let tracer = TracerType::new(storage);
                    let hint = hinted.then_some(tracer.element);
                    let (bytes, align) = (10 * tracer.element.size(), tracer.element.align());
                    let segment = SegmentRequest::new(bytes, align)
                        .from_source(source)
                        .hint(hint)
                        .zeroed()
                        .checked(checked)
                        .allocate()
                        .unwrap();
                    segment.bind(tracer.element).unwrap();
                    unsafe { segment.materialise(3..8).unwrap() };
                    test(tracer, segment);
                    let live = tracer.element.counters().read().live;
                    assert_eq!((live, tracer.counts().live), (0, 0), "{storage:?}");
                }
            }
        }
    }
    allocator.give_back();
}

/// The bytes from `offset` on, counted from the first cell.
fn bytes_of<'a>(segment: Segment, offset: isize, length: usize) -> &'a mut [u8] {
    unsafe { slice::from_raw_parts_mut(segment.cells().as_ptr().offset(offset), length) }
}

/// Frees a corrupted segment, which must destroy nothing and say what is wrong; then mends it and frees
/// it for good.
fn expect_corruption(
    tracer: TracerType,
    segment: Segment,
    (offset, bytes): (isize, &[u8]),
    part: Part,
    said: &str,
) {
    let (start, ended) = (segment.cells().as_ptr().cast_const(), tracer.counts().ended);
    let before = bytes_of(segment, offset, bytes.len()).to_vec();
    bytes_of(segment, offset, bytes.len()).copy_from_slice(bytes);
    let failure = match unsafe { Segment::find(start) } {
        Some(found) => {
            let corruption = unsafe { found.check_integrity() }.unwrap_err();
            assert_eq!(corruption.part, part, "{corruption}");
            unsafe { found.free() }.unwrap_err()
        }
        None => match unsafe { Segment::lost(start) } {
            Lost::Corrupted(corruption) => {
                assert_eq!(corruption.part, part, "{corruption}");
                Failure::from(*corruption)
            }
            other => panic!("{other:?}"),
        },
    };
    assert_eq!(failure.kind, abi::ERROR_INTEGRITY);
    assert!(failure.message.contains(said), "{}", failure.message);
    assert_eq!(tracer.counts().ended, ended, "nothing is destroyed");
    assert_eq!(unsafe { Segment::find(start) }, None, "a corrupted segment is found no more");
    assert_eq!(unsafe { Segment::lost(start) }, Lost::Quarantined, "and told of once");
    assert!(owner_map::block_of(start).is_some(), "its memory is not used again");

    bytes_of(segment, offset, bytes.len()).copy_from_slice(&before);
    segment.header().seal();
    unsafe { segment.free().unwrap() };
}

#[test]
fn bytes_behind_the_last_cell_are_named() {
    each_segment(|tracer, segment| {
        let size = segment.byte_len();
        let said = format!("(10 cells of {}, {size} bytes) is corrupted: ", tracer.element.name());
        expect_corruption(tracer, segment, (size as isize, &[0x41]), Part::Behind, &said);
    });
    each_segment(|tracer, segment| {
        let end = segment.byte_len() as isize;
        if segment.behind().len() >= 12 {
            let found = (end + 8, &[0x41, 0x42, 0x43, 0x44][..]);
            let said = "4 bytes behind its last cell (from byte 8 behind it on) were overwritten: \
                        41 42 43 44";
            expect_corruption(tracer, segment, found, Part::Behind, said);
        } else {
            unsafe { segment.free().unwrap() };
        }
    });
}

#[test]
fn bytes_in_front_of_the_first_cell_are_named() {
    each_segment(|tracer, segment| {
        let part = if segment.front_canary().is_some() { Part::Front } else { Part::Lock };
        expect_corruption(tracer, segment, (-3, &[9, 9, 9]), part, "overwritten: ");
    });
}

#[test]
fn a_header_that_is_none_any_more_is_named_with_the_segment_in_front() {
    each_segment(|tracer, segment| {
        let header = -(segment.header().cells_offset as isize);
        let found = (header, &[0x55; 24][..]);
        expect_corruption(tracer, segment, found, Part::Header, "the header begins with 55 55 55");
    });
    // Two blocks side by side: what ran over is named.
    let tracer = TracerType::new(Storage::Inline);
    let all: Vec<Segment> = (0..64)
        .map(|_| SegmentRequest::new(160, 64).hint(tracer.element).zeroed().allocate().unwrap())
        .collect();
    let end = |segment: &Segment| segment.0.as_ptr().addr() + segment.header().block_size;
    let pair = all.iter().find_map(|first| {
        Some((first, all.iter().find(|next| next.0.as_ptr().addr() == end(first))?))
    });
    let (first, second) = pair.unwrap();
    let length = end(first) - (first.cells().as_ptr().addr() + first.byte_len()) + 40;
    let asked = second.cells().as_ptr().cast_const();
    let overrun = bytes_of(*first, first.byte_len() as isize, length);
    let before = overrun.to_vec();
    overrun.fill(0x77);
    let Lost::Corrupted(corruption) = (unsafe { Segment::lost(asked) }) else {
        panic!("a header was overwritten");
    };
    let front = format!(
        "in front of it lies the segment at {:p} (10 cells of {}, 160 bytes), whose end is \
         overwritten as well",
        first.cells(),
        tracer.element.name()
    );
    assert!(corruption.to_string().contains(&front), "{corruption}");
    overrun.copy_from_slice(&before);
    second.header().seal();
    for segment in all {
        unsafe { segment.free().unwrap() };
    }
}

#[test]
fn fields_of_a_header_that_changed_are_named_while_the_magic_survives() {
    each_segment(|tracer, segment| {
        // Bytes of cells, their offset, size of the block, side bitmap, dependency, alignment.
        for field in [16, 24, 32, 40, 48, 56, 64] {
            let header = segment.header();
            let offset = field - header.cells_offset as isize;
            let before = bytes_of(segment, offset, 2).to_vec();
            bytes_of(segment, offset, 2)[1] ^= 0x10;
            let corruption = segment.frame_corruption().unwrap();
            assert_eq!(corruption.part, Part::Fields, "{corruption}");
            assert_eq!(corruption.cells, None, "sizes of such a header are not believed");
            let cells = segment.0.as_ptr().addr() + if field == 24 { 192 } else { 128 };
            let asked = std::ptr::with_exposed_provenance(cells);
            // Any field may keep the address from being found, or not; neither may crash.
            if let Some(found) = unsafe { Segment::find(asked) } {
                assert!(unsafe { found.free() }.is_err());
            } else {
                assert!(matches!(unsafe { Segment::lost(asked) }, Lost::Corrupted(_)));
            }
            bytes_of_header(segment, field, 2).copy_from_slice(&before);
            header.seal();
        }
        let offset = 12 - segment.header().cells_offset as isize;
        expect_corruption(
            tracer,
            segment,
            (offset, &[0x66, 0x66]),
            Part::Fields,
            "a field of its header",
        );
    });
}

/// As [`bytes_of`], counted from the header, which may lie about the cells.
fn bytes_of_header<'a>(segment: Segment, offset: isize, length: usize) -> &'a mut [u8] {
    unsafe { slice::from_raw_parts_mut(segment.0.cast::<u8>().as_ptr().offset(offset), length) }
}

#[test]
fn a_lease_that_was_overwritten_is_not_given_back() {
    each_segment(|tracer, segment| {
        if segment.header().is(UPSTREAM) {
            let record = -(segment.header().cells_offset as isize) - 32;
            let said = "in the memory of another allocator, was overwritten";
            expect_corruption(tracer, segment, (record, &[0x31; 16]), Part::UpstreamRecord, said);
        } else {
            unsafe { segment.free().unwrap() };
        }
    });
}

#[test]
fn bits_of_cells_that_do_not_exist_are_found_by_a_full_check() {
    each_segment(|tracer, segment| {
        let bit_12 = unsafe { Header::bitmap_words(segment.0).cast::<u8>().add(1) };
        unsafe { bit_12.write(0x10) };
        let corruption = unsafe { segment.check_integrity() }.unwrap_err();
        assert_eq!(corruption.part, Part::Bitmap, "{corruption}");
        let freed = segment.is_checked().then(|| unsafe { segment.free() }.unwrap_err());
        unsafe { bit_12.write(0) };
        segment.header().seal();
        assert_eq!(freed.is_some(), segment.is_checked());
        assert_eq!(tracer.counts().ended, 0);
        unsafe { segment.free().unwrap() };
    });
}

#[test]
fn cells_that_contradict_their_bits_are_found_where_the_type_promises() {
    each_segment(|tracer, segment| {
        let size = tracer.element.size();
        let promise = tracer.element.has_zero_promise();
        // Not for zeros that are an object: there nothing was built.
        if !promise || tracer.element.zero_is_default() || !segment.is_checked() {
            unsafe { segment.free().unwrap() };
            return;
        }
        let zeros = vec![0; size];
        let found = ((3 * size) as isize, &zeros[..]);
        let said = "1 of its cells lost their objects to zeros (the first is cell 3";
        expect_corruption(tracer, segment, found, Part::Cells, said);
    });
    each_segment(|tracer, segment| {
        let size = tracer.element.size();
        if !tracer.element.has_zero_promise() || !segment.is_checked() {
            unsafe { segment.free().unwrap() };
            return;
        }
        let found = ((9 * size) as isize, &vec![0x99; size][..]);
        let said = "1 of its cells hold bytes where no object was built (the first is cell 9";
        expect_corruption(tracer, segment, found, Part::Cells, said);
    });
}

#[test]
fn a_permutation_of_the_cells_is_no_corruption() {
    for storage in [Storage::Inline, Storage::Boxed, Storage::Tagged] {
        let tracer = TracerType::new(storage);
        let bytes = 10 * tracer.element.size();
        let segment = SegmentRequest::new(bytes, 8)
            .hint(tracer.element)
            .zeroed()
            .checked(true)
            .allocate()
            .unwrap();
        unsafe {
            segment.bind(tracer.element).unwrap();
            segment.materialise(0..3).unwrap();
            let base = segment.cells().as_ptr();
            std::ptr::swap_nonoverlapping(base, base.add(bytes / 2), bytes / 2);
            assert_eq!(segment.check_integrity(), Ok(6));
            segment.free().unwrap();
        }
        assert_eq!(tracer.counts().live, 0);
    }
}

#[test]
fn bits_that_were_mended_in_part_still_count_the_objects() {
    for storage in [Storage::Inline, Storage::Boxed, Storage::Tagged, Storage::SelfPointing] {
        let tracer = TracerType::new(storage);
        let size = tracer.element.size();
        let segment = SegmentRequest::new(20 * size, 8)
            .hint(tracer.element)
            .zeroed()
            .checked(true)
            .allocate()
            .unwrap();
        unsafe {
            segment.bind(tracer.element).unwrap();
            segment.materialise(0..7).unwrap();
            let base = segment.cells().as_ptr();
            if storage == Storage::SelfPointing {
                // Its objects may not be moved as bytes: the bits lag behind in another way.
                segment.bitmap_for(tracer.element).fill(0, 7, false);
                segment.bitmap_for(tracer.element).fill(12, 7, true);
            } else {
                std::ptr::swap_nonoverlapping(base, base.add(10 * size), 10 * size);
            }
            assert_eq!(segment.check_integrity(), Ok(14));
            // A loop over some of the cells, and operations on others, mend their bits.
            let cells = segment.run_mut(tracer.element, 1..4);
            let run = crate::segment::Ledger::open(tracer.element, Some(segment), &cells);
            run.close(cells.as_cells());
            assert!(segment.check_integrity().unwrap() < 14);
            segment.destroy(11..13).unwrap();
            assert!(segment.check_integrity().is_ok());
            segment.materialise(4..6).unwrap();
            assert!(segment.check_integrity().is_ok());
            segment.relocate(13..16, segment, 6).unwrap();
            assert!(segment.check_integrity().is_ok());
            let segment = segment.resize(9 * size).unwrap().segment;
            assert!(segment.check_integrity().is_ok());
            segment.clear_all().unwrap();
            assert_eq!(segment.check_integrity(), Ok(0));
            segment.free().unwrap();
        }
        assert_eq!(tracer.counts().live, 0, "{storage:?}");
    }
}

#[test]
fn a_corrupted_segment_is_not_resized() {
    each_segment(|tracer, segment| {
        let end = segment.byte_len();
        let behind = &mut bytes_of(segment, end as isize, 1)[0];
        let before = std::mem::replace(behind, 0xee);
        for bytes in [end / 2, 100 * end] {
            let error = unsafe { segment.resize(bytes) }.unwrap_err();
            assert!(error.to_string().contains("behind its last cell"), "{error}");
            assert_eq!(tracer.counts().ended, 0, "nothing is destroyed or moved");
            segment.header().seal();
        }
        *behind = before;
        unsafe { segment.free().unwrap() };
    });
}

#[test]
fn a_segment_stays_checked_when_it_is_resized() {
    each_segment(|_, segment| {
        let (checked, size) = (segment.is_checked(), segment.byte_len());
        let mut segment = segment;
        for bytes in [30 * size, 3 * size, 10_000 * size, 40 * size + 3, 0, size] {
            segment = unsafe { segment.resize(bytes).unwrap().segment };
            assert_eq!(segment.is_checked(), checked);
            assert_eq!(unsafe { segment.check_integrity() }, Ok(0));
            assert!(segment.behind().len() >= zone_behind(bytes, checked));
        }
        unsafe { segment.free().unwrap() };
    });
}
