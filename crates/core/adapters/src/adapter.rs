//! The adapter for the traits of quinn and of its fork noq, whose items have the same names.

/// Defines `Factory` and `Adapter` for the stack that the calling file imports as `proto`. The
/// argument is its [`Trait`](crate::Trait).
macro_rules! adapter {
    ($stack:expr) => {
        use std::any::Any;
        use std::fmt;
        use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
        use std::time::Instant;

        use proto::RttEstimator;
        use proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
        use recovery::congestion::{Algorithm, Control, PathInfo};

        use crate::refusal::{Refusal, Trait};
        use crate::source::Source;
        use crate::stack_feed::StackFeed;

        type AckclockController = dyn recovery::congestion::Controller;

        /// Builds a controller for each path, for `congestion_controller_factory` of the stack's
        /// `TransportConfig`.
        #[derive(Clone, Debug)]
        pub struct Factory(Source);

        impl Factory {
            /// Creates a factory for this algorithm. `seed` seeds the controllers' random numbers.
            ///
            /// # Errors
            /// Returns an error if the algorithm needs a signal that the stack's trait does not
            /// carry.
            pub fn new(algorithm: impl Into<Algorithm>, seed: u64) -> Result<Self, Refusal> {
                Source::checked(algorithm.into(), seed, $stack).map(Self)
            }

            /// Creates a factory that calls `build` for each path. The controllers' needs are not
            /// checked: call [`check`](crate::check) for that.
            pub fn from_fn(
                build: impl Fn(PathInfo) -> Box<AckclockController> + Send + Sync + 'static,
                seed: u64,
            ) -> Self {
                Self(Source::from_fn(build, seed))
            }
        }

        impl ControllerFactory for Factory {
            fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
                let mut feed = self.0.stack_feed(now, current_mtu);
                let initial_window = feed.control().cwnd;
                Box::new(Adapter { feed: Mutex::new(feed), initial_window })
            }
        }

        /// An Ackclock controller in the stack.
        pub struct Adapter {
            /// The stack asks for the window through a shared reference, and the last ACK may still
            /// be open.
            feed: Mutex<StackFeed>,
            initial_window: u64,
        }

        impl Adapter {
            fn shared(&self) -> MutexGuard<'_, StackFeed> {
                // No code panics while it holds the lock.
                self.feed.lock().unwrap_or_else(PoisonError::into_inner)
            }

            fn feed(&mut self) -> &mut StackFeed {
                self.feed.get_mut().unwrap_or_else(PoisonError::into_inner)
            }
        }

        impl fmt::Debug for Adapter {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.feed.fmt(f)
            }
        }
    };
}

/// Defines the methods of the trait that are the same in both stacks. The calling file defines
/// `set_pacing` and `least_window`.
macro_rules! common_methods {
    () => {
        fn on_mtu_update(&mut self, new_mtu: u16) {
            self.feed().on_mtu(new_mtu);
        }

        fn window(&self) -> u64 {
            let mut feed = self.shared();
            feed.control().cwnd.max(least_window(feed.mtu()))
        }

        fn metrics(&self) -> ControllerMetrics {
            let control = self.shared().control();
            let mut metrics = ControllerMetrics::default();
            metrics.congestion_window = control.cwnd.max(1);
            metrics.ssthresh = Some(control.ssthresh).filter(|end| ![0, u64::MAX].contains(end));
            set_pacing(&mut metrics, &control);
            metrics
        }

        fn clone_box(&self) -> Box<dyn Controller> {
            let feed = Mutex::new(self.shared().for_new_path());
            Box::new(Self { feed, initial_window: self.initial_window })
        }

        fn initial_window(&self) -> u64 {
            self.initial_window
        }

        fn into_any(self: Box<Self>) -> Box<dyn Any> {
            self
        }
    };
}

pub(crate) use {adapter, common_methods};
