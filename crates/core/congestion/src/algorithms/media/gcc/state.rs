//! GCC's state machine, draft-ietf-rmcat-gcc-02 section 5.5, the same as in older drafts:
//!
//! ```text
//! signal \ state   Hold       Increase   Decrease
//! over-use         Decrease   Decrease   Decrease
//! normal           Increase   Increase   Hold
//! under-use        Hold       Hold       Hold
//! ```

/// Output of the over-use detector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Signal {
    Over,
    #[default]
    Normal,
    Under,
}

crate::states! {
    /// State of the rate controller.
    #[derive(Default)]
    pub(crate) enum State {
        Hold = "Hold",
        #[default]
        Increase = "Increase",
        Decrease = "Decrease",
    }
}

impl State {
    pub(crate) fn after(self, signal: Signal) -> Self {
        match (self, signal) {
            (_, Signal::Over) => Self::Decrease,
            (Self::Hold | Self::Increase, Signal::Normal) => Self::Increase,
            (Self::Decrease, Signal::Normal) | (_, Signal::Under) => Self::Hold,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        use Signal::{Normal, Over, Under};
        use State::{Decrease, Hold, Increase};
        for (signal, after) in [
            (Over, [Decrease, Decrease, Decrease]),
            (Normal, [Increase, Increase, Hold]),
            (Under, [Hold, Hold, Hold]),
        ] {
            assert_eq!([Hold, Increase, Decrease].map(|state| state.after(signal)), after, "{signal:?}");
        }
    }
}
