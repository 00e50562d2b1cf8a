//! One event of a log: an object, or an array whose places `event_fields` names.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::value::Value;

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Sent,
    Received,
    Lost,
    Metrics,
    State,
    /// Timer of loss recovery only.
    LossTimer,
    /// Any timer.
    Timer,
    Parameters,
    RecoveryParameters,
    Message,
    Other,
}

/// Event with its data as JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Record<'a> {
    #[serde(borrow)]
    pub(super) time: Value<'a>,
    #[serde(borrow)]
    name: Value<'a>,
    #[serde(borrow)]
    category: Value<'a>,
    #[serde(borrow)]
    event: Value<'a>,
    #[serde(borrow)]
    pub(super) data: Option<&'a RawValue>,
    #[serde(borrow)]
    group_id: Option<&'a RawValue>,
    #[serde(borrow, rename = "ODCID")]
    odcid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) trigger: Value<'a>,
    #[serde(borrow)]
    pub(super) cause: Value<'a>,
    #[serde(borrow)]
    pub(super) ecn: Value<'a>,
    #[serde(borrow)]
    pub(super) calls: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) time_format: Value<'a>,
}

impl<'a> Record<'a> {
    /// Parses an event. `fields` are the names of the places of an array, in lower case.
    pub(super) fn parse(json: &'a [u8], fields: &[String]) -> Result<Self, String> {
        // Checked at once, not text by text.
        let json = std::str::from_utf8(json).map_err(|_| "a record is not UTF-8")?;
        let record =
            if json.starts_with('[') { Self::parse_array(json, fields) } else { serde_json::from_str(json) };
        record.map_err(|error| error.to_string())
    }

    fn parse_array(json: &'a str, fields: &[String]) -> serde_json::Result<Self> {
        let places: Vec<&RawValue> = serde_json::from_str(json)?;
        let mut record = Self::default();
        for (name, raw) in fields.iter().zip(places) {
            let value = || serde_json::from_str(raw.get());
            match name.as_str() {
                "time" | "relative_time" | "delta_time" => record.time = value()?,
                "name" => record.name = value()?,
                "category" => record.category = value()?,
                "event" | "event_type" => record.event = value()?,
                "trigger" => record.trigger = value()?,
                "group_id" => record.group_id = Some(raw),
                "odcid" => record.odcid = Some(raw),
                "data" => record.data = Some(raw),
                _ => {}
            }
        }
        Ok(record)
    }

    /// Returns the group that the event belongs to, as JSON.
    pub(super) fn group(&self) -> Option<&'a str> {
        self.group_id.or(self.odcid).map(RawValue::get)
    }

    /// Reports whether it has a name.
    pub(super) fn is_event(&self) -> bool {
        self.word().is_some()
    }

    fn word(&self) -> Option<&str> {
        self.name.text().or_else(|| self.event.text())
    }

    pub(super) fn kind(&self) -> Kind {
        let word = self.word().unwrap_or_default();
        let (category, word) = split(word).unwrap_or((self.category.text().unwrap_or_default(), word));
        let found = kind(category, word);
        if found == Kind::Other && word.bytes().any(|b| b.is_ascii_uppercase()) {
            return kind(&category.to_ascii_lowercase(), &word.to_ascii_lowercase());
        }
        found
    }
}

/// Splits a name such as `transport:packet_sent`.
fn split(name: &str) -> Option<(&str, &str)> {
    let at = name.bytes().rposition(|b| b == b':')?;
    Some((name.get(..at)?, name.get(at + 1..)?))
}

/// Names of all drafts, and of mvfst.
fn kind(category: &str, word: &str) -> Kind {
    match word {
        "packet_sent" | "packet_tx" => Kind::Sent,
        "packet_received" | "packet_rx" => Kind::Received,
        "packet_lost" | "packets_lost" => Kind::Lost,
        "metrics_updated" | "recovery_metrics_updated" | "metric_update" | "congestion_metric_update" => {
            Kind::Metrics
        }
        "congestion_state_updated" | "cc_state_update" => Kind::State,
        "loss_timer_updated"
        | "loss_timer_set"
        | "loss_timer_expired"
        | "loss_timer_cancelled"
        | "loss_alarm_set"
        | "loss_alarm_fired"
        | "loss_alarm_cancelled" => Kind::LossTimer,
        "timer_updated" => Kind::Timer,
        "recovery_parameters_set" => Kind::RecoveryParameters,
        "parameters_set" if category == "recovery" => Kind::RecoveryParameters,
        "parameters_set" | "transport_parameters_update" => Kind::Parameters,
        "message" | "info" if matches!(category, "generic" | "loglevel") => Kind::Message,
        _ => Kind::Other,
    }
}

impl Record<'_> {
    /// Returns the last part of the name, such as `set`.
    pub(super) fn last_word(&self) -> &str {
        let word = self.word().unwrap_or_default();
        word.rsplit('_').next().unwrap_or(word)
    }
}
