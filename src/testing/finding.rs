//! One sequence on a type, what it finds, and the smallest test that shows it.

use super::{
    Kind, Operation, heap, hooks, lifecheck::Target, mishap, model, tracer_type::TracerType,
};
use crate::faults;
use std::{
    fmt::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

/// Longest time that is spent on making a sequence shorter.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most attempts at that.
const ATTEMPTS: usize = 4000;

/// What a sequence found.
pub(super) struct Finding {
    /// What is wrong, and in which operation.
    pub(super) message: String,
}

/// Runs one sequence: on a heap as it is, then on one where freed blocks are filled.
///
/// # Errors
/// What it found.
pub(super) fn attempt<T: Target>(operations: &[Operation]) -> Result<(), Finding> {
    let pass = |fills| hooks::watched(operations, write_test::<T>, || once::<T>(operations, fills));
    let mut leak = pass(false)?;
    if heap::is_installed() && !hooks::under_asan() {
        leak = leak.and(pass(true)?);
    }
    // What a type keeps for good from its first use on is no leak: only a later time tells.
    for _ in 0..2 {
        if leak.is_none() {
            return Ok(());
        }
        leak = pass(false)?;
    }
    leak.map_or(Ok(()), |leak| Err(Finding { message: format!("after the sequence, {leak}") }))
}

/// Makes values and ends them, without any operation.
///
/// # Errors
/// The closure cannot be used, or its values are broken.
pub(super) fn try_maker<T: Target>() -> Result<(), Finding> {
    let _watch = heap::Watch::begin(false);
    model::begin();
    let outcome = hooks::watched(&[], write_test::<T>, || {
        let tried = catch_unwind(AssertUnwindSafe(|| T::checked().try_maker()));
        tried.unwrap_or_else(|payload| {
            drop(payload);
            Err(hooks::take_panic().unwrap_or_default())
        })
    });
    let trouble =
        heap::trouble().map_or(Ok(()), |what| Err(format!("without any operation: {what}")));
    outcome.and(trouble).map_err(|message| Finding { message })
}

/// Runs one sequence; says what it leaked.
fn once<T: Target>(operations: &[Operation], fills: bool) -> Result<Option<String>, Finding> {
    let checked = T::checked();
    mishap::cancel();
    faults::cancel();
    let other = TracerType::borrow(Kind::OverAligned);
    let watch = heap::Watch::begin(fills);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        model::run_on(&checked, other.element, operations);
    }));
    checked.forget();
    let said = match outcome {
        Ok(()) => heap::trouble(),
        Err(payload) => {
            drop(payload);
            Some(hooks::take_panic().unwrap_or_else(|| "a panic without a message".to_owned()))
        }
    };
    other.give_back();
    let place = || match operations.get(model::step()) {
        Some(operation) => {
            format!("operation {} of {}, {operation:?}", model::step() + 1, operations.len())
        }
        None => "the end, when everything was freed".to_owned(),
    };
    if let Some(said) = said {
        // What the objects own that are now lost is no leak.
        drop(watch.leaks());
        return Err(Finding { message: format!("{}: {said}", place()) });
    }
    watch.leaks().map_err(|message| Finding { message })
}

/// The shortest sequence so far.
struct Best {
    records: Vec<[u8; 8]>,
    finding: Finding,
}

/// The bytes of a sequence, cut down as long as it still finds something, and what it finds.
pub(super) fn shrunk<T: Target>(records: &[[u8; 8]], finding: Finding) -> (Finding, Vec<[u8; 8]>) {
    let started = Instant::now();
    let mut best = Best { records: records.to_vec(), finding };
    let mut attempts = 0;
    let mut try_out = |candidate: Vec<[u8; 8]>, best: &mut Best| {
        attempts += 1;
        if attempts > ATTEMPTS || started.elapsed() > PATIENCE {
            return false;
        }
        match attempt::<T>(&decoded(&candidate)) {
            Ok(()) => false,
            Err(finding) => {
                *best = Best { records: candidate, finding };
                true
            }
        }
    };
    loop {
        let before = best.records.clone();
        // Whole operations first, many at a time.
        let mut length = best.records.len().div_ceil(2).max(1);
        loop {
            let mut at = 0;
            while at < best.records.len() {
                let mut fewer = best.records.clone();
                fewer.drain(at..(at + length).min(best.records.len()));
                if !try_out(fewer, &mut best) {
                    at += length;
                }
            }
            if length == 1 {
                break;
            }
            length /= 2;
        }
        // Then their numbers: those of two bytes, then each byte.
        for index in 0..best.records.len() {
            for low in [2, 4] {
                let record = best.records[index];
                let wide = u16::from_le_bytes([record[low], record[low + 1]]);
                for smaller in [0, 1, 2, 3, wide % 64, wide % 130, wide / 2] {
                    let mut simpler = best.records.clone();
                    simpler[index][low..low + 2].copy_from_slice(&smaller.to_le_bytes());
                    if smaller < wide && try_out(simpler, &mut best) {
                        break;
                    }
                }
            }
            for byte in [7, 1, 6, 2, 4] {
                let value = best.records[index][byte];
                for smaller in [0, 1, 2, value / 2, value.wrapping_sub(1)] {
                    let mut simpler = best.records.clone();
                    simpler[index][byte] = smaller;
                    if smaller < value && try_out(simpler, &mut best) {
                        break;
                    }
                }
            }
        }
        if best.records == before {
            return (best.finding, best.records);
        }
    }
}

/// The operations that records stand for.
pub(super) fn decoded(records: &[[u8; 8]]) -> Vec<Operation> {
    Operation::sequence(records.as_flattened())
}

/// What a person is shown.
pub(super) fn report<T: Target>(finding: &Finding, operations: &[Operation]) -> String {
    let mut text = format!(
        "denizen lifecheck: {} does not live by the rules.\n  {}\nThis test repeats it:\n\n",
        T::NAME,
        finding.message
    );
    let _ = write_test::<T>(&mut text, operations);
    text
}

/// Writes the sequence as a test that anyone can paste.
pub(super) fn write_test<T: Target>(out: &mut dyn Write, operations: &[Operation]) -> fmt::Result {
    out.write_str(
        "// Beside a Heap: #[global_allocator] static HEAP: denizen::testing::Heap = \
                   denizen::testing::Heap;\n",
    )?;
    out.write_str("#[test]\nfn lifecheck_finding() {\n    denizen::lifecheck_replay!(\n")?;
    writeln!(out, "        {},\n        {},", T::NAME, T::MAKE)?;
    if !T::BUILD.is_empty() {
        writeln!(out, "        {},", T::BUILD)?;
    }
    out.write_str("        [\n")?;
    for operation in operations {
        writeln!(out, "            {operation:?},")?;
    }
    out.write_str("        ]\n    );\n}\n")
}
