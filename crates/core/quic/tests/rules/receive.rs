//! The receiving part of a stream: final sizes (RFC 9000 section 4.5), flow control, states.

use ackclock_quic::Code;
use ackclock_quic::streams::{Keep, Read, ReceiveState, ReceiveStream, WindowConfig};
use ackclock_quic::units::{Duration, Time};
use proptest::prelude::*;

const NOW: Time = Time::from_millis(1);
const RTT: Duration = Duration::from_millis(50);
const WINDOW: WindowConfig = WindowConfig { initial: 1000, max: 1000 };

fn stream() -> ReceiveStream {
    ReceiveStream::new(WINDOW, Keep::All)
}

fn code<T>(result: Result<T, ackclock_quic::Error>) -> Result<T, Code> {
    result.map_err(|error| error.code)
}

#[test]
fn states_of_figure_3() {
    let mut stream = stream();
    assert_eq!(stream.state(), ReceiveState::Recv);
    assert_eq!(stream.on_stream(NOW, 3, b"def", true), Ok(6));
    assert_eq!((stream.state(), stream.is_readable()), (ReceiveState::SizeKnown, false));
    assert_eq!(stream.on_stream(NOW, 0, b"abc", false), Ok(0));
    assert_eq!((stream.state(), stream.is_readable()), (ReceiveState::DataRecvd, true));
    // All data has arrived: a reset has no effect.
    assert_eq!(stream.on_reset(NOW, 9, 6), Ok(0));
    let mut out = [0; 4];
    assert_eq!((stream.read(&mut out), &out), (Read::Data(4), b"abcd"));
    assert_eq!((stream.read(&mut out), &out[..2]), (Read::Data(2), &b"ef"[..]));
    assert_eq!((stream.read(&mut out), stream.state()), (Read::End, ReceiveState::DataRead));
    assert!(stream.is_over() && !stream.is_readable());
    assert_eq!(stream.take_consumed(), 6);
}

#[test]
fn final_size_errors() {
    let with_fin = || {
        let mut stream = stream();
        stream.on_stream(NOW, 0, &[0; 10], true).unwrap();
        stream
    };
    let error = Err(Code::FINAL_SIZE_ERROR);
    assert_eq!(code(with_fin().on_stream(NOW, 5, &[0; 6], false)), error);
    assert_eq!(code(with_fin().on_stream(NOW, 0, &[0; 9], true)), error);
    assert_eq!(code(with_fin().on_reset(NOW, 0, 11)), error);
    assert_eq!(code(with_fin().on_stream(NOW, 0, &[0; 10], true)), Ok(0));
    let mut without = stream();
    without.on_stream(NOW, 0, &[0; 10], false).unwrap();
    assert_eq!(code(without.on_stream(NOW, 3, &[], true)), error);
    assert_eq!(code(without.on_reset(NOW, 0, 9)), error);
    // Also once it was reset, or stopped.
    assert_eq!(code(without.on_reset(NOW, 0, 12)), Ok(2));
    assert_eq!(code(without.on_stream(NOW, 12, &[0], false)), error);
    let mut stopped = with_fin();
    stopped.stop(1);
    assert_eq!(code(stopped.on_stream(NOW, 10, &[0], false)), error);
}

#[test]
fn flow_control() {
    let mut stream = stream();
    assert_eq!(code(stream.on_stream(NOW, 999, &[0], false)), Ok(1000));
    assert_eq!(code(stream.on_stream(NOW, 1000, &[0], false)), Err(Code::FLOW_CONTROL_ERROR));
    let mut stream = self::stream();
    stream.on_stream(NOW, 0, &[0; 600], false).unwrap();
    assert_eq!(stream.update(NOW, RTT), None, "nothing was read");
    assert_eq!(stream.read(&mut [0; 600]), Read::Data(600));
    assert_eq!((stream.update(NOW, RTT), stream.granted()), (Some(1600), 1600));
    assert_eq!((stream.take_consumed(), stream.take_consumed()), (600, 0));
    // Once the size is known, no more credit is needed.
    stream.on_stream(NOW, 600, &[0; 900], true).unwrap();
    stream.read(&mut [0; 900]);
    assert_eq!(stream.update(NOW, RTT), None);
    // The final size of a reset counts as received (section 4.5), and as read.
    let mut stream = self::stream();
    assert_eq!(code(stream.on_reset(NOW, 0, 1001)), Err(Code::FLOW_CONTROL_ERROR));
    let mut stream = self::stream();
    assert_eq!((stream.on_reset(NOW, 0, 1000), stream.take_consumed()), (Ok(1000), 1000));
}

#[test]
fn resets() {
    let mut stream = stream();
    stream.on_stream(NOW, 0, b"abc", false).unwrap();
    assert_eq!(stream.on_reset(NOW, 9, 5), Ok(2));
    assert_eq!((stream.state(), stream.memory()), (ReceiveState::ResetRecvd, 0));
    assert!(stream.is_readable());
    assert_eq!(stream.read(&mut [0; 4]), Read::Reset(9));
    assert_eq!(stream.state(), ReceiveState::ResetRead);
    assert!(stream.is_over());
    assert_eq!((stream.on_stream(NOW, 3, b"de", true), stream.memory()), (Ok(0), 0));
}

/// RFC 9000 section 3.2: only a FIN says that all data has arrived. A reset is a reset even if its
/// final size equals the received data, or is zero.
#[test]
fn a_reset_is_no_end() {
    for data in [&b""[..], b"abc"] {
        let mut stream = stream();
        stream.on_stream(NOW, 0, data, false).unwrap();
        assert_eq!(stream.on_reset(NOW, 9, data.len() as u64), Ok(0));
        assert!(stream.is_readable());
        assert_eq!(stream.read(&mut [0; 4]), Read::Reset(9));
        assert!(stream.is_over());
    }
}

#[test]
fn stopping() {
    let mut stream = stream();
    stream.on_stream(NOW, 0, b"abc", false).unwrap();
    stream.stop(4);
    stream.stop(5);
    assert_eq!((stream.next_stop(), stream.next_stop()), (Some(4), None));
    stream.on_stop_lost();
    assert_eq!(stream.next_stop(), Some(4));
    assert_eq!((stream.on_stream(NOW, 3, &[0; 7], false), stream.memory()), (Ok(7), 0));
    assert_eq!((stream.take_consumed(), stream.is_over()), (10, false));
    assert_eq!(stream.on_reset(NOW, 4, 10), Ok(0));
    assert!(stream.is_over());
    // The peer is not asked to stop a stream that has arrived completely.
    let mut whole = self::stream();
    whole.on_stream(NOW, 0, b"abc", true).unwrap();
    whole.stop(4);
    assert_eq!((whole.next_stop(), whole.is_over()), (None, true));
}

#[test]
fn bulk_receivers_read_nothing() {
    for keep in [Keep::Count, Keep::Hash] {
        let mut stream = ReceiveStream::new(WINDOW, keep);
        stream.on_stream(NOW, 500, &[2; 500], true).unwrap();
        stream.on_stream(NOW, 0, &[1; 500], false).unwrap();
        assert_eq!((stream.take_consumed(), stream.read(&mut [])), (1000, Read::End));
        assert!(stream.is_over() && stream.memory() == 0);
        let expected = ring::digest::digest(&ring::digest::SHA256, &[[1; 500], [2; 500]].concat());
        assert_eq!(stream.sha256().is_some(), keep == Keep::Hash);
        assert!(stream.sha256().is_none_or(|sum| sum == expected.as_ref()));
    }
}

/// Content of the model's stream.
fn content(offset: usize) -> u8 {
    (offset * 7 + offset / 256) as u8
}

proptest! {
    /// Overlapping pieces in any order, FIN with the last, reads in between, perhaps a reset. Reads
    /// return the stream's beginning. The end follows its last byte, and a reset is reported only
    /// before all data has arrived.
    #[test]
    fn like_a_plain_model(
        size in 0_usize..900, pieces in prop::collection::vec((0_usize..900, 0_usize..300, 0_usize..200), 0..50),
        reset in prop::option::of(0_usize..50),
    ) {
        let all: Vec<u8> = (0..size).map(content).collect();
        let (mut stream, mut there) = (stream(), vec![false; size]);
        let (mut got, mut fin, mut was_reset) = (Vec::<u8>::new(), false, false);
        for (at, (from, len, read)) in pieces.into_iter().enumerate() {
            let from = from.min(size);
            let to = (from + len).min(size);
            let complete = |there: &[bool], fin: bool| fin && there.iter().all(|there| *there);
            if reset == Some(at) {
                was_reset |= !complete(&there, fin);
                stream.on_reset(NOW, 3, size as u64).unwrap();
                fin = true;
            }
            stream.on_stream(NOW, from as u64, &all[from..to], to == size).unwrap();
            fin |= to == size;
            there[from..to].fill(true);
            let run = there.iter().position(|there| !there).unwrap_or(size);
            let mut out = vec![0; read];
            match stream.read(&mut out) {
                Read::Data(n) => {
                    prop_assert!(!was_reset && n == read.min(run - got.len()));
                    got.extend(&out[..n]);
                }
                Read::Blocked => prop_assert!(!was_reset && (read == 0 || run == got.len())),
                Read::End => prop_assert!(!was_reset && fin && got.len() == size),
                Read::Reset(3) => prop_assert!(was_reset),
                Read::Reset(error) => prop_assert!(false, "{error}"),
            }
            prop_assert_eq!(&got[..], &all[..got.len()]);
        }
    }

    /// Frames in any order: granted and returned bytes never diverge, and at most one
    /// window is stored.
    #[test]
    fn credit_is_neither_lost_nor_made(
        steps in prop::collection::vec((0_u8..8, 0_u64..4000, 0_usize..900), 1..80),
    ) {
        let mut stream = stream();
        let (mut highest, mut consumed) = (0, 0);
        for (what, offset, len) in steps {
            let grown = match what {
                0..=4 => stream.on_stream(NOW, offset, &vec![1; len], what == 4),
                5 => { stream.read(&mut vec![0; len]); Ok(0) }
                6 if len < 20 => { stream.stop(1); Ok(0) }
                7 if len < 20 => stream.on_reset(NOW, 1, offset),
                _ => { stream.update(NOW, RTT); Ok(0) }
            };
            let Ok(grown) = grown else { return Ok(()) };
            highest += grown;
            consumed += stream.take_consumed();
            prop_assert!(consumed <= highest && highest <= stream.granted());
            prop_assert!(stream.memory() <= 3 * (4096 + 512 + 64));
        }
        if stream.is_over() {
            prop_assert_eq!(Some(consumed), stream.final_size());
        }
    }
}
