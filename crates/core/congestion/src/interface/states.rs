//! Named states of a controller.

/// Name under which a controller reports its state in
/// [`Controller::trace`](crate::Controller::trace).
///
/// The value is an index into the names of its registry entry, [`Entry::states`](crate::Entry).
pub const STATE: &str = "state";

/// Declares the states of a controller with their names, for its registry entry
/// ([`algorithm!`](crate::algorithm)).
///
/// ```
/// ackclock_congestion::states! {
///     /// Phase of the connection.
///     #[derive(Default)]
///     pub enum Phase {
///         /// The window doubles each round trip.
///         #[default]
///         SlowStart = "slow start",
///         /// The window grows by a packet per round trip.
///         Avoidance = "congestion avoidance",
///     }
/// }
/// assert_eq!(Phase::NAMES[Phase::Avoidance as usize], "congestion avoidance");
/// assert_eq!(Phase::default().number(), 0.0);
/// ```
#[macro_export]
macro_rules! states {
    ($(#[$meta:meta])* $visible:vis enum $states:ident {
        $($(#[$about:meta])* $state:ident = $name:literal),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visible enum $states {
            $($(#[$about])* $state),+
        }

        impl $states {
            /// Names of the states, indexed by state number.
            $visible const NAMES: &'static [&'static str] = &[$($name),+];

            /// Returns the state number, an index into the names.
            $visible fn number(self) -> f64 {
                f64::from(self as u8)
            }
        }
    };
}
