//! Application data of a flow.

use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Rate};

/// Application data of a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Application {
    /// Unlimited or fixed amount of data, all available at once.
    #[default]
    Bulk,
    /// Video that follows the controller's rate, and audio.
    Media(MediaConfig),
    /// Short transfers with idle times in between.
    OnOff(ObjectsConfig),
}

/// Video encoder and microphone.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaConfig {
    /// Frames per second, at least 1.
    pub fps: u32,
    /// Smallest rate of the encoder, without headers; above 0.
    pub min_rate: Rate,
    /// Largest rate of the encoder, without headers; at least `min_rate`.
    pub max_rate: Rate,
    /// Encoder rate before the first rate request takes effect.
    pub start_rate: Rate,
    /// Minimum delay between a rate request and the first frame encoded at that rate.
    pub reaction: Duration,
    /// Variation of the frame size: uniform within this fraction of the mean, 0..1.
    pub variation: f64,
    /// Key frames; `None` makes all frames equal.
    pub key_frames: Option<KeyFrames>,
    /// Audio rate, without headers; 0 is no audio.
    pub audio: Rate,
    /// Queuing time at the sender after which a frame is skipped.
    pub max_queue: Duration,
}

/// Key frames of a video: frames that need no earlier one, and are larger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyFrames {
    /// Interval between key frames, at least one frame. It is rounded to whole frames.
    pub every: Duration,
    /// Size of a key frame in sizes of another frame, at least 1.
    pub size: f64,
}

/// Interval between audio packets.
pub const AUDIO_INTERVAL: Duration = Duration::from_millis(20);

/// Object sizes and idle times.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectsConfig {
    /// Size of the smallest object, at least 1 byte.
    pub smallest: Bytes,
    /// Size of the largest object, at least `smallest`.
    pub largest: Bytes,
    /// Mean idle time.
    pub idle: Duration,
    /// Starts the first object at the flow's start instead of after an idle time.
    pub begins_on: bool,
    /// Connection that carries an object.
    pub connection: Connection,
}

/// Connection that carries an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Connection {
    /// New connection for each object.
    #[default]
    New,
    /// Same connection as the previous object.
    Kept,
}
