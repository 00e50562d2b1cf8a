//! What happens next: a tournament over actors, each with one next time.
//!
//! Links and delay lines are FIFOs and every timer belongs to somebody, so one entry per actor is enough: the agenda
//! stays as small as the topology whatever is in flight, nothing is ever cancelled, and an update costs one comparison
//! per level. Ties go to the actor with the lower number: the same on every machine.

use units::Time;

/// The tournament.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// `nodes[1]` is the overall winner; the children of node `n` are `2n` and `2n + 1`, side by side in memory; the actors are
    /// the last half.
    nodes: Vec<Turn>,
}

/// Whose turn comes when. The time stands in every node that the actor has won, so that a match reads its two players alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    time: Time,
    actor: u32,
}

impl Agenda {
    /// For actors `0..count`, none of which has anything to do.
    pub fn new(count: usize) -> Self {
        let size = count.max(2).next_power_of_two();
        let mut nodes = vec![Turn { time: Time::NEVER, actor: 0 }; 2 * size];
        for (actor, leaf) in nodes[size..].iter_mut().enumerate() {
            leaf.actor = actor as u32;
        }
        for node in (1..size).rev() {
            nodes[node] = nodes[2 * node];
        }
        Self { nodes }
    }

    /// The actor whose turn it is, and when; `None` when nobody has anything to do.
    pub fn first(&self) -> Option<(Time, usize)> {
        let Turn { time, actor } = self.nodes[1];
        (time < Time::NEVER).then_some((time, actor as usize))
    }

    /// The actor's next time is `time` from now on.
    pub fn set(&mut self, actor: usize, time: Time) {
        let mut node = self.nodes.len() / 2 + actor;
        if self.nodes[node].time == time {
            return;
        }
        self.nodes[node].time = time;
        while node > 1 {
            let (left, right) = (self.nodes[node & !1], self.nodes[node | 1]);
            let winner = if right.time < left.time { right } else { left };
            node /= 2;
            if self.nodes[node] == winner {
                return; // nothing above has changed
            }
            self.nodes[node] = winner;
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
