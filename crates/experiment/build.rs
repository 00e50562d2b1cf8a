//! Builds anew when a file changes that the crate carries inside (`src/library.rs`).

fn main() {
    println!("cargo::rerun-if-changed=experiments");
    println!("cargo::rerun-if-changed=published");
}
