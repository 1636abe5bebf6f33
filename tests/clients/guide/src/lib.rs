//! docs/rust.md as an extension module: the page is a program.

include!(concat!(env!("OUT_DIR"), "/page.rs"));
