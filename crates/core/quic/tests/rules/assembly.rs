//! Reassembly compared with a simple model.

use ackclock_quic::streams::{Assembler, Keep};
use proptest::prelude::*;
use ring::digest::{SHA256, digest};

/// Content of the stream.
fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + at / 256) as u8).collect()
}

proptest! {
    /// Random overlapping pieces. The readable bytes are the run from the front, and they are
    /// correct.
    #[test]
    fn random_pieces(
        pieces in prop::collection::vec((0_usize..20_000, prop_oneof![1_usize..4, 1_usize..5_000], 0_usize..6_000), 1..60),
    ) {
        let all = content(25_000);
        let (mut kept, mut counted, mut hashed) =
            (Assembler::new(Keep::All), Assembler::new(Keep::Count), Assembler::new(Keep::Hash));
        let (mut there, mut out) = (vec![false; all.len()], Vec::<u8>::new());
        for (from, len, read) in pieces {
            let piece = &all[from..from + len];
            for assembler in [&mut kept, &mut counted, &mut hashed] {
                assembler.insert(from as u64, piece);
            }
            there[from..from + len].fill(true);
            let run = there.iter().position(|there| !there).unwrap_or(there.len());
            prop_assert_eq!(kept.ready_to(), run as u64);
            prop_assert_eq!(counted.read_to(), run as u64);
            prop_assert_eq!(hashed.read_to(), run as u64);
            let last = there.iter().rposition(|there| *there).unwrap();
            prop_assert_eq!(counted.has_beyond(), last >= run);
            let mut buf = vec![0; read];
            let n = kept.read(&mut buf);
            prop_assert_eq!(n, read.min(run - out.len()));
            out.extend(&buf[..n]);
        }
        prop_assert_eq!(&out[..], &all[..out.len()]);
        let run = hashed.read_to() as usize;
        let expected = digest(&SHA256, &all[..run]);
        prop_assert_eq!(&hashed.sha256().unwrap()[..], expected.as_ref());
    }

    /// Every byte as a separate piece, in any order.
    #[test]
    fn one_byte_pieces(order in Just((0..700_usize).collect::<Vec<_>>()).prop_shuffle(), at in 0_usize..8_000) {
        let all = content(9_000);
        let mut assembler = Assembler::default();
        assembler.insert(0, &all[..at]);
        let mut out = vec![0; at];
        prop_assert_eq!(assembler.read(&mut out), at);
        for place in order {
            assembler.insert((at + place) as u64, &all[at + place..=at + place]);
        }
        let mut out = vec![0; 800];
        prop_assert_eq!(assembler.read(&mut out), 700);
        prop_assert_eq!(&out[..700], &all[at..at + 700]);
    }
}

/// The worst case within a peer's credit: every other byte, each in its own frame.
#[test]
fn memory_is_bounded_by_the_window_and_not_by_gaps() {
    const WINDOW: u64 = 1 << 20;
    let pages = WINDOW / 4096;
    for (keep, bound) in [(Keep::All, WINDOW + WINDOW / 8), (Keep::Count, WINDOW / 8)] {
        let mut assembler = Assembler::new(keep);
        for offset in (1..WINDOW).step_by(2) {
            assembler.insert(offset, &[1]);
        }
        assert_eq!(assembler.ready_to(), 0);
        assert!((assembler.memory() as u64) <= bound + 64 * pages, "{} bytes", assembler.memory());
        for offset in (0..WINDOW).step_by(2) {
            assembler.insert(offset, &[1]);
        }
        assert_eq!(assembler.ready_to(), WINDOW);
        let mut out = vec![0; WINDOW as usize];
        assembler.read(&mut out);
        assert_eq!((assembler.memory(), assembler.has_beyond()), (0, false));
    }
}

#[test]
fn bulk_in_order_holds_no_more_than_a_page() {
    let mut assembler = Assembler::new(Keep::Hash);
    for piece in 0..10_000_u64 {
        assembler.insert(piece * 1200, &[7; 1200]);
        assert_eq!(assembler.memory(), 0);
    }
    let expected = digest(&SHA256, &vec![7; 12_000_000]);
    assert_eq!(&assembler.sha256().unwrap()[..], expected.as_ref());
}
