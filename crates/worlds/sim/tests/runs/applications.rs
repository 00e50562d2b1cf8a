//! Applications of flows against closed forms: media, short transfers, pauses.

use crate::common::*;
use link::{Limit, LinkConfig};
use scenario::{
    Application, Connection, FlowConfig, KeyFrames, MediaConfig, ObjectsConfig, Outcome, Record, Scenario,
};
use units::{Bytes, Duration, Rate, Time};

const S: Duration = Duration::from_secs(1);

fn close(what: &str, got: f64, expected: f64, tolerance: f64) {
    assert!((got / expected - 1.0).abs() <= tolerance, "{what}: {got} for {expected}");
}

/// Media as in RFC 8867 section 4.3, without audio and with constant frame sizes.
fn even() -> MediaConfig {
    MediaConfig {
        fps: 30,
        min_rate: Rate(150_000),
        max_rate: Rate(1_500_000),
        start_rate: Rate(150_000),
        reaction: Duration::from_millis(100),
        variation: 0.0,
        key_frames: None,
        audio: Rate(0),
        max_queue: S,
    }
}

/// Returns a flow at a fixed rate: DCCC between equal limits.
fn at(kbit_s: u64, media: MediaConfig) -> FlowConfig {
    let rate = format!("'{kbit_s} kbit/s'");
    let dccc = format!(
        "name = 'dccc'\ninitial-rate = {rate}\nmin-rate = {rate}\nmax-rate = {rate}\nsilence = 'off'"
    );
    FlowConfig { application: Application::Media(media), ..quic_flow(&dccc) }
}

fn objects(smallest: u64, largest: u64, idle_ms: u64) -> ObjectsConfig {
    ObjectsConfig {
        smallest: Bytes(smallest),
        largest: Bytes(largest),
        idle: Duration::from_millis(idle_ms),
        begins_on: true,
        connection: Connection::New,
    }
}

/// Returns a scenario whose link limits no flow. Counts from second 2.
fn wide(seconds: u64, flows: Vec<FlowConfig>) -> Scenario {
    let link =
        LinkConfig { delay: RTT / 2, limit: Limit::Unlimited, ..LinkConfig::plain(Rate(1_000_000_000)) };
    let measure = Some((Time::from_millis(2000), Time::ZERO + S * seconds));
    Scenario { link, measure, ..scenario(1.0, seconds, flows) }
}

fn media(out: &Outcome) -> &scenario::MediaTotals {
    out.flows[0].media.as_ref().unwrap()
}

fn object_times(flow: &Record) -> &scenario::Histogram {
    &flow.objects.as_ref().unwrap().time
}

/// Alone and unlimited, media sends at its largest rate. Each frame is delayed by propagation and
/// its own transmission: the pacer's bucket of ten packets holds a frame.
#[test]
fn media_alone_makes_its_largest_rate() {
    for variation in [0.0, 0.05] {
        let mut s = wide(62, vec![at(10_000, MediaConfig { variation, ..even() })]);
        s.link.rate = link::RateModel::Constant(Rate(10_000_000));
        let out = run(&s);
        // Both ends of the window count: 1801 frames.
        close(
            "rate",
            media(&out).made as f64 * 8.0 / 1801.0 * 30.0,
            1.5e6,
            if variation > 0.0 { 3e-3 } else { 1e-9 },
        );
        // 6250 bytes in 6 packets with 79 bytes of headers each.
        let expected = 25.0 + (6250.0 + 6.0 * 79.0) * 8e-4;
        close("delay", media(&out).delay.mean_ms(), expected, if variation > 0.0 { 2e-3 } else { 1e-9 });
        assert_eq!((media(&out).skipped, media(&out).lost), (0, 0));
        assert!(media(&out).complete >= 1799);
    }
}

/// A key frame every 2 s, which is four times as large as the 59 others: 6250 * 60 / 63 bytes for
/// those. From 2 s to 62 s there are 31 key frames, and the mean of 60 frames is that of the
/// encoder.
#[test]
fn key_frames_of_media() {
    let key_frames = Some(KeyFrames { every: S * 2, size: 4.0 });
    let mut s = wide(62, vec![at(20_000, MediaConfig { key_frames, ..even() })]);
    s.link.rate = link::RateModel::Constant(Rate(100_000_000));
    let out = run(&s);
    assert_eq!(media(&out).made, 31 * 23_810 + 1770 * 5952);
    close("rate", (23_810.0 + 59.0 * 5952.0) * 8.0 / 2.0, 1.5e6, 1e-4);
    assert_eq!((media(&out).skipped, media(&out).lost), (0, 0));
    // The largest frame leaves in a bucket of ten packets, and the rest at 20 Mbit/s.
    let paced = (23_810.0 + 20.0 * 37.0 - 10.0 * 1252.0) * 8.0 / 20_000.0;
    close("delay", media(&out).delay.max_ms(), 25.0 + paced, 0.02);
}

/// With a bucket of one packet, the packets of a frame before the last are paced, and the last
/// waits for its own bytes.
#[test]
fn frame_delay_of_a_paced_frame() {
    for kbit_s in [2000, 4000] {
        let mut flow = at(kbit_s, even());
        flow.recovery.pacing.burst = Some(1);
        let out = run(&wide(20, vec![flow]));
        let paced = (4.0 * 1252.0 + 212.0) * 8.0 / kbit_s as f64;
        let expected = 25.0 + paced + (175.0 + 79.0) * 8e-6;
        close("delay", media(&out).delay.mean_ms(), expected, 1e-4);
    }
}

/// Video, audio and all headers that the window counts amount to the controller's rate. A window's
/// rate is cwnd / RTT.
#[test]
fn media_fills_the_allowed_rate() {
    let config = MediaConfig { audio: Rate(20_000), variation: 0.05, max_rate: Rate(4_000_000), ..even() };
    for kbit_s in [300, 500, 1000, 2000, 4000] {
        let out = run(&wide(62, vec![at(kbit_s, config.clone())]));
        let stats = &out.flows[0].stats;
        // Two seconds fewer than the window: the first 100 ms have the start rate, and the frame
        // sizes are random.
        close("rate", stats.sent_bytes as f64 * 8.0 / 62.0, kbit_s as f64 * 1e3, 0.01);
        assert_eq!(media(&out).skipped, 0);
    }
    let window = FlowConfig {
        application: Application::Media(config),
        ..quic_flow("name = 'fixed-window'\nwindow = 8")
    };
    let out = run(&wide(62, vec![window]));
    let rate = out.flows[0].stats.sent_bytes as f64 * 8.0 / 62.0;
    assert!(rate <= 8.0 * 1252.0 * 8.0 / 0.05 && rate > 0.9 * 8.0 * 1252.0 * 8.0 / 0.0625, "{rate}");
}

/// The rate is below the encoder's minimum. Units that wait a second are skipped, and the sent data
/// fills the rate. No frame is later than the bound, its own transmission and the path.
#[test]
fn skips_what_waits_too_long() {
    for ms in [200, 1000] {
        let max_queue = Duration::from_millis(ms);
        let out = run(&wide(122, vec![at(100, MediaConfig { max_queue, ..even() })]));
        // A frame is 625 bytes and counts 662: 30 of them are 158.88 kbit/s.
        let m = media(&out);
        close("skipped", m.skipped as f64 / 120.0, 30.0 * (1.0 - 100.0 / 158.88), 0.02);
        assert_eq!(m.lost, 0);
        let worst = ms as f64 + 662.0 * 8.0 / 100.0 + 25.0 + 1.0;
        assert!(m.delay.max_ms() <= worst && m.delay.max_ms() > worst - 60.0, "{} {worst}", m.delay.max_ms());
    }
}

/// A frame in one packet is lost with it. Nothing is sent again, and every frame has exactly one
/// outcome.
#[test]
fn lost_packets_are_lost_frames() {
    for loss in [0.02, 0.1] {
        let config = MediaConfig { max_rate: Rate(150_000), ..even() };
        let mut s = wide(402, vec![at(1000, config)]);
        s.link.loss = loss;
        let out = run(&s);
        let m = media(&out);
        let all = (m.complete + m.lost + m.skipped) as f64;
        assert!((all - 12_001.0).abs() < 12.0, "{all}");
        // 12 000 packets: the standard deviation is 6 % and 3 % of the losses.
        close("loss", m.lost as f64 / all, loss, 0.2);
        assert_eq!((out.flows[0].stats.retransmissions, m.skipped), (0, 0));
        assert!(out.flows[0].stats.lost() > 0);
    }
}

/// A frame whose packet was declared lost and arrived late was not lost.
#[test]
fn late_packets_make_their_frame_whole() {
    let mut s = wide(62, vec![at(10_000, even())]);
    s.link.reorder = Some(link::Reorder { every: 100, by: Duration::from_millis(100) });
    let out = run(&s);
    assert!(out.flows[0].stats.spurious > 50, "{}", out.flows[0].stats.spurious);
    assert!(media(&out).lost <= 2, "{:?}", media(&out).lost);
}

/// With losses, pauses and a tail that needs a PING, all frames are accounted for and nothing is
/// sent again.
#[test]
fn media_pauses() {
    let mut flow = at(2000, MediaConfig { audio: Rate(20_000), ..even() });
    flow.pauses =
        (1..20).map(|i| (Time::from_millis(i * 3000), Time::from_millis(i * 3000 + 2000))).collect();
    let mut s = wide(62, vec![flow]);
    (s.link.loss, s.series) = (0.2, Some(S));
    let out = run(&s);
    assert_eq!(out.flows[0].stats.retransmissions, 0);
    assert!(out.flows[0].stats.timeouts > 0, "the lost tail needs a timeout");
    let made = out.series.flows[0].media_mbit_s.to_vec();
    assert_eq!(made.len(), 62);
    for (second, rate) in made.iter().enumerate().take(60).skip(3) {
        assert!(if second % 3 == 2 { (rate - 1.5).abs() < 0.05 } else { *rate == 0.0 }, "{second}: {rate}");
    }
}

/// With every controller, frames still arrive long after a pause of 20 s, and beside a flow without
/// one.
#[test]
fn every_controller_carries_media() {
    for algorithm in congestion::Algorithm::all() {
        let flow = FlowConfig {
            algorithm: algorithm.clone(),
            ..at(1, MediaConfig { audio: Rate(20_000), variation: 0.05, ..even() })
        };
        let paused = FlowConfig {
            pauses: vec![(Time::from_millis(20_000), Time::from_millis(40_000))],
            ..flow.clone()
        };
        let mut s = scenario(4.0, 60, vec![flow, paused]);
        s.link.rate = link::RateModel::Constant(Rate(4_000_000));
        s.measure = Some((Time::ZERO + S * 50, Time::ZERO + S * 60));
        let out = run(&s);
        for flow in &out.flows {
            assert!(flow.media.as_ref().is_some_and(|media| media.complete > 0), "{algorithm:?}");
        }
    }
}

/// A silence of 20 s says nothing about the network. A media controller that knows the source's
/// largest rate reaches it before and after, and never exceeds it. DCCC as printed takes the
/// silence for packets held back.
#[test]
fn media_controllers_survive_a_pause() {
    let capped = [
        "name = 'gcc'\nmax-rate",
        "name = 'dccc'\nsending-rate = 'measured'\nmax-rate",
        "name = 'nada'\nrmax",
    ];
    let printed = "name = 'dccc'\nmax-rate";
    for name in capped.into_iter().chain([printed]) {
        let media = MediaConfig { audio: Rate(20_000), variation: 0.05, ..even() };
        let mut flow = FlowConfig {
            application: Application::Media(media),
            ..quic_flow(&format!("{name} = '1.7 Mbit/s'"))
        };
        (flow.pauses, flow.recovery.pacing.burst) =
            (vec![(Time::ZERO + S * 60, Time::ZERO + S * 80)], Some(1));
        let mut s = scenario(6.0, 110, vec![flow]);
        s.series = Some(S);
        let series = &run(&s).series.flows[0];
        let made = series.media_mbit_s.to_vec();
        let rate = ["a_hat", "x", "r_ref"].iter().find_map(|word| series.inner.get(word)).unwrap().to_vec();
        assert!(rate.iter().all(|rate| *rate <= 1.7e6), "{name}: {rate:?}");
        if name == printed {
            assert!(rate[81] < 100e3, "{name}: {rate:?}");
        } else {
            assert!([58, 81, 82, 90, 105].iter().all(|second| made[*second] > 1.4), "{name}: {made:?}");
        }
        assert!(made[60..80].iter().all(|rate| *rate == 0.0));
    }
}

/// Frames with small audio packets in between, at few and at many packets per RTT: the controllers
/// reach the source's largest rate whatever the RTT. (DCCC as printed does not: its interarrival
/// times assume packets of equal length.)
#[test]
fn media_at_any_rtt() {
    for name in [
        "name = 'gcc'\nmax-rate",
        "name = 'dccc'\nsending-rate = 'measured'\nmax-rate",
        "name = 'nada'\nrmax",
    ] {
        for ms in [10, 30, 40, 100] {
            let media = MediaConfig { audio: Rate(20_000), variation: 0.05, ..even() };
            let mut flow = FlowConfig {
                application: Application::Media(media),
                ..quic_flow(&format!("{name} = '1.7 Mbit/s'"))
            };
            flow.recovery.pacing.burst = Some(1);
            flow.rtt = units::Duration::from_millis(ms);
            let mut s = scenario(3.0, 90, vec![flow]);
            s.link.delay = units::Duration::from_millis(ms / 2);
            s.series = Some(S);
            let made = run(&s).series.flows[0].media_mbit_s.to_vec();
            assert!(made[80..].iter().all(|rate| *rate > 1.3), "{name} at {ms} ms: {made:?}");
        }
    }
}

/// With a fixed size on an idle link, each object takes as long as the first, so each begins at the
/// initial window.
#[test]
fn new_connections_begin_anew() {
    for flow in [quic_flow("name = 'cubic'"), tcp_flow("name = 'cubic'")] {
        let on = |connection| {
            let application =
                Application::OnOff(ObjectsConfig { connection, ..objects(300_000, 300_000, 500) });
            let mut s = wide(200, vec![FlowConfig { application, ..flow.clone() }]);
            s.measure = None;
            run(&s)
        };
        let (new, kept) = (on(Connection::New), on(Connection::Kept));
        let times = object_times(&new.flows[0]);
        assert!(times.count() > 200);
        assert!(times.std_ms() < 1e-3, "{}", times.std_ms());
        let again = object_times(&kept.flows[0]);
        assert!(again.mean_ms() < 0.7 * times.mean_ms(), "{} {}", again.mean_ms(), times.mean_ms());
        assert!((again.max_ms() - times.max_ms()).abs() < 1e-3, "the first is the same");
        assert!(new.flows[0].stats.sent >= 208 * times.count(), "{:?}", new.flows[0].stats);
    }
}

/// Exponential idle times and uniform sizes have the given means. Another flow has its own draws.
#[test]
fn idle_times_and_sizes() {
    for flow in [quic_flow("name = 'new-reno'"), tcp_flow("name = 'tcp-reno'")] {
        let flow = FlowConfig { application: Application::OnOff(objects(30_000, 50_000, 1000)), ..flow };
        let mut s = wide(3000, vec![flow.clone(), flow]);
        s.measure = None;
        let out = run(&s);
        for flow in &out.flows {
            let times = object_times(flow);
            let count = times.count() as f64;
            // About 2600 objects: the standard deviation is 2 % for the mean idle time, 0.3 % for
            // the mean size.
            close("idle", (3000.0 - count * times.mean_ms() / 1e3) / count, 1.0, 0.06);
            close("size", flow.delivered as f64 / count, 40_000.0, 0.01);
        }
        assert_ne!(out.flows[0].objects, out.flows[1].objects);
    }
}

/// Each object ends before the next begins, whatever is lost.
#[test]
fn every_object_completes() {
    for flow in [
        quic_flow("name = 'cubic'"),
        tcp_flow("name = 'cubic'"),
        quic_flow("name = 'bbr3'"),
        quic_flow("name = 'dccc'"),
    ] {
        for connection in [Connection::New, Connection::Kept] {
            let config = ObjectsConfig { connection, ..objects(30_000, 50_000, 200) };
            let flow = FlowConfig { application: Application::OnOff(config), ..flow.clone() };
            let mut s = wide(300, vec![flow]);
            (s.link.loss, s.measure) = (0.05, None);
            let out = run(&s);
            let (flow, times) = (&out.flows[0], object_times(&out.flows[0]));
            assert!(times.count() > 30 && flow.stats.retransmissions > 0, "{}", times.count());
            let per_object = flow.delivered as f64 / times.count() as f64;
            close("bytes", per_object, 40_000.0, 0.05);
            let pause = 300.0 - times.count() as f64 * times.mean_ms() / 1e3;
            assert!(pause > 0.15 * times.count() as f64, "{pause}");
        }
    }
}

#[test]
fn begins_off() {
    let config = ObjectsConfig { begins_on: false, ..objects(30_000, 50_000, 10_000_000) };
    let flow = |config| FlowConfig { application: Application::OnOff(config), ..tcp_flow("name = 'cubic'") };
    let out = run(&Scenario {
        measure: None,
        ..wide(10, vec![flow(config), flow(objects(30_000, 50_000, 10_000_000))])
    });
    let counts = out.flows.iter().map(|f| object_times(f).count()).collect::<Vec<_>>();
    assert_eq!(counts, [0, 1]);
}

/// In a pause only data in flight at its start arrives; afterwards the flow continues as before. A
/// transfer delivers as much as without it.
#[test]
fn bulk_pauses() {
    for flow in [quic_flow("name = 'cubic'"), tcp_flow("name = 'cubic'"), quic_flow("name = 'bbr1'")] {
        let pauses = vec![(Time::from_millis(10_000), Time::from_millis(20_000))];
        let paused = FlowConfig { pauses, ..flow.clone() };
        let mut s = scenario(1.0, 30, vec![paused.clone()]);
        s.measure = Some((Time::from_millis(10_400), Time::from_millis(19_999)));
        assert_eq!(run(&s).flows[0].totals.packets, 0);
        s.measure = Some((Time::from_millis(21_000), Time::from_millis(30_000)));
        assert!(goodput(&run(&s), 0) > 8.0);
        let transfer = Some(20_000_000);
        let time =
            |flow| run(&scenario(1.0, 60, vec![FlowConfig { transfer, ..flow }])).flows[0].finished.unwrap();
        let longer = (time(paused) - time(flow)).as_secs_f64();
        assert!((longer - 10.0).abs() < 1.0, "{longer}");
    }
}

/// Data lost before the pause is sent again during it.
#[test]
fn repeats_go_out_in_a_pause() {
    let pauses = vec![(Time::from_millis(10_000), Time::from_millis(20_000))];
    let mut s = wide(30, vec![FlowConfig { pauses, ..quic_flow("name = 'fixed-window'\nwindow = 100") }]);
    s.link.loss = 0.2;
    s.measure = Some((Time::from_millis(10_001), Time::from_millis(19_999)));
    let totals = &run(&s).flows[0].totals;
    assert!(totals.packets > 0 && totals.packets < 100, "{}", totals.packets);
}

#[test]
fn same_scenario_same_outcome() {
    let on_off = Application::OnOff(objects(30_000, 50_000, 300));
    let pauses = vec![(Time::from_millis(5000), Time::from_millis(9000))];
    let config = MediaConfig { audio: Rate(20_000), variation: 0.05, ..even() };
    let media =
        |name: &str| FlowConfig { application: Application::Media(config.clone()), ..quic_flow(name) };
    let flows = vec![
        media("name = 'nada'"),
        FlowConfig { pauses, ..media("name = 'gcc'") },
        FlowConfig { application: on_off.clone(), ..tcp_flow("name = 'cubic'") },
        FlowConfig { application: on_off, ..quic_flow("name = 'bbr2'") },
    ];
    let mut s = scenario(1.0, 30, flows);
    s.link.rate = link::RateModel::Constant(Rate(2_000_000));
    s.series = Some(Duration::from_millis(500));
    let (a, b) = (run(&s), run(&s));
    assert_eq!(a.link, b.link);
    assert_eq!(format!("{:?}", a.series), format!("{:?}", b.series));
    assert_eq!(format!("{:?}", a.flows), format!("{:?}", b.flows));
    s.seed = 2;
    assert_ne!(run(&s).flows[2].objects, a.flows[2].objects);
}
