//! Objects are built and ended once, whatever panics.

use super::cells::{Cells, Failed, outcome};
use super::{assert_balanced, live};
use super::{each_storage, types};
use crate::abi::{self, CopyFn, ErrorOut};
use crate::client::{Definition, element};
use crate::testing::{Step, Tracer};

fn copy(
    function: Option<CopyFn>,
    to: &Cells<'_, Tracer>,
    from: &Cells<'_, Tracer>,
    definition: &Definition<Tracer>,
    count: usize,
) -> Result<(), Failed> {
    let mut error_out = ErrorOut::new();
    let function = function.expect("a copy function");
    // SAFETY: both buffers hold `count` cells in the state that the function asks for.
    let status = unsafe {
        function(
            definition.vtable().context,
            to.at(0),
            to.stride(),
            from.at(0),
            from.stride(),
            count,
            &raw mut error_out,
        )
    };
    outcome(status, &error_out)
}

#[test]
fn what_is_built_is_destroyed_once() {
    each_storage(|definition| {
        let source = Cells::new(definition, 5);
        source.construct(source.stride(), 5).expect("no panic");
        assert_eq!(source.get(4).map(Tracer::value), Some(7));
        let target = Cells::new(definition, 5);
        copy(definition.vtable().copy_construct, &target, &source, definition, 5).expect("copies");
        copy(definition.vtable().assign, &target, &source, definition, 5).expect("assigns");
        assert_eq!(live(), 10);
        assert_eq!(target.get(0).map(Tracer::value), Some(7));
        drop((source, target));
        assert_balanced();
    });
}

#[test]
fn strides_may_leave_gaps_and_run_backwards() {
    each_storage(|definition| {
        let cells = Cells::new(definition, 6);
        cells.construct(2 * cells.stride(), 3).expect("no panic");
        assert_eq!(cells.live(), [true, false, true, false, true, false]);
        let copies = Cells::new(definition, 3);
        let vtable = definition.vtable();
        for (index, value) in [(0, 1), (2, 2), (4, 3)] {
            // SAFETY: the cell is live.
            unsafe { (*definition.cell().object(cells.at(index))).set(value) };
        }
        let mut error_out = ErrorOut::new();
        // SAFETY: three vacant cells backwards, three live ones with gaps.
        let status = unsafe {
            vtable.copy_construct.expect("clones")(
                vtable.context,
                copies.at(2),
                -copies.stride(),
                cells.at(0),
                2 * cells.stride(),
                3,
                &raw mut error_out,
            )
        };
        assert_eq!(status, abi::OK);
        let values: Vec<_> = (0..3).map(|i| copies.get(i).map(Tracer::value)).collect();
        assert_eq!(values, [Some(3), Some(2), Some(1)]);
        drop((cells, copies));
        assert_balanced();
    });
}

#[test]
fn a_panic_at_k_leaves_the_cells_before_live_and_the_rest_untouched() {
    each_storage(|definition| {
        for k in [0, 2, 4] {
            let cells = Cells::new(definition, 5);
            Tracer::plan_panic(Step::Default, k);
            let failed = cells.construct(cells.stride(), 5).expect_err("a planned panic");
            assert_eq!((failed.kind, failed.done), (abi::ERROR_RUNTIME, k));
            assert_eq!(failed.message, "the planned panic of Default");
            assert_eq!(cells.live(), [k > 0, k > 1, k > 2, k > 3, false]);

            let source = Cells::of(definition, (0..5).map(Tracer::new));
            let target = Cells::new(definition, 5);
            Tracer::plan_panic(Step::Clone, k);
            let failed = copy(definition.vtable().copy_construct, &target, &source, definition, 5)
                .expect_err("a planned panic");
            assert_eq!(failed.done, k);
            assert_eq!(target.live(), [k > 0, k > 1, k > 2, k > 3, false]);

            let target = Cells::of(definition, (10..15).map(Tracer::new));
            Tracer::plan_panic(Step::Clone, k);
            copy(definition.vtable().assign, &target, &source, definition, 5)
                .expect_err("a planned panic");
            for index in 0..5 {
                let expected = if index < k { index as i64 } else { index as i64 + 10 };
                assert_eq!(target.get(index).map(Tracer::value), Some(expected));
            }
        }
        assert_balanced();
    });
}

#[test]
fn a_panicking_destructor_does_not_save_the_others() {
    each_storage(|definition| {
        for k in [0, 2, 4] {
            let cells = Cells::of(definition, (0..5).map(Tracer::new));
            Tracer::plan_panic(Step::Drop, k);
            let failed = cells.destroy(0, cells.stride(), 5).expect_err("a planned panic");
            assert_eq!((failed.done, failed.message.as_str()), (k, "the planned panic of Drop"));
            assert_eq!(live(), 0);
            std::mem::forget(cells);
        }
        assert_balanced();
    });
}

#[test]
fn every_size_and_alignment_has_a_cell() {
    let define = |builder: crate::client::ElementBuilder<types::Nothing, _>| {
        builder.default().clone().define("m").expect("no mistake")
    };
    let nothing = define(element("Nothing"));
    assert_eq!((nothing.vtable().size, nothing.vtable().vacancy_offset), (1, 0));
    let cells = Cells::new(&nothing, 3);
    cells.construct(cells.stride(), 2).expect("no panic");
    assert_eq!(cells.live(), [true, true, false]);

    let wide = element::<types::Wide>("Wide").default().define("m").expect("no mistake");
    assert_eq!((wide.vtable().size, wide.vtable().storage), (8, abi::STORAGE_BOXED));
    let cells = Cells::new(&wide, 2);
    cells.construct(cells.stride(), 2).expect("no panic");
    assert_eq!(cells.get(1).map(|wide| wide.address() % 64), Some(0));

    let text = element::<String>("Text").define("m").expect("no mistake");
    assert_eq!((text.vtable().size, text.vtable().vacancy_offset), (32, 24));
    // SAFETY: a String holds a pointer that is never null.
    let text = unsafe { element::<String>("Text").zero_is_vacant() };
    let text = text.define("m").expect("no mistake");
    assert_eq!((text.vtable().size, text.vtable().storage), (24, abi::STORAGE_INLINE));
    assert_eq!(text.name(), "m.Text");
    let text = element::<String>("Text").module("package").define("m").expect("no mistake");
    assert_eq!(text.name(), "package.Text");
}

#[test]
fn promises_that_cannot_hold_are_refused() {
    // SAFETY: nothing comes of it.
    let refused = unsafe { element::<types::Nothing>("Nothing").zero_is_vacant() };
    let error = refused.define("m").err().expect("size 0");
    assert!(error.message().starts_with("m.Nothing: "), "{error}");
    // SAFETY: nothing comes of it.
    let refused = unsafe { element::<types::Wide>("Wide").zero_is_default() };
    let error = refused.define("m").err().expect("alignment 64");
    assert!(error.message().contains("16 bytes"), "{error}");
    let error = element::<i32>("A\0B").define("m").err().expect("NUL");
    assert!(error.message().contains("NUL"), "{error}");
    for name in ["", "a b", "a.b", "1a", "List<i32>"] {
        let error = element::<i32>(name).define("m").err().expect(name);
        assert!(error.message().contains("identifier"), "{error}");
    }
    for name in ["_a1", "Größe"] {
        assert!(element::<i32>(name).define("m").is_ok(), "{name}");
    }
}

#[test]
fn types_that_own_nothing_need_no_destructor() {
    let number = element::<f64>("Number").define("m").expect("no mistake");
    assert!(number.vtable().destroy.is_none());
    assert!(element::<f64>("Number").boxed().define("m").expect("ok").vtable().destroy.is_some());
}
