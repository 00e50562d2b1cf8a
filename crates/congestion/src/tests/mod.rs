//! Tests of every registered controller at once, of whole controllers in a closed loop, and of the suite that anybody's controller can
//! be put through. They stand inside the library, since with `testing` on for them it would be built twice, and all that uses it.

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
