//! A `[[flow]]` table.

use std::sync::LazyLock;

use recovery::{AckConfig, Clock, Config, TimeThreshold, Timeout};
use scenario::{Application, Back, FlowConfig, Rebind, Transport};
use units::{Bytes, Duration, Time};

use crate::diagnostic::Diagnostic;
use crate::file::application;
use crate::file::controller::{Controller, Shares};
use crate::file::cursor::{Cursor, Fields};
use crate::file::merge::merge;
use crate::file::network::{Network, Way};
use crate::file::packet;
use crate::file::stack::Stack;
use crate::file::tables::flow::FlowTable;
use crate::file::tables::{self, known_keys};

known_keys!(KEYS: FlowTable<'static>);

/// Keys with a reader of their own: all but those that [`FlowConfig`] takes as they are.
static READ_APART: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let plain = tables::keys::<FlowConfig>();
    KEYS.iter().copied().filter(|key| !plain.contains(key)).collect()
});

/// What counts in more is no clock to measure delays by.
const MAX_CLOCK_UNIT: Duration = Duration::from_secs(1);
/// Coarser timers keep no delay.
const MAX_TIMER_TICK: Duration = Duration::from_secs(1);
/// RFC 7323 section 5.4.
const MAX_TIMESTAMP_UNIT: Duration = Duration::from_secs(1);
/// A guest tells them apart by a byte.
const MAX_REBINDINGS: usize = 200;

/// Most flows of one run.
pub(crate) const MAX_FLOWS: u64 = 100_000;

/// Flows that differ in their start only. A count of 0 leaves them out: so that `[vary]` can choose among flows.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// All but each one's start and stop, and its own label; `group` is the label that they share.
    pub(crate) config: FlowConfig,
    pub(crate) shares: Shares,
    pub(crate) count: u64,
    pub(crate) start: Duration,
    pub(crate) stagger: Duration,
    /// Each starts up to this much later, by the seed: real flows never start together to the nanosecond, and where
    /// they do, who fills the queue first decides a run.
    pub(crate) start_jitter: Duration,
    pub(crate) stop: Stop,
}

/// When a flow ends, unless its transfer ends it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stop {
    Never,
    /// `stop`: at this time of the run.
    At(Duration),
    /// `lasts`: so long after its own start.
    After(Duration),
}

impl Flow {
    /// `transfer` is the experiment's.
    pub(crate) fn read(
        cursor: &Cursor<'_>,
        network: &Network<'_>,
        transfer: Option<Bytes>,
    ) -> Result<Self, Diagnostic> {
        let fields = cursor.table(&KEYS)?;
        let controller = fields.need("controller", "the flow's algorithm, like \"cubic\"")?;
        let controller = Controller::read(&controller, fields.get("slow-start").as_ref())?;
        let tcp = packet::is_tcp(&fields)?;
        let stack = Stack::read(&fields, tcp)?;
        let transport = packet::read(&fields, stack.transport())?;
        let way = network.way(&fields)?;
        let default = || controller.label.clone().unwrap_or_else(|| controller.algorithm.name().to_owned());
        let application = application::read(&fields, transport)?;
        let bulk = application == Application::Bulk;
        let group = read_label(&fields)?.unwrap_or_else(default);
        // That of the whole file is for those that carry bulk data.
        let transfer = read_transfer(fields.get("transfer").as_ref())?.or(transfer.filter(|_| bulk));
        let config = FlowConfig {
            label: group.clone(),
            group,
            algorithm: controller.algorithm.clone(),
            transport,
            transfer: transfer.map(|bytes| bytes.0),
            application,
            pauses: application::pauses(&fields)?,
            rebind: read_rebind(&fields, tcp)?,
            route: way.there,
            back: read_back(&fields, &way, transport)?,
            rtt: read_rtt(&fields, &way)?,
            ..read_plain(cursor, &fields, stack)?
        };
        Ok(Self {
            config,
            shares: controller.shares,
            count: read_count(fields.get("count").as_ref())?,
            start: fields.read("start")?.unwrap_or(Duration::ZERO),
            stagger: fields.read("stagger")?.unwrap_or(Duration::ZERO),
            start_jitter: fields.read("start-jitter")?.unwrap_or(Duration::ZERO),
            stop: read_stop(&fields)?,
        })
    }

    /// The latest start of the last of them.
    pub(crate) fn last_start(&self) -> Duration {
        self.start + self.stagger * self.count.saturating_sub(1) + self.start_jitter
    }

    /// The flow of this number among its likes; `jitter` is where in its span it starts, 0..1.
    pub(crate) fn config(&self, number: u64, label: String, jitter: f64) -> FlowConfig {
        let start = Time::ZERO + self.start + self.stagger * number + self.start_jitter.mul_f64(jitter);
        let stop = match self.stop {
            Stop::Never => None,
            Stop::At(time) => Some(Time::ZERO + time),
            Stop::After(span) => Some(start + span),
        };
        FlowConfig { label, start, stop, ..self.config.clone() }
    }

    /// A full packet on the wire.
    pub(crate) fn wire_bytes(&self) -> u32 {
        self.config.transport.wire_bytes(self.config.transport.payload())
    }
}

/// The keys that a run takes as they are; those that the file does not give are the stack's.
fn read_plain(cursor: &Cursor<'_>, fields: &Fields<'_>, stack: Stack) -> Result<FlowConfig, Diagnostic> {
    let mut default = FlowConfig { ack: stack.ack(), recovery: stack.recovery(), ..FlowConfig::default() };
    // The sender knows its peer's delay: one transport parameter, unless the file parts them on purpose.
    let delay = fields.get("ack").and_then(|ack| ack.get("max-ack-delay")?.read().ok());
    default.recovery.max_ack_delay = delay.unwrap_or(default.ack.max_ack_delay);
    let tcp = stack == Stack::Linux;
    let check = |config: &FlowConfig| {
        if tcp { check_tcp_ack(&config.ack) } else { check_quic_ack(&config.ack) }?;
        check_recovery(&config.recovery)?;
        rule(!tcp || config.recovery.skip_numbers.is_none(), "TCP numbers bytes and leaves none out")?;
        check_clock(&config.clock)
    };
    merge(&default, cursor, &READ_APART, check)
}

fn rule(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn read_rebind(fields: &Fields<'_>, tcp: bool) -> Result<Vec<(Duration, Rebind)>, Diagnostic> {
    let Some(cursor) = fields.get("rebind") else { return Ok(Vec::new()) };
    let all: Vec<(Duration, Rebind)> = cursor.read()?;
    let rules = [
        (!tcp || all.is_empty(), "a NAT that rebinds ends a connection of TCP", "it goes with QUIC"),
        (all.len() <= MAX_REBINDINGS, "too many", "a NAT rebinds a flow at most 200 times"),
        (all.is_sorted_by(|a, b| a.0 < b.0), "out of order", "each rebinding comes after the one before"),
    ];
    let broken = rules.iter().find(|(holds, ..)| !holds);
    broken.map_or(Ok(all), |(_, wrong, right)| Err(cursor.invalid(*wrong, *right)))
}

fn check_recovery(config: &Config) -> Result<(), String> {
    let above_zero = |factor: f64| factor > 0.0 && factor.is_finite();
    rule(above_zero(config.pacing.factor), "the pacing factor must be a number above 0")?;
    rule(above_zero(config.pacing.slow_start_factor), "the pacing factor must be a number above 0")?;
    rule(
        above_zero(config.pacing.slow_start_until),
        "`slow-start-until` must be a share of ssthresh above 0",
    )?;
    rule(config.pacing.min_burst >= 1, "a burst is at least 1 packet")?;
    let blind = config.packet_threshold.is_none() && config.time_threshold == TimeThreshold::Off;
    rule(
        !(blind && config.timeout == Timeout::Pto),
        "with packet-threshold and time-threshold off and a timeout that only probes, no loss is ever found",
    )?;
    rule(config.packet_threshold != Some(0), "the threshold is at least 1 packet, or \"off\"")?;
    rule(config.max_packet_threshold != Some(0), "the threshold is at least 1 packet, or \"off\"")?;
    rule(config.skip_numbers != Some(0), "one number in 1 or more is left out, or \"off\"")?;
    let growth = config.max_time_threshold;
    rule(growth.is_none_or(|f| f >= 1.0 && f.is_finite()), "the threshold is at least 1 RTT, or \"off\"")?;
    rule(config.initial_rtt > Duration::ZERO, "the initial RTT must be above 0")
}

fn check_ack(config: &AckConfig) -> Result<(), String> {
    config.ack_every.check()?;
    rule(config.max_ranges >= 1, "an ACK holds at least 1 range")?;
    rule(config.ping_every != Some(0), "a PING with every ACK is 1, none is \"off\"")?;
    rule(config.timestamp_exponent <= 20, "the exponent is at most 20")
}

fn check_quic_ack(config: &AckConfig) -> Result<(), String> {
    rule(!config.quick_acks, "a rule of Linux TCP; QUIC has `ack-every = 1` and `immediate-on-gap`")?;
    let default = AckConfig::default().timestamp_granularity;
    rule(config.timestamp_granularity == default, "of TCP's timestamps; QUIC's have a `timestamp-exponent`")?;
    let share = config.delay_factor;
    rule(
        share.is_none_or(|f| f > 0.0 && f.is_finite()),
        "the factor is a number of RTTs above 0, or \"off\"",
    )?;
    rule(config.timer_tick <= MAX_TIMER_TICK, "a timer ticks at least once per second")?;
    check_ack(config)
}

fn check_tcp_ack(config: &AckConfig) -> Result<(), String> {
    let waits = config.delay_factor.is_none() && config.timer_tick == Duration::ZERO;
    rule(waits, "a rule of QUIC receivers; TCP's wait for `max-ack-delay`")?;
    rule(config.timestamps <= 1, "TCP's option holds 1 receive time, or there are none: 0")?;
    rule(config.timestamp_exponent == 0, "of QUIC's timestamps; TCP's have a `timestamp-granularity`")?;
    rule(config.timestamp_granularity <= MAX_TIMESTAMP_UNIT, "RFC 7323 has timestamps of at most 1 s")?;
    check_ack(config)
}

fn check_clock(clock: &Clock) -> Result<(), String> {
    // A reading is nanoseconds in 64 bits; half of them are left to the run's time.
    let offset_fits = clock.offset_seconds.abs() <= 4e9;
    rule(offset_fits, "the offset must be a number of seconds between -4e9 and 4e9")?;
    rule(clock.drift_ppm.abs() <= 1e5, "the drift must be between -100 000 and 100 000 ppm")?;
    rule(clock.granularity <= MAX_CLOCK_UNIT, "a clock counts in at most 1 s")
}

/// Feedback crosses the links of the way back, if there are any, as packets of one size.
fn read_back(fields: &Fields<'_>, way: &Way, transport: Transport) -> Result<Option<Back>, Diagnostic> {
    let size = packet::read_ack(fields)?;
    match (way.back, size) {
        (Some(route), size) => {
            Ok(Some(Back { route, size: size.map_or_else(|| packet::ack(transport), |s| s.0) }))
        }
        (None, Some((_, at))) => Err(
            at.problem("there are no links on the way back, where its size matters", "[reverse] makes them")
        ),
        (None, None) => Ok(None),
    }
}

fn read_label(fields: &Fields<'_>) -> Result<Option<String>, Diagnostic> {
    match fields.get("label") {
        Some(cursor) => super::controller::label(&cursor).map(Some),
        None => Ok(None),
    }
}

fn read_count(cursor: Option<&Cursor<'_>>) -> Result<u64, Diagnostic> {
    let Some(cursor) = cursor else { return Ok(1) };
    match cursor.read::<i64>()? {
        n if n < 0 => Err(cursor.invalid(format!("{n} flows"), "a count is at least 0")),
        n => Ok(n.unsigned_abs()),
    }
}

fn read_stop(fields: &Fields<'_>) -> Result<Stop, Diagnostic> {
    let start: Duration = fields.read("start")?.unwrap_or(Duration::ZERO);
    match (fields.get("stop"), fields.get("lasts")) {
        (Some(_), Some(lasts)) => Err(lasts.problem("both `stop` and `lasts`", "give one of them")),
        (Some(stop), None) => match stop.read()? {
            time if time <= start => Err(stop.problem(format!("stops at {time}, but starts at {start}"), "")),
            time => Ok(Stop::At(time)),
        },
        (None, Some(lasts)) => match lasts.read()? {
            Duration::ZERO => Err(lasts.invalid("lasts no time", "a flow must last longer than 0 s")),
            span => Ok(Stop::After(span)),
        },
        (None, None) => Ok(Stop::Never),
    }
}

/// Bytes to send, at least one.
pub(crate) fn read_transfer(cursor: Option<&Cursor<'_>>) -> Result<Option<Bytes>, Diagnostic> {
    let Some(cursor) = cursor else { return Ok(None) };
    match cursor.read()? {
        Bytes(0) => Err(cursor.invalid("nothing to transfer", "leave `transfer` out for a flow without end")),
        bytes => Ok(Some(bytes)),
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
        return Err(cursor.invalid("the base RTT is 0", "an RTT like \"50 ms\""));
    }
    let least = way.least_rtt();
    if rtt >= least {
        return Ok(rtt);
    }
    Err(match way.back {
        None => cursor.problem(
            format!("an RTT of {rtt} is shorter than the link's delay of {least}"),
            "the link is on the way: at least its delay",
        ),
        Some(_) => cursor.problem(
            format!("an RTT of {rtt} is shorter than the links' delay there and back of {least}"),
            "the links are on the way: at least their delay",
        ),
    })
}
