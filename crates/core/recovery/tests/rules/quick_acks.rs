//! Packets of a Linux TCP connection that are acknowledged one by one, compared with a measurement
//! on the wire.

use ackclock_recovery::{AckConfig, Clock, TcpReceiver};
use units::{Duration, Ecn, Time};

const MSS: u64 = 1448;
const RTT: Duration = Duration::from_millis(50);

/// Receives a round of `packets` packets, 1.2 ms apart, on 10 Mbit/s. Returns the ACKs of one
/// packet and of two, in order.
fn round(r: &mut TcpReceiver, number: u64, from: u64, packets: u64) -> Vec<u64> {
    let (mut acks, mut waiting) = (Vec::new(), 0);
    for n in from..from + packets {
        let now = Time((number * 51_200 + (n - from) * 1200) * 1000);
        waiting += 1;
        if r.on_packet(now, n, Ecn::NotEct, n * MSS, (n + 1) * MSS).1 {
            r.ack(now);
            acks.push(waiting);
            waiting = 0;
        }
    }
    if waiting > 0 {
        // The delayed ACK.
        r.ack(Time::ZERO);
        acks.push(waiting);
    }
    acks
}

fn singles_and_doubles(acks: &[u64]) -> (usize, usize) {
    let of = |packets| acks.iter().filter(|p| **p == packets).count();
    (of(1), of(2))
}

fn receiver() -> TcpReceiver {
    let config = AckConfig { quick_acks: true, ..AckConfig::default() };
    TcpReceiver::new(config, Clock::default(), MSS as u32, RTT)
}

/// As measured on the wire: 22 single ACKs, 10 and 12, then pairs. The count is 16 at first. From
/// 65 160 bytes to 131 072 * 1448 / 2304 = 82 375 the window grows in 17 215 / 2896 = 5.9, thus 6
/// packets. Each of them restores the ACK that it uses.
#[test]
fn first_two_rounds_as_measured() {
    let mut r = receiver();
    assert_eq!(singles_and_doubles(&round(&mut r, 0, 0, 10)), (10, 0));
    let second = round(&mut r, 1, 10, 20);
    assert_eq!(second, [vec![1; 12], vec![2; 4]].concat());
}

/// While the rate doubles, nearly all ACKs are single. The first packet of the third round waits
/// for the second, because its ACK would be sent before the buffer is found too small. 40 packets
/// after 20 make a window of 3 * (2 * 40 + 16) = 288 segments. From 82 375 bytes the window grows
/// to that in 116 packets: 39 of the third round, 60 and 17. After that there are only pairs.
#[test]
fn single_while_the_rate_grows() {
    let mut r = receiver();
    round(&mut r, 0, 0, 10);
    round(&mut r, 1, 10, 20);
    let third = round(&mut r, 2, 30, 40);
    assert_eq!((third[0], singles_and_doubles(&third)), (2, (38, 1)));
    assert_eq!(singles_and_doubles(&round(&mut r, 3, 70, 60)), (60, 0));
    let fifth = round(&mut r, 5, 130, 80);
    assert_eq!(fifth, [vec![1; 17], vec![2; 31], vec![1]].concat(), "the last by the timer");
    for n in 0..8 {
        assert_eq!(singles_and_doubles(&round(&mut r, 7 + 2 * n, 210 + 80 * n, 80)), (0, 40));
    }
}
