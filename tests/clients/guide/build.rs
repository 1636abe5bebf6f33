//! The source of this crate is the Rust of docs/rust.md, in the page's order.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/rust.md");
    println!("cargo::rerun-if-changed={page}");
    let (mut code, mut inside) = (String::new(), false);
    for line in std::fs::read_to_string(page)?.lines() {
        match line {
            "```rust" => inside = true,
            "```" => inside = false,
            _ if inside => code.extend([line, "\n"]),
            _ => {}
        }
    }
    let folder = std::env::var_os("OUT_DIR").expect("cargo says where");
    std::fs::write(Path::new(&folder).join("page.rs"), code)
}
