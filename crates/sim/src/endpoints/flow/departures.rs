//! What a sender has decided to send, until it has entered its first link.
//!
//! A sender may be ahead of the links: it decides on packets that leave later, and each waits here for its time. How long the link keeps a
//! packet stays with it until the sender acts again: the flow's record is elsewhere in memory, and is fetched once for all.

use link::Stay;
use units::Time;

use crate::packet::Data;

/// A packet that leaves when [`Data::sent`] says.
#[derive(Debug)]
pub(super) struct Departure {
    pub(super) data: Data,
    /// It repeats what was sent before.
    pub(super) repeat: bool,
    /// How long its first link keeps it, once that is known.
    pub(super) stay: Option<Stay>,
}

/// The packets of one decision, in the order of their times.
#[derive(Debug, Default)]
pub(super) struct Departures {
    packets: Vec<Departure>,
    /// So many of them are on their first link.
    entered: usize,
}

impl Departures {
    #[inline]
    pub(super) fn push(&mut self, data: Data, repeat: bool) {
        self.packets.push(Departure { data, repeat, stay: None });
    }

    /// How many there are, those that have left too.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    /// When the next one leaves.
    #[inline]
    pub(super) fn next(&self) -> Option<Time> {
        self.packets.get(self.entered).map(|next| next.data.sent)
    }

    /// The next one, if it leaves now.
    #[inline]
    pub(super) fn leaving(&mut self, now: Time) -> Option<&mut Departure> {
        let next = self.packets.get_mut(self.entered).filter(|next| next.data.sent <= now)?;
        self.entered += 1;
        Some(next)
    }

    /// Those that have left, and how long their links keep them where that is known. All have left.
    #[inline]
    pub(super) fn take(&mut self) -> impl Iterator<Item = (Time, Stay)> + '_ {
        debug_assert_eq!(self.entered, self.packets.len());
        self.entered = 0;
        self.packets.drain(..).filter_map(|packet| packet.stay.map(|stay| (packet.data.sent, stay)))
    }
}
