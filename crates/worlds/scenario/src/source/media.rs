//! Video that follows the controller's rate, and audio: the source of RFC 8867 section 4.3, close
//! to the synthetic codec of RFC 8593 in its steady state.
//!
//! ```text
//! frame k     at start + k / fps; size = V / (8 fps) * (1 + variation u), u uniform in -1..1               bytes
//! V           rate requested at the newest frame that is at least `reaction` old; start-rate before         bit/s
//! request     at each frame: budget B =  (A - audio with headers) / fps                                     bytes
//!             n = ceil(B / (payload + header)) packets,  V = 8 fps max(B - n header, (n - 1) payload),
//!             from min-rate to max-rate
//! A           the pacing rate of a controller that has one: that is its decision, and its window only a bound
//!             or else cwnd / smoothed_rtt: the rate of a flow that always has data                bytes/s
//! audio       a packet each 20 ms
//! key frame   each n-th frame from the first, n = every * fps rounded, is s times as large as the others: its size has
//!             the factor s n / (n - 1 + s), and the others n / (n - 1 + s). The mean of n frames stays that of V.
//! ```
//!
//! A counts what the window counts, headers included, so that video, audio and headers together
//! amount to A. It is unknown before the first RTT sample. Frames and audio wait in one FIFO queue.
//! Units that wait longer than `max-queue` are skipped, unless a part of them has left: a frame
//! sent in full is still of use. Nothing is sent again.
//!
//! Headers are estimated for equal frames: the packets of a larger frame are not counted ahead.
//!
//! The model omits two features of RFC 8593: the large frames after a step of the rate, and
//! Laplacian sizes. RFC 8867 asks for +-5 %.

use std::collections::VecDeque;

use crate::{AUDIO_INTERVAL, FlowConfig, KeyFrames, MediaConfig, Record, Transport};
use units::{Duration, Rate, Rng, Time};

/// Number of frames in flight that may still be completed. Older frames no longer arrive.
const ON_THE_WAY: usize = 4096;

/// Frame or audio packet that waits.
#[derive(Clone, Copy, Debug)]
struct Unit {
    captured: Time,
    bytes: u64,
    is_video: bool,
}

/// Frame of which at least a part has left.
#[derive(Clone, Copy, Debug)]
struct Frame {
    captured: Time,
    start: u64,
    end: u64,
    arrived: u64,
    /// Time at which the sender detected the first loss among its packets.
    lost: Option<Time>,
}

/// Media source of one flow, and the part of its receiver that knows frames.
#[derive(Debug)]
pub(super) struct Media {
    config: MediaConfig,
    start: Time,
    /// Stream bytes of a full packet.
    payload: u64,
    /// Additional bytes that each packet counts in the window.
    header: u64,
    frames: u64,
    audio_packets: u64,
    /// V, in bit/s.
    rate: f64,
    /// Requested rates that have not taken effect.
    asked: VecDeque<(Time, f64)>,
    sizes: Rng,
    waiting: VecDeque<Unit>,
    /// Stream offset of the first unit that waits.
    front: u64,
    on_the_way: VecDeque<Frame>,
}

impl Media {
    pub(super) fn new(id: u32, config: &MediaConfig, flow: &FlowConfig, seed: u64) -> Self {
        let header = match flow.transport {
            Transport::Quic { header, .. } => header,
            Transport::Tcp { .. } => 0,
        };
        Self {
            start: flow.start,
            payload: flow.transport.payload().max(1).into(),
            header: header.into(),
            frames: 0,
            audio_packets: 0,
            rate: config.start_rate.0 as f64,
            asked: VecDeque::new(),
            sizes: Rng::stream(seed, &format!("flow.{id}.media")),
            waiting: VecDeque::new(),
            front: 0,
            on_the_way: VecDeque::new(),
            config: config.clone(),
        }
    }

    fn frame_at(&self) -> Time {
        let nanos = u128::from(self.frames) * 1_000_000_000 / u128::from(self.config.fps.max(1));
        self.start + Duration(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn audio_at(&self) -> Time {
        match self.config.audio {
            Rate(0) => Time::NEVER,
            _ => self.start + AUDIO_INTERVAL * self.audio_packets,
        }
    }

    pub(super) fn next(&self) -> Time {
        self.frame_at().min(self.audio_at())
    }

    /// Captures the units that are due, unless paused. `allowed` is A, in bytes per second.
    pub(super) fn on_time(&mut self, now: Time, paused: bool, allowed: Option<f64>, record: &mut Record) {
        while self.audio_at() <= now {
            let bytes = self.audio_bytes();
            self.audio_packets += 1;
            self.capture(paused, Unit { captured: now, bytes, is_video: false });
        }
        while self.frame_at() <= now {
            self.ask(now, allowed);
            self.frames += 1;
            let bytes = self.frame_bytes();
            self.capture(paused, Unit { captured: now, bytes, is_video: true });
            if !paused {
                record.on_frame_made(now, bytes);
            }
        }
    }

    fn capture(&mut self, paused: bool, unit: Unit) {
        if !paused && unit.bytes > 0 {
            self.waiting.push_back(unit);
        }
    }

    /// Returns the size of the next audio packet. Fractions of a byte carry over.
    fn audio_bytes(&self) -> u64 {
        let until = |packets: u64| self.config.audio.bytes_in(AUDIO_INTERVAL * packets);
        until(self.audio_packets + 1) - until(self.audio_packets)
    }

    fn frame_bytes(&mut self) -> u64 {
        let odd = self.share() * (1.0 + self.config.variation * (2.0 * self.sizes.unit() - 1.0));
        ((self.rate / (8.0 * f64::from(self.config.fps)) * odd + 0.5) as u64).max(1)
    }

    /// Returns the size of the current frame in mean frames, without its variation.
    fn share(&self) -> f64 {
        let Some(KeyFrames { every, size }) = self.config.key_frames else { return 1.0 };
        let interval = (every.as_secs_f64() * f64::from(self.config.fps)).round().max(1.0);
        let is_key = self.frames.saturating_sub(1).is_multiple_of(interval as u64);
        let other = interval / (interval - 1.0 + size);
        if is_key { size * other } else { other }
    }

    /// Requests a new rate, and applies requests that are old enough.
    fn ask(&mut self, now: Time, allowed: Option<f64>) {
        if let Some(allowed) = allowed {
            self.asked.push_back((now, self.video_rate(allowed)));
        }
        while let Some(&(_, rate)) = self.asked.front().filter(|asked| asked.0 + self.config.reaction <= now)
        {
            self.rate = rate;
            self.asked.pop_front();
        }
    }

    /// Returns V for a given A, in bit/s.
    fn video_rate(&self, allowed: f64) -> f64 {
        let fps = f64::from(self.config.fps);
        let (payload, header) = (self.payload as f64, self.header as f64);
        let budget = (allowed - self.audio_rate()) / fps;
        let packets = (budget / (payload + header)).ceil();
        let frame = (budget - packets * header).max((packets - 1.0) * payload);
        (8.0 * fps * frame).min(self.config.max_rate.0 as f64).max(self.config.min_rate.0 as f64)
    }

    /// Returns the audio rate with headers, in bytes per second.
    fn audio_rate(&self) -> f64 {
        match self.config.audio {
            Rate(0) => 0.0,
            rate => rate.bytes_per_sec() + self.header as f64 / AUDIO_INTERVAL.as_secs_f64(),
        }
    }

    /// Returns the number of bytes from `fresh` on that fit into one packet, which never holds two
    /// units.
    pub(super) fn offered(&mut self, now: Time, fresh: u64, record: &mut Record) -> u64 {
        while let Some(&unit) = self.waiting.front() {
            let end = self.front + unit.bytes;
            if fresh > self.front && fresh < end {
                return end - fresh;
            }
            if fresh >= end {
                self.front = end;
            } else if now - unit.captured > self.config.max_queue {
                self.forget_front();
                if unit.is_video {
                    record.on_frame_skipped(now);
                }
            } else {
                self.note(unit);
                return unit.bytes;
            }
            self.waiting.pop_front();
        }
        0
    }

    fn is_front_known(&self) -> bool {
        self.on_the_way.back().is_some_and(|frame| frame.start == self.front)
    }

    /// Notes that the unit at the front will never leave.
    fn forget_front(&mut self) {
        if self.is_front_known() {
            self.on_the_way.pop_back();
        }
    }

    /// Notes that the unit at the front may leave from now on.
    fn note(&mut self, unit: Unit) {
        if unit.is_video && !self.is_front_known() {
            let end = self.front + unit.bytes;
            let Unit { captured, .. } = unit;
            self.on_the_way.push_back(Frame { captured, start: self.front, end, arrived: 0, lost: None });
        }
        if self.on_the_way.len() > ON_THE_WAY {
            self.on_the_way.pop_front();
        }
    }

    /// Returns the frame that holds this byte.
    fn frame(&mut self, at: u64) -> Option<&mut Frame> {
        let index = self.on_the_way.partition_point(|frame| frame.end <= at);
        self.on_the_way.get_mut(index).filter(|frame| frame.start <= at)
    }

    pub(super) fn on_received(&mut self, now: Time, start: u64, end: u64, record: &mut Record) {
        let Some(frame) = self.frame(start).filter(|_| start < end) else { return };
        frame.arrived += end - start;
        if frame.arrived >= frame.end - frame.start {
            record.on_frame_complete(now, now - frame.captured, frame.lost);
        }
        while self.on_the_way.front().is_some_and(|f| f.arrived >= f.end - f.start) {
            self.on_the_way.pop_front();
        }
    }

    /// Counts a frame as lost at the first of its packets that is declared lost.
    pub(super) fn on_lost(&mut self, now: Time, start: u64, record: &mut Record) {
        if let Some(frame) = self.frame(start).filter(|frame| frame.lost.is_none()) {
            frame.lost = Some(now);
            record.on_frame_lost(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn media(config: MediaConfig) -> Media {
        Media {
            start: Time::ZERO,
            payload: 1215,
            header: 37,
            frames: 0,
            audio_packets: 0,
            rate: config.start_rate.0 as f64,
            asked: VecDeque::new(),
            sizes: Rng::stream(1, "test"),
            waiting: VecDeque::new(),
            front: 0,
            on_the_way: VecDeque::new(),
            config,
        }
    }

    fn rfc8867() -> MediaConfig {
        MediaConfig {
            fps: 30,
            min_rate: Rate(150_000),
            max_rate: Rate(1_500_000),
            start_rate: Rate(150_000),
            reaction: Duration::from_millis(100),
            variation: 0.05,
            key_frames: None,
            audio: Rate(20_000),
            max_queue: Duration::from_secs(1),
        }
    }

    #[test]
    fn frame_sizes() {
        let mut media = media(rfc8867());
        media.rate = 1.2e6;
        let sizes: Vec<u64> = (0..10_000).map(|_| media.frame_bytes()).collect();
        assert!(sizes.iter().all(|size| (4750..=5250).contains(size)));
        assert!(sizes.iter().any(|size| *size < 4760) && sizes.iter().any(|size| *size > 5240));
        // The standard deviation of a uniform size is 500 / sqrt(12), and that of the mean a
        // hundredth of it.
        assert!((sizes.iter().sum::<u64>() as f64 / 1e4 - 5000.0).abs() < 5.0);
    }

    /// 1.2 Mbit/s are 5000 bytes per frame. With a key frame of 4 in 10 frames, the others have
    /// 5000 * 10 / 13 bytes and the key frame four times as many: 50 000 bytes in all, within half
    /// a byte per frame.
    #[test]
    fn key_frames() {
        let every = Duration::from_millis(333);
        let config = MediaConfig { variation: 0.0, audio: Rate(0), ..rfc8867() };
        let mut media = media(MediaConfig { key_frames: Some(KeyFrames { every, size: 4.0 }), ..config });
        media.rate = 1.2e6;
        for _ in 0..3 {
            let sizes: Vec<u64> = (0..10)
                .map(|_| {
                    media.frames += 1;
                    media.frame_bytes()
                })
                .collect();
            assert_eq!(sizes, [&[15_385][..], &[3846; 9]].concat());
            assert!(sizes.iter().sum::<u64>().abs_diff(50_000) <= 5);
        }
    }

    /// With headers and audio a frame fills its budget, or the packets that it needs.
    #[test]
    fn video_rate_leaves_room() {
        let media = media(MediaConfig { max_rate: Rate(100_000_000), ..rfc8867() });
        let audio = 2500.0 + 37.0 * 50.0;
        for budget in [800.0, 1252.0, 1260.0, 1300.0, 2504.0, 5000.0, 100_000.0] {
            let frame = media.video_rate(audio + 30.0 * budget) / 240.0;
            let wire = frame + 37.0 * (frame / 1215.0 - 1e-9).ceil();
            assert!(wire <= budget + 1e-6 && wire > budget - 37.1, "{budget}: {frame} {wire}");
        }
        for allowed in [0.0, -1.0, 1000.0, f64::MAX] {
            let rate = media.video_rate(allowed);
            assert!((150_000.0..=1e8).contains(&rate), "{allowed}: {rate}");
        }
    }

    /// A step of the allowed rate shows at the third frame, 100 ms at 30 frames per second; without
    /// reaction time at once.
    #[test]
    fn reaction() {
        for (ms, frames) in [(100, 3), (101, 4), (0, 0)] {
            let mut media = media(MediaConfig { reaction: Duration::from_millis(ms), ..rfc8867() });
            let mut rates = Vec::new();
            for _ in 0..20 {
                let now = media.frame_at();
                let allowed = if rates.len() < 10 { 50_000.0 } else { 200_000.0 };
                media.ask(now, Some(allowed));
                media.frames += 1;
                rates.push(media.rate);
            }
            let before = media.video_rate(50_000.0);
            assert!(rates[..frames].iter().all(|rate| *rate == 150_000.0));
            assert!(rates[frames..10 + frames].iter().all(|rate| *rate == before), "{rates:?}");
            assert!(rates[10 + frames..].iter().all(|rate| *rate == 1.5e6), "{rates:?}");
        }
    }

    /// 21 kbit/s are 52.5 bytes each 20 ms.
    #[test]
    fn audio() {
        let mut media = media(MediaConfig { audio: Rate(21_000), ..rfc8867() });
        let mut sizes = Vec::new();
        for packet in 0..4 {
            media.audio_packets = packet;
            sizes.push(media.audio_bytes());
        }
        assert_eq!(sizes, [52, 53, 52, 53]);
    }
}
