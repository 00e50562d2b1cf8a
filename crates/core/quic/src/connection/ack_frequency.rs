//! ACK_FREQUENCY in both directions: the peer's request, and that of this end
//! (draft-ietf-quic-ack-frequency section 4).

use recovery::{AckConfig, OnGap};
use units::Duration;

use crate::config::AckFrequencyConfig;
use crate::connection::sent_frames::{FrameWriter, SentFrame};
use crate::error::{Code, Error};
use crate::wire::frame::Frame;
use crate::wire::frame_type::FrameType;
use crate::wire::transport_parameters::TransportParameters;

/// Longest delay that the peer can set, as with its transport parameter.
const MAX_DELAY: Duration = Duration::from_millis((1 << 14) - 1);

/// Requests of both ends.
pub(super) struct AckFrequency {
    config: AckFrequencyConfig,
    /// Newest sequence number received.
    newest: Option<u64>,
    /// This end's request with its delay in microseconds, and whether it must be sent.
    request: Option<(Frame<'static>, u64)>,
    pub(super) pending: bool,
}

impl AckFrequency {
    /// Starts without a request.
    pub(super) const fn new(config: AckFrequencyConfig) -> Self {
        Self { config, newest: None, request: None, pending: false }
    }

    /// Prepares the request of this end, if the peer supports it.
    pub(super) fn on_parameters(&mut self, peer: &TransportParameters) {
        let (Some(request), Some(least)) = (self.config.request, peer.min_ack_delay) else { return };
        let delay = request.max_ack_delay.map_or(peer.max_ack_delay * 1000, |delay| delay.0 / 1000);
        let max_ack_delay = delay.max(least);
        let frame = Frame::AckFrequency {
            sequence: 0,
            threshold: request.threshold,
            max_ack_delay,
            reordering_threshold: request.reordering_threshold,
        };
        (self.request, self.pending) = (Some((frame, max_ack_delay)), true);
    }

    /// Processes ACK_FREQUENCY. Returns `rules` with the peer's changes, or `None` if a newer frame
    /// arrived before.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION for a delay below `min_ack_delay`.
    pub(super) fn on_frame(
        &mut self,
        frame: &Frame<'_>,
        mut rules: AckConfig,
    ) -> Result<Option<AckConfig>, Error> {
        let Frame::AckFrequency { sequence, threshold, max_ack_delay, reordering_threshold } = *frame else {
            return Ok(None);
        };
        let delay = Duration(max_ack_delay.saturating_mul(1000));
        if delay < self.config.min_ack_delay.unwrap_or_default() {
            let wrong = Error::new(Code::PROTOCOL_VIOLATION, "requested max_ack_delay below min_ack_delay");
            return Err(wrong.in_frame(FrameType::ACK_FREQUENCY.0));
        }
        if self.newest.is_some_and(|newest| sequence <= newest) {
            return Ok(None);
        }
        self.newest = Some(sequence);
        rules.ack_every = threshold.saturating_add(1).into();
        rules.max_ack_delay = delay.min(MAX_DELAY);
        if reordering_threshold == 0 {
            rules.immediate_on_gap = OnGap::Off;
        }
        Ok(Some(rules))
    }

    /// Writes the request if it waits and fits. Returns the peer's `max_ack_delay` from now on.
    pub(super) fn write(&mut self, out: &mut FrameWriter<'_>) -> Option<Duration> {
        let (frame, delay) = self.request.filter(|_| self.pending)?;
        self.pending = !out.put(frame, SentFrame::AckFrequency);
        (!self.pending).then_some(Duration::from_micros(delay))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::AckRequest;
    use crate::wire::codec::Writer;

    fn write(frequency: &mut AckFrequency, room: usize) -> Option<Duration> {
        let (mut buf, mut items) = (vec![0; room], Vec::new());
        frequency.write(&mut FrameWriter { w: Writer::new(&mut buf), items: &mut items })
    }

    #[test]
    fn a_request_until_it_fits_and_when_it_is_lost() {
        let request = AckRequest { threshold: 9, max_ack_delay: None, reordering_threshold: 1 };
        let config = AckFrequencyConfig { min_ack_delay: None, request: Some(request) };
        let mut frequency = AckFrequency::new(config);
        frequency.on_parameters(&TransportParameters::default());
        assert!(!frequency.pending);
        // The peer's least delay is longer than its current one.
        let peer = TransportParameters { min_ack_delay: Some(30_000), ..Default::default() };
        frequency.on_parameters(&peer);
        assert_eq!((write(&mut frequency, 3), frequency.pending), (None, true));
        assert_eq!(write(&mut frequency, 30), Some(Duration::from_millis(30)));
        assert_eq!((write(&mut frequency, 30), frequency.pending), (None, false));
        frequency.pending = true;
        assert_eq!(write(&mut frequency, 30), Some(Duration::from_millis(30)));
    }

    #[test]
    fn the_newest_request_applies() {
        let min_ack_delay = Some(Duration::from_millis(1));
        let mut frequency = AckFrequency::new(AckFrequencyConfig { min_ack_delay, request: None });
        let mut ask = |sequence, max_ack_delay, reordering_threshold| {
            let frame = Frame::AckFrequency { sequence, threshold: 4, max_ack_delay, reordering_threshold };
            frequency.on_frame(&frame, AckConfig::default())
        };
        assert_eq!(ask(5, 999, 1).unwrap_err().code, Code::PROTOCOL_VIOLATION);
        let rules = ask(5, 1000, 1).unwrap().unwrap();
        assert_eq!((rules.ack_every, rules.immediate_on_gap), (5.into(), OnGap::Once));
        assert_eq!((ask(5, 2000, 1), ask(4, 2000, 1)), (Ok(None), Ok(None)));
        let rules = ask(6, u64::MAX, 0).unwrap().unwrap();
        assert_eq!((rules.max_ack_delay, rules.immediate_on_gap), (MAX_DELAY, OnGap::Off));
    }
}
