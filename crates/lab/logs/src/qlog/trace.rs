//! Description of a trace: vantage point, title, clock, common fields.

use std::collections::BTreeMap;

use quic::Side;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::clock::{Clock, Format};
use super::value::Value;
use crate::event::{About, Protocol, Source};

/// Members of an object, as JSON.
pub(super) type Members<'a> = BTreeMap<String, &'a RawValue>;

/// End of the connection at which the log was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Vantage {
    /// The log does not say.
    #[default]
    Unknown,
    Endpoint(Side),
    /// On the path. Packets that are "sent" come from this end.
    Network(Option<Side>),
}

/// Title and program of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    title: Option<String>,
    code_version: Option<String>,
}

impl Document {
    pub(super) fn set(&mut self, name: &str, json: &[u8]) {
        match name {
            "title" => self.title = text(json),
            "code_version" => self.code_version = text(json),
            _ => {}
        }
    }
}

/// Description of a trace.
#[derive(Debug, Default)]
pub(super) struct Description {
    pub(super) vantage: Vantage,
    pub(super) clock: Clock,
    /// Names of the places of events that are arrays.
    pub(super) fields: Vec<String>,
    /// Group IDs to which numbers of events refer.
    pub(super) groups: Vec<String>,
    /// The connection's group, if all events have the same.
    pub(super) group: Option<String>,
    pub(super) protocol: Option<Protocol>,
    controller: Option<String>,
    parameters: Option<String>,
    /// The log has a seed, as ours do.
    pub(super) is_ours: bool,
    /// noq wrote the log.
    pub(super) is_noq: bool,
    title: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Point<'a> {
    #[serde(borrow, default)]
    name: Value<'a>,
    #[serde(borrow, default)]
    r#type: Value<'a>,
    #[serde(borrow, default)]
    flow: Value<'a>,
}

/// Returns the text of a JSON value, unless it is empty. Other values stay JSON.
pub(super) fn text(json: &[u8]) -> Option<String> {
    match serde_json::from_slice::<Value<'_>>(json).ok()? {
        Value::Text(text) => Some(text.into_owned()).filter(|text| !text.is_empty()),
        _ => Some(String::from_utf8_lossy(json).trim().to_owned()).filter(|text| text != "null"),
    }
}

fn side(value: &Value<'_>) -> Option<Side> {
    match value {
        value if value.is("client") => Some(Side::Client),
        value if value.is("server") => Some(Side::Server),
        _ => None,
    }
}

impl Description {
    /// Takes a member of the trace. One that cannot be read is ignored.
    pub(super) fn set(&mut self, name: &str, json: &[u8]) {
        match name {
            "title" => self.title = text(json),
            "vantage_point" | "vantagepoint" => self.set_point(json),
            "configuration" | "common_fields" => {
                for (name, value) in serde_json::from_slice::<Members<'_>>(json).unwrap_or_default() {
                    self.set_common(&name, value.get().as_bytes());
                }
            }
            "event_fields" => {
                let fields: Vec<String> = serde_json::from_slice(json).unwrap_or_default();
                self.fields = fields.iter().map(|field| field.to_ascii_lowercase()).collect();
                self.clock.format = match () {
                    () if self.fields.iter().any(|field| field == "relative_time") => Format::Relative,
                    () if self.fields.iter().any(|field| field == "delta_time") => Format::Delta,
                    () => self.clock.format,
                };
            }
            _ => {}
        }
    }

    fn set_point(&mut self, json: &[u8]) {
        let Ok(point) = serde_json::from_slice::<Point<'_>>(json) else { return };
        self.name = point.name.text().map(str::to_owned);
        self.vantage = match side(&point.r#type) {
            Some(side) => Vantage::Endpoint(side),
            None if point.r#type.is("network") => Vantage::Network(side(&point.flow)),
            None => Vantage::Unknown,
        };
    }

    fn set_common(&mut self, name: &str, json: &[u8]) {
        match name {
            "time_units" => self.clock.set_units(&text(json).unwrap_or_default()),
            "time_offset" => {
                let offset = serde_json::from_slice::<Value<'_>>(json).ok().and_then(|offset| offset.real());
                self.clock.set_offset(offset.unwrap_or(0.0));
            }
            "time_format" => self.clock.format = Format::parse(&text(json).unwrap_or_default()),
            "reference_time" => self.is_noq = self.clock.set_reference(json),
            "protocol_type" | "protocol_types" => {
                let names = String::from_utf8_lossy(json).to_ascii_uppercase();
                let is_tcp = names.contains("TCP") && !names.contains("QUIC");
                self.protocol = Some(if is_tcp { Protocol::Tcp } else { Protocol::Quic });
            }
            "algorithm" => self.controller = text(json),
            "algorithm_parameters" => self.parameters = text(json),
            "seed" => self.is_ours = true,
            "group_id" | "group_ids" | "ODCID" => match serde_json::from_slice::<Vec<&RawValue>>(json) {
                Ok(groups) => self.groups = groups.iter().map(|group| group.get().to_owned()).collect(),
                Err(_) if self.group.is_none() || name != "ODCID" => self.group = text(json),
                Err(_) => {}
            },
            _ => {}
        }
    }

    /// Describes a connection. `name` is that of the file.
    pub(super) fn about(&self, document: &Document, name: &str, group: &str, side: Option<Side>) -> About {
        let titles = [&self.title, &self.name, &document.title];
        let program = match &document.code_version {
            Some(version) => Some(format!("{} {version}", document.title.as_deref().unwrap_or_default())),
            None if self.is_ours => Some("ackclock".to_owned()),
            None if self.is_noq => Some("noq".to_owned()),
            None => self.name.clone(),
        };
        About {
            name: titles.into_iter().flatten().next().map_or(name, String::as_str).to_owned(),
            identity: group.to_owned(),
            protocol: self.protocol.unwrap_or(Protocol::Quic),
            source: Source::Qlog,
            vantage: side.filter(|_| !matches!(self.vantage, Vantage::Network(_))),
            controller: self.controller.clone(),
            parameters: self.parameters.clone(),
            program: program.map(|program| program.trim().to_owned()),
        }
    }
}
