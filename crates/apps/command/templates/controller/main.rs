//! NAME, a congestion controller, and the whole `ackclock` command around it.
//!
//! ```text
//! slow start            cwnd += acked
//! congestion avoidance  cwnd += mds * acked / cwnd
//! congestion event      ssthresh = cwnd = beta * cwnd, at least two packets
//! ```

use ackclock_congestion::{
    Ack, Cause, Congestion, Control, Controller, Entry, PathInfo, Range, algorithm, params, variables,
};

params! {
    /// Factor of the window at a congestion event, 0..1.
    beta: f64 = 0.5 => Range::SHARE,
}

variables! {
    /// Slow-start threshold, infinite before the first congestion event.
    ssthresh: "bytes",
}

algorithm! {
    /// Additive increase by a packet per round trip, multiplicative decrease at a congestion event.
    "NAME", Params, |params, path| Box::new(Mine::new(params.clone(), path)), variables = VARIABLES
}

#[derive(Clone, Debug)]
struct Mine {
    params: Params,
    mds: u64,
    cwnd: u64,
    ssthresh: u64,
}

impl Mine {
    fn new(params: Params, path: PathInfo) -> Self {
        let mds = path.max_datagram_size;
        Self { params, mds, cwnd: 10 * mds, ssthresh: u64::MAX }
    }
}

impl Controller for Mine {
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.cwnd += if self.cwnd < self.ssthresh { ack.growth } else { self.mds * ack.growth / self.cwnd };
        None
    }

    fn on_congestion(&mut self, _: &Congestion) {
        self.cwnd = ((self.cwnd as f64 * self.params.beta) as u64).max(2 * self.mds);
        self.ssthresh = self.cwnd;
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.mds = path.max_datagram_size;
        self.cwnd = self.cwnd.max(2 * self.mds);
    }

    fn control(&self) -> Control {
        Control { ssthresh: self.ssthresh, ..Control::window(self.cwnd) }
    }

    /// Columns of series.parquet; `variables!` has their units.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("ssthresh", if self.ssthresh == u64::MAX { f64::INFINITY } else { self.ssthresh as f64 });
    }
}

fn main() -> std::process::ExitCode {
    ackclock::main_with([Entry::for_params::<Params>()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_rules() {
        ackclock_congestion::testing::conformance::check(&Entry::for_params::<Params>());
    }
}
