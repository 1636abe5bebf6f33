//! Operations on whole segments, and look-ups of them.

use super::*;

impl<S: Subject> Model<'_, S> {
    pub(super) fn allocate(&mut self, slot: u8, count: u16, flags: u8) {
        self.free(slot);
        let element = self.element();
        let count = usize::from(count) % self.subject.most_cells();
        let bytes = count * element.size() + usize::from(flags >> 5) % element.size();
        let align = [1, 64, 128, 4096][usize::from(flags & 3)];
        let zeroed = flags & 16 == 0;
        let hint = match (flags >> 2) & 3 {
            0 | 1 => Some(element),
            2 => Some(self.other),
            _ => None,
        };
        let source = if slot & 64 == 0 { Source::MEMORY } else { self.allocator.source() };
        let segment = match SegmentRequest::new(bytes, align)
            .from_source(source)
            .hint(hint)
            .zeroed_if(zeroed)
            .allocate()
        {
            Ok(segment) => segment,
            Err(error) => {
                self.told = true;
                return assert!(self.allocation_fails, "{error}");
            }
        };
        assert_eq!((segment.element().is_none(), segment.byte_len()), (true, bytes));
        assert_eq!(segment.source(), source);
        let mut content = vec![0; bytes];
        let hinted = hint.is_some_and(|hint| std::ptr::eq(hint, element));
        if !zeroed {
            // A caller that hints and does not ask for zeros promises to zero the cells.
            content.fill(if hinted { 0 } else { 0xcd });
            // SAFETY: `bytes` bytes that this thread alone knows.
            unsafe { segment.cells().write_bytes(if hinted { 0 } else { 0xcd }, bytes) };
        }
        *self.slot(slot) = Some(Modelled { segment, hinted, content: Content::Untyped(content) });
    }

    pub(super) fn bind(&mut self, slot: u8) {
        let element = self.element();
        let other = self.other;
        let allocation_fails = self.allocation_fails;
        let Some(Modelled { segment, hinted, content }) = self.slot(slot) else { return };
        let segment = *segment;
        let untyped = matches!(content, Content::Untyped(_));
        if untyped && *hinted && slot & 128 != 0 {
            segment.note_built();
        }
        match segment.bind(element) {
            Ok(()) if untyped => {
                *content = Content::Cells(vec![None; segment.byte_len() / element.size()]);
            }
            Ok(()) => {}
            Err(error) => {
                self.told = true;
                return assert!(allocation_fails && untyped, "{error}");
            }
        }
        assert_eq!(segment.bind(element), Ok(()));
        assert!(segment.bind(other).is_err(), "one type a segment");
    }

    pub(super) fn resize(&mut self, slot: u8, count: u16, extra: u8) {
        let element = self.element();
        let may_fail =
            self.allocation_fails || (self.element_fails && !element.is_trivially_relocatable());
        let destructor_fails = self.destructor_fails;
        let mut told = false;
        let bytes = usize::from(count) % self.subject.most_cells() * element.size()
            + usize::from(extra) % element.size();
        let Some(modelled) = self.slot(slot) else { return };
        let shrinks = bytes < modelled.segment.byte_len();
        // SAFETY: this thread alone knows the segment.
        match unsafe { modelled.segment.resize(bytes) } {
            Ok(resized) => {
                if let Some(failure) = resized.destructor {
                    assert!(destructor_fails, "a destructor failed: {failure}");
                    told = true;
                }
                modelled.segment = resized.segment;
                match &mut modelled.content {
                    Content::Untyped(content) => content.resize(bytes, 0),
                    Content::Cells(cells) => cells.resize(bytes / element.size(), None),
                }
                assert_eq!(modelled.segment.byte_len(), bytes);
            }
            Err(error) => {
                assert!(may_fail, "{error}");
                told = true;
            }
        }
        self.told |= told;
        // A block that cannot shrink stays as large as it is.
        self.allocation_fails &= !shrinks || told;
    }

    pub(super) fn clear(&mut self, slot: u8) {
        let Some((segment, cells)) = self.typed(slot) else { return };
        // SAFETY: this thread alone knows the segment.
        let outcome = unsafe { segment.clear_all() };
        self.expect_destructors(outcome);
        self.note(slot, segment, vec![None; cells.len()]);
    }

    pub(super) fn free(&mut self, slot: u8) {
        let Some(modelled) = self.slot(slot).take() else { return };
        let start = modelled.segment.cells().as_ptr();
        // SAFETY: this thread alone knows the segment, and forgets it.
        let outcome = unsafe { modelled.segment.free() };
        self.expect_destructors(outcome);
        // SAFETY: no other thread frees segments of this model.
        assert_eq!(unsafe { Segment::find(start) }, None, "a freed segment is a miss");
    }

    pub(super) fn look_up(&mut self, slot: u8, offset: u16) {
        let size = self.element().size();
        let Some(Modelled { segment, content, .. }) = self.slot(slot) else { return };
        let (segment, typed) = (*segment, matches!(content, Content::Cells(_)));
        let length = segment.byte_len().max(1);
        let offset = usize::from(offset) % length;
        let pointer = segment.cells().as_ptr().wrapping_add(offset).cast_const();
        // SAFETY: no other thread frees segments of this model.
        unsafe {
            assert_eq!(Segment::find(pointer), Some(segment));
            assert_ne!(Segment::find(segment.cells().as_ptr().wrapping_sub(1)), Some(segment));
            assert_ne!(Segment::find(segment.cells().as_ptr().wrapping_add(length)), Some(segment));
        }
        let inside = typed && offset / size < segment.byte_len() / size;
        assert_eq!(
            segment.cell_index(pointer),
            inside.then_some((offset / size, offset.is_multiple_of(size)))
        );
    }

    pub(super) fn look_up_wild(&mut self, bits: u32, shift: u8) {
        let address = (bits as usize) << (shift % 64);
        let inside = self.slots.iter().flatten().find_map(|modelled| {
            let start = modelled.segment.cells().as_ptr().addr();
            let length = modelled.segment.byte_len().max(1);
            (address.wrapping_sub(start) < length).then_some(modelled.segment)
        });
        // SAFETY: no other thread frees segments of this model; another test's segment is found
        // with a chance of nothing, and only compared.
        assert_eq!(unsafe { Segment::find(std::ptr::without_provenance(address)) }, inside);
    }
}
