//! `ackclock stability`: computes the margins of a controller's loop.

use std::path::PathBuf;

use clap::Args;
use questions::stability::{Asked, Question};
use questions::{Lab, Question as _};
use scenario::Watch;
use study::Silent;
use units::{Duration, Rate};

use crate::commands::ask::{Answered, View, show};
use crate::commands::folders::slug;
use crate::features;
use crate::places;
use crate::progress::waiting;
use crate::status::Error;

/// Arguments of the analysis of a single loop. No other analysis takes them.
const ALONE: [&str; 8] = ["rtt", "base_rtt", "rate", "links", "gain", "h", "beta", "simulate"];
/// The arguments of `ackclock stability`. Parameters that are not given have the controller's
/// defaults.
#[derive(Debug, Args)]
pub(crate) struct StabilityArgs {
    /// Controller to analyse: `dccc`.
    algorithm: String,
    /// Set the RTT at equilibrium, including the queueing delay: `100ms`.
    ///
    /// This is the RTT in equation 46 of the DCCC paper (arXiv 1506.02799).
    #[arg(long, conflicts_with = "base_rtt")]
    rtt: Option<Duration>,
    /// Set the RTT without queueing delay.
    ///
    /// The RTT at equilibrium then follows from the threshold (equation 19).
    #[arg(long)]
    base_rtt: Option<Duration>,
    /// Set the rate of each flow at equilibrium: `1Mbit/s`.
    #[arg(long)]
    rate: Option<Rate>,
    /// Analyse several links and flows from this file instead.
    ///
    /// The file has tables `link` and `flow`; docs/src/reference/stability.md lists their keys.
    #[arg(long, value_name = "FILE", conflicts_with_all = ALONE)]
    network: Option<PathBuf>,
    /// Print the penalty curves of the paper's Figure 2 instead, one for each propagation delay
    /// given.
    ///
    /// Without a delay: 10, 25, 50 and 100 ms.
    #[arg(long, value_name = "TIME", num_args = 0.., conflicts_with_all = ALONE, conflicts_with = "network")]
    penalty: Option<Vec<Duration>>,
    /// Set M, the largest number of links on the path of a flow.
    ///
    /// Flows that share one link form one loop, so M is 1.
    #[arg(long, default_value_t = 1)]
    links: u32,
    /// Set the gain of the loop, kr times RTT.
    #[arg(long, allow_negative_numbers = true)]
    gain: Option<f64>,
    /// Set the weight of the utility function.
    #[arg(long)]
    h: Option<Rate>,
    /// Set the price of delay.
    #[arg(long, allow_negative_numbers = true)]
    beta: Option<f64>,
    /// Set the one-way delay below which the penalty is 0.
    ///
    /// It changes the equilibrium, not the loop. It requires --base-rtt or --penalty.
    #[arg(long, conflicts_with = "network")]
    threshold: Option<Duration>,
    /// Also simulate the flows for this long, as a fluid model and as packets: `60s`.
    ///
    /// The page shows both in one chart.
    #[arg(long, value_name = "TIME")]
    simulate: Option<Duration>,
    /// Set the start time of a flow in the simulation (repeatable).
    ///
    /// Each --start adds a flow. The flows share a link whose rate is --rate times the number of
    /// flows.
    #[arg(long, value_name = "TIME", requires = "simulate", default_value = "0s")]
    start: Vec<Duration>,
    /// Write the page to this folder.
    ///
    /// The default is a folder below results/stability named after the parameters.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print JSON instead of the table.
    ///
    /// Frequencies are in 1/RTT, times in RTT, angles in radians.
    #[arg(long)]
    json: bool,
}

/// Runs the analysis, prints the result and writes the page.
pub(crate) fn run(args: &StabilityArgs) -> Result<u8, Error> {
    Ok(stability(args)?.print(&View { json: args.json, verbose: false }))
}

/// Runs the analysis and writes the page.
pub(crate) fn stability(args: &StabilityArgs) -> Result<Answered, Error> {
    if args.network.is_some() && !cfg!(feature = "networks") {
        return Err(Error::bad(features::missing("analysis of networks", "networks")));
    }
    let question = Question::new(&asked(args))?;
    let (options, watch) = (places::simulate(PathBuf::new()), Watch::default());
    let lab = Lab { options: &options, progress: &Silent, watch: &watch };
    let answer = waiting("stability", || question.answer(&lab))?;
    show(&question, &answer, |folder| {
        let names = folder.iter().map(|name| slug(std::slice::from_ref(name)));
        args.out
            .clone()
            .unwrap_or_else(|| PathBuf::from("results/stability").join(names.collect::<PathBuf>()))
    })
}

fn asked(args: &StabilityArgs) -> Asked {
    Asked {
        algorithm: args.algorithm.clone(),
        rtt: args.rtt,
        base_rtt: args.base_rtt,
        rate: args.rate,
        network: args.network.clone(),
        penalty: args.penalty.clone(),
        links: args.links,
        gain: args.gain,
        h: args.h,
        beta: args.beta,
        threshold: args.threshold,
        simulate: args.simulate,
        start: args.start.clone(),
    }
}
