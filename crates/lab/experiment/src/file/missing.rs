//! Keys that readers expect from other tools and that do not exist, with what to write instead.

/// Each missing key, and what comes closest to it.
const INSTEAD: &[(&str, &str)] =
    &[("trace", "a recorded link is a rate; write rate = { trace = \"verizon.down\" }"), ("gilbert", BURSTS)];

/// Advice for losses in bursts.
pub(super) const BURSTS: &str = "`loss` is one probability for every packet, like \"0.1 %\"; for losses \
     in bursts write their times, blackhole = [[\"2 s\", \"2.017 s\"]], or the numbers of the \
     packets, drop = [100, 101, 102]; both are the same in every repetition";

/// Returns what to write instead of a key that does not exist.
pub(super) fn instead(key: &str) -> Option<&'static str> {
    INSTEAD.iter().find(|(missing, _)| *missing == key).map(|(_, instead)| *instead)
}
