//! JSON Schema of experiment files, for completion and checks in an editor, and the reference of
//! their keys as Markdown. Both are generated from the structs that define the reader's keys
//! ([`crate::file`]) and from the registry of controllers.

use std::collections::BTreeMap;

use congestion::{Entry, ParamDoc};
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use crate::controllers::controllers;
use crate::file::tables::File;

/// Returns the JSON Schema (draft 2020-12) of an experiment file, including the controllers of this
/// program.
///
/// The schema covers keys, forms and words. Rules that involve several keys at once, such as a
/// queue below one packet or a claim without rows, are checked by the reader only.
pub fn schema() -> Value {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<File<'static>>().to_value();
    schema["title"] = "Ackclock experiment".into();
    schema["$defs"]["controller"] =
        json!({ "anyOf": controllers().iter().map(controller).collect::<Vec<_>>() });
    schema
}

fn controller(entry: &Entry) -> Value {
    let mut properties = parameters(entry.params);
    properties.insert("name".to_owned(), json!({ "const": entry.name }));
    properties.insert(
        "label".to_owned(),
        json!({ "type": "string", "description": "Name of the flow in tables." }),
    );
    json!({
        "type": "object",
        "description": entry.doc.trim(),
        "properties": properties,
        "required": ["name"],
        "additionalProperties": false,
    })
}

fn parameters(params: &[ParamDoc]) -> Map<String, Value> {
    params.iter().map(|param| (param.name.replace('_', "-"), parameter(param))).collect()
}

fn parameter(param: &ParamDoc) -> Value {
    match param.keys {
        [] => json!({ "description": param.doc.trim() }),
        keys => json!({ "description": param.doc.trim(), "type": "object", "properties": parameters(keys) }),
    }
}

/// Returns every table with its keys as Markdown, for `docs/src/reference/keys.md`.
pub fn reference() -> String {
    let schema = SchemaGenerator::default().into_root_schema_for::<File<'static>>().to_value();
    let mut text = String::from(
        "# Keys\n\nMade by `ackclock schema --markdown` from the structs that define experiment files.\n\
         [Experiment files](experiment-files.md) explains how the keys work together.\n\
         `ackclock algorithms NAME` lists the keys of a controller.\n",
    );
    table(&mut text, &schema, "The file", &schema);
    for (title, name) in TABLES {
        if let Some(definition) = schema["$defs"].get(name) {
            table(&mut text, &schema, title, definition);
        }
    }
    text
}

/// Headings and schema definitions, in reading order.
const TABLES: [(&str, &str); 26] = [
    ("`[measure]`, `[windows]`", "window"),
    ("`[link]`, `[[link]]`, `[reverse]`", "link"),
    ("`link.rate` in slots", "slots"),
    ("`link.reorder`", "reorder"),
    ("`link.aqm`: `red`", "red"),
    ("`link.aqm`: `codel`", "codel"),
    ("`link.aqm`: `fq-codel`", "fq-codel"),
    ("`link.aqm`: `pie`", "pie"),
    ("`link.aqm`: `dualpi2`", "dualpi2"),
    ("`[[flow]]`", "flow"),
    ("`flow.packet`", "packet"),
    ("`flow.application`", "application"),
    ("`flow.recovery`", "recovery"),
    ("`flow.recovery.pacing`", "pacing"),
    ("`flow.ack`", "ack"),
    ("`flow.clock`", "clock"),
    ("`[[udp]]`", "udp"),
    ("`udp.on-off`", "udp-on-off"),
    ("`[probe]`", "probe"),
    ("`[table]`", "table"),
    ("`[published]`", "published"),
    ("`[reference]`", "reference"),
    ("`[[claim]]`", "claim"),
    ("`[[miss]]`", "miss"),
    ("`[[bias]]`", "bias"),
    ("`[[chart]]`", "chart"),
];

fn table(text: &mut String, schema: &Value, title: &str, definition: &Value) {
    text.push_str(&format!("\n## {title}\n"));
    let kinds =
        definition["oneOf"].as_array().map_or_else(|| vec![definition], |kinds| kinds.iter().collect());
    for kind in kinds {
        if let Some(name) = kind["properties"]["name"]["const"].as_str() {
            let says = kind["description"].as_str().unwrap_or_default().replace('\n', " ");
            text.push_str(&format!("\n`{name}`: {says}\n"));
        }
        rows(text, schema, kind);
    }
}

fn rows(text: &mut String, schema: &Value, definition: &Value) {
    let required = definition["required"].as_array().cloned().unwrap_or_default();
    // Sorted by name, independently of the map type in the JSON crate.
    let known: BTreeMap<&String, &Value> =
        definition["properties"].as_object().into_iter().flatten().collect();
    let known: Vec<_> = known.into_iter().filter(|(_, property)| property.get("const").is_none()).collect();
    if known.is_empty() {
        return;
    }
    text.push_str("\n| key | default | |\n|---|---|---|\n");
    for (key, property) in known {
        let default = match property.get("default") {
            _ if required.contains(&key.as_str().into()) => "needed".to_owned(),
            Some(Value::Object(_)) | None => String::new(),
            Some(value) => format!("`{value}`"),
        };
        let mut says = property["description"].as_str().unwrap_or_default().replace('\n', " ");
        let words = words_of(schema, property);
        if !words.is_empty() {
            says = format!("{says} One of {}.", words.join(", "));
        }
        text.push_str(&format!("| `{key}` | {default} | {} |\n", says.replace('|', "\\|")));
    }
}

/// Returns the words that a key accepts, if its type lists them.
fn words_of(schema: &Value, property: &Value) -> Vec<String> {
    let target = property["$ref"].as_str().and_then(|path| schema.pointer(path.trim_start_matches('#')));
    let variants = target.and_then(|t| t["oneOf"].as_array());
    let word = |variant: &Value| {
        let word = variant["const"].as_str()?;
        let says = variant["description"].as_str().unwrap_or_default().replace('\n', " ");
        Some(format!("`\"{word}\"` ({})", says.trim_end_matches('.')))
    };
    variants.into_iter().flatten().filter_map(word).collect()
}
