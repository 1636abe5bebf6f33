//! Moves of cells, and the element proxies of cells that take another object.

use crate::{
    dtype::{
        loops::{
            access::{self, Run},
            transfer,
        },
        scalars::proxy,
    },
    erased::{ElementType, Exclusive, Failure, Staging},
    segment::Segment,
};

/// Moves cell by cell, in order, as [`crate::erased::rules::relocate`] does.
///
/// # Errors
/// A destructor failed; all cells have moved.
///
/// # Safety
/// As for [`transfer::copy_cells`], and the source may be written.
pub unsafe fn move_cells(element: &'static ElementType, to: Run, from: Run) -> Result<(), Failure> {
    // Before any lock.
    let _gil = proxy::gil_for(element);
    let operands = [Some((element, to)), Some((element, from))];
    if !element.is_thread_safe() {
        let mut staging = Staging::new(element, to.count)?;
        let mut outcome = Ok(());
        transfer::pieces(to, from, staging.capacity(), |to, from| {
            let operands = [Some((element, to)), Some((element, from))];
            let moved = access::replacing(operands, &mut staging, |segments, right, staging| {
                // SAFETY: the caller's promise; the memory of both is locked.
                unsafe { move_locked(element, (to, from), segments, right, Some(staging)) }
            });
            outcome = std::mem::replace(&mut outcome, Ok(())).and(moved);
            Ok(())
        })?;
        return outcome;
    }
    access::with_operands(operands, |segments, right| {
        let mut outcome = Ok(());
        transfer::blocks(to, from, |to, from| {
            // SAFETY: the caller's promise; the memory of both is locked.
            let result = unsafe { move_locked(element, (to, from), segments, right, None) };
            outcome = std::mem::replace(&mut outcome, Ok(())).and(result);
            Ok(())
        })?;
        outcome
    })
}

/// [`move_cells`] of one block.
///
/// # Safety
/// As for [`transfer::move_block`].
unsafe fn move_locked(
    element: &'static ElementType,
    (to, from): (Run, Run),
    [segment, source_segment]: [Option<Segment>; 2],
    right: Exclusive<'_>,
    staging: Option<&mut Staging<'static>>,
) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    unsafe {
        proxy::detach_run(element, to)?;
        let adopted = segment.is_none() && transfer::is_adopted(element, to);
        if adopted {
            transfer::refuse_to_vacate(element, from)?;
        }
        let moved =
            transfer::move_block(element, (to, segment), (from, source_segment), right, staging);
        if adopted { moved.and(transfer::fill_vacant(element, to, right)) } else { moved }
    }
}
