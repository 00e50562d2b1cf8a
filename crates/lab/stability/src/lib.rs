//! Stability analysis of a controller's feedback loop: DCCC as in the paper (arXiv 1506.02799v3,
//! section IV). The same loop is also analysed as it runs, sampled once per RTT. A fluid model
//! checks both. See docs/src/reference/stability.md.

pub mod dde;
pub mod fluid;
pub mod margins;
#[cfg(feature = "networks")]
pub mod network;
pub mod open_loop;
pub mod overlay;
pub mod penalty;
pub mod text;

use congestion::algorithms::media::dccc::{Params, equilibrium_delay};
use serde::Serialize;
use units::{Duration, Rate};

use self::margins::Margins;
use self::open_loop::OpenLoop;
use self::overlay::Overlay;

/// Source of the analysis.
pub const SOURCE: &str = "D'Aronco et al., arXiv 1506.02799v3, section IV";

/// Equilibrium and parameters of a flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Setting {
    /// RTT at equilibrium, including the queue.
    pub rtt: Duration,
    /// One-way delay at equilibrium, if it was computed from an RTT without queue.
    pub one_way_delay: Option<Duration>,
    /// Rate of the flow.
    pub rate: Rate,
    /// M: largest number of links on a path.
    pub links: u32,
    /// Gain k_r times RTT.
    pub gain: f64,
    /// Weight of the utility.
    pub h: Rate,
    /// Price of delay.
    pub beta: f64,
}

/// Results of the analysis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Analysis {
    /// Flow that was analysed.
    pub setting: Setting,
    /// Continuous loop, equation 46.
    pub continuous: Margins,
    /// Loop with one update per RTT, equation 26.
    pub sampled: Margins,
    /// Fluid model and packets, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulation: Option<Overlay>,
}

impl Setting {
    /// Returns one-way delay and RTT at equilibrium by equation 19, from the RTT without queue.
    ///
    /// # Errors
    /// A flow whose equilibrium has no queue, so that there is no loop to analyse.
    pub fn equilibrium(base: Duration, rate: Rate, params: &Params) -> Result<(Duration, Duration), String> {
        let back = base / 2;
        let delay =
            equilibrium_delay(params, rate, back).ok_or_else(|| too_slow(rate, params.h, params.beta))?;
        if delay <= back {
            return Err(format!(
                "--threshold {}: the one-way delay at equilibrium would be {delay}, but the empty path has {back}, so \
                 there is no queue to analyse; give a larger threshold",
                params.threshold
            ));
        }
        Ok((delay, delay + back))
    }

    /// Checks the ranges of all values.
    ///
    /// # Errors
    /// The first value that is out of range.
    pub fn check(&self) -> Result<(), String> {
        let Self { rtt, rate, links, gain, h, beta, .. } = *self;
        if rtt == Duration::ZERO {
            return Err("--rtt 0: give an RTT above zero, like --rtt 100ms".into());
        }
        if !(1e-6..=10.0).contains(&gain) {
            return Err(format!("--gain {gain:?}: give k_r times RTT, 0.000001 to 10; the paper uses 0.4"));
        }
        if !(beta > 0.0 && beta <= 1.0) {
            return Err(format!("--beta {beta}: give a price above 0 and up to 1; the paper uses 0.1"));
        }
        if h == Rate(0) {
            return Err(
                "--h 0: with h = 0 the flow would send nothing; give a rate, like --h 20kbit/s".into()
            );
        }
        if !(1..=1000).contains(&links) {
            return Err(format!("--links {links}: give the number of links on the longest path, 1 to 1000"));
        }
        if h.0 as f64 >= beta * rate.0 as f64 {
            return Err(too_slow(rate, h, beta));
        }
        Ok(())
    }

    /// Returns the flow's open loop with this number of updates per RTT. `None` means continuous.
    pub fn open_loop(&self, updates: Option<u32>) -> OpenLoop {
        let price = self.h.0 as f64 / self.rate.0 as f64;
        let links = f64::from(self.links);
        OpenLoop { gain: self.gain, slope: self.beta - price, price, links, updates }
    }

    /// Computes the margins of both loops.
    pub fn analyse(self) -> Analysis {
        let [continuous, sampled] = [None, Some(1)].map(|updates| Margins::new(&self.open_loop(updates)));
        Analysis { setting: self, continuous, sampled, simulation: None }
    }
}

impl Analysis {
    /// Returns a name that is unique to the setting.
    pub fn name(&self) -> String {
        let Setting { rtt, rate, links, gain, h, beta, one_way_delay } = &self.setting;
        let rest = one_way_delay.map_or_else(String::new, |delay| format!(" delay {delay}"));
        format!("dccc {rtt}{rest} {rate} gain {gain} h {h} beta {beta} links {links}")
    }
}

/// Returns the error for a rate that delay alone cannot hold (equation 20).
fn too_slow(rate: Rate, h: Rate, beta: f64) -> String {
    let least = Rate((h.0 as f64 / beta) as u64);
    format!(
        "--rate {rate}: delay alone cannot limit a flow to h / beta = {least} or less (equation 20); give a higher rate"
    )
}
