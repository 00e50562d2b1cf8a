//! Tests of all registered controllers, of whole controllers in a closed loop, and of the
//! conformance suite. They are inside the library, because the feature `testing` would otherwise
//! build it and all its users twice.

mod bbr3_appendix;
mod bbr_path;
#[allow(unreachable_pub, reason = "what `params!` writes is public")]
mod conformance;
mod golden;
mod path;
mod ranges;
mod read;
mod rules;
mod variables;
