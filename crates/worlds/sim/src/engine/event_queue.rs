//! The event queue: a tournament over actors, each with its next time.
//!
//! Links and delay lines are FIFOs and every timer belongs to an actor, so one entry per actor is
//! enough. The queue is as small as the topology, whatever is in flight. Nothing is ever cancelled,
//! and an update costs one comparison per level. Ties go to the actor with the lower number, which
//! is the same on every machine.
//!
//! Every packet crosses a link, and there are few links. They have a tournament of their own, only
//! a level or two high, however many flows there are.

use units::Time;

/// Tournaments of the few first actors and of the many others.
#[derive(Clone, Debug)]
pub struct EventQueue {
    few: Tournament,
    many: Tournament,
    /// Number of the first of the many.
    first_of_many: usize,
}

impl EventQueue {
    /// Creates a queue for `few` actors followed by `many` others, all idle.
    pub fn new(few: usize, many: usize) -> Self {
        Self { few: Tournament::new(few), many: Tournament::new(many), first_of_many: few }
    }

    /// Returns the next actor and its time, or `None` if all actors are idle.
    #[inline]
    pub fn first(&self) -> Option<(Time, usize)> {
        let (few, many) = (self.few.winner(), self.many.winner());
        let (Turn { time, actor }, before) =
            if many.time < few.time { (many, self.first_of_many) } else { (few, 0) };
        (time < Time::NEVER).then_some((time, before + actor as usize))
    }

    /// Sets the next time of an actor.
    #[inline]
    pub fn set(&mut self, actor: usize, time: Time) {
        match actor.checked_sub(self.first_of_many) {
            None => self.few.set(actor, time),
            Some(actor) => self.many.set(actor, time),
        }
    }
}

/// Tournament over actors by time.
#[derive(Clone, Debug)]
struct Tournament {
    /// Tree of winners: `nodes[1]` is the overall winner. The children of node `n` are `2n` and `2n
    /// + 1`, adjacent in memory. The players are the last half.
    nodes: Vec<Turn>,
}

/// Next time of an actor. Every node that the actor has won stores the time, so that a match reads
/// only its two players.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    time: Time,
    actor: u32,
}

impl Tournament {
    fn new(count: usize) -> Self {
        let size = count.max(1).next_power_of_two();
        let mut nodes = vec![Turn { time: Time::NEVER, actor: 0 }; 2 * size];
        for (actor, leaf) in nodes[size..].iter_mut().enumerate() {
            leaf.actor = actor as u32;
        }
        for node in (1..size).rev() {
            nodes[node] = nodes[2 * node];
        }
        Self { nodes }
    }

    #[inline]
    fn winner(&self) -> Turn {
        self.nodes[1]
    }

    fn set(&mut self, actor: usize, time: Time) {
        let mut node = self.nodes.len() / 2 + actor;
        if self.nodes[node].time == time {
            return;
        }
        // The winner so far is at hand: a level reads only the other player and the old winner.
        let mut winner = Turn { time, actor: self.nodes[node].actor };
        self.nodes[node] = winner;
        while node > 1 {
            let other = self.nodes[node ^ 1];
            let is_right = node % 2 == 1;
            if other.time < winner.time || (is_right && other.time == winner.time) {
                winner = other;
            }
            node /= 2;
            if self.nodes[node] == winner {
                return; // no node above changes
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
        /// Always returns the smallest time, with ties to the lowest number.
        #[test]
        fn like_a_scan(few in 0usize..8, many in 0usize..40, moves in prop::collection::vec((0usize..40, 0u64..50), 1..300)) {
            let count = (few + many).max(1);
            let mut queue = EventQueue::new(count - many, many);
            let mut times = vec![u64::MAX; count];
            for (actor, time) in moves {
                let actor = actor % count;
                let time = if time == 49 { u64::MAX } else { time };
                queue.set(actor, Time(time));
                times[actor] = time;
                let best = (0..count).min_by_key(|&i| times[i]).filter(|&i| times[i] < u64::MAX);
                prop_assert_eq!(queue.first(), best.map(|i| (Time(times[i]), i)));
            }
        }
    }
}
