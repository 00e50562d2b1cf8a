//! What a sender has decided to send, until it has entered its first link.
//!
//! A sender may be ahead of the links: it decides on packets that leave later, and each waits here for its time. How long the link keeps a
//! packet takes its place until the sender acts again: the flow's record is elsewhere in memory, and is fetched once for all.

use link::Stay;
use units::Time;

use crate::packet::Data;

/// A packet that leaves when [`Data::sent`] says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub(super) data: Data,
    /// It repeats what was sent before.
    pub(super) repeat: bool,
}

#[derive(Debug)]
enum Place {
    Waits(Departure),
    /// It has entered, at this time, and stays so long.
    Entered(Time, Stay),
    /// It has entered or was dropped, and nobody knows how long it stays.
    Gone,
}

/// The packets of one decision, in the order of their times.
#[derive(Debug, Default)]
pub(super) struct Departures {
    places: Vec<Place>,
    /// So many of them have left.
    left: usize,
}

impl Departures {
    #[inline]
    pub(super) fn push(&mut self, data: Data, repeat: bool) {
        self.places.push(Place::Waits(Departure { data, repeat }));
    }

    /// How many there are, those that have left too.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    #[inline]
    fn first(&self) -> Option<&Departure> {
        match self.places.get(self.left)? {
            Place::Waits(departure) => Some(departure),
            Place::Entered(..) | Place::Gone => None,
        }
    }

    /// When the next one leaves.
    #[inline]
    pub(super) fn next(&self) -> Option<Time> {
        self.first().map(|next| next.data.sent)
    }

    /// The next one, if it leaves now. [`Departures::leave`] it.
    #[inline]
    pub(super) fn due(&self, now: Time) -> Option<Departure> {
        self.first().filter(|next| next.data.sent <= now).copied()
    }

    /// The next one has left, for so long where that is known.
    #[inline]
    pub(super) fn leave(&mut self, now: Time, stay: Option<Stay>) {
        if let Some(place) = self.places.get_mut(self.left) {
            *place = stay.map_or(Place::Gone, |stay| Place::Entered(now, stay));
            self.left += 1;
        }
    }

    /// Those that have entered their link, and how long it keeps them. All have left.
    #[inline]
    pub(super) fn take(&mut self) -> impl Iterator<Item = (Time, Stay)> + '_ {
        debug_assert_eq!(self.left, self.places.len());
        self.left = 0;
        self.places.drain(..).filter_map(|place| match place {
            Place::Entered(at, stay) => Some((at, stay)),
            Place::Waits(_) | Place::Gone => None,
        })
    }
}
