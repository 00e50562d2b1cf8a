//! What happens next: a tournament over actors, each with one next time.
//!
//! Links and delay lines are FIFOs and every timer belongs to somebody, so one entry per actor is enough: the queue
//! stays as small as the topology whatever is in flight, nothing is ever cancelled, and an update costs one comparison
//! per level. Ties go to the actor with the lower number: the same on every machine.
//!
//! Every packet crosses a link, and there are few of them: they play among themselves, a level or two high however many
//! flows there are.

use units::Time;

/// The tournaments of the first few actors and of the many others.
#[derive(Clone, Debug)]
pub struct EventQueue {
    few: Tournament,
    many: Tournament,
    /// The first of the many.
    first_of_many: usize,
}

impl EventQueue {
    /// For `few` actors and behind them `many` others, none of which has anything to do.
    pub fn new(few: usize, many: usize) -> Self {
        Self { few: Tournament::new(few), many: Tournament::new(many), first_of_many: few }
    }

    /// The actor whose turn it is, and when; `None` when nobody has anything to do.
    #[inline]
    pub fn first(&self) -> Option<(Time, usize)> {
        let (few, many) = (self.few.winner(), self.many.winner());
        let (Turn { time, actor }, before) =
            if many.time < few.time { (many, self.first_of_many) } else { (few, 0) };
        (time < Time::NEVER).then_some((time, before + actor as usize))
    }

    /// The actor's next time is `time` from now on.
    #[inline]
    pub fn set(&mut self, actor: usize, time: Time) {
        match actor.checked_sub(self.first_of_many) {
            None => self.few.set(actor, time),
            Some(actor) => self.many.set(actor, time),
        }
    }
}

/// One tournament.
#[derive(Clone, Debug)]
struct Tournament {
    /// `nodes[1]` is the overall winner; the children of node `n` are `2n` and `2n + 1`, side by side in memory; the players are
    /// the last half.
    nodes: Vec<Turn>,
}

/// Whose turn comes when. The time stands in every node that the actor has won, so that a match reads its two players alone.
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
        // Who has won so far is at hand: a level costs a look at the other player and one at the old winner.
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
