//! Controllers of a media rate.

pub mod dccc;
pub mod gcc;
pub mod gcc_simplified;
pub mod nada;
pub mod nada_2013;
