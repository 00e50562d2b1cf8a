//! The variables that a controller tells of itself, each with its unit and what it is.

/// A variable of [`Controller::trace`](crate::Controller::trace): a column of time series. The state has no place among them: its names
/// are a list of their own ([`STATE`](crate::STATE)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// As the controller tells it, in `snake_case`.
    pub name: &'static str,
    /// Of its values: `s`, `bytes`, `bit/s`, `packets`; empty for a ratio, a gain, a flag.
    pub unit: &'static str,
    /// Meaning, its document's symbol where that is another one, and source.
    pub doc: &'static str,
    /// It has a value from the beginning and is told each time; the others are left out while they have none.
    pub always: bool,
}

/// What a controller lists that tells its own variables and those of the one inside it: first its own. `N` is how many they are together.
#[doc(hidden)]
pub const fn together<const N: usize>(own: &[Variable], inner: &[Variable]) -> [Variable; N] {
    let mut all = [Variable { name: "", unit: "", doc: "", always: true }; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < own.len() { own[i] } else { inner[i - own.len()] };
        i += 1;
    }
    all
}

/// Declares what a controller tells of itself, as a constant `VARIABLES`, which its row then has ([`algorithm!`](crate::algorithm)).
///
/// `name: "unit",` is told each time, `name: "unit"; later,` only once there is a value. A unit is empty where there is none. `with
/// inner::VARIABLES;` before them all adds those of a controller inside this one.
///
/// ```
/// ackclock_congestion::variables! {
///     /// Slow-start threshold. RFC 9002 section 7.3.
///     ssthresh: "bytes",
///     /// Smallest RTT since the start, RTTmin. Test.
///     rtt_min: "s"; later,
/// }
///
/// mod outer {
///     ackclock_congestion::variables! {
///         with super::VARIABLES;
///         /// RTT over RTTmin, R. Test.
///         r: "",
///     }
/// }
/// # fn main() {
/// assert_eq!((VARIABLES[0].name, VARIABLES[0].unit, VARIABLES[0].always), ("ssthresh", "bytes", true));
/// assert!(!VARIABLES[1].always);
/// assert_eq!(outer::VARIABLES.iter().map(|v| v.name).collect::<Vec<_>>(), ["r", "ssthresh", "rtt_min"]);
/// # }
/// ```
#[macro_export]
macro_rules! variables {
    (with $inner:path; $($own:tt)*) => {
        /// What it tells of itself, with what the controller inside it tells.
        #[allow(unreachable_pub)]
        pub const VARIABLES: &[$crate::Variable] = {
            const OWN: &[$crate::Variable] = $crate::variable_list! { $($own)* };
            &$crate::interface::variables::together::<{ OWN.len() + $inner.len() }>(OWN, $inner)
        };
    };
    ($($own:tt)*) => {
        /// What it tells of itself.
        #[allow(unreachable_pub)]
        pub const VARIABLES: &[$crate::Variable] = $crate::variable_list! { $($own)* };
    };
}

/// The list of [`variables!`].
#[doc(hidden)]
#[macro_export]
macro_rules! variable_list {
    ($($(#[doc = $doc:literal])+ $name:ident: $unit:literal $(; $later:ident)?,)*) => {
        &[$($crate::Variable {
            name: stringify!($name),
            unit: $unit,
            doc: concat!($($doc),+),
            always: $crate::is_always!($($later)?),
        }),*]
    };
}

/// Whether a variable is told each time.
#[doc(hidden)]
#[macro_export]
macro_rules! is_always {
    () => {
        true
    };
    (later) => {
        false
    };
}
