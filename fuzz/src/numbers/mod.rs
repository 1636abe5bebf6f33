//! The bundled numbers, driven through the functions that the runtime would call, beside a second
//! implementation of exact numbers.

mod call;
mod cells;
mod floats;
mod oracle;
mod products;
mod seeds;
mod single;

pub use call::{Layout, OutputLocation, check_cast, check_loop};
pub use cells::{Number, balanced, bytes_of, check_element, failure};
pub use products::check_product;
pub use seeds::{FloatSeed, Seed, Whole};
pub use single::{check_identities, check_order};

use arbitrary::Arbitrary;

/// One thing to do with one type.
#[derive(Arbitrary, Debug)]
pub enum Action {
    /// A loop of a ufunc over up to six elements.
    Loop { which: u8, layout: Layout, seeds: Vec<Seed>, floats: Vec<FloatSeed> },
    /// A cast from or to numbers of NumPy.
    Cast { which: u8, layout: Layout, seeds: Vec<Seed>, floats: Vec<FloatSeed> },
    /// A product of vectors or matrices.
    Product { which: u8, sizes: [u8; 4], live: bool, seeds: Vec<Seed> },
    /// Comparison, sorting, truth, hash.
    Order { seeds: Vec<Seed>, backwards: bool },
    /// What reductions start from.
    Identities,
}

/// Does it, and checks that every value it made is gone.
pub fn run<T: Number>(action: &Action) {
    balanced(|| match action {
        Action::Loop { which, layout, seeds, floats } => {
            check_loop::<T>(*which, layout, seeds, floats);
        }
        Action::Cast { which, layout, seeds, floats } => {
            check_cast::<T>(*which, layout, seeds, floats);
        }
        Action::Product { which, sizes, live, seeds } => {
            check_product::<T>(*which, *sizes, *live, seeds);
        }
        Action::Order { seeds, backwards } => check_order::<T>(seeds, *backwards),
        Action::Identities => check_identities::<T>(),
    });
}
