//! The search for the MTU of the path, as part of the sender: its probes are packets in flight
//! whose loss is no congestion (RFC 9000 section 14.4).

use std::borrow::Cow;

use congestion::Detection;
use units::Time;

use crate::mtu_search::BASE_DATAGRAM;
use crate::sender::effects::AckEffects;
use crate::sender::sending::Sender;
use crate::sender::sent_packets::{Payload, Status};

impl<T: Payload> Sender<T> {
    /// Returns the size of the next datagram, in bytes as counted in the window. After a timeout,
    /// when larger ones may not pass any more, its probes have the base of the search.
    pub fn datagram_size(&self) -> u64 {
        let full = self.path.max_datagram_size;
        let times_out = self.search.is_some() && self.timeouts.count() > 0 && self.allowance.probes() > 0;
        if times_out { full.min(BASE_DATAGRAM) } else { full }
    }

    /// Returns the size of a probe for the MTU that is due, in bytes as counted in the window.
    ///
    /// Waits for the handshake and the first RTT sample, and never exceeds the window. If
    /// [`can_send`](Self::can_send) then holds it back, smaller packets wait too, or they would
    /// always fill the window first.
    pub fn mtu_probe(&mut self, now: Time) -> Option<u64> {
        let window = self.window();
        let search = self.search.as_mut()?;
        let confirmed = self.spaces.as_ref().is_none_or(|spaces| spaces.confirmed);
        if !confirmed || !self.round_trip.rtt().is_sampled() || self.allowance.probes() > 0 {
            return None;
        }
        search.due(now).filter(|bytes| *bytes <= window)
    }

    /// Records that the last packet sent was this probe, with PING and PADDING frames alone.
    pub fn on_mtu_probe_sent(&mut self, bytes: u64) {
        if let Some(search) = &mut self.search {
            search.on_probe(self.serial.saturating_sub(1), bytes);
            self.stats.mtu_probes += 1;
        }
    }

    /// Returns the serial of the probe in flight.
    pub(super) fn mtu_probe_in_flight(&self) -> Option<u64> {
        self.search.as_ref().and_then(|search| search.probe())
    }

    /// Limits the datagrams to what the peer accepts, in bytes.
    pub fn limit_datagram_size(&mut self, most: u64) {
        if let Some(search) = &mut self.search {
            search.limit(most);
        }
        if most < self.path.max_datagram_size {
            self.set_max_datagram_size(most);
        }
        self.use_found_size();
    }

    /// Tells the search which packets have arrived.
    #[inline(never)]
    pub(super) fn search_acked(&mut self, now: Time, out: &AckEffects<T>) {
        let Some(search) = &mut self.search else { return };
        out.scratch.batch.acked.iter().for_each(|packet| search.on_acked(now, packet.pn, packet.bytes));
        self.use_found_size();
    }

    /// Tells the search which packets other than its probe were lost, from index `first` on.
    #[inline(never)]
    pub(super) fn search_lost(&mut self, now: Time, first: usize, out: &AckEffects<T>) {
        let Some(search) = &mut self.search else { return };
        let lost = out.scratch.batch.lost.get(first..).unwrap_or_default();
        lost.iter().for_each(|packet| search.on_lost(now, packet.pn, packet.bytes));
        self.use_found_size();
    }

    /// Sends datagrams of the size that the search has found.
    pub(super) fn use_found_size(&mut self) {
        let size = self.search.as_ref().map(|search| search.size());
        self.stats.datagram_size = size;
        if let Some(size) = size.filter(|size| *size != self.path.max_datagram_size) {
            self.set_max_datagram_size(size);
        }
    }

    /// Removes a lost probe from flight, without telling the controller. Returns the other packets.
    pub(super) fn declare_mtu_probe_lost<'a>(
        &mut self,
        now: Time,
        lost: &'a [(u64, Detection)],
        out: &mut AckEffects<T>,
    ) -> Cow<'a, [(u64, Detection)]> {
        let probe = self.mtu_probe_in_flight();
        let numbers = &self.space.sent.numbers;
        let is_probe = |lost: &&(u64, Detection)| Some(numbers.serial(lost.0)) == probe;
        let Some(&(slot, detection)) = probe.and_then(|_| lost.iter().find(is_probe)) else {
            return Cow::Borrowed(lost);
        };
        let number = numbers.number(slot);
        if let Some((packet, sent)) = self.space.sent.resolve(slot, Status::Lost) {
            self.accounting.bytes_in_flight -= sent.bytes;
            out.lost.push((number, detection, packet.data.clone()));
            self.stats.count_loss(detection);
        }
        if let Some(search) = &mut self.search {
            search.on_probe_lost(now);
        }
        Cow::Owned(lost.iter().filter(|lost| lost.0 != slot).copied().collect())
    }
}
