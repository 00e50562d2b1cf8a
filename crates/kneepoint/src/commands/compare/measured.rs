//! What a row of results says of a controller.

use results::summary::Row;
use serde::Serialize;

use super::question::Question;

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
            of_link: mean(row, "goodput") * 1e6 / question.path.capacity,
            rtt_mean: mean(row, "rtt_mean"),
            rtt_p95: mean(row, "rtt_p95"),
            queue_wait: mean(row, "queue_wait"),
            loss: mean(row, "loss"),
            reductions_per_minute: mean(row, "reductions @ measure") / minutes,
        }
    }
}

impl Beside {
    pub(super) fn of(row: &Row) -> Self {
        let share = row.cells.get("share of candidate");
        Self {
            share: share.map_or(0.0, |cell| cell.mean),
            spread: share.and_then(|cell| cell.spread),
            rtt_mean: mean(row, "rtt_mean"),
        }
    }
}

pub(super) fn mean(row: &Row, metric: &str) -> f64 {
    row.cells.get(metric).map_or(0.0, |cell| cell.mean)
}
