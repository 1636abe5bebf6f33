//! One sequence on a type, what it finds, and the smallest test that shows it.

use super::{
    Operation, Storage, checked::MOST_CELLS, heap, hooks, lifecheck::Target, model,
    tracer_type::TracerType,
};
use crate::faults::{self, type_code};
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
    type_code::cancel();
    faults::cancel();
    let other = TracerType::borrow(Storage::OverAligned);
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
    let leak = watch.leaks().map_err(|message| Finding { message })?;
    type_code::cancel();
    Ok(leak.map(|leak| match leak.number.and_then(|number| checked.named(number)) {
        Some(value) => format!("{}, made for the value {value}", leak.message),
        None => leak.message,
    }))
}

/// What the type's own code said when it panicked, if that is what was found. Numbers are left out: of
/// other values, the same words have others.
fn words_of_the_type(finding: &Finding) -> Option<String> {
    const BEFORE: [&str; 3] = ["it failed: ", "a destructor failed: ", "with its value: "];
    let (_, said) = BEFORE.iter().find_map(|before| finding.message.split_once(before))?;
    Some(said.replace(|c: char| c.is_ascii_digit(), ""))
}

/// The shortest sequence so far.
struct Best {
    operations: Vec<Operation>,
    finding: Finding,
}

/// A sequence, cut down as long as it still finds something, and what it finds.
pub(super) fn shrunk<T: Target>(
    operations: &[Operation],
    finding: Finding,
) -> (Finding, Vec<Operation>) {
    let started = Instant::now();
    // A panic may have spoiled what all values of the type share, such as a lock: what fails now for
    // that reason alone does not fail in a test of its own.
    let words = words_of_the_type(&finding);
    let mut best = Best { operations: operations.to_vec(), finding };
    let mut attempts = 0;
    let mut try_out = |candidate: Vec<Operation>, best: &mut Best| {
        let candidate = reduced(&candidate);
        attempts += 1;
        if candidate == best.operations || attempts > ATTEMPTS || started.elapsed() > PATIENCE {
            return false;
        }
        match attempt::<T>(&candidate) {
            Ok(()) => false,
            Err(finding) => {
                let its = words_of_the_type(&finding);
                if its.is_some() && its != words {
                    return false;
                }
                *best = Best { operations: candidate, finding };
                true
            }
        }
    };
    loop {
        let before = best.operations.clone();
        // Whole operations first, many at a time.
        let mut length = best.operations.len().div_ceil(2).max(1);
        loop {
            let mut at = 0;
            while at < best.operations.len() {
                let mut fewer = best.operations.clone();
                fewer.drain(at..(at + length).min(best.operations.len()));
                if !try_out(fewer, &mut best) {
                    at += length;
                }
            }
            if length == 1 {
                break;
            }
            length /= 2;
        }
        // Then their numbers, one at a time; and where cells are counted, those of all at once.
        for index in 0..best.operations.len() {
            for which in 0..best.operations[index].numbers().len() {
                let value = best.operations[index].numbers()[which];
                for smaller in [0, 1, 2, 3, value / 2, value.saturating_sub(1)] {
                    let mut simpler = best.operations.clone();
                    simpler[index] = simpler[index].with_number(which, smaller);
                    if smaller < value && try_out(simpler, &mut best) {
                        break;
                    }
                }
            }
        }
        for (from, to) in [(3, 2), (2, 1), (1, 0), (3, 1), (3, 0), (2, 0)] {
            let moved = best.operations.iter().map(|operation| operation.with_slot(from, to));
            try_out(moved.collect(), &mut best);
        }
        for value in (2..MOST_CELLS as u32).rev() {
            let fewer = |operation: &Operation| {
                let numbers = operation.numbers();
                (0..numbers.len())
                    .filter(|which| numbers[*which] == value)
                    .fold(*operation, |operation, which| operation.with_number(which, value - 1))
            };
            if best.operations.iter().any(|operation| operation.numbers().contains(&value)) {
                try_out(best.operations.iter().map(fewer).collect(), &mut best);
            }
        }
        if best.operations == before {
            return (best.finding, best.operations);
        }
    }
}

/// The operations that records stand for, with the numbers that they mean on this type.
pub(super) fn decoded(records: &[[u8; 8]]) -> Vec<Operation> {
    reduced(&Operation::sequence(records.as_flattened()))
}

fn reduced(operations: &[Operation]) -> Vec<Operation> {
    Operation::reduced(operations, MOST_CELLS)
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
    out.write_str("#[test]\nfn lifecheck")?;
    write_snake(out, T::NAME)?;
    out.write_str("() {\n    denizen::lifecheck_replay!(\n")?;
    for argument in [T::NAME, T::MAKE, T::BUILD].iter().filter(|text| !text.is_empty()) {
        write_indented(out, argument)?;
    }
    out.write_str("        [\n")?;
    for operation in operations {
        writeln!(out, "            {operation:?},")?;
    }
    out.write_str("        ]\n    );\n}\n")
}

/// The words of a type's name as the end of a function's.
fn write_snake(out: &mut dyn Write, name: &str) -> fmt::Result {
    let mut before = ' ';
    for letter in name.chars() {
        if letter.is_alphanumeric() {
            if !before.is_alphanumeric() || (letter.is_uppercase() && !before.is_uppercase()) {
                out.write_char('_')?;
            }
            for small in letter.to_lowercase() {
                out.write_char(small)?;
            }
        }
        before = letter;
    }
    Ok(())
}

/// An argument of the macro, as deep as its neighbours. Text over several lines stays as it is.
fn write_indented(out: &mut dyn Write, argument: &str) -> fmt::Result {
    let quoted = argument.lines().any(|line| line.matches('"').count() % 2 == 1);
    let mut before = "";
    for (index, line) in argument.lines().enumerate() {
        if before.ends_with('|') && line == "{" && !quoted {
            // Where the compiler, and nothing else, breaks a closure.
            before = line;
            out.write_str(" {")?;
            continue;
        }
        before = line;
        if index > 0 {
            out.write_str("\n")?;
        }
        if index == 0 || !(quoted || line.is_empty()) {
            out.write_str("        ")?;
        }
        out.write_str(line)?;
    }
    out.write_str(",\n")
}
