//! Where the cells of a view are, and what becomes of an adopted `Vec`.

use super::{assert_balanced, live};
use crate::abi;
use crate::client::data::Adopted;
use crate::client::geometry::Geometry;
use crate::client::storage::CellLayout;
use crate::testing::{Step, Tracer};

fn geometry(data: *mut u8, shape: &[usize], strides: &[isize]) -> Geometry {
    Geometry { data, shape: shape.to_vec(), strides: strides.to_vec() }
}

/// Byte offsets in the order of iteration.
fn offsets(shape: &[usize], strides: &[isize]) -> Vec<isize> {
    let base = std::ptr::without_provenance_mut::<u8>(1000);
    geometry(base, shape, strides).positions().map(|cell| cell.addr() as isize - 1000).collect()
}

#[test]
fn iteration_is_row_major_whatever_the_strides() {
    assert_eq!(offsets(&[2, 3], &[24, 8]), [0, 8, 16, 24, 32, 40]);
    assert_eq!(offsets(&[3, 2], &[8, 24]), [0, 24, 8, 32, 16, 40]);
    assert_eq!(offsets(&[2, 2], &[-16, -8]), [0, -8, -16, -24]);
    assert_eq!(offsets(&[2, 2], &[0, 8]), [0, 8, 0, 8]);
    assert_eq!(offsets(&[], &[]), [0]);
    assert_eq!(offsets(&[2, 0, 3], &[8, 8, 8]), [0; 0]);
    let view = geometry(std::ptr::null_mut(), &[2, 3], &[24, 8]);
    assert_eq!(view.cell(&[1, 2]).map(|cell| cell.addr()), Some(40));
    assert_eq!((view.cell(&[2, 0]), view.cell(&[0]), view.len()), (None, None, 6));
}

#[test]
fn only_row_major_cells_without_gaps_are_a_slice() {
    let ask = |shape: &[usize], strides: &[isize]| {
        geometry(std::ptr::null_mut(), shape, strides).is_contiguous(8)
    };
    assert!(ask(&[2, 3], &[24, 8]) && ask(&[1, 3], &[-5, 8]) && ask(&[], &[]));
    assert!(ask(&[0, 3], &[1, 2]));
    assert!(!ask(&[2, 3], &[8, 16]) && !ask(&[3], &[16]) && !ask(&[3], &[-8]) && !ask(&[3], &[0]));
}

#[test]
fn overlapping_cells_are_found() {
    let ask = |shape: &[usize], strides: &[isize]| {
        geometry(std::ptr::null_mut(), shape, strides).is_disjoint(8)
    };
    assert!(ask(&[2, 3], &[24, 8]) && ask(&[3, 2], &[8, 24]) && ask(&[2, 3], &[-24, -8]));
    assert!(ask(&[1, 3], &[0, 8]) && ask(&[0, 3], &[0, 0]) && ask(&[], &[]));
    assert!(!ask(&[3], &[0]) && !ask(&[3], &[4]) && !ask(&[2, 3], &[8, 8]));
    assert!(!ask(&[2, 3], &[16, 8]));
}

#[test]
fn an_adopted_vec_ends_what_lives_in_it_once() {
    let cell = CellLayout::<Tracer>::new(abi::STORAGE_INLINE, abi::ZERO_VACANT, 16);
    let release = |elements: Vec<Tracer>| {
        let adopted = Box::new(Adopted::new(elements, cell));
        // SAFETY: the owner is fresh and not used again.
        unsafe { Adopted::<Tracer>::release(Box::into_raw(adopted).cast()) };
    };
    let mut elements: Vec<Tracer> = Vec::with_capacity(10);
    elements.extend((0..4).map(Tracer::new));
    release(elements);
    assert_eq!(live(), 0);

    let mut cleared: Vec<Tracer> = (0..4).map(Tracer::new).collect();
    // SAFETY: the element is ended and its cell zeroed, as NumPy's clear loop does.
    unsafe {
        let element = cleared.as_mut_ptr().add(2);
        element.drop_in_place();
        element.write_bytes(0, 1);
    }
    Tracer::plan_panic(Step::Drop, 0);
    release(cleared);
    release(Vec::new());
    assert_balanced();
}

#[cfg(feature = "ndarray")]
#[test]
fn an_ndarray_view_shows_the_same_elements() {
    let cell = CellLayout::<u64>::new(abi::STORAGE_INLINE, abi::ZERO_DEFAULT, 8);
    let mut numbers: Vec<u64> = (0..12).collect();
    let last = numbers.as_mut_ptr().wrapping_add(11).cast();
    // Every other row of (3, 4), backwards along both axes: 11 10 9 8, 3 2 1 0.
    let backwards = geometry(last, &[2, 4], &[-64, -8]);
    // SAFETY: the cells lie inside `numbers`, which outlives the view.
    let view = unsafe { crate::client::nd::borrow(cell, &backwards) }.expect("inline");
    assert_eq!(view, ndarray::arr2(&[[11, 10, 9, 8], [3, 2, 1, 0]]).into_dyn());
    let broadcast = geometry(last, &[2, 2], &[0, 0]);
    // SAFETY: as above.
    let view = unsafe { crate::client::nd::borrow(cell, &broadcast) }.expect("inline");
    assert_eq!(view, ndarray::arr2(&[[11, 11], [11, 11]]).into_dyn());
    let odd = geometry(last, &[2], &[12]);
    // SAFETY: nothing is made.
    let refused = unsafe { crate::client::nd::borrow(cell, &odd) };
    assert!(refused.is_err_and(|error| error.message().contains("stride 12")));
    let boxed = CellLayout::<u64>::new(abi::STORAGE_BOXED, abi::ZERO_VACANT, 8);
    // SAFETY: nothing is made.
    let refused = unsafe { crate::client::nd::borrow(boxed, &odd) };
    assert!(refused.is_err_and(|error| error.message().contains("promise zero_is_vacant")));
    // SAFETY: the cells lie inside `numbers`, disjoint, and nothing else uses them.
    let mut view = unsafe { crate::client::nd::borrow_mut(cell, &backwards) }.expect("inline");
    view[[1, 3]] = 77;
    assert_eq!(numbers[0], 77);
}
