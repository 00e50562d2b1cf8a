//! Tests that read the files of `ackclock` with independent crates.
