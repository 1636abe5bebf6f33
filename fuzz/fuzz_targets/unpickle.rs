//! Bytes of a pickle, loaded into elements by their codec.
#![no_main]

use denizen::elements::{Integer, Rational};
use denizen_fuzz::codec::{Pickled, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|pickled: Pickled<'_>| {
    if pickled.fraction { run::<Rational>(&pickled) } else { run::<Integer>(&pickled) }
});
