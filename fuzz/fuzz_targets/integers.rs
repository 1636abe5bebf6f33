//! Every loop, cast, product and order of `Integer` against a second implementation.
#![no_main]

use denizen::elements::Integer;
use denizen_fuzz::numbers::{Action, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|action: Action| run::<Integer>(&action));
