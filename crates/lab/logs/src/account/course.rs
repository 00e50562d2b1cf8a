//! Values over time in bounded memory: at most [`MOST`] moments, evenly spread.

use super::table::Clock;
use scenario::{FlowSample, FlowSampler, FlowSeries};
use units::{Duration, Rate, Time};

use crate::thin::keep_last;

/// Largest number of moments that are kept.
const MOST: usize = 1 << 14;
/// First distance between two moments.
const FINEST: Duration = Duration::from_micros(500);

/// Values of a flow at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moment {
    pub(super) at: Time,
    pub(super) cwnd: Option<u64>,
    pub(super) bytes_in_flight: Option<u64>,
    pub(super) pacing_rate: Option<u64>,
    pub(super) smoothed_rtt: Option<Duration>,
    pub(super) latest_rtt: Option<Duration>,
    /// Stream bytes delivered since the start.
    pub(super) delivered: u64,
    /// Packets declared lost and packets repeated since the start.
    pub(super) lost: Option<u64>,
    pub(super) repeated: Option<u64>,
    pub(super) ce: Option<u64>,
}

/// Moments in order of time. When there are too many, every other one is dropped, and their
/// distance doubles.
#[derive(Clone, Debug)]
pub(super) struct Course {
    moments: Vec<Moment>,
    distance: Duration,
}

impl Default for Course {
    fn default() -> Self {
        Self { moments: Vec::new(), distance: FINEST }
    }
}

impl Course {
    /// Adds the values from this time on.
    pub(super) fn add(&mut self, moment: Moment) {
        let place = |at: Time, distance: Duration| at.0 / distance.0.max(1);
        match self.moments.last_mut() {
            Some(last) if place(last.at, self.distance) >= place(moment.at, self.distance) => {
                *last = Moment { at: last.at.max(moment.at), ..moment };
            }
            _ => self.moments.push(moment),
        }
        while self.moments.len() > MOST {
            self.distance = self.distance * 2;
            let distance = self.distance;
            // Of each interval the last values stay.
            keep_last(&mut self.moments, |moment| place(moment.at, distance));
        }
    }

    /// Reports whether the congestion window is known at any time.
    pub(super) fn has_window(&self) -> bool {
        self.moments.iter().any(|moment| moment.cwnd.is_some())
    }

    /// Takes over what arrived from the receiver's course. The sender knows all other values.
    pub(super) fn take_arrivals(&mut self, other: &Self, clock: Clock) {
        for moment in &mut self.moments {
            let here = clock.at_receiver(moment.at);
            let at = other.moments.partition_point(|known| known.at.0.cast_signed() <= here);
            moment.delivered = at.checked_sub(1).map_or(0, |at| other.moments[at].delivered);
            moment.ce = at.checked_sub(1).and_then(|at| other.moments[at].ce);
        }
    }

    /// Returns the columns at the end of each interval, for a flow that ran from `start` to `end`.
    pub(super) fn columns(&self, interval: Duration, ticks: u64, (start, end): (Time, Time)) -> FlowSeries {
        let (mut sampler, mut next) = (FlowSampler::default(), 0);
        let mut now = Moment::default();
        for number in 1..=ticks {
            let tick = Time::ZERO + interval * number;
            while let Some(moment) = self.moments.get(next).filter(|moment| moment.at <= tick) {
                now = *moment;
                next += 1;
            }
            let sample = FlowSample {
                running: start <= tick && tick <= end,
                cwnd: now.cwnd,
                bytes_in_flight: now.bytes_in_flight,
                pacing_rate: now.pacing_rate.map(Rate),
                smoothed_rtt: now.smoothed_rtt,
                latest_rtt: now.latest_rtt,
                delivered: now.delivered,
                made: None,
                owd: None,
                lost: now.lost,
                repeated: now.repeated,
                ce: now.ce,
            };
            sampler.sample((number - 1) as u32, interval, &sample, |_| {});
        }
        sampler.take(ticks as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second of packets every 10 us is 100 000 moments. The last value of each interval stays.
    #[test]
    fn memory_is_bounded_and_the_newest_value_counts() {
        let mut course = Course::default();
        for i in 0..10_000_000_u64 {
            course.add(Moment { at: Time(i * 10_000), delivered: i + 1, ..Moment::default() });
        }
        assert!(course.moments.len() <= MOST && course.moments.len() > MOST / 4);
        let columns = course.columns(Duration::from_secs(10), 10, (Time::ZERO, Time::NEVER));
        let goodput = columns.goodput_mbit_s.to_vec();
        // A byte every 10 us is 0.8 Mbit/s. A moment lasts up to 16 ms.
        assert!(goodput.iter().all(|rate| (rate / 0.8 - 1.0).abs() < 0.002), "{goodput:?}");
    }
}
