//! A whole experiment file: its tables together define the keys that the reader knows, the JSON
//! Schema, `docs/src/reference/keys.md` and, with every default written out, a manifest's run.

pub(crate) mod bursts;
pub(crate) mod define;
pub(crate) mod flow;
pub(crate) mod jitter;
pub(crate) mod network;

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Serialize;

use define::{Needs, table};

use crate::file::judgement::Judgement;
use crate::file::setup::Run;
use crate::file::values::{MAX_REPETITIONS, whole};

/// A whole experiment file.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "experiment", transform = Needs("title link flow"))]
pub(crate) struct File<'a> {
    #[serde(flatten)]
    pub(crate) head: Head,
    #[serde(flatten)]
    pub(crate) run: &'a Run,
    /// Nothing in a manifest, which holds a single run.
    #[serde(flatten)]
    pub(crate) judgement: Option<Judgement>,
}

/// Names of the keys of a file.
pub(crate) static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(define::keys::<File<'static>>);

/// Largest seed. TOML integers are signed, and the seed of the last repetition must fit too, for
/// the manifest.
const MAX_SEED: i64 = i64::MAX - MAX_REPETITIONS;

table! {
    /// Keys that describe the experiment and its repetitions.
    pub(crate) Head {
        /// Title of the experiment, in a few words.
        title: String => "write a title for the experiment, in a few words";
        /// The document that the experiment reproduces. Omit it for your own experiments.
        source: String = String::new();
        /// Explanation for readers of the results.
        note: String = String::new() => later;
        /// Number of runs of each case, default 1. Repetition n, counted from 0, uses `seed` + n.
        #[schemars(range(min = 1, max = 10_000))]
        repetitions: u32 = 1, whole(1..=MAX_REPETITIONS);
        /// Seed of the first repetition, default 1.
        seed: i64 = 1, whole(0..=MAX_SEED);
    }
}
