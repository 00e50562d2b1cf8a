//! Tools of the tests of all formats.

pub(crate) mod keep;
pub(crate) mod mutate;
