//! What is said once where something is left unchecked. No Heap is installed here.

use std::process::Command;

denizen::lifecheck_proptest!(fn numbers: i32);
denizen::lifecheck_proptest!(fn texts: String);
denizen::lifecheck_proptest!(
    fn placed: polynomials::shown::Placed,
    |u| polynomials::shown::Placed::new(u.int_in_range(0..=3).map_or(0.0, |n| 0.0 / f64::from(n)))
);

struct Closed;
denizen::lifecheck_proptest!(fn closed: Closed, |_| Closed);

/// What some tests of this file, which pass, write to standard error.
fn said(tests: &[&str]) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(tests)
        .args(["--exact", "--test-threads=1"])
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_missing_heap_is_said_once() {
    assert_eq!(said(&["numbers", "texts"]).matches("no Heap is installed").count(), 1);
}

#[test]
fn a_type_that_cannot_be_compared_is_said_once() {
    let said = said(&["closed"]);
    assert_eq!(said.matches("Closed: it has neither PartialEq nor Debug").count(), 1, "{said}");
}

#[test]
fn values_that_are_not_compared_are_said_once() {
    let said = said(&["placed"]);
    assert_eq!(said.matches("Placed: the Debug text of a value differs").count(), 1, "{said}");
    assert_eq!(said.matches("values that are not equal to themselves are not compared").count(), 1);
}
