//! Reads a `[[flow]]` table.

use std::sync::LazyLock;

use congestion::PathInfo;
use recovery::{
    AckConfig, AckEvery, Clock, Config, Exit, PacketCount, Reduction, Style, TimeThreshold, Timeout,
};
use scenario::{Application, Back, FlowConfig, Rebind, Transport};
use units::{Bytes, Duration, Ecn, Time};

use crate::diagnostic::Diagnostic;
use crate::file::application;
use crate::file::controller::Controller;
use crate::file::cursor::{Cursor, Fields};
use crate::file::merge::merge;
use crate::file::network::{Network, Way};
use crate::file::packet::{self, Packet};
use crate::file::stack::Stack;
use crate::file::tables::define;
use crate::file::tables::flow::{AppTable, Flow};
use crate::file::values;

/// Keys with a reader of their own: all except those that [`FlowConfig`] takes unchanged.
static READ_SEPARATELY: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let plain = define::keys::<FlowConfig>();
    Flow::known().iter().copied().filter(|key| !plain.contains(key)).collect()
});

/// Coarsest clock granularity that is still useful for delay measurement.
const MAX_CLOCK_UNIT: Duration = Duration::from_secs(1);
/// Coarsest timer that can still keep a delay.
const MAX_TIMER_TICK: Duration = Duration::from_secs(1);
/// Coarsest timestamp clock (RFC 7323 section 5.4).
const MAX_TIMESTAMP_UNIT: Duration = Duration::from_secs(1);
/// Most NAT rebindings of a flow. Guests identify them by one byte.
const MAX_REBINDINGS: usize = 200;

/// Most flows of one run.
const MAX_FLOWS: u64 = 100_000;

/// Reads all flows. `transfer` is the experiment's default.
pub(crate) fn read_all(
    cursor: &Cursor<'_>,
    network: &Network<'_>,
    transfer: Option<Bytes>,
    duration: Duration,
) -> Result<Vec<Flow>, Diagnostic> {
    let tables = cursor.tables()?;
    let Some(first) = tables.first() else {
        return Err(cursor.problem("no flows", "add at least one [[flow]] with its controller"));
    };
    let mut flows = Vec::new();
    let mut count = 0_u64;
    for table in &tables {
        let flow = read(table, network, transfer, duration)?;
        count = count.saturating_add(flow.count);
        flows.push(flow);
        if count > MAX_FLOWS {
            return Err(table.problem(format!("{count} flows are too many"), format!("at most {MAX_FLOWS}")));
        }
    }
    if count == 0 {
        let at = first.get("count").unwrap_or_else(|| cursor.clone());
        return Err(at.problem("no flow has a count above 0", "at least one flow must run"));
    }
    Ok(flows)
}

fn read(
    cursor: &Cursor<'_>,
    network: &Network<'_>,
    transfer: Option<Bytes>,
    duration: Duration,
) -> Result<Flow, Diagnostic> {
    let fields = cursor.table(Flow::known())?;
    let controller_at = fields.need("controller", "write the flow's controller, like \"cubic\"")?;
    let Controller { label, algorithm, shares } =
        Controller::read(&controller_at, fields.get("slow-start").as_ref())?;
    let tcp = packet::is_tcp(&fields)?;
    let stack = Stack::read(&fields, tcp)?;
    let packet = packet::read(&fields, stack.transport())?;
    let transport = packet.transport();
    let way = network.way(&fields)?;
    let application = application::read(&fields, transport)?;
    let mut flow = Flow { shares, application, ..Flow::read(&fields, &way)? };
    check_stop(&fields, &flow)?;
    check_start(&fields, &flow, duration)?;
    if flow.label.is_empty() {
        flow.label = label.unwrap_or_else(|| algorithm.name().to_owned());
    }
    // The transfer of the whole file applies only to flows that carry bulk data.
    flow.transfer = flow.transfer.or(transfer.filter(|_| matches!(flow.application, AppTable::Bulk)));
    flow.rebind = read_rebind(&fields, tcp)?;
    let back = read_back(&fields, &way, &packet)?;
    flow.transport = if tcp { "tcp" } else { "quic" };
    flow.packet = Packet { ack: back.map(|back| Bytes(u64::from(back.size))), ..packet };
    flow.rtt = read_rtt(&fields, &way)?;
    flow.controller = Some(algorithm.clone());
    let ecn = algorithm.build(PathInfo::default()).needs().ecn;
    flow.config = FlowConfig {
        label: flow.label.clone(),
        group: flow.label.clone(),
        algorithm,
        transport,
        transfer: flow.transfer.map(|bytes| bytes.0),
        application: flow.application.config(),
        pauses: values::in_run(&flow.pauses),
        rebind: flow.rebind.clone(),
        route: way.there,
        back,
        rtt: flow.rtt,
        ..read_plain(cursor, &fields, (stack, ecn))?
    };
    check_needs(&controller_at, &flow.config)?;
    check_application(&fields, &flow.config)?;
    Ok(flow)
}

/// Refuses keys of `recovery` that the application makes meaningless.
fn check_application(fields: &Fields<'_>, config: &FlowConfig) -> Result<(), Diagnostic> {
    let (key, wrong, right) = match config.application {
        // Each object can have a connection of its own.
        Application::OnOff(_) if config.recovery.idle_timeout.is_some() => (
            "idle-timeout",
            "an idle timeout would end the flow, but its application is silent between objects",
            "remove it, or use one flow with a `transfer` for each object",
        ),
        Application::Media(_) if config.recovery.mtu_search => (
            "mtu-search",
            "media packets have one size",
            "remove it, and write that size as `packet.datagram`; or use bulk or on-off data",
        ),
        Application::Media(_) if config.recovery.offload.is_on() => {
            ("offload", "media leaves packet by packet", "remove it, or use bulk or on-off data")
        }
        _ => return Ok(()),
    };
    Err(fields.at("recovery").below(&[key.to_owned()]).problem(wrong, right))
}

fn check_stop(fields: &Fields<'_>, flow: &Flow) -> Result<(), Diagnostic> {
    let start = flow.start;
    match (flow.stop, flow.lasts) {
        (Some(_), Some(_)) => {
            let wrong = "`stop` and `lasts` cannot be combined";
            Err(fields.at("lasts").problem(wrong, "remove one of them"))
        }
        (Some(stop), None) if stop <= start => {
            let wrong = format!("stops at {stop}, but starts at {start}");
            Err(fields.at("stop").problem(wrong, "must be later than the start"))
        }
        _ => Ok(()),
    }
}

/// Refuses flows that start after the end, unless the case has none of them.
fn check_start(fields: &Fields<'_>, flow: &Flow, duration: Duration) -> Result<(), Diagnostic> {
    let last = flow.last_start();
    let (end, ends) = match flow.stop {
        Some(stop) if stop < duration => (stop, "the flows stop"),
        _ => (duration, "the run ends"),
    };
    if last < end || flow.count == 0 {
        return Ok(());
    }
    let keys = ["stagger", "start", "start-jitter"];
    let at = keys.iter().find_map(|key| fields.get(key)).unwrap_or_else(|| fields.cursor().clone());
    Err(at.problem(format!("the last flow starts at {last}"), format!("must be before {end}, when {ends}")))
}

/// Refuses controllers of one-way delay without receive times: they would do nothing, or something
/// else under their name.
fn check_needs(at: &Cursor<'_>, config: &FlowConfig) -> Result<(), Diagnostic> {
    let FlowConfig { algorithm, ack, transport, .. } = config;
    let (name, needs) = (algorithm.name(), algorithm.build(PathInfo::default()).needs());
    if needs.receive_times && ack.timestamps == 0 {
        // A controller with a delay threshold needs no receive times if the threshold is off.
        let has_threshold = algorithm.docs().iter().any(|p| p.name == "threshold");
        let off = if has_threshold { ", or threshold = \"off\"" } else { "" };
        return Err(at.problem(
            format!(
                "{name} needs the receive times of its packets, which this flow's receiver does not report"
            ),
            format!("set ack.timestamps = 1, or transport = \"quic\", which reports them{off}"),
        ));
    }
    // TCP reports one receive time per ACK.
    let each = ack.ack_every == AckEvery::Constant(1) || matches!(transport, Transport::Quic { .. });
    match needs.every_receive_time && !each {
        true => Err(at.problem(
            format!("{name} needs the receive time of every packet, but TCP reports one per ACK"),
            "set ack.ack-every = 1",
        )),
        false => Ok(()),
    }
}

impl Flow {
    /// Returns the latest possible start of the last flow.
    pub(crate) fn last_start(&self) -> Duration {
        self.start + self.stagger * self.count.saturating_sub(1) + self.start_jitter
    }

    /// Returns the flow with this number. `jitter` (0 to 1) selects its start within the random
    /// delay.
    pub(crate) fn config(&self, number: u64, label: String, jitter: f64) -> FlowConfig {
        let start = Time::ZERO + self.start + self.stagger * number + self.start_jitter.mul_f64(jitter);
        let stop = self.stop.map(|time| Time::ZERO + time).or(self.lasts.map(|span| start + span));
        FlowConfig { label, start, stop, ..self.config.clone() }
    }

    /// Returns the size of a full packet on the wire.
    pub(crate) fn wire_bytes(&self) -> u32 {
        self.config.transport.wire_bytes(self.config.transport.payload())
    }
}

/// Reads the keys that a run takes unchanged. Defaults are the stack's. That of the ECN mark is the
/// controller's.
fn read_plain(
    cursor: &Cursor<'_>,
    fields: &Fields<'_>,
    (stack, ecn): (Stack, Ecn),
) -> Result<FlowConfig, Diagnostic> {
    let mut default = stack.flow();
    default.recovery.ecn = ecn;
    // The sender knows its peer's delay, as a transport parameter, unless the file sets them to
    // different values.
    let delay = fields.get("ack").and_then(|ack| ack.get("max-ack-delay")?.read().ok());
    default.recovery.max_ack_delay = delay.unwrap_or(default.ack.max_ack_delay);
    let tcp = stack == Stack::Linux;
    let check = |config: &FlowConfig| {
        if tcp { check_tcp_ack(&config.ack) } else { check_quic_ack(&config.ack) }?;
        check_recovery(&config.recovery, tcp)?;
        check_clock(&config.clock)
    };
    merge(&default, cursor, &READ_SEPARATELY, check)
}

/// Returns the message of the first rule that does not hold.
fn rules<const N: usize>(rules: [(bool, &str); N]) -> Result<(), String> {
    rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, broken)| Err((*broken).to_owned()))
}

fn read_rebind(fields: &Fields<'_>, tcp: bool) -> Result<Vec<(Duration, Rebind)>, Diagnostic> {
    let Some(cursor) = fields.get("rebind") else { return Ok(Vec::new()) };
    let right = r#"write [["5 s", "port"], ["9 s", "address"]]"#;
    let all: Vec<(Duration, Rebind)> = cursor.read().map_err(|problem| problem.with_right(right))?;
    let rules = [
        (!tcp || all.is_empty(), "a NAT rebinding breaks a TCP connection", "use transport = \"quic\""),
        (all.len() <= MAX_REBINDINGS, "too many rebindings", "at most 200 per flow"),
        (
            all.is_sorted_by(|a, b| a.0 < b.0),
            "rebindings out of order",
            "each must be later than the one before",
        ),
    ];
    let broken = rules.iter().find(|(holds, ..)| !holds);
    broken.map_or(Ok(all), |(_, wrong, right)| Err(cursor.invalid(*wrong, *right)))
}

fn check_recovery(config: &Config, tcp: bool) -> Result<(), String> {
    let above_zero = |factor: f64| factor > 0.0 && factor.is_finite();
    let blind = config.packet_threshold.is_none() && config.time_threshold == TimeThreshold::Off;
    let growth = config.max_time_threshold;
    rules([
        (above_zero(config.pacing.factor), "`factor` must be a number above 0"),
        (above_zero(config.pacing.slow_start_factor), "`slow-start-factor` must be a number above 0"),
        (
            above_zero(config.pacing.slow_start_until),
            "`slow-start-until` must be a share of ssthresh above 0",
        ),
        (config.pacing.min_burst >= 1, "`min-burst` must be at least 1 packet"),
        (
            !(blind && config.timeout == Timeout::Pto),
            "no loss would ever be detected: packet-threshold and time-threshold are off, and the timeout only sends probes",
        ),
        (config.packet_threshold != Some(0), "`packet-threshold` must be at least 1 packet, or \"off\""),
        (
            config.max_packet_threshold != Some(0),
            "`max-packet-threshold` must be at least 1 packet, or \"off\"",
        ),
        (config.skip_numbers != Some(0), "`skip-numbers` must be at least 1, or \"off\""),
        (
            growth.is_none_or(|f| f >= 1.0 && f.is_finite()),
            "`max-time-threshold` must be at least 1 RTT, or \"off\"",
        ),
        (
            !config.offload.is_on() || config.pacing.style == Style::Tokens,
            "`offload` and `pacing.style = \"bursts\"` are two ways to send bursts; remove one of them",
        ),
        (
            !config.offload.is_on() || !config.small_last_packet,
            "`offload` waits for room in the window, which `small-last-packet` fills; remove one of them",
        ),
        (config.initial_rtt > Duration::ZERO, "`initial-rtt` must be above 0"),
        (config.max_pto != Some(Duration::ZERO), "`max-pto` must be above 0, or \"off\""),
        (
            config.max_pto.is_none() || config.timeout == Timeout::Pto,
            "`max-pto` limits QUIC's probe timeout; for a retransmission timeout write `max-rto`",
        ),
        (
            !tcp || config.idle_timeout.is_none(),
            "`idle-timeout` applies to QUIC only; TCP keeps a connection that is silent",
        ),
        (
            config.idle_timeout.is_none_or(|d| d > Duration::ZERO && d.0.is_multiple_of(1_000_000)),
            "`idle-timeout` must be a whole number of milliseconds, at least 1 ms, or \"off\"",
        ),
        (
            !tcp || !config.mtu_search,
            "`mtu-search` applies to QUIC only; for TCP write the size of segments as `packet.mss`",
        ),
        (
            !config.mtu_search || !config.offload.is_on(),
            "`offload` makes groups of packets of one size, which `mtu-search` changes; remove one of them",
        ),
        (config.max_rto > Duration::ZERO, "`max-rto` must be above 0"),
        (
            config.max_rto == Config::tcp().max_rto || config.timeout != Timeout::Pto,
            "`max-rto` limits TCP's retransmission timeout; for a probe timeout write `max-pto`",
        ),
        (tcp || config.sack, "`sack` applies to TCP only; QUIC's ACKs contain ranges"),
        (
            tcp || config.packet_count == PacketCount::Numbers,
            "`packet-count = \"sacked\"` applies to TCP only; QUIC never sends a packet number twice",
        ),
        (tcp || config.exit != Exit::RenoTcp, "`exit = \"reno-tcp\"` applies to TCP only"),
        (
            config.sack || (config.packet_threshold.is_some() && config.packet_count == PacketCount::Numbers),
            "without SACK, duplicate acknowledgements are counted: write `packet-threshold = 3` and `packet-count = \"numbers\"`",
        ),
        (
            config.sack || matches!(config.time_threshold, TimeThreshold::Off | TimeThreshold::Vegas),
            "without SACK, `time-threshold` must be \"off\" or \"vegas\"",
        ),
        (
            config.sack || config.exit != Exit::Quic,
            "without SACK, `exit` must be \"newreno-tcp\" or \"reno-tcp\"",
        ),
        (
            config.sack || config.reduction == Reduction::AtOnce,
            "without SACK, `reduction` must be \"at-once\"",
        ),
        (
            !tcp || config.skip_numbers.is_none(),
            "`skip-numbers` applies to QUIC only; TCP numbers bytes and skips none",
        ),
    ])
}

fn check_ack(config: &AckConfig) -> Result<(), String> {
    config.ack_every.check()?;
    rules([
        (config.max_ranges >= 1, "`max-ranges` must be at least 1"),
        (
            config.ping_every != Some(0),
            "`ping-every` must be at least 1, for a PING with every ACK, or \"off\"",
        ),
        (config.timestamp_exponent <= 20, "`timestamp-exponent` must be at most 20"),
    ])
}

fn check_quic_ack(config: &AckConfig) -> Result<(), String> {
    let default = AckConfig::default().timestamp_granularity;
    rules([
        (
            !config.quick_acks,
            "`quick-acks` applies to TCP only; for QUIC use `ack-every = 1` and `immediate-on-gap`",
        ),
        (
            config.timestamp_granularity == default,
            "`timestamp-granularity` applies to TCP only; for QUIC use `timestamp-exponent`",
        ),
        (
            config.delay_factor.is_none_or(|f| f > 0.0 && f.is_finite()),
            "`delay-factor` must be a number of RTTs above 0, or \"off\"",
        ),
        (config.timer_tick <= MAX_TIMER_TICK, "`timer-tick` must be at most 1 s"),
    ])?;
    check_ack(config)
}

fn check_tcp_ack(config: &AckConfig) -> Result<(), String> {
    let waits = config.delay_factor.is_none() && config.timer_tick == Duration::ZERO;
    rules([
        (waits, "`delay-factor` and `timer-tick` apply to QUIC only; for TCP use `max-ack-delay`"),
        (config.timestamps <= 1, "`timestamps` must be 0 or 1 for TCP, whose option holds 1 receive time"),
        (
            config.timestamp_exponent == 0,
            "`timestamp-exponent` applies to QUIC only; for TCP use `timestamp-granularity`",
        ),
        (
            config.timestamp_granularity <= MAX_TIMESTAMP_UNIT,
            "`timestamp-granularity` must be at most 1 s (RFC 7323)",
        ),
    ])?;
    check_ack(config)
}

fn check_clock(clock: &Clock) -> Result<(), String> {
    rules([
        // A clock reading is nanoseconds in 64 bits. Half of the range is left for the run's time.
        (clock.offset_seconds.abs() <= 4e9, "`offset-seconds` must be between -4e9 and 4e9"),
        (clock.drift_ppm.abs() <= 1e5, "`drift-ppm` must be between -100 000 and 100 000"),
        (clock.granularity <= MAX_CLOCK_UNIT, "`granularity` must be at most 1 s"),
    ])
}

/// Reads the return path. Feedback crosses its links, if there are any, in packets of one size.
fn read_back(fields: &Fields<'_>, way: &Way, packet: &Packet) -> Result<Option<Back>, Diagnostic> {
    match (way.back, packet.ack) {
        (Some(route), size) => {
            let size = size.map_or_else(|| packet::ack(packet.transport()), |size| size.0 as u32);
            Ok(Some(Back { route, size }))
        }
        (None, Some(_)) => {
            let at = fields.at("packet").below(&["ack".to_owned()]);
            let wrong = "the size of an ACK has no effect without links on the return path";
            Err(at.problem(wrong, "add [reverse]"))
        }
        (None, None) => Ok(None),
    }
}

fn read_rtt(fields: &Fields<'_>, way: &Way) -> Result<Duration, Diagnostic> {
    let Some(cursor) = fields.get("rtt") else {
        let right = "give the link a `delay` or the flow an `rtt`";
        return match way.default_rtt() {
            Duration::ZERO => Err(fields.cursor().problem("the base RTT is 0", right)),
            rtt => Ok(rtt),
        };
    };
    let rtt: Duration = cursor.read()?;
    if rtt == Duration::ZERO {
        return Err(cursor.invalid("the base RTT is 0", "must be above 0, like \"50 ms\""));
    }
    let least = way.least_rtt();
    if rtt >= least {
        return Ok(rtt);
    }
    let links = if way.back.is_some() { "links' round-trip" } else { "link's" };
    let wrong = format!("an RTT of {rtt} is shorter than the {links} delay of {least}");
    Err(cursor.problem(wrong, "must be at least that delay"))
}
