//! Rebuilds the crate when one of the files embedded by `src/library.rs` changes.

fn main() {
    println!("cargo::rerun-if-changed=experiments");
    println!("cargo::rerun-if-changed=published");
}
