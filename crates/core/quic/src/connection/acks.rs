//! Processing of ACKs: acknowledged and lost packets, and their frames (RFC 9000 sections 13.2 and
//! 13.3, RFC 9002).

use std::mem;

use recovery::{AckEffects, AckFrame, DEFAULT_ACK_DELAY_EXPONENT, SpaceId};
use units::Time;

use crate::connection::sent_frames::{SentFrame, SentFrames};
use crate::connection::spaces::space_id;
use crate::connection::state::Connection;
use crate::connection::tap::Observation;
use crate::error::{Code, Error};
use crate::level::{Level, Space};
use crate::wire::ack::Ack;
use crate::wire::receive_timestamps::Stamps;

impl Connection {
    /// Processes an ACK frame.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION for packets that were not sent; KEY_UPDATE_ERROR (RFC 9001 section 6.2).
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        level: Level,
        ack: &Ack<'_>,
        generation: u64,
    ) -> Result<(), Error> {
        let mut frame = mem::take(&mut self.ack_frame);
        self.read_ack(level, ack, &mut frame);
        let mut effects = self.take_effects();
        let space = space_id(level.space());
        let done = self.sender.on_ack_in(now, space, &frame, None, &mut effects);
        if done.is_ok() {
            self.apply(now, &effects);
        }
        (self.effects, self.ack_frame) = (Some(effects), frame);
        done.map_err(|_| {
            let wrong = Error::new(Code::PROTOCOL_VIOLATION, "ACK of a packet that was not sent");
            wrong.in_frame(ack.frame_type().0)
        })?;
        let pto = self.pto();
        match &mut self.one_rtt {
            Some(one_rtt) if level == Level::OneRtt => one_rtt.on_ack(now, pto, ack.largest, generation),
            _ => Ok(()),
        }
    }

    fn read_ack(&self, level: Level, ack: &Ack<'_>, frame: &mut AckFrame) {
        let theirs =
            self.peer.as_ref().map_or(DEFAULT_ACK_DELAY_EXPONENT, |peer| peer.ack_delay_exponent as u8);
        let exponent = if level == Level::OneRtt { theirs } else { DEFAULT_ACK_DELAY_EXPONENT };
        frame.ranges.clear();
        frame.ranges.extend(ack.ranges().map(|range| (*range.start(), *range.end())));
        frame.ranges.reverse();
        frame.ack_delay = AckFrame::decode_delay(ack.delay, exponent);
        frame.ecn = ack.ecn;
        frame.timestamps.clear();
        let nanos = |micros: u64| i64::try_from(micros.saturating_mul(1000)).unwrap_or(i64::MAX);
        let stamps = ack.stamps.iter().flat_map(Stamps::iter);
        frame.timestamps.extend(stamps.map(|stamp| (stamp.number, nanos(stamp.micros))));
        // The wire has the latest first. The sender wants ascending packet numbers, each once.
        frame.timestamps.sort_unstable();
        frame.timestamps.dedup_by_key(|stamp| stamp.0);
    }

    fn take_effects(&mut self) -> Box<AckEffects<SentFrames>> {
        self.effects.take().unwrap_or_else(|| Box::new(AckEffects::with_acked()))
    }

    /// Handles the loss recovery timer.
    pub(super) fn on_loss_timer(&mut self, now: Time) {
        let mut effects = self.take_effects();
        self.sender.on_timer(now, &mut effects);
        self.apply(now, &effects);
        if effects.probe {
            self.on_probe(now, effects.space);
        }
        self.effects = Some(effects);
    }

    fn apply(&mut self, now: Time, effects: &AckEffects<SentFrames>) {
        let space = effects.space;
        for (number, contents) in &effects.acked {
            self.observe(now, &Observation::Acked { space, number: *number });
            self.on_acked(space, contents);
        }
        for (number, contents) in &effects.late {
            self.observe(now, &Observation::Spurious { space, number: *number });
            self.on_acked(space, contents);
        }
        for (number, by, contents) in &effects.lost {
            self.observe(now, &Observation::Lost { space, number: *number, by: *by });
            self.on_lost(now, space, contents);
        }
        if let Some(cause) = effects.congestion {
            self.observe(now, &Observation::Congestion(cause));
        }
        self.compute_pto();
        self.streams.set_smoothed_rtt(self.sender.rtt().smoothed());
        self.observe_metrics(now, effects.rtt);
    }

    fn on_acked(&mut self, space: SpaceId, contents: &SentFrames) {
        for item in contents.items() {
            match *item {
                SentFrame::Ack(receipt) => self.spaces[space as usize].receiver.on_ack_acked(receipt),
                SentFrame::Crypto(chunk) => self.spaces[space as usize].crypto.on_acked(chunk),
                SentFrame::Stream(id, chunk) => self.streams.on_data_acked(id, chunk),
                SentFrame::Control(control) => self.streams.on_control_acked(control),
                SentFrame::RetireConnectionId(sequence) => {
                    if let Some(ids) = &mut self.remote_ids {
                        ids.on_retire_acked(sequence);
                    }
                    self.announcements.on_acked(*item);
                }
                _ => self.announcements.on_acked(*item),
            }
        }
    }

    /// Schedules lost frames for retransmission, if they are still meaningful (section 13.3).
    fn on_lost(&mut self, now: Time, space: SpaceId, contents: &SentFrames) {
        for item in contents.items() {
            match *item {
                SentFrame::Crypto(chunk) => self.spaces[space as usize].crypto.on_lost(chunk),
                SentFrame::Stream(id, chunk) => self.streams.on_data_lost(id, chunk),
                SentFrame::Control(control) => self.streams.on_control_lost(now, control),
                SentFrame::RetireConnectionId(sequence) => {
                    if self.remote_ids.as_ref().is_some_and(|ids| ids.is_retiring(sequence)) {
                        self.announcements.on_lost(*item);
                    }
                }
                SentFrame::NewConnectionId(_)
                | SentFrame::NewToken(_)
                | SentFrame::HandshakeDone
                | SentFrame::AckFrequency => self.announcements.on_lost(*item),
                SentFrame::Datagram(_) => self.counts.datagrams_lost += 1,
                SentFrame::Ack(_) | SentFrame::PathChallenge | SentFrame::PathResponse | SentFrame::Ping => {}
            }
        }
    }

    /// Prepares probes after a probe timeout: two packets in this space, with the oldest
    /// unacknowledged data if there is nothing new (RFC 9002 section 6.2.4).
    ///
    /// During the handshake everything unacknowledged is sent again. The flights are small, and a
    /// lost one blocks all progress.
    fn on_probe(&mut self, now: Time, space: SpaceId) {
        self.spaces[space as usize].probes = 2;
        if !self.confirmed {
            for space in [Space::Initial, Space::Handshake] {
                let state = &mut self.spaces[space as usize];
                if state.keys.is_some() {
                    state.crypto.resend();
                }
            }
        }
        if space == SpaceId::Application
            && !self.streams.has_data()
            && let Some(contents) = self.sender.probe_payload()
        {
            let again: Vec<SentFrame> = contents
                .items()
                .iter()
                .filter(|item| !matches!(item, SentFrame::Datagram(_)))
                .copied()
                .collect();
            self.on_lost(now, space, &SentFrames::new(&again));
        }
    }
}
