//! The sending part of a stream over a network that loses, duplicates and reorders.

use ackclock_quic::streams::pattern;
use ackclock_quic::streams::send::Closed;
use ackclock_quic::streams::{Assembler, Chunk, SendState, SendStream};
use proptest::prelude::*;

/// Sends a pending chunk. Returns it with its bytes.
fn send(stream: &mut SendStream, max: usize) -> Option<(Chunk, Vec<u8>)> {
    let (chunk, _) = stream.next(max, u64::MAX)?;
    let mut data = vec![0; chunk.len];
    stream.copy(chunk.offset, &mut data);
    Some((chunk, data))
}

proptest! {
    /// With losses, delays and spurious losses: all bytes arrive unchanged, and the stream ends.
    #[test]
    fn all_arrives(
        total in 0_usize..9_000, steps in prop::collection::vec((0_u8..6, 1_usize..700, any::<prop::sample::Index>()), 0..200),
        virtual_bytes: bool,
    ) {
        let mut all = vec![0; total];
        pattern::fill(0, &mut all);
        let mut stream = if virtual_bytes { SendStream::finished_pattern(1 << 30, total as u64) } else { SendStream::new(1 << 30, 3000) };
        let (mut written, mut receiver, mut flying) = (0, Assembler::default(), Vec::<Chunk>::new());
        let mut lost = Vec::new();
        let mut fin = None;
        let finish = |stream: &mut SendStream, written: &mut usize| {
            if !virtual_bytes && *written < total {
                *written += stream.write(&all[*written..]).unwrap();
            }
            if !virtual_bytes && *written == total {
                let _ = stream.finish();
            }
        };
        let mut arrive = |chunk: Chunk, data: &[u8]| {
            receiver.insert(chunk.offset, data);
            fin = fin.or(chunk.fin.then_some(chunk.range().end));
        };
        for (what, size, which) in steps {
            finish(&mut stream, &mut written);
            match what {
                0..=2 => if let Some((chunk, data)) = send(&mut stream, size) {
                    prop_assert!(chunk.len <= size);
                    prop_assert_eq!(&data[..], &all[chunk.offset as usize..][..chunk.len]);
                    // Half of the packets arrive, whatever the sender believes.
                    if size % 2 == 0 { arrive(chunk, &data); flying.push(chunk); } else { lost.push(chunk); }
                },
                3 if !flying.is_empty() => stream.on_acked(flying.swap_remove(which.index(flying.len()))),
                // Declared lost although it arrived, and perhaps acknowledged later.
                4 if !flying.is_empty() => stream.on_lost(flying[which.index(flying.len())]),
                5 if !lost.is_empty() => stream.on_lost(lost.swap_remove(which.index(lost.len()))),
                _ => {}
            }
        }
        lost.into_iter().for_each(|chunk| stream.on_lost(chunk));
        for _ in 0..20_000 {
            finish(&mut stream, &mut written);
            flying.drain(..).for_each(|chunk| stream.on_acked(chunk));
            if stream.is_over() { break; }
            if let Some((chunk, data)) = send(&mut stream, 1000) {
                arrive(chunk, &data);
                flying.push(chunk);
            }
        }
        prop_assert_eq!(stream.state(), SendState::DataRecvd);
        prop_assert_eq!((fin, receiver.ready_to()), (Some(total as u64), total as u64));
        let mut out = vec![0; total];
        receiver.read(&mut out);
        prop_assert_eq!(out, all);
    }
}

#[test]
fn lost_bytes_go_first_and_fin_with_the_last() {
    let mut stream = SendStream::new(1000, 1000);
    assert_eq!(stream.state(), SendState::Ready);
    stream.write(&[1; 300]).unwrap();
    let (first, _) = stream.next(100, 1000).unwrap();
    let (second, new) = stream.next(100, 1000).unwrap();
    assert_eq!((second.offset, second.len, second.fin, new), (100, 100, false, 100));
    stream.on_lost(first);
    stream.finish().unwrap();
    assert_eq!(stream.write(&[1]), Err(Closed::Finished));
    assert_eq!(stream.next(60, 1000), Some((Chunk { offset: 0, len: 60, fin: false }, 0)));
    assert_eq!(stream.next(60, 1000), Some((Chunk { offset: 60, len: 40, fin: false }, 0)));
    let last = Chunk { offset: 200, len: 100, fin: true };
    assert_eq!(stream.next(600, 1000), Some((last, 100)));
    assert_eq!((stream.state(), stream.next(600, 1000)), (SendState::DataSent, None));
    // FIN is part of the lost data.
    stream.on_lost(last);
    assert!(stream.has_pending(0));
    assert_eq!(stream.next(600, 0), Some((last, 0)));
    // Alone, when everything else has arrived.
    stream.on_acked(Chunk { offset: 0, len: 300, fin: false });
    stream.on_lost(last);
    assert_eq!(stream.next(600, 0), Some((Chunk { offset: 300, len: 0, fin: true }, 0)));
    stream.on_acked(last);
    assert!(stream.is_over());
    // Nothing later changes that.
    stream.reset(1);
    assert_eq!((stream.state(), stream.next_reset()), (SendState::DataRecvd, None));
}

#[test]
fn credit_of_stream_and_connection() {
    let mut stream = SendStream::new(100, 1000);
    assert_eq!(stream.blocked(), None, "nothing is held back");
    assert_eq!(stream.write(&[0; 2000]), Ok(1000));
    assert_eq!(stream.next(500, 30), Some((Chunk { offset: 0, len: 30, fin: false }, 30)));
    assert!(!stream.has_pending(0) && stream.has_pending(1));
    assert_eq!(stream.next(500, 500), Some((Chunk { offset: 30, len: 70, fin: false }, 70)));
    assert_eq!(stream.next(500, 500), None);
    assert_eq!((stream.blocked(), stream.blocked()), (Some(100), None));
    // Lost data needs no credit.
    stream.on_lost(Chunk { offset: 10, len: 20, fin: false });
    assert_eq!(stream.next(500, 0), Some((Chunk { offset: 10, len: 20, fin: false }, 0)));
    stream.on_max_stream_data(150);
    stream.on_max_stream_data(120);
    assert_eq!(stream.next(500, 500), Some((Chunk { offset: 100, len: 50, fin: false }, 50)));
    assert_eq!(stream.blocked(), Some(150));
}

#[test]
fn reset_and_stop_sending() {
    let mut stream = SendStream::new(1000, 1000);
    stream.write(&[0; 500]).unwrap();
    let (chunk, _) = stream.next(200, 1000).unwrap();
    stream.on_stop_sending(7);
    stream.reset(8);
    assert_eq!((stream.stopped(), stream.write(&[1])), (Some(7), Err(Closed::Reset(7))));
    // The final size is what was sent, not what was written.
    assert_eq!((stream.next_reset(), stream.next_reset()), (Some((7, 200)), None));
    stream.on_lost(chunk);
    assert_eq!((stream.next(100, 1000), stream.has_pending(1000)), (None, false));
    stream.on_reset_lost();
    assert_eq!(stream.next_reset(), Some((7, 200)));
    stream.on_acked(chunk);
    assert_eq!(stream.state(), SendState::ResetSent);
    stream.on_reset_acked();
    stream.on_reset_lost();
    assert_eq!((stream.state(), stream.next_reset()), (SendState::ResetRecvd, None));
}

/// A gigabyte takes no memory, and its bookkeeping is as small as the number of holes.
#[test]
fn a_large_virtual_stream() {
    let mut stream = SendStream::finished_pattern(u64::MAX >> 2, 1 << 40);
    let mut sent = Vec::new();
    for _ in 0..1000 {
        sent.push(stream.next(1200, 1 << 50).unwrap().0);
    }
    sent.iter().skip(1).step_by(2).for_each(|chunk| stream.on_acked(*chunk));
    sent.iter().step_by(2).for_each(|chunk| stream.on_lost(*chunk));
    let again: Vec<_> = (0..500).map(|_| stream.next(1200, 0).unwrap().0).collect();
    assert!(again.iter().eq(sent.iter().step_by(2)));
    assert_eq!(stream.next(1200, 0), None);
}

#[test]
fn a_pattern_that_grows() {
    let mut stream = SendStream::open_pattern(1 << 20, 100);
    assert_eq!(stream.next(500, 1000).map(|(chunk, _)| chunk.len), Some(100));
    assert_eq!(stream.next(500, 1000), None);
    stream.offer(150).unwrap();
    assert_eq!((stream.write(&[1; 9]), stream.room()), (Ok(0), 0));
    stream.finish().unwrap();
    assert_eq!(stream.next(500, 1000), Some((Chunk { offset: 100, len: 50, fin: true }, 50)));
    assert_eq!(stream.offer(151), Err(Closed::Finished));
}

/// An offer can be withdrawn, except for what was sent. Lost data is still sent again.
#[test]
fn a_pattern_that_is_withheld() {
    let mut stream = SendStream::open_pattern(1 << 20, 25);
    let (first, _) = stream.next(10, 1000).unwrap();
    stream.offer(0).unwrap();
    assert!(!stream.has_pending(1000));
    stream.on_lost(first);
    assert_eq!(stream.next(500, 1000), Some((first, 0)));
    assert_eq!(stream.next(500, 1000), None);
    stream.offer(15).unwrap();
    assert_eq!(stream.next(500, 1000), Some((Chunk { offset: 10, len: 5, fin: false }, 5)));
}

/// A FIN that was acknowledged need not be sent again with retransmitted bytes.
#[test]
fn fin_is_acknowledged_once() {
    let mut stream = SendStream::new(1000, 1000);
    stream.write(&[1; 100]).unwrap();
    let (data, _) = stream.next(100, 1000).unwrap();
    stream.finish().unwrap();
    let (fin, _) = stream.next(100, 1000).unwrap();
    assert_eq!((data.fin, fin), (false, Chunk { offset: 100, len: 0, fin: true }));
    stream.on_acked(fin);
    stream.on_lost(data);
    let (again, _) = stream.next(100, 0).unwrap();
    assert_eq!(again, Chunk { fin: true, ..data });
    // The first copy was only late.
    stream.on_acked(data);
    assert!(stream.is_over());
}

/// Written data is stored until it is acknowledged. A pattern is never stored.
#[test]
fn what_is_held() {
    let mut stream = SendStream::new(100, 20);
    assert_eq!((stream.write(&[1; 30]), stream.held(), stream.room()), (Ok(20), 20, 0));
    let (chunk, _) = stream.next(15, 100).unwrap();
    assert_eq!(stream.held(), 20);
    stream.on_acked(chunk);
    assert_eq!((stream.held(), stream.room()), (5, 15));
    // What is stored are pieces as they were written.
    assert_eq!((stream.memory(), stream.write(&[1; 3])), (20, Ok(3)));
    assert_eq!((stream.held(), stream.memory()), (8, 23));
    let (rest, _) = stream.next(8, 100).unwrap();
    let mut copied = [0; 8];
    stream.copy(rest.offset, &mut copied);
    assert_eq!(copied, [1; 8]);
    stream.on_acked(Chunk { len: 6, ..rest });
    assert_eq!((stream.held(), stream.memory()), (2, 3));
    stream.reset(0);
    assert_eq!((stream.held(), stream.memory(), SendStream::finished_pattern(9, 9).held()), (0, 0, 0));
}
