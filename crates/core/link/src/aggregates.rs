//! Aggregates of frames with gaps before them, as a station of IEEE 802.11 sends them (A-MPDU).
//!
//! ```text
//! an aggregate begins   max(end of the last one, arrival of its first packet) + gap + uniform[0, backoff]
//! packets that join it  those that have arrived before it begins, in order, up to the limit
//! packet i leaves       begin + (bytes of its packets 1 to i) / PHY rate
//! saturated rate        n S / (gap + backoff / 2 + n S / PHY rate)          n packets of S bytes
//! ```
//!
//! `gap` stands for what every access to the channel costs: the interframe spaces, the preamble,
//! and the block acknowledgement of the last aggregate. `backoff` is the contention window in time,
//! which is constant, because no frame collides. A packet that finds the channel idle waits for a
//! gap and a backoff too.
//!
//! All packets of an aggregate leave the queue when it begins. Each packet leaves the link with its
//! own last bit. A receiver of 802.11 may hold packets back until a missing one is repeated.

use serde::{Deserialize, Serialize};
use units::{Duration, Rate, Rng, Time};

use crate::departure::Departure;
use crate::limit::Limit;

/// Channel that carries aggregates of packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "aggregates"))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AggregateModel {
    /// PHY rate, at which the packets of an aggregate follow each other.
    pub phy: Rate,
    /// Time before each aggregate, default none: interframe spaces, preamble, and the block
    /// acknowledgement of the aggregate before.
    #[serde(default)]
    pub gap: Duration,
    /// Upper end of the random backoff after the gap, uniform from 0; default none.
    #[serde(default)]
    pub backoff: Duration,
    /// Most packets in an aggregate; default `"64 packets"`, the window of a block acknowledgement
    /// of 802.11n.
    #[serde(default = "AggregateModel::default_aggregate")]
    #[cfg_attr(feature = "schema", schemars(with = "String", regex(pattern = r"^\s*[0-9]+\s*packets?\s*$")))]
    pub aggregate: Limit,
}

/// Size of a full packet, for which the saturated rate is computed.
const FULL: u64 = 1500;

impl AggregateModel {
    /// Returns a channel without gaps.
    pub fn plain(phy: Rate) -> Self {
        let (gap, backoff) = (Duration::ZERO, Duration::ZERO);
        Self { phy, gap, backoff, aggregate: Self::default_aggregate() }
    }

    /// Returns the mean rate of a channel for which full packets of 1500 bytes always wait.
    pub fn saturated(&self) -> Rate {
        let bytes = self.most().saturating_mul(FULL);
        Rate::from_delivery(bytes, self.gap + self.backoff / 2 + self.phy.time_for(bytes))
    }

    /// Checks the values.
    ///
    /// # Errors
    /// Returns the first rule that does not hold.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.aggregate {
            _ if self.phy == Rate(0) => Err("`phy` must be at least 1 bit/s".to_owned()),
            Limit::Packets(1..=MOST) => Ok(()),
            other => Err(format!("`aggregate` is {other}, but must be 1 to {MOST} packets")),
        }
    }

    fn most(&self) -> u64 {
        if let Limit::Packets(most) = self.aggregate { most.clamp(1, MOST) } else { MOST }
    }

    fn default_aggregate() -> Limit {
        Limit::Packets(64)
    }
}

/// Most packets in an aggregate: the window of a block acknowledgement of 802.11be.
const MOST: u64 = 1024;

/// Server of the channel.
#[derive(Debug)]
pub(crate) struct AggregateServer {
    model: AggregateModel,
    rng: Rng,
    /// Beginning of the last aggregate that was scheduled.
    begins: Time,
    /// Departure of its last packet.
    ends: Time,
    packets: u64,
    bytes: u64,
}

impl AggregateServer {
    pub(crate) fn new(model: &AggregateModel, rng: Rng) -> Self {
        // As if a full aggregate had just ended.
        let (packets, bytes) = (model.most(), 0);
        Self { model: model.clone(), rng, begins: Time::ZERO, ends: Time::ZERO, packets, bytes }
    }

    /// Returns the beginning of the next aggregate for packets that wait now. `arrives` says that
    /// the first of them has just arrived at an idle channel.
    pub(crate) fn begins(&mut self, now: Time, arrives: bool) -> Time {
        if arrives || self.packets > 0 {
            self.schedule(now);
        }
        self.begins
    }

    /// Reports whether another packet may join the aggregate.
    pub(crate) fn has_room(&self) -> bool {
        self.packets < self.model.most()
    }

    /// Returns the departure of a packet that arrives now.
    pub(crate) fn depart(&mut self, now: Time, size: u32) -> Departure {
        if !self.has_room() || (self.packets > 0 && now >= self.begins) {
            self.schedule(now);
        }
        self.join(size)
    }

    /// Returns the departure of the next packet of an aggregate with room.
    pub(crate) fn join(&mut self, size: u32) -> Departure {
        self.packets += 1;
        self.bytes += u64::from(size);
        self.ends = self.begins + self.model.phy.time_for(self.bytes);
        Departure { begins: Some(self.begins), ..Departure::new(self.ends) }
    }

    fn schedule(&mut self, now: Time) {
        let backoff = Duration(self.rng.below(self.model.backoff.0.saturating_add(1)));
        self.begins = self.ends.max(now) + self.model.gap + backoff;
        (self.packets, self.bytes) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);

    /// Returns a channel of 300 Mbit/s, on which a packet of 1500 bytes takes 40 us.
    fn model(gap: u64, backoff: u64, packets: u64) -> AggregateModel {
        AggregateModel {
            gap: US * gap,
            backoff: US * backoff,
            aggregate: Limit::Packets(packets),
            ..AggregateModel::plain(Rate(300_000_000))
        }
    }

    fn server(model: &AggregateModel) -> AggregateServer {
        AggregateServer::new(model, Rng::stream(1, "l.slots"))
    }

    /// Packets that arrive before the aggregate begins, at 1000 us, join it. One that arrives
    /// at this instant waits for a gap after its end, and so does one that finds it full.
    #[test]
    fn what_joins() {
        let mut s = server(&model(1000, 0, 3));
        let us = |at: u64| Time::ZERO + US * at;
        let mut depart = |at: u64| {
            let departure = s.depart(us(at), 1500);
            (departure.begins.map(|at| at.0 / 1000), departure.at.0 / 1000)
        };
        assert_eq!(depart(0), (Some(1000), 1040));
        assert_eq!(depart(999), (Some(1000), 1080));
        assert_eq!(depart(1000), (Some(2080), 2120));
        assert_eq!([1001, 2079].map(&mut depart), [(Some(2080), 2160), (Some(2080), 2200)]);
        assert_eq!(depart(2079), (Some(3200), 3240), "the fourth");
        assert_eq!(depart(9000), (Some(10_000), 10_040), "an idle channel has a gap too");
    }

    /// A saturated channel carries n S / (gap + backoff / 2 + n S / PHY rate). The mean of k
    /// uniform backoffs has a deviation of backoff / sqrt(12 k).
    #[test]
    fn saturated_rate() {
        for (gap, backoff, n) in [(1000, 500, 32), (100, 0, 1), (0, 2000, 64)] {
            let model = model(gap, backoff, n);
            let mut s = server(&model);
            let aggregates = 20_000;
            let mut end = Time::ZERO;
            for _ in 0..aggregates * n {
                end = s.depart(Time::ZERO, 1500).at;
            }
            let cycle = (end - Time::ZERO).as_secs_f64() / aggregates as f64 * 1e6;
            let closed = gap as f64 + backoff as f64 / 2.0 + n as f64 * 40.0;
            let sigma = backoff as f64 / (12.0 * aggregates as f64).sqrt();
            assert!((cycle - closed).abs() <= 4.0 * sigma + 1e-9, "{cycle}, not {closed}");
            let rate = n as f64 * 12_000.0 / closed * 1e6;
            // Rounded to 1 bit/s, from times rounded to 1 ns.
            assert!((model.saturated().0 as f64 / rate - 1.0).abs() < 1e-5, "{}", model.saturated());
        }
    }

    /// A lone packet waits for the gap and half the backoff on average, and each wait is uniform.
    #[test]
    fn lone_packets() {
        let mut s = server(&model(1000, 500, 32));
        let n = 10_000;
        let waits: Vec<f64> = (0..n)
            .map(|i| {
                let now = Time::ZERO + US * (i * 5000);
                let departure = s.depart(now, 1500);
                assert_eq!(departure.at - departure.begins.unwrap(), US * 40);
                (departure.begins.unwrap() - now).0 as f64 / 1e3
            })
            .collect();
        let mean = waits.iter().sum::<f64>() / n as f64;
        assert!((mean - 1250.0).abs() < 4.0 * 500.0 / (12.0 * n as f64).sqrt(), "{mean}");
        assert!(waits.iter().all(|us| (1000.0..=1500.0).contains(us)));
        let early = waits.iter().filter(|us| **us < 1125.0).count() as f64 / n as f64;
        assert!((early - 0.25).abs() < 4.0 * (0.1875 / n as f64).sqrt(), "{early}");
    }

    /// The sum of bytes is rounded, not each packet: 1000 packets of 7 bytes take 186 667 ns.
    #[test]
    fn no_rounding_adds_up() {
        let mut s = server(&model(0, 0, 1024));
        s.depart(Time::ZERO, 1);
        let all: Vec<_> = (0..1000).map(|_| s.depart(Time::ZERO, 7)).collect();
        let last = all[999];
        assert_eq!(last.at - last.begins.unwrap(), Duration(186_667));
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(model(1, 1, 1).check(), Ok(()));
        assert!(model(1, 1, 0).check().unwrap_err().contains("1 to 1024 packets"));
        let bytes = AggregateModel { aggregate: "48 kB".parse().unwrap(), ..model(1, 1, 1) };
        assert_eq!(bytes.check().unwrap_err(), "`aggregate` is 48 kB, but must be 1 to 1024 packets");
        assert!(AggregateModel { phy: Rate(0), ..model(1, 1, 1) }.check().unwrap_err().contains("phy"));
    }
}
