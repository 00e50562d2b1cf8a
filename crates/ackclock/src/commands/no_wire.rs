//! `ackclock link`, `doctor`, `serve`, `fetch` and `interop` in a build without the wire.

use std::ffi::OsString;

use clap::Args;

use crate::run::prepare_wire;
use crate::status::{BAD, Error};

/// Whatever is asked, the answer is one.
#[derive(Debug, Args)]
pub(crate) struct Anything {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<OsString>,
}

pub(crate) type DoctorArgs = Anything;
pub(crate) type FetchArgs = Anything;
pub(crate) type InteropArgs = Anything;
pub(crate) type LinkArgs = Anything;
pub(crate) type ServeArgs = Anything;

/// That this build has no wire.
pub(crate) fn run(_: &Anything) -> Result<u8, Error> {
    prepare_wire().map(|()| BAD).map_err(Error::from)
}
