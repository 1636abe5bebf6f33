//! What the borrow checker must refuse about erased runs of cells.

#[test]
fn runs_of_cells_cannot_outlive_their_memory_or_alias() {
    trybuild::TestCases::new().compile_fail("cases/*.rs");
}
