#![doc = include_str!("../README.md")]
#![cfg(target_os = "linux")]

#[cfg(feature = "load")]
mod agent;
pub mod constants;
#[cfg(feature = "load")]
mod error;
pub mod event;
pub mod flow;
mod inner;
#[cfg(feature = "load")]
mod loaded;
#[cfg(feature = "load")]
mod native;
#[cfg(feature = "load")]
mod program;
pub mod record;
#[cfg(feature = "load")]
pub mod testing;
pub mod trace;

#[cfg(feature = "load")]
pub use self::agent::{Agent, Report, on_clock};
#[cfg(feature = "load")]
pub use self::error::{Error, check};
pub use self::inner::{Grid, Inner};
#[cfg(feature = "load")]
pub use self::loaded::{Lifetime, Loaded, loaded, unload};
#[cfg(feature = "load")]
pub use self::native::{Events, Native};
