//! The types of this crate live by denizen's rules.

#[global_allocator]
static HEAP: denizen::testing::Heap = denizen::testing::Heap;

denizen::lifecheck_proptest!(fn polynomials: polynomials::Polynomial, |u| {
    polynomials::Polynomial::new(u.arbitrary().unwrap_or_default())
});
denizen::lifecheck_proptest!(fn boxed_polynomials: polynomials::Polynomial, |u| {
    polynomials::Polynomial::new(u.arbitrary().unwrap_or_default())
}, |builder| builder.boxed().clone().default().add().mul().neg().ordering());
denizen::lifecheck_proptest!(
    fn promised_polynomials: polynomials::Polynomial,
    |u| polynomials::Polynomial::new(u.arbitrary().unwrap_or_default()),
    |_| described()
);

/// As the crate's Python module would register it.
fn described() -> denizen::ElementBuilder<polynomials::Polynomial, denizen::client::InlineVacant> {
    // SAFETY: the pointer of a Vec is never null, and a Vec has no padding.
    let builder = unsafe { denizen::element("Polynomial").zero_is_vacant() };
    builder.clone().default().add().mul().neg().ordering()
}

denizen::lifecheck_proptest!(fn strings: String);
denizen::lifecheck_proptest!(fn floats: f64);
denizen::lifecheck_proptest!(fn integers: i32);
denizen::lifecheck_proptest!(
    fn zeros: i32,
    |u| u.arbitrary(),
    // SAFETY: zero bytes are 0, the default, and own nothing.
    |builder| unsafe { builder.zero_is_default() }.clone().default().ordering()
);
denizen::lifecheck_proptest!(fn boxes: Box<u32>);
denizen::lifecheck_proptest!(fn counted: std::rc::Rc<String>, |u| u.arbitrary().map(std::rc::Rc::new));
denizen::lifecheck_proptest!(fn locks: std::sync::Mutex<String>, |u| u.arbitrary().map(std::sync::Mutex::new));
denizen::lifecheck_proptest!(fn nothing: ());
denizen::lifecheck_proptest!(fn tracers: denizen::testing::Tracer);
denizen::lifecheck_proptest!(fn tracers_in_vectors: Vec<denizen::testing::Tracer>);

denizen::lifecheck_proptest!(
    fn a_text_with_an_address: polynomials::shown::Placed,
    |u| polynomials::shown::Placed::new(u.int_in_range(0..=3).map_or(0.0, |n| 0.0 / f64::from(n)))
);
denizen::lifecheck_proptest!(
    fn a_text_with_an_address_and_nothing_to_compare: polynomials::shown::Incomparable,
    |u| u.arbitrary().map(polynomials::shown::Placed::new).map(polynomials::shown::Incomparable)
);
