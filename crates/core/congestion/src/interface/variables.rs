//! Variables that a controller reports, each with unit and description.

/// A variable of [`Controller::trace`](crate::Controller::trace), a column of the time series.
///
/// The state is not a variable: its names are a separate list ([`STATE`](crate::STATE)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Name that the controller reports, in `snake_case`.
    pub name: &'static str,
    /// Unit of the values: `s`, `bytes`, `bit/s`, `packets`. Empty for a ratio, a gain or a flag.
    pub unit: &'static str,
    /// Meaning, the symbol in the specification if it differs, and source.
    pub doc: &'static str,
    /// Whether it always has a value. Other variables are left out while they have none.
    pub always: bool,
}

/// Concatenates a controller's own variables and those of an inner controller. `N` is their total
/// number.
#[doc(hidden)]
pub const fn concat_variables<const N: usize>(own: &[Variable], inner: &[Variable]) -> [Variable; N] {
    let mut all = [Variable { name: "", unit: "", doc: "", always: true }; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < own.len() { own[i] } else { inner[i - own.len()] };
        i += 1;
    }
    all
}

/// Declares the variables that a controller reports as a constant `VARIABLES`, for its registry
/// entry ([`algorithm!`](crate::algorithm)).
///
/// `name: "unit",` is always reported, `name: "unit"; later,` only once it has a value. The unit is
/// empty for a plain number. `with inner::VARIABLES;` before them adds the variables of an inner
/// controller.
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
        /// Variables that the controller reports, followed by those of the inner controller.
        #[allow(unreachable_pub)]
        pub const VARIABLES: &[$crate::Variable] = {
            const OWN: &[$crate::Variable] = $crate::variable_list! { $($own)* };
            &$crate::interface::variables::concat_variables::<{ OWN.len() + $inner.len() }>(OWN, $inner)
        };
    };
    ($($own:tt)*) => {
        /// Variables that the controller reports.
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

/// Expands to whether a variable always has a value.
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
