//! Commands in a build without their feature: they accept any arguments and say how to get the
//! feature.

use std::ffi::OsString;

use clap::Args;

/// Any arguments.
#[derive(Debug, Args)]
pub(crate) struct Anything {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<OsString>,
}

/// `link` and `doctor`.
#[cfg(not(wire))]
pub(crate) mod wire {
    use super::Anything;
    use crate::features;
    use crate::status::Error;

    pub(crate) type DoctorArgs = Anything;
    pub(crate) type LinkArgs = Anything;

    pub(crate) fn run(_: &Anything) -> Result<u8, Error> {
        Err(Error::bad(features::missing_on_linux("link emulator", "wire")))
    }
}

/// `serve`, `fetch` and `interop`.
#[cfg(not(transfer))]
pub(crate) mod transfer {
    use super::Anything;
    use crate::features;
    use crate::status::Error;

    pub(crate) type FetchArgs = Anything;
    pub(crate) type InteropArgs = Anything;
    pub(crate) type ServeArgs = Anything;

    pub(crate) fn run(_: &Anything) -> Result<u8, Error> {
        Err(Error::bad(features::missing_on_linux("file transfer", "transfer")))
    }
}

/// `kernel` and `trace`.
#[cfg(not(kernel))]
pub(crate) mod kernel {
    use super::Anything;
    use crate::features;
    use crate::status::Error;

    pub(crate) type KernelArgs = Anything;
    pub(crate) type TraceArgs = Anything;

    pub(crate) fn run(_: &Anything) -> Result<u8, Error> {
        Err(Error::bad(features::missing_on_linux("view of the kernel's TCP", "kernel")))
    }
}
