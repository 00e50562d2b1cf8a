//! The ranges of an ACK as text. An ACK repeats the gaps of those before it, a hundred ranges and
//! more after a loss, so their text is copied.

use super::json::Json;

/// Number of ranges up to which writing is faster than searching.
const FEW: usize = 4;

/// Ranges of the last ACK with more than a few, and their text.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    all: Vec<(u64, u64)>,
    /// Text of all ranges, each after a comma.
    text: Vec<u8>,
    /// End of each range in the text.
    ends: Vec<usize>,
    /// Ends for the ACK being written.
    next: Vec<usize>,
}

impl Ranges {
    /// Writes ranges as an array. `one` writes a range, in the same way for all ACKs of a log.
    pub(super) fn write(&mut self, out: &mut Json, ranges: &[(u64, u64)], one: impl Fn(&mut Json, u64, u64)) {
        if ranges.len() > FEW {
            self.write_many(out, ranges, one);
        } else {
            out.put(b"[");
            for (i, &(from, to)) in ranges.iter().enumerate() {
                if i > 0 {
                    out.put(b",");
                }
                one(out, from, to);
            }
        }
        out.put(b"]");
    }

    #[cold]
    fn write_many(&mut self, out: &mut Json, ranges: &[(u64, u64)], one: impl Fn(&mut Json, u64, u64)) {
        let begin = out.len();
        self.next.clear();
        let (mut done, mut known) = (0, 0);
        while let Some(&(from, to)) = ranges.get(done) {
            known += self.all[known..].iter().take_while(|range| range.0 < from).count();
            let pairs = self.all[known..].iter().zip(&ranges[done..]);
            let same = pairs.take_while(|(known, range)| known == range).count();
            if same == 0 {
                out.put(b",");
                one(out, from, to);
                self.next.push(out.len() - begin);
                done += 1;
                continue;
            }
            let at = known.checked_sub(1).map_or(0, |before| self.ends[before]);
            let its = out.len() - begin;
            let ends = &self.ends[known..known + same];
            out.text(&self.text[at..ends[same - 1]]);
            self.next.extend(ends.iter().map(|end| end - at + its));
            (done, known) = (done + same, known + same);
        }
        self.text.clear();
        self.text.extend_from_slice(&out.written()[begin..]);
        // Replaces the first comma.
        out.patch(begin, b'[');
        std::mem::swap(&mut self.ends, &mut self.next);
        self.all.clear();
        self.all.extend_from_slice(ranges);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(ranges: &[(u64, u64)]) -> String {
        serde_json::to_string(ranges).unwrap()
    }

    /// Ranges as a receiver of lossy traffic repeats them, and in arbitrary order.
    #[test]
    fn as_if_each_was_written_alone() {
        let (mut ranges, mut known, mut state) = (Vec::new(), Ranges::default(), 1_u64);
        let mut dice = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let mut newest = 0;
        for turn in 0..2000 {
            newest += dice(3);
            match dice(8) {
                0 => ranges.push((newest + 2, newest + 2)),
                1 => drop(ranges.drain(..ranges.len().min(2))),
                2 if ranges.len() > 3 => {
                    let at = dice(ranges.len() as u64 - 1) as usize;
                    ranges[at].1 = ranges.remove(at + 1).1;
                }
                3 if turn > 1500 => ranges.reverse(),
                _ => ranges.last_mut().into_iter().for_each(|last| last.1 += 2),
            }
            newest = newest.max(ranges.last().map_or(0, |last| last.1));
            let mut json = Json::default();
            known.write(&mut json, &ranges, |out, from, to| {
                out.put(b"[");
                out.whole(from);
                out.put(b",");
                out.whole(to);
                out.put(b"]");
            });
            assert_eq!(String::from_utf8(json.take()).unwrap(), plain(&ranges));
        }
    }
}
