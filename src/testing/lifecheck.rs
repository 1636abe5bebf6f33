//! `lifecheck!` and its relatives: one line that runs random sequences on a user's own type.

use super::{
    Operation,
    checked::Checked,
    finding::{Finding, attempt, decoded, report, shrunk, try_maker, write_test},
    generate::Generator,
    heap, hooks,
};
use arbitrary::{Arbitrary, Unstructured};
use std::{fmt, marker::PhantomData};

/// A type under test, with the words of the macro that named it.
#[doc(hidden)]
pub trait Target: 'static {
    /// The type.
    type Element: 'static;
    /// The type as it was written.
    const NAME: &'static str;
    /// The closure that makes values, as it was written.
    const MAKE: &'static str;
    /// The closure that describes the type, as it was written, or nothing.
    const BUILD: &'static str;
    /// Makes a value.
    const MAKER: Generator<Self::Element>;
    /// The type, described and wrapped: always the same one on a thread.
    fn checked() -> &'static Checked<Self::Element>;
}

/// An input of a fuzz target. Shown, it is a test that repeats it: cargo-fuzz prints that for every
/// input that ends the process, however it does.
#[doc(hidden)]
pub struct Input<T> {
    records: Vec<[u8; 8]>,
    target: PhantomData<T>,
}

impl<'a, T: Target> Arbitrary<'a> for Input<T> {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let bytes = bytes.bytes(bytes.len())?;
        Ok(Input { records: bytes.as_chunks().0.to_vec(), target: PhantomData })
    }
}

impl<T: Target> fmt::Debug for Input<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_test::<T>(f, &decoded(&self.records))?;
        f.write_str(
            "// If the checks themselves ended this input, a shorter test stands further up, after \
             \"This test repeats it\".\n",
        )
    }
}

/// Runs one input of a fuzz target; a finding is shrunk and printed, and ends the process.
#[doc(hidden)]
pub fn fuzz<T: Target>(input: &Input<T>) {
    let tried = usable::<T>().map_err(|finding| (finding, Vec::new())).and_then(|()| {
        let operations = decoded(&input.records);
        attempt::<T>(&operations).map_err(|finding| shrunk::<T>(&operations, finding))
    });
    let Err((finding, operations)) = tried else { return };
    hooks::note_reported();
    eprintln!("\n{}", report::<T>(&finding, &operations));
    std::process::abort();
}

/// Runs one sequence as a test.
///
/// # Panics
/// It finds something.
#[doc(hidden)]
#[track_caller]
pub fn replay<T: Target>(operations: &[Operation]) {
    say_unwatched();
    if let Err(finding) = usable::<T>().and_then(|()| attempt::<T>(operations)) {
        panic!("denizen lifecheck: {}: {}", T::NAME, finding.message);
    }
}

/// Runs random sequences as a test.
///
/// # Panics
/// One of them finds something.
#[cfg(feature = "proptest")]
#[doc(hidden)]
#[track_caller]
pub fn random<T: Target>() {
    use ::proptest::{
        collection::vec,
        prelude::{Strategy, any},
        test_runner::{Config, TestCaseError, TestError, TestRunner},
    };
    say_unwatched();
    if let Err(finding) = usable::<T>() {
        panic!("{}", report::<T>(&finding, &[]));
    }
    let mut runner = TestRunner::new(Config {
        // Sequences are shrunk here, by the operation; and a finding is a test to keep.
        failure_persistence: None,
        max_shrink_iters: 0,
        ..Config::default()
    });
    let sequences = vec(any::<[u8; 8]>(), 1..64).prop_map(probable);
    let outcome = runner.run(&sequences, |records| {
        attempt::<T>(&decoded(&records)).map_err(|finding| TestCaseError::fail(finding.message))
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Abort(reason)) => panic!("no sequence could be made: {reason}"),
        Err(TestError::Fail(reason, records)) => {
            let finding = Finding { message: reason.message().to_owned() };
            let (finding, operations) = shrunk::<T>(&decoded(&records), finding);
            panic!("{}", report::<T>(&finding, &operations));
        }
    }
}

/// Random operations that meet each other more often: on two segments, which exist from the start,
/// with more copies and moves, and with something that can fail where an element is to fail.
#[cfg(feature = "proptest")]
fn probable(mut records: Vec<[u8; 8]>) -> Vec<[u8; 8]> {
    const MATERIALISE: u8 = 12;
    const COPY: u8 = 26;
    const RELOCATE: u8 = 29;
    const FAIL_ELEMENT: std::ops::Range<u8> = 40..46;
    const COMPUTE: u8 = 56;
    let mut planned = false;
    for (index, record) in records.iter_mut().enumerate() {
        let [opcode, slot, after, how, any, _, to, _] = record;
        *opcode = match *opcode {
            _ if index < 2 => 0,
            opcode if planned => [COPY, COPY, MATERIALISE, COMPUTE][usize::from(opcode % 4)],
            opcode @ 0xc0.. => [COPY, RELOCATE, COPY, COPY][usize::from(opcode % 4)],
            opcode => opcode,
        };
        planned = index >= 2 && FAIL_ELEMENT.contains(&(*opcode % 64));
        if planned {
            // One of the first eight, and rather one of the first.
            *how &= !2;
            *after &= *any;
        }
        (*slot, *to) = (*slot & !2, *to & !2);
        if index < 2 {
            *slot = *slot & !1 | index as u8;
        }
    }
    records
}

/// Says once that nothing looks at the heap of the types: a test without [`heap::Heap`] finds less.
/// (A fuzz target has it, or was told that it has another.)
fn say_unwatched() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    if heap::is_installed() || hooks::under_asan() {
        return;
    }
    ONCE.call_once(|| {
        hooks::say(format_args!(
            "denizen lifecheck: no Heap is installed, so leaks of a type's own heap memory, and \
             blocks that are freed twice, are not seen. Add to this test: #[global_allocator] static \
             HEAP: denizen::testing::Heap = denizen::testing::Heap;\n"
        ));
    });
}

/// Asks once a thread whether the closure can be used at all.
///
/// # Errors
/// It cannot, or the values that it makes are broken before any operation.
fn usable<T: Target>() -> Result<(), Finding> {
    use std::{any::TypeId, cell::RefCell, collections::HashSet};
    thread_local! {
        static TRIED: RefCell<HashSet<TypeId>> = RefCell::default();
    }
    if TRIED.with_borrow(|tried| tried.contains(&TypeId::of::<T>())) {
        return Ok(());
    }
    try_maker::<T>()?;
    TRIED.with_borrow_mut(|tried| tried.insert(TypeId::of::<T>()));
    Ok(())
}

/// A cargo-fuzz target in one line: random sequences of every operation of denizen on a type of
/// yours, through the vtable that [`denizen::element`](crate::client::element) makes for it.
///
/// In `fuzz_targets/label.rs` of a crate that `cargo fuzz init` made:
/// ```ignore
/// #![no_main]
/// denizen::lifecheck!(my_crate::Label, |u| u.arbitrary().map(my_crate::Label::new));
/// ```
///
/// # Arguments
/// 1. The type. Write its full path, as you write it in a test of the crate: findings are printed
///    with it.
/// 2. A closure that makes values of an [`Unstructured`]: it
///    returns a value, or a `Result` or `Option` of one (where there is none, the operation is left
///    out). It captures nothing, and makes equal values of equal bytes. Without it the type's own
///    `Arbitrary` makes them.
/// 3. A closure that describes the type, from an [`ElementBuilder`](crate::client::ElementBuilder) on:
///    the storage, promises, and loops of its own, as it is registered. Without it all is told to the
///    builder that the type can do: `Clone`, `Default`, `PartialOrd`, `Ord`, and the operators on
///    references.
///
/// # What is compared
/// After each operation every cell with what it should hold: by `PartialEq`, where the type has it,
/// else by its `Debug` text. A value that is not equal to itself (NaN) is compared by its text, too. A
/// text that differs between two values made of the same bytes (it shows an address) is compared with
/// nothing, and the check says so. A type with neither is still checked for its heap and its balance.
///
/// The macro installs [`Heap`](crate::testing::Heap). For a crate that has a global allocator of its
/// own, write `lifecheck!(own_allocator: my_crate::Label, ..)`; leaks are then LeakSanitizer's.
///
/// `docs/testing-your-type.md` has the way from nothing to a finding.
#[macro_export]
macro_rules! lifecheck {
    (own_allocator: $type:ty $(,)?) => {
        $crate::lifecheck!(own_allocator: $type, |u| u.arbitrary());
    };
    (own_allocator: $type:ty, $make:expr $(, $build:expr)? $(,)?) => {
        const _: () = {
            $crate::__lifecheck_target!($type, $make $(, $build)?);
            ::libfuzzer_sys::fuzz_target!(|input: $crate::testing::Input<LifecheckTarget>| {
                $crate::testing::fuzz(&input)
            });
        };
    };
    ($type:ty $(, $make:expr $(, $build:expr)?)? $(,)?) => {
        const _: () = {
            #[global_allocator]
            static HEAP: $crate::testing::Heap = $crate::testing::Heap;
        };
        $crate::lifecheck!(own_allocator: $type $(, $make $(, $build)?)?);
    };
}

/// The same as [`lifecheck!`](crate::lifecheck), as a test for a stable compiler: it runs random
/// sequences (256 of them, or `PROPTEST_CASES`), and panics with a short one that finds
/// something, as a test to keep. `PROPTEST_RNG_SEED` repeats a run.
///
/// ```
/// # fn main() {}
/// #[global_allocator]
/// static HEAP: denizen::testing::Heap = denizen::testing::Heap;
///
/// denizen::lifecheck_proptest!(fn labels: String);
/// denizen::lifecheck_proptest!(fn numbers: Vec<u8>, |u| u.arbitrary());
/// ```
///
/// Without `fn name:` in front, the test is called `lifecheck`. Attributes stand before `fn`. The
/// other arguments are those of [`lifecheck!`](crate::lifecheck).
#[cfg(feature = "proptest")]
#[macro_export]
macro_rules! lifecheck_proptest {
    ($(#[$attribute:meta])* fn $name:ident: $type:ty $(,)?) => {
        $crate::lifecheck_proptest!($(#[$attribute])* fn $name: $type, |u| u.arbitrary());
    };
    ($(#[$attribute:meta])* fn $name:ident: $type:ty, $make:expr $(, $build:expr)? $(,)?) => {
        #[test]
        $(#[$attribute])*
        fn $name() {
            $crate::__lifecheck_target!($type, $make $(, $build)?);
            $crate::testing::random::<LifecheckTarget>();
        }
    };
    ($type:ty $(, $make:expr $(, $build:expr)?)? $(,)?) => {
        $crate::lifecheck_proptest!(fn lifecheck: $type $(, $make $(, $build)?)?);
    };
}

/// Runs one sequence of operations: what a finding of [`lifecheck!`] is printed as.
#[macro_export]
macro_rules! lifecheck_replay {
    ($type:ty, $make:expr, [$($operation:expr),* $(,)?] $(,)?) => {
        $crate::__lifecheck_replay!([$type, $make] [$($operation),*])
    };
    ($type:ty, $make:expr, $build:expr, [$($operation:expr),* $(,)?] $(,)?) => {
        $crate::__lifecheck_replay!([$type, $make, $build] [$($operation),*])
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __lifecheck_replay {
    ([$($target:tt)*] [$($operation:expr),*]) => {{
        $crate::__lifecheck_target!($($target)*);
        let operations: &[$crate::testing::Operation] = {
            #[allow(unused_imports, reason = "depends on the operations")]
            use $crate::testing::{Operation::*, Run};
            &[$($operation),*]
        };
        $crate::testing::replay::<LifecheckTarget>(operations);
    }};
}

/// The item `LifecheckTarget` for a type. No name of ours is in scope where the user's words stand.
#[doc(hidden)]
#[macro_export]
macro_rules! __lifecheck_target {
    (@ $type:ty, $make:expr, $build:expr, $builder:expr) => {
        struct LifecheckTarget;
        impl $crate::testing::Target for LifecheckTarget {
            type Element = $type;
            const NAME: &'static str = stringify!($type);
            const MAKE: &'static str = stringify!($make);
            const BUILD: &'static str = $build;
            const MAKER: $crate::testing::Generator<$type> = |u| {
                let make: fn(&mut $crate::testing::arbitrary::Unstructured<'_>) -> _ = $make;
                $crate::testing::Generate::<$type>::generate(make(u))
            };
            fn checked() -> &'static $crate::testing::Checked<$type> {
                ::std::thread_local! {
                    static CHECKED: ::std::cell::OnceCell<&'static $crate::testing::Checked<$type>> =
                        const { ::std::cell::OnceCell::new() };
                }
                CHECKED.with(|checked| {
                    *checked.get_or_init(|| {
                        $crate::testing::Checked::new(
                            $builder,
                            <LifecheckTarget as $crate::testing::Target>::MAKER,
                            $crate::__lifecheck_probe!($type, |probe| probe.same()),
                            $crate::__lifecheck_probe!($type, |probe| probe.show()),
                        )
                    })
                })
            }
        }
    };
    ($type:ty, $make:expr $(,)?) => {
        $crate::__lifecheck_target!(@ $type, $make, "", $crate::__lifecheck_probe!($type, |probe| {
            let builder = $crate::testing::probe::settled(probe.begin());
            let builder = probe.with_default(probe.with_clone(builder));
            let builder = probe.with_order(probe.with_partial_order(builder));
            let builder = probe.with_mul(probe.with_sub(probe.with_add(builder)));
            probe.with_neg(probe.with_rem(probe.with_div(builder)))
        }));
    };
    ($type:ty, $make:expr, $build:expr $(,)?) => {
        $crate::__lifecheck_target!(@ $type, $make, stringify!($build),
            $crate::testing::probe::described(
                $crate::__lifecheck_probe!($type, |probe| probe.begin()),
                $build,
            )
        );
    };
}

/// Asks what a type can do.
#[doc(hidden)]
#[macro_export]
macro_rules! __lifecheck_probe {
    ($type:ty, |$probe:ident| $question:expr) => {{
        #[allow(unused_imports, reason = "one trait of each pair is used")]
        use $crate::testing::probe::*;
        let $probe = &$crate::testing::probe::Probe::<$type>::new();
        $question
    }};
}
