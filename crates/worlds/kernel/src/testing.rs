//! Helpers for tests: which programs, maps and links the kernel has, and which a process holds.

use std::collections::BTreeSet;
use std::fs;

use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};

/// Kind and number of a program, map or link in the kernel. The kinds are `prog_id`, `map_id` and
/// `link_id`, as in `/proc/PID/fdinfo`.
pub type Object = (&'static str, u32);

/// Lists the programs, maps and links of all processes.
pub fn objects() -> BTreeSet<Object> {
    let programs = ProgInfoIter::default().map(|program| ("prog_id", program.id));
    let maps = MapInfoIter::default().map(|map| ("map_id", map.id));
    let links = LinkInfoIter::default().map(|link| ("link_id", link.id));
    programs.chain(maps).chain(links).collect()
}

/// Lists the programs, maps and links that a process has open.
pub fn held_by(process: u32) -> BTreeSet<Object> {
    let entries = fs::read_dir(format!("/proc/{process}/fdinfo"));
    let files = entries.into_iter().flatten().flatten();
    let texts = files.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    texts.flat_map(|text| text.lines().filter_map(object).collect::<Vec<_>>()).collect()
}

/// Reads a line of `fdinfo`.
fn object(line: &str) -> Option<Object> {
    let (key, number) = line.split_once(':')?;
    let kind = ["prog_id", "map_id", "link_id"].into_iter().find(|kind| *kind == key)?;
    Some((kind, number.trim().parse().ok()?))
}
