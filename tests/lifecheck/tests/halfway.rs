//! Types that lose something when they are interrupted: a tracer among their fields panics there.

use denizen::testing::Tracer;
use std::mem::ManuallyDrop;
use std::ops::Add;

#[global_allocator]
static HEAP: denizen::testing::Heap = denizen::testing::Heap;

/// A number on the heap, from the hand of a C programmer, and a part that may refuse to be built.
#[derive(Debug)]
struct Halves {
    number: *mut u32,
    part: Option<Tracer>,
}

// SAFETY: the number belongs to the value.
unsafe impl Send for Halves {}

impl Halves {
    fn new(number: u32) -> Self {
        Halves { number: Box::into_raw(Box::new(number)), part: Some(Tracer::new(1)) }
    }

    fn number(&self) -> u32 {
        unsafe { *self.number }
    }
}

impl PartialEq for Halves {
    fn eq(&self, other: &Self) -> bool {
        self.number() == other.number()
    }
}

impl Drop for Halves {
    fn drop(&mut self) {
        drop(unsafe { Box::from_raw(self.number) });
    }
}

impl Clone for Halves {
    fn clone(&self) -> Self {
        // Wrong: nobody owns the number while the part is copied.
        let number = Box::into_raw(Box::new(self.number()));
        Halves { number, part: self.part.clone() }
    }
}
denizen::lifecheck_proptest!(
    #[should_panic(expected = "were never freed")]
    fn a_copy_that_leaks_when_it_is_interrupted: Halves, |u| u.arbitrary().map(Halves::new)
);

/// The same, copied rightly; its default is wrong.
#[derive(Debug, PartialEq)]
struct Default1(Halves);

impl Clone for Default1 {
    fn clone(&self) -> Self {
        let part = self.0.part.clone();
        Default1(Halves { number: Box::into_raw(Box::new(self.0.number())), part })
    }
}

impl Default for Default1 {
    fn default() -> Self {
        let number = Box::into_raw(Box::new(0));
        Default1(Halves { number, part: Some(Tracer::default()) })
    }
}
denizen::lifecheck_proptest!(
    #[should_panic(expected = "were never freed")]
    fn a_default_that_leaks_when_it_is_interrupted: Default1, |u| {
        u.arbitrary().map(|number| Default1(Halves::new(number)))
    }
);

/// The same with a sum.
#[derive(Debug, PartialEq)]
struct Summand(Halves);

impl Clone for Summand {
    fn clone(&self) -> Self {
        let part = self.0.part.clone();
        Summand(Halves { number: Box::into_raw(Box::new(self.0.number())), part })
    }
}

impl Add for &Summand {
    type Output = Summand;

    fn add(self, other: &Summand) -> Summand {
        let number = Box::into_raw(Box::new(self.0.number() ^ other.0.number()));
        Summand(Halves { number, part: self.0.part.clone() })
    }
}
denizen::lifecheck_proptest!(
    #[should_panic(expected = "were never freed")]
    fn a_sum_that_leaks_when_it_is_interrupted: Summand, |u| {
        u.arbitrary().map(|number| Summand(Halves::new(number)))
    }
);

/// Forgets its number when it ends while a panic unwinds.
#[derive(Clone, Debug, PartialEq)]
struct Careless(ManuallyDrop<Box<u32>>);

impl Drop for Careless {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}
denizen::lifecheck_proptest!(
    #[should_panic(expected = "were never freed")]
    fn an_end_that_leaks_while_a_panic_unwinds: (Careless, Tracer), |u| {
        u.arbitrary().map(|number| (Careless(ManuallyDrop::new(Box::new(number))), Tracer::new(1)))
    }
);

/// Interrupted as often, and right.
#[derive(Clone, Debug, Default, PartialEq)]
struct Right {
    before: Vec<u32>,
    part: Tracer,
    after: Box<u32>,
}

impl Add for &Right {
    type Output = Right;

    fn add(self, other: &Right) -> Right {
        let mut sum = self.clone();
        sum.before.extend(&other.before);
        sum
    }
}
denizen::lifecheck_proptest!(fn types_that_are_interrupted_and_lose_nothing: Right, |u| {
    Ok(Right { before: u.arbitrary()?, part: Tracer::new(1), after: u.arbitrary()? })
});
