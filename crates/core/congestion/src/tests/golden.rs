//! The window, round by round, as readable text. `BLESS=1 cargo test` rewrites the files.

use std::fmt::Write;

use super::path::alone;
use super::read::read;
use crate::testing::fixtures::acked;
use crate::{
    Ack, AckedPacket, Algorithm, Cause, Congestion, Controller, Detection, Lost, LostPacket, PathInfo,
    Registry, Sent,
};
use units::{Duration, Rate, Time};

const MDS: u64 = 1200;
/// RTT of the link. It carries 1000 packets per second: 100 packets in the pipe and as many in the
/// buffer.
const RTT: Duration = Duration::from_millis(100);
const PACKET_TIME: Duration = Duration::from_millis(1);
const PIPE: u64 = 100;
const BUFFER: u64 = 100;
const ROUNDS: u64 = 300;
/// QUIC-DC. Its default threshold is 20 % of the buffer here.
const QUIC_DC: &str = "name = 'quic-dc'";
/// Number of rounds until slow start and its first correction are over.
const SETTLED: usize = 40;

/// A single flow on the link. Each round sends a window evenly and has it acknowledged packet by
/// packet.
struct Link {
    cc: Box<dyn Controller>,
    start: Time,
    pn: u64,
    /// Delivered packets.
    delivered: u64,
    /// Queued packets after the last round.
    queue: u64,
}

impl Link {
    fn new(algorithm: &Algorithm) -> Self {
        Self {
            cc: algorithm.build(PathInfo { max_datagram_size: MDS, paced: true, seed: 1 }),
            start: Time::ZERO,
            pn: 0,
            delivered: 0,
            queue: 0,
        }
    }

    fn congestion(&mut self, cause: Cause) {
        let prior_in_flight = self.cc.control().cwnd;
        let (now, rtt) = (self.start, RTT);
        self.cc.on_congestion(&Congestion {
            now,
            cause,
            prior_in_flight,
            min_rtt: rtt,
            smoothed_rtt: rtt + PACKET_TIME * self.queue,
        });
    }

    /// Plays a round. Returns the event in it: nothing, `delay` or `loss`.
    fn round(&mut self) -> &'static str {
        let packets = self.cc.control().cwnd / MDS;
        let after = packets.saturating_sub(PIPE).min(BUFFER);
        // A sender whose window shrank waits until the queue fits into it.
        let before = self.queue.min(packets.saturating_sub(PIPE));
        let spacing = (RTT + PACKET_TIME * before) / packets;
        (0..packets).for_each(|i| self.send(self.start + spacing * i, self.pn + i));
        let mut cut = false;
        // Packets that do not fit into pipe and buffer are not acknowledged.
        for i in 0..packets.min(PIPE + BUFFER) {
            // The queue changes evenly from the last round's length to this one's.
            let queued = Duration((PACKET_TIME.0 * (before * (packets - 1 - i) + after * (i + 1))) / packets);
            if self.packet(self.start + spacing * i, queued, i == 0, cut) == Some(Cause::Delay) && !cut {
                cut = true;
                self.congestion(Cause::Delay);
            }
        }
        self.queue = after;
        self.start += RTT + PACKET_TIME * after;
        self.lose(packets.saturating_sub(PIPE + BUFFER));
        match (cut, packets > PIPE + BUFFER) {
            (true, _) => " delay",
            (false, true) => {
                self.congestion(Cause::Loss);
                " loss"
            }
            (false, false) => "",
        }
    }

    /// Sends the whole window before its first ACK arrives.
    fn send(&mut self, now: Time, pn: u64) {
        self.cc.on_sent(&Sent { now, pn, bytes: MDS, bytes_in_flight: 2 * MDS, app_limited: false });
    }

    /// Loses the last packets of the round, in a row.
    fn lose(&mut self, packets: u64) {
        let lost: Vec<_> = (self.pn..self.pn + packets)
            .map(|pn| LostPacket {
                pn,
                bytes: MDS,
                sent: self.start,
                detection: Detection::PacketThreshold,
                tx_in_flight: 0,
                lost_at_send: 0,
                app_limited: false,
            })
            .collect();
        self.pn += packets;
        if !lost.is_empty() {
            let (now, total_lost) = (self.start, packets * MDS);
            self.cc.on_lost(&Lost { now, packets: &lost, total_lost, delivered: 0, bytes_in_flight: 0 });
        }
    }

    fn packet(&mut self, sent: Time, queued: Duration, round_start: bool, cut: bool) -> Option<Cause> {
        let received = Some((sent + RTT / 2 + queued).0 as i64);
        let packet = AckedPacket { pn: self.pn, bytes: MDS, sent, received, before_reduction: cut };
        self.pn += 1;
        self.delivered += 1;
        self.cc.on_ack(&Ack {
            now: sent + RTT + queued,
            packets: &[packet],
            growth: if cut { 0 } else { MDS },
            prior_in_flight: self.cc.control().cwnd,
            latest_rtt: Some(RTT + queued),
            min_rtt: RTT,
            smoothed_rtt: RTT + queued,
            delivered: self.delivered * MDS,
            round_start,
            in_recovery: cut,
            ..acked(MDS)
        })
    }
}

/// Returns the table as text, and the windows in it.
fn rounds(text: &str) -> (String, Vec<u64>) {
    let algorithm = read(text).expect(text);
    let mut link = Link::new(&algorithm);
    let mut table = format!(
        "{}\nrtt 100 ms, pipe {PIPE} packets, buffer {BUFFER} packets\nround packets\n",
        text.replace('\n', ", ")
    );
    let mut windows = Vec::new();
    for round in 0..ROUNDS {
        let packets = link.cc.control().cwnd / MDS;
        let event = link.round();
        writeln!(table, "{round:>5} {packets:>7}{event}").expect("writing to a string cannot fail");
        windows.push(packets);
    }
    (table, windows)
}

/// Compares with the golden file, and checks the smallest, mean and largest window in steady state
/// against `expected`.
///
/// A golden file alone would also accept nonsense.
fn check(file: &str, text: &str, expected: &[std::ops::RangeInclusive<f64>; 3]) {
    let (table, windows) = rounds(text);
    let settled = &windows[SETTLED..];
    let ends = |pick: fn(u64, u64) -> u64| settled.iter().copied().reduce(pick).unwrap_or(0) as f64;
    let mean = settled.iter().sum::<u64>() as f64 / settled.len() as f64;
    for (what, value, range) in
        [("smallest", ends(u64::min), 0), ("mean", mean, 1), ("largest", ends(u64::max), 2)]
    {
        assert!(
            expected[range].contains(&value),
            "{file}: {what} window {value}, not in {:?}",
            expected[range]
        );
    }
    compare(file, &table);
}

fn compare(file: &str, table: &str) {
    let path = format!("{}/src/tests/golden/{file}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, table).expect(&path);
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(table, golden, "{path}; BLESS=1 rewrites");
}

/// A sawtooth between half of pipe and buffer and all of it.
#[test]
fn new_reno() {
    check("new-reno", "name = 'new-reno'", &[100.0..=101.0, 145.0..=155.0, 200.0..=202.0]);
}

#[test]
fn tcp_reno() {
    check("tcp-reno", "name = 'tcp-reno'", &[100.0..=101.0, 145.0..=155.0, 200.0..=202.0]);
}

#[test]
fn tcp_reno_as_linux() {
    let text = "name = 'tcp-reno'\ncount = 'packets'\nhalve = 'cwnd'\nabc-limit = 1000000";
    check("tcp-reno-linux", text, &[100.0..=101.0, 145.0..=155.0, 200.0..=202.0]);
}

/// One packet after each loss, slow start to half of the window, then a packet per round.
#[test]
fn tahoe() {
    check("tahoe", "name = 'tahoe'", &[1.0..=1.0, 138.0..=148.0, 201.0..=201.0]);
    let (_, windows) = rounds("name = 'tahoe'");
    for cut in windows.windows(3).filter(|cut| cut[1] < cut[0]) {
        assert!(cut[0] > PIPE + BUFFER && (cut[1], cut[2]) == (1, 2), "{cut:?}");
    }
}

/// 0.7 of the maximum, a plateau at the maximum, and a mean near (3 + beta) / 4 of it.
#[test]
fn cubic() {
    check("cubic", "name = 'cubic'", &[115.0..=142.0, 165.0..=195.0, 195.0..=205.0]);
}

/// HyStart++ slows down after the first round with a queue, so it overshoots less.
#[test]
fn cubic_hystart_plus_plus() {
    let text = "name = 'cubic'\nslow-start = 'hystart++'";
    check("cubic-hystart-plus-plus", text, &[115.0..=150.0, 160.0..=195.0, 195.0..=205.0]);
    let peak = |text| rounds(text).1[..10].iter().copied().max();
    assert!(peak(text) < peak("name = 'cubic'"));
}

/// Once the slow filter has measured the full pipe, the window is cut to it. The link no longer
/// starves.
#[test]
fn westwood_plus() {
    check("westwood-plus", "name = 'westwood-plus'", &[30.0..=105.0, 100.0..=155.0, 199.0..=202.0]);
    let (_, windows) = rounds("name = 'westwood-plus'");
    let peak = windows.iter().rposition(|&packets| packets > PIPE + BUFFER).expect("full at times");
    assert!((97..=103).contains(&windows[peak + 1]), "{}", windows[peak + 1]);
}

/// The default threshold is 20 ms here: the queue varies between 0 and 20 packets, and nothing is
/// lost.
#[test]
fn quic_dc() {
    check("quic-dc", QUIC_DC, &[95.0..=103.0, 105.0..=113.0, 118.0..=123.0]);
    assert!(!rounds(QUIC_DC).0.contains("loss"));
}

/// Down by one packet per round after slow start, to 4 packets in the queue, and constant from
/// there.
#[test]
fn vegas() {
    check("vegas", "name = 'vegas'", &[104.0..=104.0, 104.0..=106.0, 120.0..=130.0]);
    let (_, windows) = rounds("name = 'vegas'");
    assert!(windows[2 * SETTLED..].iter().all(|&packets| packets == PIPE + 4));
}

/// Alone it is Vegas.
#[test]
fn vegas_plus() {
    check("vegas-plus", "name = 'vegas-plus'", &[104.0..=104.0, 104.0..=106.0, 120.0..=130.0]);
    assert_eq!(rounds("name = 'vegas-plus'").1, rounds("name = 'vegas'").1);
}

/// Reno that grows by a packet every second round trip once 3 packets are queued. The queue is long
/// when a packet is lost, so the window is halved.
#[test]
fn veno() {
    check("veno", "name = 'veno'", &[100.0..=165.0, 130.0..=175.0, 200.0..=203.0]);
    let (_, windows) = rounds("name = 'veno'");
    for pair in windows[SETTLED..].windows(2) {
        assert!(pair[1] <= pair[0] + 1 && (pair[1] >= pair[0] || pair[1] == pair[0] / 2), "{pair:?}");
    }
    let congested: Vec<_> = windows[SETTLED..].windows(3).filter(|w| w[0] > PIPE + 4).collect();
    assert!(congested.iter().all(|w| w[2] <= w[0] + 1), "at most one packet in two round trips");
}

/// The window doubles until a round trip has a queue, then goes half of the distance to 20 queued
/// packets in every second round.
#[test]
fn fast() {
    check("fast", "name = 'fast'", &[120.0..=120.0, 120.0..=120.0, 120.0..=120.0]);
}

/// An eighth of the window down once the queue exceeds half of pipe and buffer's range, 150
/// packets, within two round trips. The RTT is that of the ACK at the round trip's end. Nothing is
/// lost.
#[test]
fn dual() {
    check("dual", "name = 'dual'", &[126.0..=129.0, 134.0..=138.0, 143.0..=146.0]);
    let (table, windows) = rounds("name = 'dual'");
    assert!(!table.lines().skip(3 + SETTLED).any(|line| line.contains("loss")));
    for cut in windows[SETTLED..].windows(2).filter(|pair| pair[1] < pair[0]) {
        // The ACKs of the round trip add a packet at most, and rounding takes one.
        assert!((cut[1] as f64 - 0.875 * cut[0] as f64).abs() < 2.0, "{cut:?}");
    }
}

/// Responses at random to 0.65 of the window while more than 5 ms are queued on average.
#[test]
fn pert() {
    check("pert", "name = 'pert'", &[44.0..=48.0, 78.0..=87.0, 105.0..=112.0]);
    let (table, windows) = rounds("name = 'pert'");
    assert!(!table.lines().skip(3 + SETTLED).any(|line| line.contains("loss")));
    for pair in windows[SETTLED..].windows(2) {
        assert!(pair[1] <= pair[0] + 1 && pair[1] as f64 + 1.0 >= 0.65 * pair[0] as f64, "{pair:?}");
    }
}

/// Backoffs at random to 0.707 of the window while the queue grows. Few packets are lost.
#[test]
fn cdg() {
    check("cdg", "name = 'cdg'", &[20.0..=70.0, 70.0..=90.0, 100.0..=125.0]);
    let (table, windows) = rounds("name = 'cdg'");
    assert!(table.lines().filter(|line| line.contains("delay")).count() >= 5);
    for pair in windows[SETTLED..].windows(2) {
        assert!(pair[1] <= pair[0] + 1 && pair[1] * 2 + 2 >= pair[0], "{pair:?}");
    }
}

/// A queue of one to five packets grows with X, waits for 250 ms, and is drained.
#[test]
fn lola() {
    check("lola", "name = 'lola'", &[94.0..=96.0, 100.0..=104.0, 110.0..=116.0]);
    let (table, windows) = rounds("name = 'lola'");
    assert!(!table.contains("loss"));
    // gamma of the pipe is 95 packets.
    let cuts = windows[SETTLED..].windows(2).filter(|pair| pair[1] < pair[0]);
    assert!(cuts.clone().count() > 10 && cuts.clone().all(|cut| (94..=96).contains(&cut[1])));
}

/// Twelve packets in the queue are an eighth of the base RTT, then it grows like Reno. More than 80
/// queued packets are removed, at 183 packets, but only down to its estimate of a Reno flow's
/// window. That estimate grows as the window does, so a loss follows. It halves the window.
#[test]
fn yeah() {
    check("yeah", "name = 'yeah'", &[101.0..=101.0, 145.0..=155.0, 201.0..=201.0]);
    let (_, windows) = rounds("name = 'yeah'");
    let cuts: Vec<_> = windows[SETTLED..].windows(2).filter(|pair| pair[1] < pair[0]).collect();
    assert!(cuts.iter().all(|cut| cut[0] == 183 || (cut[0], cut[1]) == (201, 101)), "{cuts:?}");
}

/// The delay window keeps about 30 packets queued until Reno's window alone exceeds that. From then
/// on it is Reno, up to a loss.
#[test]
fn compound() {
    check("compound", "name = 'compound'", &[100.0..=102.0, 150.0..=160.0, 200.0..=202.0]);
    let (_, windows) = rounds("name = 'compound'");
    for pair in windows[SETTLED..].windows(2) {
        let [grows, shrinks] = [pair[1] <= pair[0] + 5, pair[0] > PIPE + 28];
        assert!(if pair[1] > pair[0] { grows } else { shrinks }, "{pair:?}");
        // A round of 137 packets is the last one that dwnd may have begun.
        assert!(pair[1] <= pair[0] + 1 || pair[1] <= PIPE + 37, "{pair:?}");
    }
}

/// A single flow: the BDP and 4 packets. Every 10 s, 4 packets for slightly more than two round
/// trips. Nothing is lost.
#[test]
fn dstar() {
    check("dstar", "name = 'dstar'", &[4.0..=4.0, 100.0..=104.0, 104.0..=104.0]);
    let (table, windows) = rounds("name = 'dstar'");
    assert!(windows[SETTLED..].iter().all(|packets| [4, PIPE + 4].contains(packets)));
    assert!(!table.contains("loss"));
}

/// Ignores three losses in a row, so it overflows by four and more. Then 7/8 of the window, or 7/8
/// of that again.
#[test]
fn cubic_picoquic() {
    check("cubic-picoquic", "name = 'cubic-picoquic'", &[154.0..=160.0, 175.0..=190.0, 203.0..=208.0]);
    let (_, windows) = rounds("name = 'cubic-picoquic'");
    for cut in windows[SETTLED..].windows(2).filter(|pair| pair[1] < pair[0]) {
        let left = cut[1] as f64 / cut[0] as f64;
        assert!([0.875, 0.875 * 0.875].iter().any(|beta| (0.0..0.02).contains(&(left - beta))), "{cut:?}");
        assert!(cut[0] > PIPE + BUFFER + 3, "{cut:?}");
    }
}

/// CUBIC's sawtooth without look-ahead: 0.7 of about 201 packets, and back in K = cbrt(0.3 * 201 /
/// 0.4) = 5.3 s. If the loss came a packet earlier than the last, 0.85 of that maximum comes first.
/// HyStart ends slow start with the eighth ACK of the round that begins with 60 packets in the
/// queue. That leaves 0.7 of 328 packets, otherwise it would be 0.7 of 520.
#[test]
fn cubic_mvfst() {
    check("cubic-mvfst", "name = 'cubic-mvfst'", &[138.0..=145.0, 165.0..=192.0, 200.0..=206.0]);
    let windows = |text| rounds(text).1;
    let standard = windows("name = 'cubic-mvfst'\nslow-start = 'standard'");
    assert_eq!((standard[5], standard[6]), (320, 364));
    let windows = windows("name = 'cubic-mvfst'");
    assert_eq!((windows[5], windows[6]), (320, 230));
    for cut in windows[SETTLED..].windows(2).filter(|pair| pair[1] < pair[0]) {
        let left = cut[1] as f64 / cut[0] as f64;
        assert!((0.70..0.72).contains(&left), "{cut:?}");
    }
}

/// NewReno's sawtooth with a slightly slower recovery.
#[test]
fn new_reno_as_mvfst() {
    let text = "name = 'new-reno'\ngrowth = 'packet'\ncount = 'always'\ninitial-window = 10\nslow-start = 'hystart-mvfst'";
    check("new-reno-mvfst", text, &[100.0..=101.0, 145.0..=155.0, 200.0..=202.0]);
}

/// Without marks it behaves like its base.
#[test]
fn cubic_ecn_gated() {
    let windows = |name: &str| rounds(&format!("name = '{name}'")).1;
    assert_eq!(windows("cubic-ecn-gated"), windows("cubic-picoquic"));
    check("cubic-ecn-gated", "name = 'cubic-ecn-gated'", &[154.0..=160.0, 175.0..=190.0, 203.0..=208.0]);
}

#[test]
fn fixed_window() {
    check("fixed-window", "name = 'fixed-window'", &[10.0..=10.0, 10.0..=10.0, 10.0..=10.0]);
}

/// Reno's sawtooth, but at 200 packets it gives up only 0.41 of the window and regains almost 3
/// packets per round.
#[test]
fn hstcp() {
    check("hstcp", "name = 'hstcp'", &[116.0..=120.0, 155.0..=163.0, 200.0..=204.0]);
}

/// One packet per round for the first second after a loss, then faster and faster. The factor at a
/// loss is the smallest RTT over the largest, which is slightly more than half.
#[test]
fn htcp() {
    check("htcp", "name = 'htcp'", &[107.0..=115.0, 130.0..=145.0, 200.0..=214.0]);
    let (_, windows) = rounds("name = 'htcp'");
    let cuts = (SETTLED..windows.len() - 12).filter(|&i| windows[i + 1] < windows[i]);
    for cut in cuts.collect::<Vec<_>>() {
        let left = windows[cut + 1] as f64 / windows[cut] as f64;
        assert!((0.53..0.55).contains(&left), "{left}");
        let grown: Vec<_> = windows[cut + 1..cut + 12].windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(grown[..9] == [1; 9] && grown[9] <= 3, "{grown:?}");
    }
}

/// RTTs of 100 ms are four times the reference. Slow start multiplies by 16 per round, congestion
/// avoidance adds 16 packets, and a loss takes half.
#[test]
fn hybla() {
    check("hybla", "name = 'hybla'", &[105.0..=115.0, 152.0..=165.0, 201.0..=216.0]);
    let (_, windows) = rounds("name = 'hybla'");
    assert_eq!(windows[..2], [10, 160]);
    for pair in windows[SETTLED..].windows(2).filter(|pair| pair[1] > pair[0]) {
        assert!((14..=16).contains(&(pair[1] - pair[0])), "{pair:?}");
    }
}

/// 0.8 of the maximum, back to it with smaller and smaller steps, and then beyond with larger ones.
#[test]
fn bic() {
    check("bic", "name = 'bic'", &[163.0..=168.0, 180.0..=188.0, 201.0..=206.0]);
    let (_, windows) = rounds("name = 'bic'");
    for cut in windows[SETTLED..].windows(2).filter(|pair| pair[1] < pair[0]) {
        // The round with the loss still grows.
        let left = cut[1] as f64 / cut[0] as f64;
        assert!((0.80..0.86).contains(&left), "{cut:?}");
    }
}

/// Without marks it is Reno: losses halve the window, whatever alpha is.
#[test]
fn dctcp() {
    check("dctcp", "name = 'dctcp'", &[100.0..=101.0, 145.0..=155.0, 200.0..=202.0]);
    assert_eq!(rounds("name = 'dctcp'").1, rounds("name = 'tcp-reno'").1);
}

/// Without marks it is Reno: a packet per round trip, half of the window after a loss. The RTT is
/// above the smallest virtual RTT.
#[test]
fn prague() {
    check("prague", "name = 'prague'", &[100.0..=101.0, 145.0..=155.0, 200.0..=202.0]);
}

/// Ten packets per round until packets are queued, then fewer and fewer, down to 0.3. Half of the
/// window at the full queue.
#[test]
fn illinois() {
    check("illinois", "name = 'illinois'", &[100.0..=101.0, 150.0..=190.0, 200.0..=202.0]);
}

/// 7/8 of slightly more than 200 packets, and back at 1 % per round.
#[test]
fn scalable() {
    check("scalable", "name = 'scalable'", &[174.0..=180.0, 182.0..=196.0, 200.0..=206.0]);
}

/// A packet per round until packets are queued, then slower and slower up to half of the buffer,
/// its target. Nothing is lost.
#[test]
fn ledbat() {
    let text = "name = 'ledbat'\ntarget = '50 ms'";
    check("ledbat", text, &[38.0..=42.0, 105.0..=130.0, 147.0..=150.0]);
    assert!(!rounds(text).0.contains("loss"));
}

/// Half a packet per round up to a queue of 60 packets, TARGET. Slowdowns to two packets return by
/// a half more per round. After slow start nothing is lost.
#[test]
fn ledbat_plus_plus() {
    check("ledbat-plus-plus", "name = 'ledbat-plus-plus'", &[2.0..=2.0, 120.0..=132.0, 159.0..=161.0]);
    let (table, windows) = rounds("name = 'ledbat-plus-plus'");
    assert!(!table.lines().skip(3 + SETTLED).any(|line| line.contains("loss")));
    let ramps = windows[SETTLED..].windows(2).filter(|pair| pair[1] > pair[0] + 1);
    assert!(ramps.clone().all(|pair| pair[1] <= pair[0] * 3 / 2 + 1));
}

/// A single flow at its pacing rate, second by second: the rate in kbit/s, the mean RTT in ms, the
/// share of losses.
fn seconds(text: &str, buffer: Duration) -> (String, Vec<[f64; 3]>) {
    let mut link = alone(text, 2, 0.0);
    link.flow_mut().rtt = Duration::from_millis(50);
    link.link.buffer = buffer.0 / link.packet_time().0;
    let empty = link.flow().rtt + link.packet_time();
    let mut table = format!(
        "{}\n2 Mbit/s, rtt 50 ms, buffer {} ms\nsecond kbit/s rtt/ms lost/%\n",
        text.replace('\n', ", "),
        buffer.as_millis_f64()
    );
    let row = |second| {
        let figures = link.run_secs(1);
        let Rate(rate) = link.flow().cc.control().pacing_rate.expect("paces by a rate");
        let row = [rate as f64 * 1e-3, figures.rtt * empty.as_millis_f64(), figures.lost];
        writeln!(table, "{second:>6} {:>6.0} {:>6.1} {:>6.2}", row[0], row[1], 100.0 * row[2])
            .expect("writing to a string cannot fail");
        row
    };
    let rows = (1..=60).map(row).collect();
    (table, rows)
}

fn mean_of_last(rows: &[[f64; 3]], column: usize) -> f64 {
    let last = &rows[rows.len() / 2..];
    last.iter().map(|row| row[column]).sum::<f64>() / last.len() as f64
}

/// 8 kbit/s per round trip up to the link's rate, then the delay of equation 19: 113.9 ms there and
/// 25 ms back.
#[test]
fn dccc() {
    let (table, rows) = seconds("name = 'dccc'", Duration::from_millis(300));
    let (rate, rtt) = (mean_of_last(&rows, 0), mean_of_last(&rows, 1));
    assert!((rate - 2000.0).abs() < 20.0, "{rate}");
    assert!((rtt - 138.9).abs() < 3.0, "{rtt}");
    compare("dccc", &table);
}

/// A buffer that ends below the threshold: losses decide, one packet in a hundred and one in
/// equilibrium.
#[test]
fn dccc_by_loss() {
    let (table, rows) = seconds("name = 'dccc'", Duration::from_millis(45));
    let (rate, lost) = (mean_of_last(&rows, 0), mean_of_last(&rows, 2));
    assert!((rate - 2020.0).abs() < 20.0, "{rate}");
    assert!((lost - 1.0 / 101.0).abs() < 0.002, "{lost}");
    compare("dccc-loss", &table);
}

/// The link's rate, times 17/16 or 5/4 in pushes and 15/16 after them, with less than the RTT of
/// queue. Nothing is lost.
#[test]
fn c4() {
    let (table, rows) = seconds("name = 'c4'", Duration::from_millis(300));
    compare("c4", &table);
    for row in &rows[5..] {
        let gain = row[0] / 2000.0;
        assert!([1.0, 1.0625, 1.25, 0.9375].iter().any(|g| (gain - g).abs() < 0.05), "{row:?}");
        assert!(row[1] < 2.0 * 54.8 && row[2] == 0.0, "{row:?}");
    }
}

/// The thresholds are those of this path: the RTT stays between T_low and T_high, and the mean rate
/// is the link's. Nothing is lost.
#[test]
fn timely() {
    let text = "name = 'timely'\nt-low = '65 ms'\nt-high = '200 ms'\nmin-rtt = '50 ms'\ndelta = '10 kbit/s'\ninitial-rate = '1 Mbit/s'";
    let (table, rows) = seconds(text, Duration::from_millis(300));
    let (rate, rtt) = (mean_of_last(&rows, 0), mean_of_last(&rows, 1));
    compare("timely", &table);
    assert!((rate - 2000.0).abs() < 100.0, "{rate}");
    assert!((54.8..200.0).contains(&rtt), "{rtt}");
    assert!(rows.iter().all(|row| row[2] == 0.0));
}

/// Steps of ramp-up to the link's rate, then 30 ms of queue, the equilibrium of equations 5 to 7:
/// XREF RMAX / r.
#[test]
fn nada() {
    let (table, rows) = seconds("name = 'nada'\nrmax = '6 Mbit/s'", Duration::from_millis(300));
    let (rate, rtt) = (mean_of_last(&rows, 0), mean_of_last(&rows, 1));
    assert!((rate - 2000.0).abs() < 10.0, "{rate}");
    assert!((rtt - 54.8 - 30.0).abs() < 1.0, "{rtt}");
    compare("nada", &table);
}

/// A buffer of 20 ms cannot hold the 30 ms. Losses add the rest, x = d + 10 ms (p / 1 %)^2. The
/// smoothing of p takes a second, so the rate oscillates around the link's, and more than 1 % is
/// lost.
#[test]
fn nada_by_loss() {
    let (table, rows) = seconds("name = 'nada'\nrmax = '6 Mbit/s'", Duration::from_millis(20));
    let (rate, lost) = (mean_of_last(&rows, 0), mean_of_last(&rows, 2));
    compare("nada-loss", &table);
    assert!((rate - 2000.0).abs() < 60.0, "{rate}");
    assert!((0.01..0.03).contains(&lost), "{lost}");
}

/// A peak during slow start and the memory of 1000 packets, then around x = (R_max - R_min) x_ref /
/// (C - R_min) = 92.5 ms.
#[test]
fn nada_2013() {
    let (table, rows) = seconds("name = 'nada-2013'", Duration::from_secs(2));
    let (rate, rtt) = (mean_of_last(&rows, 0), mean_of_last(&rows, 1));
    assert!((rate - 2000.0).abs() < 20.0, "{rate}");
    assert!((rtt - 25.0 - 29.8 * 5900.0 / 1900.0).abs() < 3.0, "{rtt}");
    compare("nada-2013", &table);
}

/// Doubles to the link's rate. Then the equation follows the losses of a full buffer.
#[test]
fn tfrc() {
    let (table, rows) = seconds("name = 'tfrc'", Duration::from_millis(100));
    let (rate, lost) = (mean_of_last(&rows, 0), mean_of_last(&rows, 2));
    compare("tfrc", &table);
    assert!((rate - 2000.0).abs() < 100.0, "{rate}");
    assert!((0.0..0.05).contains(&lost), "{lost}");
}

/// 8 % per second up to the link's rate, then a sawtooth between 0.85 and slightly more than that
/// rate.
#[test]
fn gcc() {
    let (table, rows) = seconds("name = 'gcc'", Duration::from_millis(300));
    let (rate, rtt) = (mean_of_last(&rows, 0), mean_of_last(&rows, 1));
    assert!((1850.0..2000.0).contains(&rate), "{rate}");
    assert!((54.8..65.0).contains(&rtt), "{rtt}");
    assert!(rows.iter().all(|row| row[2] == 0.0));
    compare("gcc", &table);
}

/// The link's rate with a queue near half of the 60 ms of the target, where the delay begins to
/// count. Nothing is lost.
#[test]
fn scream_v2() {
    let (table, rows) = seconds("name = 'scream-v2'", Duration::from_millis(300));
    let (rate, rtt) = (mean_of_last(&rows, 0), mean_of_last(&rows, 1));
    compare("scream-v2", &table);
    assert!((rate - 2000.0).abs() < 100.0, "{rate}");
    assert!((54.8..54.8 + 60.0).contains(&rtt), "{rtt}");
    assert!(rows.iter().all(|row| row[2] == 0.0));
}

/// Paced at twice the rate of a window that keeps two and a half packets queued: 12 ms. With whole
/// packets, a packet's time counts as an empty queue. Nothing is lost.
#[test]
fn copa() {
    let (table, rows) = seconds("name = 'copa'\nempty-margin = '5 ms'", Duration::from_millis(300));
    let (rate, rtt) = (mean_of_last(&rows, 0), mean_of_last(&rows, 1));
    assert!((3700.0..4500.0).contains(&rate), "{rate}");
    assert!((rtt - 54.8 - 12.0).abs() < 3.0, "{rtt}");
    assert!(rows.iter().all(|row| row[2] == 0.0));
    compare("copa", &table);
}

/// The link's rate times one of the gains 1, 1.25 and 0.75, with a queue of at most 1 BDP and the
/// quanta. Nothing is lost.
#[test]
fn bbr1_picoquic() {
    let (table, rows) = seconds("name = 'bbr1-picoquic'", Duration::from_millis(300));
    for row in &rows[5..] {
        let gain = row[0] / 2000.0;
        assert!([1.0, 1.25, 0.75].iter().any(|g| (gain - g).abs() < 0.02), "{row:?}");
        assert!(row[1] < 2.0 * 54.8 + 35.0 && row[2] == 0.0, "{row:?}");
    }
    compare("bbr1-picoquic", &table);
}

/// The link's rate minus 1 %, times one of these gains, without losses. Returns the mean RTT in the
/// second half, in ms.
fn bbr(name: &str, gains: &[f64]) -> f64 {
    let (table, rows) = seconds(&format!("name = '{name}'"), Duration::from_millis(300));
    compare(name, &table);
    for row in &rows[5..] {
        let gain = row[0] / (0.99 * 2000.0);
        assert!(gains.iter().any(|g| (gain - g).abs() < 0.03), "{name}: {row:?}");
        assert!(row[2] == 0.0, "{name}: {row:?}");
    }
    mean_of_last(&rows, 1)
}

/// Two BDPs and three quanta limit the queue. A probe in one of eight phases leaves part of a
/// queue.
#[test]
fn bbr1() {
    let rtt = bbr("bbr1", &[1.0, 1.25, 0.75]);
    assert!((54.8..2.0 * 54.8 + 15.0).contains(&rtt), "{rtt}");
}

/// Without marks nothing scales the gains.
#[test]
fn bbr1_ecn_gated() {
    let rtt = bbr("bbr1-ecn-gated", &[1.0, 1.25, 0.75]);
    assert!((54.8..2.0 * 54.8 + 15.0).contains(&rtt), "{rtt}");
}

/// Most of the time it cruises without a queue.
#[test]
fn bbr2() {
    let rtt = bbr("bbr2", &[1.0, 1.25, 0.9]);
    assert!((54.0..70.0).contains(&rtt), "{rtt}");
}

/// Without marks nothing lowers the gains. The first visit is raised, because the RTT still
/// contains Startup's queue. The later ones follow ProbeRTT, without a queue.
#[test]
fn bbr2_ecn_gated() {
    let rtt = bbr("bbr2-ecn-gated", &[1.0, 1.25, 0.9]);
    assert!((54.0..70.0).contains(&rtt), "{rtt}");
}

/// Most of the time it cruises without a queue.
#[test]
fn bbr3() {
    let rtt = bbr("bbr3", &[1.0, 1.25, 0.9]);
    assert!((54.0..70.0).contains(&rtt), "{rtt}");
}

/// Without marks nothing lowers the gains. The first visit is raised, because the RTT still
/// contains Startup's queue. The later ones follow ProbeRTT, without a queue.
#[test]
fn bbr3_ecn_gated() {
    let rtt = bbr("bbr3-ecn-gated", &[1.0, 1.25, 0.9]);
    assert!((54.0..75.0).contains(&rtt), "{rtt}");
}

/// The link's rate times 1, 1.25 or 0.9. A probe lasts four rounds or more and leaves a queue,
/// limited by a window of 2.25 BDP. In the ten seconds between ProbeRTTs the queue appears in most
/// seconds. Nothing is lost.
#[test]
fn bbr2_mvfst() {
    let (table, rows) = seconds("name = 'bbr2-mvfst'", Duration::from_millis(300));
    for row in &rows[5..] {
        let gain = row[0] / 2000.0;
        assert!([1.0, 1.25, 0.9].iter().any(|g| (gain - g).abs() < 0.03), "{row:?}");
        assert!(row[1] < 2.25 * 54.8 && row[2] == 0.0, "{row:?}");
    }
    assert!((63.0..75.0).contains(&mean_of_last(&rows, 1)), "{}", mean_of_last(&rows, 1));
    compare("bbr2-mvfst", &table);
}

/// A fifth more per second until a packet arrives 0.4 ms later relative to the previous one, then
/// 0.9 of the receive rate.
#[test]
fn gcc_simplified() {
    let (table, rows) = seconds("name = 'gcc-simplified'", Duration::from_millis(300));
    let (rate, rtt) = (mean_of_last(&rows, 0), mean_of_last(&rows, 1));
    assert!((1750.0..2100.0).contains(&rate), "{rate}");
    assert!((60.0..120.0).contains(&rtt), "{rtt}");
    compare("gcc-simplified", &table);
}

/// A new entry of the registry needs a file here, whose first line names it.
#[test]
fn one_for_each() {
    if std::env::var_os("BLESS").is_some() {
        return; // the other tests write them meanwhile
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/golden");
    let files = std::fs::read_dir(folder).expect(folder).map(|file| file.expect(folder).path());
    let tables: Vec<_> = files.map(|path| std::fs::read_to_string(path).expect(folder)).collect();
    for entry in Registry::default().iter() {
        let name = format!("name = '{}'", entry.name);
        let named = |table: &String| table.lines().next().is_some_and(|line| line.starts_with(&name));
        assert!(
            tables.iter().any(named),
            "{}: no golden in {folder}; write a test, then BLESS=1",
            entry.name
        );
    }
}
