//! Processing of ACKs: acknowledged and lost packets, and their frames (RFC 9000 sections 13.2 and
//! 13.3, RFC 9002).

use recovery::{AckEffects, SpaceId};
use units::Time;

use crate::connection::sent_frames::{SentFrame, SentFrames};
use crate::connection::spaces::space_id;
use crate::connection::state::Connection;
use crate::connection::tap::Observation;
use crate::error::{Code, Error};
use crate::level::Level;
use crate::wire::ack::Ack;

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
        let mut effects = self.loss.take_effects();
        let (space, frame) = (space_id(level.space()), self.acks.read(level, ack));
        let done = self.loss.sender.on_ack_in(now, space, frame, None, &mut effects);
        if done.is_ok() {
            self.apply(now, &effects);
        }
        self.loss.effects = Some(effects);
        done.map_err(|_| {
            let wrong = Error::new(Code::PROTOCOL_VIOLATION, "ACK of a packet that was not sent");
            wrong.in_frame(ack.frame_type().0)
        })?;
        let pto = self.loss.pto();
        match &mut self.keys.one_rtt {
            Some(one_rtt) if level == Level::OneRtt => one_rtt.on_ack(now, pto, ack.largest, generation),
            _ => Ok(()),
        }
    }

    /// Handles the loss recovery timer.
    pub(super) fn on_loss_timer(&mut self, now: Time) {
        let mut effects = self.loss.take_effects();
        self.loss.sender.on_timer(now, &mut effects);
        self.apply(now, &effects);
        if effects.probe {
            self.on_probe(now, effects.space);
        }
        self.loss.effects = Some(effects);
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
        self.loss.compute_pto();
        self.streams.set_smoothed_rtt(self.loss.sender.rtt().smoothed());
        self.observe_metrics(now, effects.rtt);
    }

    fn on_acked(&mut self, space: SpaceId, contents: &SentFrames) {
        for item in contents.items() {
            match *item {
                SentFrame::Ack(receipt) => self.spaces[space as usize].receiver.on_ack_acked(receipt),
                SentFrame::Crypto(chunk) => self.spaces[space as usize].crypto.on_acked(chunk),
                SentFrame::Stream(id, chunk) => self.streams.on_data_acked(id, chunk),
                SentFrame::Control(control) => self.streams.on_control_acked(control),
                SentFrame::NewConnectionId(sequence) => drop(self.ids.unsent.remove(&sequence)),
                SentFrame::RetireConnectionId(sequence) => self.ids.remote.on_retire_acked(sequence),
                SentFrame::HandshakeDone => self.server_frames.done = false,
                _ => {}
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
                SentFrame::NewConnectionId(sequence) => drop(self.ids.unsent.insert(sequence)),
                SentFrame::RetireConnectionId(sequence) => self.ids.remote.on_retire_lost(sequence),
                SentFrame::NewToken(at) => self.server_frames.on_token_lost(at),
                SentFrame::HandshakeDone => self.server_frames.done = true,
                SentFrame::AckFrequency => self.ack_frequency.pending = true,
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
        if !self.is_confirmed() {
            for level in [Level::Initial, Level::Handshake].into_iter().filter(|level| self.keys.has(*level))
            {
                self.spaces[level.space() as usize].crypto.resend();
            }
        }
        if space == SpaceId::Application
            && !self.streams.has_data()
            && let Some(contents) = self.loss.sender.probe_payload()
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
