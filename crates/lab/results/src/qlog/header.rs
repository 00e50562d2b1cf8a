//! The first record of a log, in both dialects.

use std::io;

use serde::Serialize;
use units::Time;

use super::meta::VantagePoint;
use super::{Dialect, Meta};

/// Schemas of the events of a log with remarks.
const WITH_REMARKS: &str =
    r#"["urn:ietf:params:qlog:events:quic-12","urn:ietf:params:qlog:events:loglevel-13"]"#;

/// Returns the header record.
pub(super) fn header(dialect: Dialect, meta: &Meta, vantage_point: &VantagePoint<'_>) -> io::Result<String> {
    let description = format!("{} over {}, seed {}", meta.algorithm, meta.transport.name(), meta.seed);
    let [title, description] = [json(&meta.title)?, json(&description)?];
    let [name, algorithm, seed] = [json(vantage_point.name)?, json(&meta.algorithm)?, json(&meta.seed)?];
    let schemas =
        if vantage_point.remarks { WITH_REMARKS } else { r#"["urn:ietf:params:qlog:events:quic-12"]"# };
    let (vantage_point, protocols) = (json(vantage_point)?, json(&[meta.transport.name()])?);
    let group = (!meta.group.is_empty()).then(|| json(&meta.group)).transpose()?;
    let group = group.as_deref().map(|group| ("group_id", group));
    let parameters =
        (!meta.parameters.is_empty()).then_some(("algorithm_parameters", meta.parameters.as_str()));
    Ok(match dialect {
        Dialect::V03 => object(&[
            ("qlog_version", r#""0.3""#),
            ("qlog_format", r#""JSON-SEQ""#),
            ("title", &title),
            ("description", &description),
            (
                "trace",
                &object(&[
                    ("vantage_point", &vantage_point),
                    ("title", &name),
                    ("description", &description),
                    (
                        "configuration",
                        &object(&with(
                            parameters,
                            &[("time_offset", "0.0"), ("algorithm", &algorithm), ("seed", &seed)],
                        )),
                    ),
                    (
                        "common_fields",
                        &object(&with(
                            group,
                            &[
                                ("protocol_type", &protocols),
                                ("time_format", r#""relative""#),
                                // The float nearest to the exact decimal.
                                ("reference_time", &json(&((meta.start - Time::ZERO).0 as f64 / 1e6))?),
                            ],
                        )),
                    ),
                ]),
            ),
        ]),
        Dialect::Current => object(&[
            ("file_schema", r#""urn:ietf:params:qlog:file:sequential""#),
            ("serialization_format", r#""application/qlog+json-seq""#),
            ("title", &title),
            ("description", &description),
            (
                "trace",
                &object(&[
                    ("title", &name),
                    ("description", &description),
                    (
                        "common_fields",
                        &object(&with(
                            group.into_iter().chain(parameters),
                            &[
                                ("protocol_types", &protocols),
                                ("time_format", r#""relative_to_epoch""#),
                                // A monotonic clock without a date.
                                ("reference_time", r#"{"clock_type":"monotonic","epoch":"unknown"}"#),
                                ("algorithm", &algorithm),
                                ("seed", &seed),
                            ],
                        )),
                    ),
                    ("vantage_point", &vantage_point),
                    ("event_schemas", schemas),
                ]),
            ),
        ]),
    })
}

fn json(value: &(impl Serialize + ?Sized)) -> io::Result<String> {
    Ok(serde_json::to_string(value)?)
}

/// Adds members.
fn with<'a>(
    more: impl IntoIterator<Item = (&'a str, &'a str)>,
    members: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    members.iter().copied().chain(more).collect()
}

/// Joins members, whose values are JSON. The order of members stays.
fn object(members: &[(&str, &str)]) -> String {
    let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}
