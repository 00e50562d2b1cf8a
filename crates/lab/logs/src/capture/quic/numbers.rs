//! Packet numbers of one end that were captured, and those that the other end acknowledged.

use crate::capture::ranges::Ranges;

#[derive(Debug, Default)]
pub(super) struct Numbers {
    captured: Ranges,
    /// First number above all that were acknowledged.
    high: u64,
    /// Acknowledged numbers that are not checked yet.
    waiting: Vec<(u64, u64)>,
}

impl Numbers {
    pub(super) fn on_packet(&mut self, number: u64) {
        self.captured.insert(number, number.saturating_add(1));
    }

    /// Receives the ranges of an ACK. Returns how many numbers of the ACK before it were not
    /// captured: packets that are captured shortly behind their ACK count as well.
    pub(super) fn on_ack(&mut self, ranges: &[(u64, u64)]) -> u64 {
        let missing = self.waiting.drain(..).map(|(start, end)| self.captured.missing_in(start, end)).sum();
        self.captured.missing_below(self.high);
        let high = self.high;
        let new = ranges.iter().map(|(first, last)| (high.max(*first), last.saturating_add(1)));
        self.waiting.extend(new.filter(|(start, end)| start < end));
        self.high = self.waiting.iter().map(|range| range.1).max().unwrap_or(high);
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_the_capture_missed() {
        let mut numbers = Numbers::default();
        [0, 1, 3].into_iter().for_each(|number| numbers.on_packet(number));
        // Packet 2 was lost, and 4 and 5 are captured behind the ACK.
        assert_eq!(numbers.on_ack(&[(0, 1), (3, 4)]), 0);
        numbers.on_packet(4);
        numbers.on_packet(6);
        assert_eq!(numbers.on_ack(&[(0, 1), (3, 6)]), 0);
        assert_eq!(numbers.on_ack(&[(0, 9)]), 1, "packet 5");
        assert_eq!(numbers.on_ack(&[]), 3, "packets 7 to 9");
        assert_eq!(numbers.on_ack(&[(u64::MAX, u64::MAX)]), 0);
    }
}
