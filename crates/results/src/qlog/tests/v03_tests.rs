//! qlog 0.3, read by Cloudflare's crate `qlog` 0.16, the last that has it: each event with its name, its time and every field.

use std::collections::BTreeSet;

use link::RateModel;
use link::aqm::{Aqm, Threshold, red};
use qlog_0_3::QlogSeq;
use qlog_0_3::events::quic::{CongestionStateUpdatedTrigger, PacketLostTrigger, QuicFrame};
use qlog_0_3::events::{Event as Read, EventData};
use units::Ecn;

use super::*;

/// What we write and the crate has no field for, beside the controller's own variables. qvis shows the size of lost packets.
const UNTYPED: [&str; 4] = [
    "transport:packet_received.data.ecn",
    "transport:packet_received.data.frames.cumulative",
    "transport:packet_sent.data.frames.cumulative",
    "recovery:packet_lost.data.raw",
];
/// The crate keeps times and RTTs as `f32`.
const SINGLE: f64 = 1e-6;

/// The header and every record, each as one of the crate's types, beside what we wrote: its own reader skips what it does not know.
fn parsed(log: &[u8]) -> (QlogSeq, Vec<(Read, Value)>) {
    let all = records(log);
    let read = |record: &Value| -> Read {
        serde_json::from_str(&record.to_string()).unwrap_or_else(|e| panic!("{e}: {record}"))
    };
    let header = serde_json::from_str(&all[0].to_string()).unwrap();
    (header, all[1..].iter().map(|record| (read(record), record.clone())).collect())
}

/// Whether each field that was written was read, with its value.
fn assert_same(read: &Value, written: &Value, path: &str) {
    match (read, written) {
        (Value::Object(read), Value::Object(written)) => {
            for (name, value) in written.iter().filter(|(name, _)| !is_untyped(&format!("{path}.{name}"))) {
                let found = read.get(name).unwrap_or_else(|| panic!("{path}.{name} was not read"));
                assert_same(found, value, &format!("{path}.{name}"));
            }
        }
        (Value::Array(read), Value::Array(written)) => {
            assert_eq!(read.len(), written.len(), "{path}");
            read.iter().zip(written).for_each(|(read, written)| assert_same(read, written, path));
        }
        (Value::Number(read), Value::Number(written)) if written.is_f64() => {
            let [read, written] = [read, written].map(|number| number.as_f64().unwrap());
            assert!((read - written).abs() <= SINGLE * written.abs(), "{path}: {read} {written}");
        }
        _ => assert_eq!(read, written, "{path}"),
    }
}

fn is_untyped(path: &str) -> bool {
    UNTYPED.contains(&path) || path.starts_with("recovery:metrics_updated.data.cc_")
}

/// Reads a log and holds everything in it against what was written.
fn checked(log: &[u8]) -> Vec<Read> {
    let (_, events) = parsed(log);
    for (read, written) in &events {
        assert_same(&serde_json::to_value(read).unwrap(), written, written["name"].as_str().unwrap());
    }
    events.into_iter().map(|(read, _)| read).collect()
}

/// 10 Mbit/s and 50 ms that lose a packet in 300, mark above 20 packets and carry nothing between 2 and 4 s.
fn rough(algorithm: &str, transport: scenario::Transport) -> (Meta, Record) {
    let rtt = Duration::from_millis(50);
    let rate = |at: u64, mbit_s: u64| (Time::from_millis(at), Rate(mbit_s * 1_000_000));
    let link = LinkConfig {
        rate: RateModel::Steps(vec![rate(0, 10), rate(2000, 0), rate(4000, 10)]),
        limit: Limit::Packets(60),
        delay: rtt / 2,
        loss: 1.0 / 300.0,
        aqm: Aqm::Red(red::Params::mark_above(Threshold::OfLimit(0.3))),
        ..LinkConfig::plain(Rate(10_000_000))
    };
    let algorithm = congestion::Registry::default().get(algorithm).unwrap().algorithm();
    let mut flow = FlowConfig {
        ack: AckConfig::default(),
        transfer: Some(5_000_000),
        handshake: true,
        ..FlowConfig::new("one", algorithm, transport, rtt)
    };
    flow.recovery.ecn = Ecn::Ect0;
    run(link, flow)
}

#[test]
fn its_header_is_read() {
    for (transport, protocol) in [(Transport::Quic, "QUIC"), (Transport::Tcp, "TCP")] {
        let meta = meta(transport);
        let (header, _) = parsed(&log(&meta, &Trace::new()));
        assert_eq!(header.qlog_version, qlog_0_3::QLOG_VERSION);
        assert_eq!((header.qlog_format.as_str(), header.title), ("JSON-SEQ", Some(meta.title)));
        let trace = header.trace;
        assert_eq!(trace.vantage_point.name, Some(meta.flow));
        assert_eq!(trace.vantage_point.ty, qlog_0_3::VantagePointType::Server);
        assert_eq!(trace.configuration.unwrap().time_offset, Some(0.0));
        let common = trace.common_fields.unwrap();
        assert_eq!(common.protocol_type, Some(vec![protocol.to_owned()]));
        assert_eq!((common.reference_time, common.time_format.as_deref()), (Some(1000.0), Some("relative")));
    }
}

/// A rough path has every event there is, at both ends.
#[test]
fn every_event_of_a_run_is_read() {
    for (algorithm, transport) in [("cubic", QUIC), ("bbr3", QUIC), ("new-reno", QUIC), ("tcp-reno", TCP)] {
        let (meta, record) = rough(algorithm, transport);
        let events = checked(&log(&meta, record.trace.as_ref().unwrap()));
        let count = |which: &dyn Fn(&EventData) -> bool| {
            events.iter().filter(|event| which(&event.data)).count() as u64
        };
        let lost_by = |rule: PacketLostTrigger| {
            count(&|data| matches!(data, EventData::PacketLost(lost) if lost.trigger.as_ref() == Some(&rule)))
        };
        let stats = &record.stats;
        assert_eq!(
            count(&|data| matches!(data, EventData::PacketSent(_))),
            record.totals.packets,
            "{algorithm}"
        );
        assert_eq!(
            lost_by(PacketLostTrigger::ReorderingThreshold),
            stats.lost_by_packet_threshold,
            "{algorithm}"
        );
        assert_eq!(lost_by(PacketLostTrigger::TimeThreshold), stats.lost_by_time_threshold, "{algorithm}");
        assert_eq!(lost_by(PacketLostTrigger::PtoExpired), stats.lost_by_timeout, "{algorithm}");
        assert!(stats.lost() > 5 && stats.timeouts > 0, "{algorithm}: a rough path, {stats:?}");
        assert!(count(&|data| matches!(data, EventData::MetricsUpdated(_))) > 100, "{algorithm}");
        let states: BTreeSet<&str> = events
            .iter()
            .filter_map(|event| match &event.data {
                EventData::CongestionStateUpdated(state) => Some(state.new.as_str()),
                _ => None,
            })
            .collect();
        let own = ["slow_start", "congestion_avoidance"];
        let own = if meta.states.is_empty() { &own[..] } else { meta.states };
        let known = states.iter().filter(|name| own.contains(name)).count();
        assert!(
            known > 1 && states.contains("recovery") && known + 1 == states.len(),
            "{algorithm}: {states:?}"
        );

        let mut far = Vec::new();
        write_far(&mut far, Format::default(), &meta, record.far_trace.as_ref().unwrap()).unwrap();
        let marked = records(&far).iter().filter(|record| record["data"]["ecn"] == "CE").count();
        assert!(marked > 0, "{algorithm}: no mark");
        let arrived = checked(&far);
        assert!(
            arrived.iter().any(|event| matches!(event.data, EventData::PacketSent(_))),
            "acknowledgements"
        );
    }
}

/// The numbers of the trace themselves, not of our text.
#[test]
fn packets_are_those_of_the_trace() {
    let (meta, record) = rough("cubic", QUIC);
    let trace = record.trace.as_ref().unwrap();
    let events = checked(&log(&meta, trace));
    let mut packets = events.iter().filter(|event| matches!(event.data, EventData::PacketSent(_)));
    for (time, event) in trace {
        let Event::Sent { pn, bytes, offset, len } = event else { continue };
        let next = packets
            .by_ref()
            .find(|event| matches!(&event.data, EventData::PacketSent(packet) if packet.frames.is_some()));
        let Read { time: at, data: EventData::PacketSent(packet), .. } = next.unwrap() else {
            panic!("{next:?}")
        };
        let expected = (*time - meta.start).0 as f64 / 1e6;
        assert!((f64::from(*at) - expected).abs() <= SINGLE * expected, "{at} {expected}");
        assert_eq!(packet.header.packet_number, Some(*pn));
        assert_eq!(packet.raw.as_ref().unwrap().length, Some(u64::from(*bytes)));
        let stream = QuicFrame::Stream {
            stream_id: 0,
            offset: *offset,
            length: u64::from(*len),
            fin: None,
            raw: None,
        };
        assert_eq!(packet.frames.as_ref().unwrap()[..], [stream]);
    }
}

/// A trigger where the drafts and the crate agree on the word, the cause always.
#[test]
fn causes_are_read() {
    for (cause, word, typed) in [
        (Cause::Loss, "loss", None),
        (Cause::Ecn, "ecn", None),
        (Cause::Delay, "delay", None),
        (Cause::Timeout, "timeout", None),
        (
            Cause::PersistentCongestion,
            "persistent_congestion",
            Some(CongestionStateUpdatedTrigger::PersistentCongestion),
        ),
    ] {
        let events =
            checked(&log(&meta(Transport::Quic), &vec![(Time::from_millis(1000), Event::Reduced(cause))]));
        let EventData::CongestionStateUpdated(state) = &events[0].data else { panic!("{:?}", events[0]) };
        assert_eq!((state.new.as_str(), &state.trigger), ("recovery", &typed));
        assert_eq!(events[0].ex_data["cause"], word);
    }
}
