//! The states of a controller that has some, each with its name.

/// What a controller calls its state in [`Controller::trace`](crate::Controller::trace): the value is a place in the names that its
/// row has, [`Entry::states`](crate::Entry).
pub const STATE: &str = "state";

/// Declares the states of a controller with their names, which its row then has ([`algorithm!`](crate::algorithm)).
///
/// ```
/// ackclock_congestion::states! {
///     /// What it is at.
///     #[derive(Default)]
///     pub enum Phase {
///         /// Doubles its window.
///         #[default]
///         SlowStart = "slow start",
///         /// A packet a round.
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
            /// By their numbers.
            $visible const NAMES: &'static [&'static str] = &[$($name),+];

            /// Its place among the names.
            $visible fn number(self) -> f64 {
                f64::from(self as u8)
            }
        }
    };
}
