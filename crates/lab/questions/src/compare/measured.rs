//! The quantities of a controller that are taken from a row of results.

use results::summary::Row;
use serde::Serialize;

use super::network::Network;
use super::question::Question;
use crate::ratio::Ratio;

/// A long flow alone. Values that need an arrived packet are `None` if none arrived.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Long {
    /// Mbit/s.
    pub goodput: f64,
    /// Sample standard deviation of the goodput.
    pub spread: Option<f64>,
    /// Goodput over the mean capacity of the slowest link for payload in the measured window, 0 to
    /// 1. `None` if that is random, or if the data flow backward.
    pub of_link: Option<f64>,
    /// Milliseconds.
    pub rtt_mean: Option<f64>,
    pub rtt_p95: Option<f64>,
    /// Mean queueing delay, in milliseconds.
    pub queue_wait: Option<f64>,
    /// Percent; `None` if no packet was sent.
    pub loss: Option<f64>,
    pub reductions_per_minute: f64,
    /// Whether the window was reduced before the measured time.
    pub reduced_before: bool,
    /// Goodput of the second half of the measured time, in Mbit/s.
    pub goodput_late: f64,
}

/// A flow that shares the link with the competitor.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Beside {
    /// Share of the goodput of both, in percent; `None` if neither has any.
    pub share: Option<f64>,
    /// Sample standard deviation of the share.
    pub spread: Option<f64>,
    /// Mbit/s.
    pub goodput: f64,
    /// Goodput of the competitor, in Mbit/s.
    pub competitor: f64,
    /// Goodput of the competitor over the mean goodput of two competitors that share the link.
    pub keeps: Option<Ratio>,
    /// Mean RTT of both, in milliseconds; `None` without a sample.
    pub rtt_mean: Option<f64>,
}

impl Long {
    pub(super) fn new(row: &Row, question: &Question, network: &Network) -> Self {
        let goodput = row.cells.get("goodput");
        let minutes = (question.to - question.from).as_secs_f64() / 60.0;
        Self {
            goodput: mean(row, "goodput"),
            spread: goodput.and_then(|cell| cell.spread),
            of_link: network.capacity.map(|capacity| mean(row, "goodput") * 1e6 / capacity),
            rtt_mean: known(row, "rtt_mean"),
            rtt_p95: known(row, "rtt_p95"),
            queue_wait: known(row, "queue_wait"),
            loss: known(row, "loss"),
            reductions_per_minute: mean(row, "reductions @ measure") / minutes,
            reduced_before: mean(row, "reductions") > mean(row, "reductions @ measure"),
            goodput_late: mean(row, "goodput @ late"),
        }
    }

    /// Says why there is no RTT, if no data arrived.
    pub(super) fn why_nothing(&self) -> Option<&'static str> {
        let why = if self.loss.is_some() { "sent packets, but none arrived" } else { "sent no packet" };
        (self.goodput <= 0.0 && self.rtt_mean.is_none()).then_some(why)
    }
}

impl Beside {
    /// Takes the quantities of a row. `own` is the row of two competitors that share the link.
    pub(super) fn new(row: &Row, own: Option<&Row>, seeds: u32) -> Self {
        let share = row.cells.get("share of candidate");
        // Either of the two competitors could be compared: take their mean.
        let alone = own.and_then(|own| own.cells.get("goodput"));
        let keeps = row.cells.get("goodput of competitor").and_then(|here| Ratio::new(here, alone?, seeds));
        Self {
            keeps: keeps.filter(|_| own.is_some_and(|own| own.label != row.label)),
            goodput: mean(row, "goodput of candidate"),
            competitor: mean(row, "goodput of competitor"),
            share: share.map(|cell| cell.mean),
            spread: share.and_then(|cell| cell.spread),
            rtt_mean: known(row, "rtt_mean"),
        }
    }
}

pub(super) fn mean(row: &Row, metric: &str) -> f64 {
    known(row, metric).unwrap_or(0.0)
}

/// Returns the mean of a metric, if the row has it.
pub(super) fn known(row: &Row, metric: &str) -> Option<f64> {
    row.cells.get(metric).map(|cell| cell.mean)
}
