//! Order, text, bytes, truth and hash of single values.

use super::assert_balanced;
use super::cells::{Cells, Failed, call, collect, find, outcome};
use super::{each_storage, types};
use crate::abi::{self, Api, ErrorOut, LoadFn};
use crate::client::runtime::check;
use crate::client::{Definition, element};
use crate::testing::{Step, Tracer};

fn sort<T>(definition: &Definition<T>, cells: &Cells<'_, T>, count: usize) -> Result<(), Failed> {
    let vtable = definition.vtable();
    let mut error_out = ErrorOut::new();
    let sort = vtable.sort.expect("an order");
    // SAFETY: the cells are contiguous and the test's own.
    let status = unsafe { sort(vtable.context, cells.at(0), count, &raw mut error_out) };
    outcome(status, &error_out)
}

fn argsort<T>(definition: &Definition<T>, cells: &Cells<'_, T>, count: usize) -> Vec<isize> {
    let vtable = definition.vtable();
    let mut error_out = ErrorOut::new();
    let mut indices: Vec<isize> = (0..count as isize).collect();
    let argsort = vtable.argsort.expect("an order");
    // SAFETY: the cells are readable, the indices those of the cells.
    let status = unsafe {
        argsort(
            vtable.context,
            cells.at(0),
            cells.stride(),
            count,
            indices.as_mut_ptr(),
            &raw mut error_out,
        )
    };
    assert_eq!(status, abi::OK);
    indices
}

fn load<T>(
    definition: &Definition<T>,
    function: Option<LoadFn>,
    cell: *mut u8,
    bytes: &[u8],
) -> Result<(), Failed> {
    let mut error_out = ErrorOut::new();
    let function = function.expect("a load function");
    // SAFETY: the cell is writable.
    let status = unsafe {
        function(definition.vtable().context, cell, bytes.as_ptr(), bytes.len(), &raw mut error_out)
    };
    outcome(status, &error_out)
}

#[test]
fn sorting_is_stable_and_vacant_cells_sort_as_the_default() {
    each_storage(|definition| {
        // Equal values are told apart by their numbers; a vacant cell is 7.
        let cells = Cells::of(definition, [30, 20, 30, 1, 20, 99].map(Tracer::new));
        let id = |index| cells.get(index).map(Tracer::id);
        let in_order = [id(3), None, id(1), id(4), id(0), id(2)];
        cells.destroy(5, 0, 1).expect("no panic");
        // SAFETY: the last cell's object is gone.
        unsafe { cells.at(5).write_bytes(0, definition.vtable().size) };
        assert_eq!(argsort(definition, &cells, 6), [3, 5, 1, 4, 0, 2]);
        sort(definition, &cells, 6).expect("sorts");
        let values: Vec<_> = (0..6).map(|i| cells.get(i).map(Tracer::value)).collect();
        assert_eq!(values, [Some(1), None, Some(20), Some(20), Some(30), Some(30)]);
        assert_eq!([0, 1, 2, 3, 4, 5].map(id), in_order);
        drop(cells);
        assert_balanced();
    });
}

#[test]
fn a_panic_while_sorting_leaves_a_permutation() {
    each_storage(|definition| {
        for k in [0, 7, 60] {
            let cells = Cells::of(definition, (0..50).map(|i| Tracer::new(i * 7919 % 500)));
            Tracer::plan_panic(Step::Compare, k);
            let failed = sort(definition, &cells, 50).expect_err("a planned panic");
            assert_eq!(failed.message, "the planned panic of Compare");
            let mut values: Vec<_> = (0..50).filter_map(|i| cells.get(i)).collect();
            values.sort_by_key(|tracer| tracer.value());
            let mut expected: Vec<i64> = (0..50).map(|i| i * 7919 % 500).collect();
            expected.sort_unstable();
            assert_eq!(values.iter().map(|t| t.value()).collect::<Vec<_>>(), expected);
        }
        assert_balanced();
    });
}

#[test]
fn unordered_values_sort_last_and_win_maximum_and_minimum() {
    let definition =
        element::<f64>("Number").partial_ordering().clone().default().define("m").expect("ok");
    let cells = Cells::of(&definition, [f64::NAN, 2.0, f64::INFINITY, -1.0]);
    assert_eq!(argsort(&definition, &cells, 4), [3, 1, 2, 0]);
    sort(&definition, &cells, 4).expect("sorts");
    assert_eq!(cells.get(0), Some(&-1.0));
    assert!(cells.get(3).is_some_and(|x| x.is_nan()));
    let out = Cells::new(&definition, 1);
    let ask = |ufunc, x: usize, y: usize| {
        call(find(&definition, ufunc), &[cells.at(x), cells.at(y), out.at(0)], &[1], &[0, 0, 0])
            .expect("no panic");
        *out.get(0).expect("written")
    };
    for (x, y) in [(0, 3), (3, 0)] {
        assert!(ask(c"maximum", x, y).is_nan() && ask(c"minimum", x, y).is_nan());
        assert_eq!((ask(c"fmax", x, y), ask(c"fmin", x, y)), (-1.0, -1.0));
    }
    assert_eq!((ask(c"maximum", 0, 1), ask(c"minimum", 0, 1)), (2.0, -1.0));
}

#[test]
fn text_goes_both_ways_and_bad_text_changes_nothing() {
    each_storage(|definition| {
        let cells = Cells::new(definition, 2);
        let vtable = definition.vtable();
        load(definition, vtable.from_text, cells.at(0), b"-12").expect("a number");
        let text = |index| {
            collect(vtable.to_text.expect("text"), vtable.context, cells.at(index)).expect("text")
        };
        assert_eq!((text(0), text(1)), (b"-12".to_vec(), b"7".to_vec()));
        let failed =
            load(definition, vtable.from_text, cells.at(0), b"x\0y").expect_err("no number");
        assert_eq!(failed.kind, abi::ERROR_VALUE);
        assert!(failed.message.starts_with("\"x\\0y\" is not a m.Tracer: "), "{failed:?}");
        let failed = load(definition, vtable.from_text, cells.at(1), b"\xff").expect_err("bytes");
        assert_eq!(failed.kind, abi::ERROR_VALUE);
        assert_eq!((text(0), cells.is_live(1)), (b"-12".to_vec(), false));
        load(definition, vtable.from_text, cells.at(0), b"13").expect("replaces");
        assert_eq!(text(0), b"13");
        drop(cells);
        assert_balanced();
    });
}

#[test]
fn truth_hash_heap_and_codec_come_from_the_author() {
    let definition = types::count();
    let vtable = definition.vtable();
    let cells = Cells::of(&definition, [0, 3, u64::MAX].map(types::Count));
    let mut error_out = ErrorOut::new();
    let mut truth = [9u8; 6];
    let mut heap = 0;
    let mut hash = 0;
    // SAFETY: three readable cells, room for three results two bytes apart.
    unsafe {
        let nonzero = vtable.nonzero.expect("truth");
        let (context, s) = (vtable.context, cells.stride());
        let status = nonzero(context, cells.at(0), s, 3, truth.as_mut_ptr(), 2, &raw mut error_out);
        assert_eq!((status, truth), (abi::OK, [0, 9, 1, 9, 1, 9]));
        let heap_bytes = vtable.heap_bytes.expect("heap bytes");
        assert_eq!(heap_bytes(context, cells.at(0), s, 3, &raw mut heap), abi::OK);
        assert_eq!(heap, 30);
        let hash_of = vtable.hash.expect("a hash");
        assert_eq!(hash_of(context, cells.at(2), &raw mut hash, &raw mut error_out), abi::OK);
        assert_eq!(hash, -2, "-1 is Python's sign of an error");
    }
    let bytes = collect(vtable.save.expect("a codec"), vtable.context, cells.at(1));
    assert_eq!(bytes.as_deref(), Ok(&[3, 0, 0, 0, 0, 0, 0, 0][..]));
    load(&definition, vtable.load, cells.at(0), &[4, 0, 0, 0, 0, 0, 0, 0]).expect("eight bytes");
    assert_eq!(cells.get(0), Some(&types::Count(4)));
    let failed = load(&definition, vtable.load, cells.at(0), &[1]).expect_err("one byte");
    assert_eq!((failed.kind, cells.get(0)), (abi::ERROR_VALUE, Some(&types::Count(4))));
}

/// The beginning of a table, as a runtime of any version has it.
#[repr(C)]
struct Beginning {
    struct_size: usize,
    abi_version: u32,
    reserved: u32,
    runtime_version: *const std::ffi::c_char,
}

#[test]
fn another_runtime_is_refused_with_both_versions() {
    let ask = |struct_size, abi_version| {
        let table =
            Beginning { struct_size, abi_version, reserved: 0, runtime_version: c"9.8.7".as_ptr() };
        // SAFETY: a table that is refused is read no further than its beginning.
        unsafe { check((&raw const table).cast::<Api>()) }.err().expect("refused")
    };
    for message in [ask(size_of::<Api>(), 2 << 16), ask(size_of::<Api>() - 8, abi::ABI_VERSION)] {
        for part in ["9.8.7", env!("CARGO_PKG_VERSION"), "interface 1.2"] {
            assert!(message.contains(part), "{message}");
        }
    }
}
