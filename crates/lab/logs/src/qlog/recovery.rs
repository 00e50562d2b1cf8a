//! Events of loss recovery and congestion control: metrics, states, timers, parameters.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use units::Duration;

use super::clock::Clock;
use super::value::Value;
use crate::event::{Metrics, Parameters, Timer};

/// Prefix of a controller's variables in our logs.
const OWN: &str = "cc_";
/// Numbers that are no variables of a controller.
const NO_VARIABLES: [&str; 4] = ["packets_in_flight", "path_id", "max_ack_delay", "ack_delay"];
/// RTT before the first sample (RFC 9002 section 6.2.2). Its variation is half of it.
const INITIAL_RTT: Duration = Duration::from_millis(333);
/// Smallest threshold that stands for infinity, in bytes.
const INFINITE: u64 = 1 << 53;

/// Data of `metrics_updated`.
#[derive(Debug, Default)]
pub(super) struct Update<'a> {
    values: [Value<'a>; NAMES.len()],
    /// The controller's variables.
    pub(super) variables: Vec<(String, f64)>,
}

/// Names of the standard metrics, with those of other stacks.
const NAMES: [&[&str]; 10] = [
    &["congestion_window", "cwnd", "current_cwnd"],
    &["bytes_in_flight"],
    &["ssthresh"],
    &["latest_rtt"],
    &["smoothed_rtt", "srtt"],
    &["min_rtt"],
    &["rtt_variance", "rttvar", "rtt_var"],
    &["pacing_rate"],
    &["pto_count"],
    &["app_limited"],
];

impl<'de: 'a, 'a> Deserialize<'de> for Update<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AnyUpdate)
    }
}

struct AnyUpdate;

impl<'de> Visitor<'de> for AnyUpdate {
    type Value = Update<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with metrics")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Update<'de>, A::Error> {
        let mut update = Update::default();
        while let Some((Name(name), value)) = map.next_entry::<Name<'_>, Value<'_>>()? {
            let name = name.as_ref();
            let known = NAMES.iter().position(|names| names.contains(&name));
            if let Some(place) = known.and_then(|i| update.values.get_mut(i)) {
                *place = value;
            } else if let Some(number) = value.real().filter(|_| !NO_VARIABLES.contains(&name)) {
                update.variables.push((name.strip_prefix(OWN).unwrap_or(name).to_owned(), number));
            }
        }
        Ok(update)
    }
}

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl Update<'_> {
    fn rtts(&self) -> [&Value<'_>; 4] {
        let [_, _, _, latest, smoothed, min, variation, ..] = &self.values;
        [latest, smoothed, min, variation]
    }

    /// Reports whether these are the initial RTTs in seconds, as quinn 0.11 writes them instead of
    /// milliseconds.
    pub(super) fn is_initial_in_seconds(&self) -> bool {
        let [_, smoothed, _, variation] = self.rtts().map(Value::real);
        let is = |value: Option<f64>, rtt: Duration| {
            value.is_some_and(|value| Duration::from_secs_f64(value) == rtt)
        };
        is(smoothed, INITIAL_RTT) && is(variation, INITIAL_RTT.mul_f64(0.5))
    }

    /// Reports whether the application limits the sender, if the log has it.
    pub(super) fn app_limited(&self) -> Option<bool> {
        let [.., limited] = &self.values;
        (*limited != Value::None).then(|| limited.flag())
    }

    /// Returns the metrics. `scale` is the length of a unit of RTTs in the clock's units.
    pub(super) fn metrics(&self, clock: &Clock, scale: f64) -> Metrics<'_> {
        let [cwnd, in_flight, ssthresh, _, _, _, _, pacing_rate, pto_count, _] = &self.values;
        let rtt = |value: &Value<'_>| clock.duration(&Value::Real(value.real()? * scale));
        let [latest_rtt, smoothed_rtt, min_rtt, rttvar] = self.rtts().map(rtt);
        // Zero and the initial RTT stand for no sample yet.
        let is_initial = smoothed_rtt == Some(INITIAL_RTT) && rttvar == Some(INITIAL_RTT.mul_f64(0.5));
        let sample = |rtt: Option<Duration>| rtt.filter(|rtt| *rtt > Duration::ZERO && !is_initial);
        Metrics {
            cwnd: cwnd.whole(),
            bytes_in_flight: in_flight.whole(),
            ssthresh: ssthresh.whole().filter(|bytes| *bytes < INFINITE),
            latest_rtt: sample(latest_rtt),
            smoothed_rtt: sample(smoothed_rtt),
            min_rtt: sample(min_rtt),
            rttvar,
            pacing_rate: pacing_rate.whole(),
            pto_count: pto_count.whole().and_then(|count| u32::try_from(count).ok()),
            variables: &self.variables,
        }
    }
}

/// Data of `congestion_state_updated`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct State<'a> {
    #[serde(borrow)]
    pub(super) new: Value<'a>,
    #[serde(borrow)]
    pub(super) trigger: Value<'a>,
}

/// Data of `loss_timer_updated` and its predecessors.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TimerChange<'a> {
    #[serde(borrow)]
    timer_type: Value<'a>,
    #[serde(borrow)]
    r#type: Value<'a>,
    #[serde(borrow)]
    event_type: Value<'a>,
    #[serde(borrow)]
    delta: Value<'a>,
    #[serde(borrow)]
    timeout: Value<'a>,
}

impl TimerChange<'_> {
    /// Returns what happens, if it is a timer of loss recovery, and whether it is the probe
    /// timeout. `word` is the end of the event's name, `is_any` true for events of all timers.
    pub(super) fn read(&self, word: &str, is_any: bool) -> Option<(Timer, bool)> {
        let change = self.event_type.text().unwrap_or(word).to_ascii_lowercase();
        let timer = match change.as_str() {
            "set" => Timer::Set,
            "expired" | "fired" => Timer::Expired,
            "cancelled" | "canceled" => Timer::Cancelled,
            _ => return None,
        };
        let is = |other: &str| self.timer_type.is(other) || self.r#type.is(other);
        // "ack" was the time threshold in old drafts; as one of all timers it delays ACKs.
        let is_loss = is("loss_timeout") || is("loss") || (is("ack") && !is_any);
        let is_unknown = self.timer_type.text().is_none() && self.r#type.text().is_none();
        (is("pto") || is_loss || (is_unknown && !is_any)).then(|| (timer, is("pto")))
    }

    pub(super) fn delay(&self, clock: &Clock) -> Option<Duration> {
        clock.duration(&self.delta).or_else(|| clock.duration(&self.timeout))
    }
}

/// Data of `parameters_set`: transport parameters, or parameters of recovery.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Settings<'a> {
    #[serde(borrow)]
    owner: Value<'a>,
    #[serde(borrow)]
    initiator: Value<'a>,
    #[serde(borrow)]
    max_ack_delay: Value<'a>,
    #[serde(borrow)]
    initial_max_data: Value<'a>,
    #[serde(borrow)]
    max_udp_payload_size: Value<'a>,
    #[serde(borrow)]
    max_packet_size: Value<'a>,
    #[serde(borrow)]
    max_idle_timeout: Value<'a>,
    #[serde(borrow)]
    idle_timeout: Value<'a>,
    #[serde(borrow)]
    pub(super) initial_congestion_window: Value<'a>,
}

impl Settings<'_> {
    pub(super) fn is_remote(&self) -> bool {
        self.owner.is("remote") || self.initiator.is("remote")
    }

    /// Returns the transport parameters, unless there are none. Their unit is always milliseconds.
    pub(super) fn parameters(&self) -> Option<Parameters> {
        let clock = Clock::default();
        let size = self.max_udp_payload_size.whole().or_else(|| self.max_packet_size.whole());
        let idle =
            [&self.max_idle_timeout, &self.idle_timeout].into_iter().find_map(|time| clock.duration(time));
        let parameters = Parameters {
            max_ack_delay: clock.duration(&self.max_ack_delay),
            initial_max_data: self.initial_max_data.whole(),
            max_udp_payload_size: size,
            // Zero stands for no timeout.
            idle_timeout: idle.filter(|time| *time > Duration::ZERO),
        };
        (parameters != Parameters::default()).then_some(parameters)
    }
}
