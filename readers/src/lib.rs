//! What other people's crates make of the files that `kneepoint` writes: see the tests.
