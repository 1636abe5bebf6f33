//! Text, parsed into elements and printed again.
#![no_main]

use denizen::elements::{Integer, Rational};
use denizen_fuzz::text::{Text, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: Text<'_>| {
    if text.fraction { run::<Rational>(&text) } else { run::<Integer>(&text) }
});
