//! Exit of slow start. Linux tcp_cdg_hystart_update.

use super::Params;
use crate::Ack;
use units::{Duration, Time};

/// Largest distance of the ACKs of a train. Linux tcp_cdg.c.
const TRAIN: Duration = Duration::from_millis(3);
/// Smallest threshold that ends slow start. Linux tcp_cdg.c.
const LEAST: Duration = Duration::from_micros(125);
/// ACKs of a round trip before its RTT may end slow start. Linux tcp_cdg.c.
const MIN_SAMPLES: u64 = 8;

/// State of the hybrid slow start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hybrid {
    min_rtt: Option<Duration>,
    /// Time of the last ACK of the train, and of its first one.
    train: Option<(Time, Time)>,
    samples: u64,
}

impl Hybrid {
    /// Begins a round trip.
    pub(super) fn new_round(&mut self) {
        (self.train, self.samples) = (None, 0);
    }

    /// Reports whether slow start ends. `rtt` is the smallest RTT of the round trip.
    pub(super) fn ended(&mut self, ack: &Ack, rtt: Duration, params: &Params) -> bool {
        let least = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        self.min_rtt = Some(least);
        if params.ack_train && self.train_is_long(ack, (least / 2).max(LEAST)) {
            return true;
        }
        let enough = self.samples >= MIN_SAMPLES;
        self.samples += u64::from(!enough);
        params.delay_exit && enough && rtt > (least + least / 8).max(LEAST)
    }

    fn train_is_long(&mut self, ack: &Ack, limit: Duration) -> bool {
        match self.train.filter(|_| ack.cwnd_limited) {
            None => self.train = Some((ack.now, ack.now)),
            Some((last, first)) if ack.now < last + TRAIN => {
                self.train = Some((ack.now, first));
                return ack.now > first + limit;
            }
            Some(_) => {}
        }
        false
    }
}
