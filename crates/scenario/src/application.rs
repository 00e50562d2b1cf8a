//! What a flow carries.

use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Rate};

/// What a flow carries.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Application {
    /// All there is, at once.
    #[default]
    Bulk,
    /// Video that follows the controller's rate, and audio.
    Media(MediaConfig),
    /// Short transfers, with idle times in between.
    OnOff(ObjectsConfig),
}

/// A video encoder and a microphone.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaConfig {
    /// Frames per second, at least 1.
    pub fps: u32,
    /// Smallest rate of the encoder, without headers; above 0.
    pub min_rate: Rate,
    /// Largest, no less.
    pub max_rate: Rate,
    /// Before it knows better.
    pub start_rate: Rate,
    /// From asking for a rate to the frame that has it, at least.
    pub reaction: Duration,
    /// Frame sizes are uniform within this part of their mean, 0..1.
    pub variation: f64,
    /// Audio, without headers; none at 0.
    pub audio: Rate,
    /// What waits longer to be sent is skipped.
    pub max_queue: Duration,
}

/// From one packet of audio to the next.
pub const AUDIO_INTERVAL: Duration = Duration::from_millis(20);

/// Objects and idle times.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectsConfig {
    /// Smallest object, at least 1 byte.
    pub smallest: Bytes,
    /// Largest, no less.
    pub largest: Bytes,
    /// Mean idle time.
    pub idle: Duration,
    /// The first object comes at the flow's start; or else after an idle time.
    pub begins_on: bool,
    /// What carries an object.
    pub connection: Connection,
}

/// What carries an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Connection {
    /// A connection of its own.
    #[default]
    New,
    /// The same as the one before.
    Kept,
}
