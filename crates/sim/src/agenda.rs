//! What happens next: a tournament over actors, each with one next time.
//!
//! Links and delay lines are FIFOs and every timer belongs to somebody, so one entry per actor is enough: the agenda
//! stays as small as the topology whatever is in flight, nothing is ever cancelled, and an update costs one comparison
//! per level. Ties go to the actor with the lower number: the same on every machine.

use congestion::Time;

/// The tournament.
#[derive(Clone, Debug)]
pub struct Agenda {
    times: Vec<Time>,
    /// `winners[1]` is the overall winner; the children of node `n` are `2n` and `2n + 1`; leaves follow the nodes.
    winners: Vec<u32>,
}

impl Agenda {
    /// For actors `0..count`, none of which has anything to do.
    pub fn new(count: usize) -> Self {
        let size = count.max(2).next_power_of_two();
        let mut winners = vec![0; 2 * size];
        for (actor, leaf) in winners[size..].iter_mut().enumerate() {
            *leaf = actor as u32;
        }
        for node in (1..size).rev() {
            winners[node] = winners[2 * node];
        }
        Self { times: vec![Time::NEVER; size], winners }
    }

    /// The actor whose turn it is, and when; `None` when nobody has anything to do.
    pub fn first(&self) -> Option<(Time, usize)> {
        let actor = self.winners[1] as usize;
        let time = self.times[actor];
        (time < Time::NEVER).then_some((time, actor))
    }

    /// The actor's next time is `time` from now on.
    pub fn set(&mut self, actor: usize, time: Time) {
        if self.times[actor] == time {
            return;
        }
        self.times[actor] = time;
        let mut node = (self.times.len() + actor) / 2;
        while node >= 1 {
            let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
            let winner = if self.times[right as usize] < self.times[left as usize] { right } else { left };
            let before = std::mem::replace(&mut self.winners[node], winner);
            if before == winner && winner as usize != actor {
                return; // nothing above has changed
            }
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Always the smallest time, ties to the lowest number.
        #[test]
        fn like_a_scan(count in 1usize..40, moves in prop::collection::vec((0usize..40, 0u64..50), 1..300)) {
            let mut agenda = Agenda::new(count);
            let mut times = vec![u64::MAX; count];
            for (actor, time) in moves {
                let actor = actor % count;
                let time = if time == 49 { u64::MAX } else { time };
                agenda.set(actor, Time(time));
                times[actor] = time;
                let best = (0..count).min_by_key(|&i| times[i]).filter(|&i| times[i] < u64::MAX);
                prop_assert_eq!(agenda.first(), best.map(|i| (Time(times[i]), i)));
            }
        }
    }
}
