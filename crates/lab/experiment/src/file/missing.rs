//! Keys that readers expect from other tools and that do not exist, with what to write instead.

/// Each missing key, and what comes closest to it.
const INSTEAD: &[(&str, &str)] = &[
    ("trace", "a recorded link is a rate; write rate = { trace = \"verizon.down\" }"),
    ("gilbert", BURSTS),
    ("gemodel", BURSTS),
];

/// Advice for losses in bursts.
pub(super) const BURSTS: &str = "losses in bursts are a table: write loss = { p = \"1 %\", r = \"10 %\" } for \
     changes after a packet, as in tc's gemodel, or loss = { bad-time = \"17 ms\", good-time = \
     \"600 ms\" } for changes in time";

/// Returns what to write instead of a key that does not exist.
pub(super) fn instead(key: &str) -> Option<&'static str> {
    INSTEAD.iter().find(|(missing, _)| *missing == key).map(|(_, instead)| *instead)
}
