//! Thousands of damaged captures: no panic, no hang.

use std::time::{Duration, Instant};

use quic::passive::KeyLog;
use units::Rng;

use crate::build::{self, Bytes, RAW};
use crate::recorder::try_read;

const TCP: &[u8] = include_bytes!("../captures/tcp.pcap");
const QUIC: &[u8] = include_bytes!("../captures/quic.pcap");
const KEYS: &str = include_str!("../captures/quic.keys");
/// Number of damaged files of each format.
const FILES: u64 = 2000;
/// Time for all of them, which take two seconds on a machine of 2024 without optimisation.
const PATIENCE: Duration = Duration::from_secs(120);

fn pcapng(pcap: &[u8]) -> Vec<u8> {
    let mut file = Bytes::new(false);
    file.section(false).interface(RAW, &[(2, b"client")]).interface(RAW, &[(9, &[9])]).secrets(KEYS);
    for (n, (at, data)) in build::packets(pcap).into_iter().enumerate() {
        file.packet(n as u32 % 2, at, &data, data.len());
    }
    file.all
}

fn mutate(file: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.below(8) {
        let at = rng.below(file.len() as u64) as usize;
        let length = (rng.below(40) as usize).min(file.len() - at);
        match rng.below(6) {
            0 => file[at] = rng.next_u64() as u8,
            1 => file[at] ^= 1 << rng.below(8),
            2 => drop(file.drain(at..at + length)),
            3 => drop(file.splice(at..at, (0..length).map(|n| n as u8))),
            4 => file[at..at + length].fill([0, 0xff][rng.below(2) as usize]),
            _ => file.extend_from_within(at..at + length),
        }
        if file.is_empty() {
            file.push(0);
        }
    }
    if rng.below(4) == 0 {
        file.truncate(1 + rng.below(file.len() as u64) as usize);
    }
}

fn read_all(name: &str, originals: &[Vec<u8>]) {
    let keys = KeyLog::parse(KEYS);
    let mut rng = Rng::stream(48, name);
    let (begin, mut read) = (Instant::now(), 0);
    for n in 0..FILES {
        let mut file = originals[n as usize % originals.len()].clone();
        mutate(&mut file, &mut rng);
        read += u64::from(try_read(&file, Some(&keys)).is_ok_and(|all| !all.is_empty()));
    }
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    // Most mutations leave a file that can be read in part.
    assert!(read > FILES / 2, "{read} of {FILES}");
}

#[test]
fn damaged_pcap() {
    read_all("pcap", &[TCP.to_vec(), QUIC.to_vec()]);
}

#[test]
fn damaged_pcapng() {
    read_all("pcapng", &[pcapng(TCP), pcapng(QUIC)]);
}

/// Every beginning of a file.
#[test]
fn truncated_files() {
    for file in [TCP.to_vec(), pcapng(TCP)] {
        for length in 0..file.len() {
            let _ = try_read(&file[..length], None);
        }
    }
}
