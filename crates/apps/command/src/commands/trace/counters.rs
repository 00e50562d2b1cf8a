//! The kernel's TCP counters of this network namespace.

use std::collections::BTreeMap;
use std::fs;

/// Counters that are compared with those of the flows.
pub(super) const NAMES: [&str; 4] = ["RetransSegs", "TCPTimeouts", "TCPLossProbes", "TCPLossProbeRecovery"];

/// Counters by name.
#[derive(Debug, Default)]
pub(super) struct Counters(BTreeMap<String, u64>);

impl Counters {
    /// Reads the counters. Those that the kernel does not have are missing.
    pub(super) fn read() -> Self {
        let text =
            ["/proc/net/snmp", "/proc/net/netstat"].map(|file| fs::read_to_string(file).unwrap_or_default());
        Self(text.iter().flat_map(|text| parse(text)).collect())
    }

    /// Returns the increase of a counter since `before`.
    pub(super) fn since(&self, before: &Self, name: &str) -> Option<u64> {
        Some(self.0.get(name)?.saturating_sub(*before.0.get(name)?))
    }
}

/// Parses pairs of lines: names, then values.
fn parse(text: &str) -> impl Iterator<Item = (String, u64)> {
    let lines: Vec<&str> = text.lines().collect();
    let pairs = lines.chunks_exact(2).flat_map(|pair| {
        let values = pair[1].split_whitespace();
        pair[0]
            .split_whitespace()
            .zip(values)
            .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
    });
    pairs.collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_tables() {
        let table = |retrans| format!("Ip: A B\nIp: 1 2\nTcp: RetransSegs X\nTcp: {retrans} -1\nTcpExt: odd");
        let [before, after] = [7, 9].map(|retrans| Counters(parse(&table(retrans)).collect()));
        assert_eq!(after.since(&before, "RetransSegs"), Some(2));
        assert_eq!((after.since(&before, "X"), after.since(&before, "A")), (None, Some(0)));
        assert!(NAMES.iter().all(|name| Counters::read().0.contains_key(*name)));
    }
}
