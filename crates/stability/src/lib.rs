//! Is the loop of a controller stable, and with what margin? The analysis of DCCC's paper (arXiv 1506.02799v3, section IV),
//! the same for the loop as it runs, sampled once per RTT, and a fluid model to check both. See docs/stability.md.

pub mod dde;
pub mod fluid;
pub mod margins;
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

/// The paper.
pub const SOURCE: &str = "D'Aronco et al., arXiv 1506.02799v3, section IV";

/// Where a flow rests, and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Setting {
    /// RTT at rest, queue included.
    pub rtt: Duration,
    /// One-way delay at rest, if the RTT follows from one without queue.
    pub one_way_delay: Option<Duration>,
    /// Rate of the flow.
    pub rate: Rate,
    /// M, links on its path at most.
    pub links: u32,
    /// kr RTT.
    pub gain: f64,
    /// Weight of the utility.
    pub h: Rate,
    /// Price of delay.
    pub beta: f64,
}

/// Everything the command says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Analysis {
    /// Of what.
    pub setting: Setting,
    /// Equation 46.
    pub continuous: Margins,
    /// One update per RTT, equation 26.
    pub sampled: Margins,
    /// Fluid and packets, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulation: Option<Overlay>,
}

impl Setting {
    /// The RTT at rest by equation 19, from the one without queue.
    ///
    /// # Errors
    /// A flow that rests without a queue is no such loop.
    pub fn rest(base: Duration, rate: Rate, params: &Params) -> Result<(Duration, Duration), String> {
        let back = base / 2;
        let delay =
            equilibrium_delay(params, rate, back).ok_or_else(|| too_slow(rate, params.h, params.beta))?;
        if delay <= back {
            return Err(format!(
                "--threshold {}: the flow would rest at a one-way delay of {delay}, less than the {back} of the empty \
                 path: there is no queue to analyse; give a larger threshold",
                params.threshold
            ));
        }
        Ok((delay, delay + back))
    }

    /// Says in words which value is out of range.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn check(&self) -> Result<(), String> {
        let Self { rtt, rate, links, gain, h, beta, .. } = *self;
        if rtt == Duration::ZERO {
            return Err("--rtt 0: a round trip takes time; give one above zero, like --rtt 100ms".into());
        }
        if !(gain > 0.0 && gain <= 10.0) {
            return Err(format!("--gain {gain}: give kr RTT, above 0 and up to 10; the paper has 0.4"));
        }
        if !(beta > 0.0 && beta <= 1.0) {
            return Err(format!("--beta {beta}: give a price above 0 and up to 1; the paper has 0.1"));
        }
        if h == Rate(0) {
            return Err("--h 0: a flow without utility sends nothing; give a rate, like --h 20kbit/s".into());
        }
        if !(1..=1000).contains(&links) {
            return Err(format!("--links {links}: give the links of the longest path, 1 to 1000"));
        }
        if h.0 as f64 >= beta * rate.0 as f64 {
            return Err(too_slow(rate, h, beta));
        }
        Ok(())
    }

    /// The flow's loop with so many updates per RTT; continuous if none.
    pub fn open_loop(&self, updates: Option<u32>) -> OpenLoop {
        let price = self.h.0 as f64 / self.rate.0 as f64;
        let links = f64::from(self.links);
        OpenLoop { gain: self.gain, slope: self.beta - price, price, links, updates }
    }

    /// The analysis.
    pub fn analyse(self) -> Analysis {
        let [continuous, sampled] = [None, Some(1)].map(|updates| Margins::of(&self.open_loop(updates)));
        Analysis { setting: self, continuous, sampled, simulation: None }
    }
}

impl Analysis {
    /// A name that other settings do not have.
    pub fn name(&self) -> String {
        let Setting { rtt, rate, links, gain, h, beta, one_way_delay } = &self.setting;
        let rest = one_way_delay.map_or_else(String::new, |delay| format!(" delay {delay}"));
        format!("dccc {rtt}{rest} {rate} gain {gain} h {h} beta {beta} links {links}")
    }
}

/// Equation 20.
fn too_slow(rate: Rate, h: Rate, beta: f64) -> String {
    let least = Rate((h.0 as f64 / beta) as u64);
    format!(
        "--rate {rate}: delay alone holds no flow at h / beta = {least} or less (equation 20); give a higher rate"
    )
}
