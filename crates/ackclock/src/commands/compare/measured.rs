//! What a row of results says of a controller.

use results::summary::Row;
use serde::Serialize;

use super::question::Question;
use crate::commands::ratio::Ratio;

/// A long flow alone.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Long {
    /// Mbit/s, and its sample deviation.
    pub(super) goodput: f64,
    pub(super) spread: Option<f64>,
    /// Of what the link carries in payload, 0 to 1.
    pub(super) of_link: f64,
    /// Milliseconds.
    pub(super) rtt_mean: f64,
    pub(super) rtt_p95: f64,
    /// Milliseconds of waiting, mean.
    pub(super) queue_wait: f64,
    /// Per cent.
    pub(super) loss: f64,
    pub(super) reductions_per_minute: f64,
}

/// A flow beside the competitor.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Beside {
    /// Per cent of both, and its sample deviation.
    pub(super) share: f64,
    pub(super) spread: Option<f64>,
    /// Mbit/s of its own and of the competitor.
    pub(super) goodput: f64,
    pub(super) competitor: f64,
    /// The competitor's goodput over the mean of two flows of its own kind beside each other.
    pub(super) keeps: Option<Ratio>,
    /// Milliseconds, mean of both.
    pub(super) rtt_mean: f64,
}

impl Long {
    pub(super) fn of(row: &Row, question: &Question) -> Self {
        let goodput = row.cells.get("goodput");
        let minutes = (question.to - question.from).as_secs_f64() / 60.0;
        Self {
            goodput: mean(row, "goodput"),
            spread: goodput.and_then(|cell| cell.spread),
            of_link: mean(row, "goodput") * 1e6 / question.network.path.capacity,
            rtt_mean: mean(row, "rtt_mean"),
            rtt_p95: mean(row, "rtt_p95"),
            queue_wait: mean(row, "queue_wait"),
            loss: mean(row, "loss"),
            reductions_per_minute: mean(row, "reductions @ measure") / minutes,
        }
    }
}

impl Beside {
    /// `own` is the competitor's row beside its own kind.
    pub(super) fn of(row: &Row, own: Option<&Row>, seeds: u32) -> Self {
        let share = row.cells.get("share of candidate");
        // Beside its own kind it is either of the two: their mean.
        let alone = own.and_then(|own| own.cells.get("goodput"));
        let keeps = row.cells.get("goodput of competitor").and_then(|here| Ratio::of(here, alone?, seeds));
        Self {
            keeps: keeps.filter(|_| own.is_some_and(|own| own.label != row.label)),
            goodput: mean(row, "goodput of candidate"),
            competitor: mean(row, "goodput of competitor"),
            share: share.map_or(0.0, |cell| cell.mean),
            spread: share.and_then(|cell| cell.spread),
            rtt_mean: mean(row, "rtt_mean"),
        }
    }
}

pub(super) fn mean(row: &Row, metric: &str) -> f64 {
    row.cells.get(metric).map_or(0.0, |cell| cell.mean)
}
