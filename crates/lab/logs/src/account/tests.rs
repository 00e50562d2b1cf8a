//! Compares the accounts with runs of the simulator, whose packet events they read.

use congestion::{Cause, Detection, Registry};
use link::{Limit, LinkConfig};
use scenario::trace::{self, Trace};
use scenario::{FlowConfig, Outcome, Scenario, Transport, Watch};
use units::{Bytes, Duration, Rate};

use super::*;
use crate::event::{Ack, Control, Metrics, Packet, Piece, Protocol, Source, Trigger};

fn about(protocol: Protocol, vantage: Side) -> About {
    About {
        name: "flow".to_owned(),
        identity: "1".to_owned(),
        protocol,
        source: Source::Qlog,
        vantage: Some(vantage),
        controller: None,
        parameters: None,
        program: Some("Ackclock".to_owned()),
    }
}

fn packet(from: Side) -> Packet<'static> {
    Packet {
        from,
        space: quic::Space::Application,
        number: None,
        bytes: 0,
        wire: None,
        ack_eliciting: true,
        in_flight: true,
        ecn: None,
        pieces: &[],
        acks: &[],
        limit: None,
        timestamps: None,
        spin: None,
        control: Control::None,
    }
}

/// Gives the events of one end to the accounts, as a reader of its log does.
fn read(accounts: &mut Accounts, protocol: Protocol, vantage: Side, events: &Trace) {
    accounts.begin(if vantage == Side::Server { "sender" } else { "receiver" });
    let number = accounts.open(about(protocol, vantage));
    let mut put = |at: Time, event: &Event<'_>| accounts.event(number, at, event);
    for (at, event) in events {
        match event {
            trace::Event::Sent { pn, bytes, offset, len }
            | trace::Event::Received { pn, bytes, offset, len, .. } => {
                let pieces = [Piece { stream: 0, offset: *offset, len: (*len).into(), fin: false }];
                let (number, bytes) = (Some(*pn), *bytes);
                put(*at, &Event::Packet(Packet { number, bytes, pieces: &pieces, ..packet(Side::Server) }));
            }
            trace::Event::Acked(ack) | trace::Event::Acks(ack) => {
                let is_tcp = protocol == Protocol::Tcp;
                let ranges = if is_tcp { Vec::new() } else { ack.ranges.to_vec() };
                let cumulative = ack.ranges.last().map(|range| range.1).filter(|_| is_tcp);
                let acks = [Ack { ranges, cumulative, selective: Vec::new(), delay: Some(ack.delay) }];
                let bare = Packet { ack_eliciting: false, in_flight: false, ..packet(Side::Client) };
                put(*at, &Event::Packet(Packet { number: Some(ack.number), acks: &acks, ..bare }));
            }
            trace::Event::Lost { pn, detection } => {
                let trigger = Some(match detection {
                    Detection::PacketThreshold => Trigger::PacketThreshold,
                    Detection::TimeThreshold => Trigger::TimeThreshold,
                    _ => Trigger::Timeout,
                });
                put(*at, &Event::Lost { space: quic::Space::Application, number: Some(*pn), trigger });
            }
            trace::Event::Reduced(cause) => {
                let trigger = (*cause == Cause::Ecn).then_some("ecn");
                put(*at, &Event::State { new: "recovery", trigger });
            }
            trace::Event::Metrics(metrics) => {
                let metrics = Metrics {
                    cwnd: Some(metrics.cwnd),
                    bytes_in_flight: Some(metrics.bytes_in_flight),
                    latest_rtt: metrics.latest_rtt,
                    smoothed_rtt: Some(metrics.smoothed_rtt),
                    ..Metrics::default()
                };
                put(*at, &Event::Metrics(metrics));
            }
            _ => {}
        }
    }
}

fn scenario(controller: &str, transport: Transport, loss: f64) -> Scenario {
    let mut link = LinkConfig::plain(Rate(8_000_000));
    link.limit = Limit::Bytes(Bytes(30_000));
    link.delay = Duration::from_millis(20);
    link.loss = loss;
    let algorithm = Registry::default().get(controller).unwrap().algorithm();
    let rtt = Duration::from_millis(40);
    let flow = FlowConfig { transfer: Some(2_000_000), ..FlowConfig::new("flow", algorithm, transport, rtt) };
    Scenario { trace: true, ..Scenario::new(link, [flow], Duration::from_secs(30)) }
}

/// Bytes, repeats and causes of losses are those of the run, and every RTT sample is found.
#[test]
fn the_accounts_of_a_run_are_its_counters() {
    let tcp = Transport::Tcp { mss: 1448, overhead: 52 };
    for (controller, transport) in
        [("cubic", Transport::default()), ("new-reno", Transport::default()), ("tcp-reno", tcp)]
    {
        let scenario = scenario(controller, transport, 0.01);
        let Outcome { flows, .. } = sim::run(&scenario, &Watch::default()).unwrap();
        let run = &flows[0];
        let protocol =
            if matches!(transport, Transport::Tcp { .. }) { Protocol::Tcp } else { Protocol::Quic };
        let mut accounts = Accounts::new(None, None);
        read(&mut accounts, protocol, Side::Client, run.far_trace.as_ref().unwrap());
        read(&mut accounts, protocol, Side::Server, run.trace.as_ref().unwrap());
        let all = accounts.finish();
        assert_eq!(all.len(), 1, "both logs are one connection");
        let [connection] = &all[..] else { panic!() };
        let record = &connection.record;
        assert_eq!(connection.seen, Seen::Both);
        let counts = |record: &Record| {
            let (stats, totals) = (&record.stats, &record.totals);
            [
                totals.packets,
                totals.sent,
                totals.delivered,
                stats.sent_bytes,
                stats.retransmissions,
                stats.lost_by_packet_threshold,
                stats.lost_by_time_threshold,
                stats.lost_by_timeout,
                totals.redundant,
                totals.dropped,
                record.reductions,
                totals.feedback,
            ]
        };
        assert_eq!(counts(record), counts(run), "{controller}");
        assert!(record.stats.retransmissions > 10 && record.reductions > 2);
        let [ours, of_run] = [record, run].map(|record| &record.totals.rtt);
        assert_eq!((ours.count(), ours.mean_ms()), (of_run.count(), of_run.mean_ms()), "{controller}");
        assert_eq!(record.totals.owd.mean_ms(), run.totals.owd.mean_ms(), "{controller}");
        if protocol == Protocol::Quic {
            assert_eq!(record.stats.spurious, run.stats.spurious);
        }
    }
}

/// Logs and captures with damage give accounts, whatever they say.
#[test]
fn damaged_files_have_accounts() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut texts = Vec::new();
    for file in ["logs/ackclock-sender.sqlog", "logs/quic-go-server.sqlog", "logs/iperf3-bidirectional.json"]
    {
        texts.push(std::fs::read(folder.join(file)).unwrap());
    }
    let mut read = 0;
    crate::tests::mutate::damaged("logs", &texts, |text| read += accounts_of(text));
    let captures =
        ["captures/quic.pcap", "captures/tcp.pcap"].map(|file| std::fs::read(folder.join(file)).unwrap());
    crate::tests::mutate::damaged("captures", &captures, |text| read += accounts_of(text));
    assert!(read > 1000, "{read}");
}

/// Returns the number of connections in a file, after making all that an answer needs of them.
fn accounts_of(text: &[u8]) -> usize {
    let mut accounts = Accounts::new(Some((Duration::ZERO, Duration::MAX)), None);
    for name in ["one", "other"] {
        accounts.begin(name);
        let _ = match text {
            text if crate::capture::looks_like(text) => crate::capture::read(text, name, None, &mut accounts),
            text if crate::qlog::looks_like(text) => crate::qlog::read(text, name, &mut accounts),
            text => crate::iperf3::read(text, name, &mut accounts),
        };
    }
    let all = accounts.finish();
    all.iter().for_each(|connection| drop(connection.series(Duration::from_millis(10), 100)));
    all.len()
}

/// Connections with least data are dropped. One with data stays, however many come after it.
#[test]
fn the_number_of_connections_is_bounded() {
    let mut accounts = Accounts::new(None, None);
    accounts.begin("flood");
    for number in 0..20_000_u64 {
        let about = About { identity: number.to_string(), ..about(Protocol::Quic, Side::Server) };
        let connection = accounts.open(about);
        let len = if number == 7 { 5000 } else { 10 };
        let pieces = [Piece { stream: 0, offset: 0, len, fin: true }];
        let packet = Packet { number: Some(0), bytes: 40, pieces: &pieces, ..packet(Side::Server) };
        accounts.event(connection, Time::from_millis(number), &Event::Packet(packet));
    }
    let left_out = accounts.left_out();
    let all = accounts.finish();
    assert!(all.len() <= MOST_POINTS && all.len() + left_out == 20_000, "{} {left_out}", all.len());
    assert!(all.iter().any(|connection| connection.record.totals.sent == 5000));
}
