//! A column of a published table, and the unit of its numbers.

use schemars::JsonSchema;
use serde::Serialize;
use units::{Bytes, Duration, Rate};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;
use crate::file::node::Value;
use crate::file::vary::quantity;

/// Endings of columns that tell a unit.
const ENDINGS: [(&str, &str); 13] = [
    ("kbit_s", "kbit/s"),
    ("kbps", "kbit/s"),
    ("mbit_s", "Mbit/s"),
    ("mbps", "Mbit/s"),
    ("gbit_s", "Gbit/s"),
    ("gbps", "Gbit/s"),
    ("bit_s", "bit/s"),
    ("bps", "bit/s"),
    ("us", "us"),
    ("ms", "ms"),
    ("_s", "s"),
    ("percent", "%"),
    ("bytes", "bytes"),
];

/// A column and the unit of its numbers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "column")]
pub(crate) struct Column {
    /// Name in the header of the table.
    pub(crate) column: String,
    /// Unit of the numbers, like `"kbit/s"`, `"%"`, or `"1"` for shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unit: Option<String>,
}

impl Column {
    /// Reads `"cca"`, or `{ column = "goodput_kbps", unit = "kbit/s" }`. `name` reads the name of a
    /// column that the table has.
    pub(crate) fn read(
        cursor: &Cursor<'_>,
        name: impl Fn(&Cursor<'_>) -> Result<String, Diagnostic>,
    ) -> Result<Self, Diagnostic> {
        if !matches!(cursor.node().value, Value::Table(_)) {
            return Ok(Self { column: name(cursor)?, unit: None });
        }
        let fields = cursor.table(&["column", "unit"])?;
        let column = name(&fields.need("column", "write the name of the column")?)?;
        let unit = fields.get("unit").map(|unit| unit.read()).transpose()?;
        Ok(Self { column, unit })
    }

    /// Returns the factor that converts its numbers to the unit of a metric.
    pub(crate) fn factor(&self, metric: &str) -> Result<f64, String> {
        let one = |unit: &str| format!("1 {unit}");
        let converts = |unit: &str| match metric {
            "Mbit/s" => one(unit).parse().ok().map(|Rate(bits)| bits as f64 / 1e6),
            "ms" => one(unit).parse().ok().map(|Duration(ns)| ns as f64 / 1e6),
            "s" => one(unit).parse().ok().map(|Duration(ns)| ns as f64 / 1e9),
            "kB" => one(unit).parse().ok().map(|Bytes(bytes)| bytes as f64 / 1e3),
            "%" => [("%", 1.0), ("1", 100.0)].iter().find(|(known, _)| *known == unit).map(|(_, f)| *f),
            own => (unit == own).then_some(1.0),
        };
        match &self.unit {
            Some(unit) => converts(unit).ok_or_else(|| format!("`{unit}` is not a unit for {metric}")),
            None if ["Mbit/s", "ms", "s", "kB", "%"].contains(&metric) => {
                Err(format!("column `{}` has no unit", self.column))
            }
            None => Ok(1.0),
        }
    }

    /// Returns the unit that its name tells, if it converts to the metric's, or else the metric's.
    pub(crate) fn likely_unit(&self, metric: &'_ str) -> String {
        let name = self.column.to_lowercase();
        let told = ENDINGS.iter().filter(|(ending, _)| name.ends_with(ending)).map(|(_, unit)| *unit);
        let fits =
            |unit: &&str| Self { unit: Some((*unit).to_owned()), ..self.clone() }.factor(metric).is_ok();
        told.filter(fits).map(str::to_owned).next().unwrap_or_else(|| metric.to_owned())
    }

    /// Reports whether a cell is this value of a varied key. A bare number is a share.
    pub(crate) fn is_value(&self, cell: &str, label: &str) -> bool {
        if cell == label {
            return true;
        }
        let Some((unit, ours)) = quantity(label) else { return false };
        let text = match &self.unit {
            Some(known) if known != "1" => format!("{cell} {known}"),
            _ => cell.to_owned(),
        };
        match cell.parse::<f64>() {
            Ok(share) if unit == "%" && text == cell => {
                let percent = f64::from_bits(ours);
                (share * 100.0 - percent).abs() <= 1e-9 * percent.abs()
            }
            _ => quantity(&text) == Some((unit, ours)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, unit: Option<&str>) -> Column {
        Column { column: name.to_owned(), unit: unit.map(str::to_owned) }
    }

    #[test]
    fn units_convert() {
        for (unit, metric, factor) in [
            ("kbit/s", "Mbit/s", 1e-3),
            ("us", "ms", 1e-3),
            ("s", "ms", 1e3),
            ("MB", "kB", 1e3),
            ("1", "%", 100.0),
            ("%", "%", 1.0),
            ("packets", "packets", 1.0),
        ] {
            assert_eq!(column("x", Some(unit)).factor(metric), Ok(factor), "{unit}");
        }
        assert!(column("x", Some("ms")).factor("Mbit/s").is_err());
        assert!(column("x", None).factor("Mbit/s").is_err() && column("x", None).factor("packets").is_ok());
    }

    #[test]
    fn names_tell_units() {
        for (name, metric, unit) in [
            ("goodput_kbps", "Mbit/s", "kbit/s"),
            ("goodput_mbit_s", "Mbit/s", "Mbit/s"),
            ("rtt_avg_ms", "ms", "ms"),
            ("completion_s", "s", "s"),
            ("loss_percent", "%", "%"),
            ("goodput", "Mbit/s", "Mbit/s"),
            ("bits", "ms", "ms"),
        ] {
            assert_eq!(column(name, None).likely_unit(metric), unit, "{name}");
        }
    }

    #[test]
    fn cells_equal_values() {
        let bare = column("x", None);
        assert!(
            bare.is_value("cubic", "cubic") && bare.is_value("0.01", "1 %") && bare.is_value("1 %", "1 %")
        );
        assert!(
            bare.is_value("0.0001", "0.01 %") && bare.is_value("7", "7") && bare.is_value("20 ms", "0.02 s")
        );
        assert!(!bare.is_value("1", "1 %") && !bare.is_value("10", "10 Mbit/s"));
        assert!(column("x", Some("Mbit/s")).is_value("10", "10000 kbit/s"));
        assert!(
            column("x", Some("%")).is_value("1", "1 %") && !column("x", Some("%")).is_value("0.01", "1 %")
        );
    }
}
