//! Every broken type is found.

use polynomials::broken::*;

#[global_allocator]
static HEAP: denizen::testing::Heap = denizen::testing::Heap;

denizen::lifecheck_proptest!(
    // Freed twice, or read when its other owner has ended.
    #[should_panic(expected = "SharedPointer does not live by the rules")]
    fn a_clone_that_shares_a_pointer: SharedPointer, |u| SharedPointer::new(u.arbitrary().unwrap_or(1))
);
denizen::lifecheck_proptest!(
    #[should_panic(expected = " was expected")]
    fn a_clone_that_shares_a_number: SharedNumber, |u| SharedNumber::new(u.arbitrary().unwrap_or(1))
);
denizen::lifecheck_proptest!(
    #[should_panic(expected = "were never freed")]
    fn a_missing_drop: Forgetful, |u| Forgetful::new(u.arbitrary().unwrap_or_default())
);
denizen::lifecheck_proptest!(
    #[should_panic(expected = "was freed twice")]
    fn a_drop_too_many: EndsTwice, |u| EndsTwice::new(u.arbitrary().unwrap_or(1))
);
denizen::lifecheck_proptest!(
    #[should_panic(expected = " was expected")]
    fn a_pointer_to_itself: SelfPointing, |u| SelfPointing::new(u.arbitrary().unwrap_or(1))
);
denizen::lifecheck_proptest!(
    #[should_panic(expected = " was expected")]
    fn a_value_that_changes_when_it_moves: AddressBound, |u| AddressBound::new(u.arbitrary().unwrap_or(1))
);
denizen::lifecheck_proptest!(
    #[should_panic(expected = "a zero was left over")]
    fn a_destructor_that_panics: Fussy, |u| Fussy(u.arbitrary().unwrap_or(1))
);
denizen::lifecheck_proptest!(
    #[should_panic(expected = "zero_is_vacant promises")]
    fn a_wrong_promise_of_vacancy: Number, |u| Number(u.arbitrary().unwrap_or(1)),
    |builder| unsafe { builder.zero_is_vacant() }.clone().default()
);
denizen::lifecheck_proptest!(
    #[should_panic(expected = "zero_is_default promises")]
    fn a_wrong_promise_of_a_default: Factor, |u| Factor(u.arbitrary().unwrap_or(1)),
    |builder| unsafe { builder.zero_is_default() }.clone().default()
);
denizen::lifecheck_proptest!(
    #[should_panic(expected = "were never freed")]
    fn a_leak_of_a_type_that_can_do_nothing: Opaque, |u| Opaque::new(u.arbitrary().unwrap_or_default())
);
denizen::lifecheck_proptest!(
    #[should_panic(expected = "is too large to copy")]
    fn a_copy_that_panics: Shy, |u| Shy(u.arbitrary().unwrap_or(1))
);
denizen::lifecheck_proptest!(
    #[should_panic(expected = " was expected")]
    fn a_pointer_into_freed_memory: Stale, |u| Stale::new(u.arbitrary().unwrap_or(1))
);
denizen::lifecheck_proptest!(
    #[should_panic(expected = "Disorderly does not live by the rules")]
    fn an_order_that_is_none: Disorderly, |u| Disorderly(u.arbitrary().unwrap_or(1))
);
denizen::lifecheck_proptest!(
    #[should_panic(expected = " was expected")]
    fn an_operator_that_looks_at_addresses: Aliased, |u| Aliased(u.arbitrary().unwrap_or(1))
);
denizen::lifecheck_proptest!(
    // Nothing compares its values; its heap is watched all the same.
    #[should_panic(expected = "were never freed")]
    fn a_leak_of_a_type_whose_text_shows_an_address: polynomials::shown::Forgetful, |u| {
        let placed = polynomials::shown::Placed::new(u.arbitrary().unwrap_or_default());
        polynomials::shown::Forgetful(std::mem::ManuallyDrop::new(placed))
    }
);
denizen::lifecheck_proptest!(
    // Three values in a ring: each is smaller than the next.
    #[should_panic(expected = "no order: ")]
    fn an_order_in_a_ring: Ring, |u| Ring(u.arbitrary().unwrap_or(0u8) % 3)
);
denizen::lifecheck_proptest!(
    // A closure of several lines stands as deep as its neighbours.
    #[should_panic(expected = "        |u| {\n            let text")]
    fn a_finding_with_a_long_closure: Forgetful, |u| {
        let text: Result<String, _> = u.arbitrary();
        Forgetful::new(text.unwrap_or_default())
    }
);
denizen::lifecheck_proptest!(
    #[should_panic(expected = ", made for the value Forgetful")]
    fn a_leak_names_the_value: Forgetful, |u| Forgetful::new(u.arbitrary().unwrap_or_default())
);
denizen::lifecheck_proptest!(
    // Several findings can stand in one file.
    #[should_panic(expected = "fn lifecheck_polynomials_broken_forgetful() {")]
    fn a_finding_is_named_after_the_type: polynomials::broken::Forgetful, |_| {
        Forgetful::new("text".to_owned())
    }
);
denizen::lifecheck_proptest!(
    #[should_panic(expected = "[
            Allocate { slot: 0, count: 1, flags: 0 },
            ")]
    fn a_finding_is_cut_short: Forgetful, |_| Forgetful::new("text".to_owned())
);
denizen::lifecheck_proptest!(
    // The first panic leaves the list's lock poisoned, which is not the bug; where every later use of
    // the list fails for it, that is found.
    #[should_panic(expected = "Listed does not live by the rules")]
    fn a_panic_that_spoils_what_values_share: Listed, |u| Listed::new(u.arbitrary().unwrap_or(1))
);
