//! The `loss` of a link: a probability, or losses in bursts.

use link::Spells;
use schemars::JsonSchema;
use serde::Serialize;
use units::{Duration, Percent};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;
use crate::file::missing::BURSTS;
use crate::file::tables::define::{Needs, table};
use crate::file::values::{Share, US, at_least, probability};

/// The `loss` of a link.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Loss {
    Share(#[schemars(with = "Percent")] Share),
    Bursts(Bursts),
}

table! {
    /// Losses in bursts. Before the queue, a good and a bad state alternate.
    #[schemars(rename = "bursts", transform = Needs(""))]
    pub(crate) Bursts {
        /// By packet: probability that the good state turns bad after a packet, the `p` of `tc
        /// netem loss gemodel`. The first packet finds the good state.
        #[schemars(with = "Option<Percent>")]
        p: Option<Share> = None, share;
        /// By packet: probability that the bad state turns good after a packet. A bad spell has 1 /
        /// `r` packets on average. Default 1 - `p`, as in tc.
        #[schemars(with = "Option<Percent>")]
        r: Option<Share> = p.map(|p: Share| Share(1.0 - p.0)), share;
        /// By time: mean length of a bad spell, at least 1 us. Lengths are exponential. At time 0,
        /// the state is bad with the probability `bad-time` / (`bad-time` + `good-time`).
        bad_time: Option<Duration> = None, span;
        /// By time: mean length of a good spell, at least 1 us.
        good_time: Option<Duration> = None, span;
        /// Probability that a packet is lost in the bad state, the `1-h` of tc. Default 100 %.
        #[schemars(with = "Percent")]
        bad_loss: Share = Share(1.0), probability;
        /// Probability that a packet is lost in the good state, the `1-k` of tc. Default 0 %.
        #[schemars(with = "Percent")]
        good_loss: Share = Share(0.0), probability;
    }
}

fn share(at: &Cursor<'_>) -> Result<Option<Share>, Diagnostic> {
    probability(at).map(Some)
}

fn span(at: &Cursor<'_>) -> Result<Option<Duration>, Diagnostic> {
    at_least(US, |mean| format!("{mean} is too short"))(at).map(Some)
}

impl Bursts {
    /// Returns the changes of the state, if the keys describe them in one way.
    fn spells(&self) -> Option<Spells> {
        match (self.p, self.r, self.bad_time, self.good_time) {
            (Some(p), Some(r), None, None) => Some(Spells::Packets { p: p.0, r: r.0 }),
            (None, None, Some(bad), Some(good)) => Some(Spells::Times { bad, good }),
            _ => None,
        }
    }
}

impl Loss {
    /// Returns the probability of single losses, and the losses in bursts.
    pub(crate) fn config(&self) -> (f64, Option<link::Bursts>) {
        match self {
            Self::Share(share) => (share.0, None),
            Self::Bursts(bursts) => {
                let (bad_loss, good_loss) = (bursts.bad_loss.0, bursts.good_loss.0);
                (0.0, bursts.spells().map(|spells| link::Bursts { spells, bad_loss, good_loss }))
            }
        }
    }
}

/// Reads the `loss` of a link.
pub(crate) fn loss(cursor: &Cursor<'_>) -> Result<Loss, Diagnostic> {
    if cursor.read::<String>().is_ok_and(|text| text.starts_with("gemodel")) {
        return Err(cursor.invalid("expected a probability or a table", BURSTS));
    }
    if !cursor.node().is_table() {
        return probability(cursor).map(Loss::Share);
    }
    let bursts = Bursts::read(&cursor.table(Bursts::known())?)?;
    match bursts.spells() {
        Some(_) => Ok(Loss::Bursts(bursts)),
        None => Err(cursor.invalid("bursts have either `p`, or `bad-time` and `good-time`", BURSTS)),
    }
}
