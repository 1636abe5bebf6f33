//! Every loop, cast, product and order of `Rational` against a second implementation.
#![no_main]

use denizen::elements::Rational;
use denizen_fuzz::numbers::{Action, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|action: Action| run::<Rational>(&action));
