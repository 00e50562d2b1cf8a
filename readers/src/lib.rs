//! What other people's crates make of the files that `ackclock` writes: see the tests.
