//! Definition of tables: one description per key.

use schemars::transform::Transform;
use schemars::{JsonSchema, Schema, SchemaGenerator};

/// The required keys of a table, separated by spaces. Keys that `[vary]` can supply are not
/// required. The structs cannot tell, because they hold resolved runs in which nothing is omitted.
#[derive(Clone)]
pub(crate) struct Needs(pub(crate) &'static str);

impl Transform for Needs {
    fn transform(&mut self, schema: &mut Schema) {
        schema.insert("required".to_owned(), self.0.split_whitespace().collect());
        schema.insert("additionalProperties".to_owned(), false.into());
    }
}

/// Returns the names of a table's keys. The names are leaked, so each table should ask only once.
pub(crate) fn keys<T: JsonSchema>() -> Vec<&'static str> {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    let mut names: Vec<String> = properties.into_iter().flatten().map(|(name, _)| name.clone()).collect();
    names.sort();
    names.into_iter().map(|name| &*name.leak()).collect()
}

/// Defines a table: each key with its documentation, type and default, and with the reader of its
/// value if not every value of the type is allowed. The known keys, the reader, the schema, the
/// reference page and a manifest's run follow from it.
///
/// ```text
/// size: Bytes = Bytes(84), packet_size;       a default, and the reader of the value
/// rate: Rate => "write the rate";             required; the text says what to write
/// route: Option<Route> = None => later;       filled in by the reader of the whole table
/// check: CheckTable => table;                 the keys of another table, flattened into this one
/// ```
///
/// Readers and defaults may use the keys above them, and a context, `Miss(labels: &Labels)`, which
/// flattened tables share.
macro_rules! table {
    (@read $fields:ident [$($context:ident)?] $type:ty, $key:ident => table) => {
        <$type>::read($fields $(, $context)?)?
    };
    (@read $fields:ident [$($context:ident)?] $type:ty, $key:ident => $right:literal $(, $reader:expr)?) => {{
        let at = $fields.need(stringify!($key), $right)?;
        table!(@value at $($reader)?)
    }};
    (@read $fields:ident [$($context:ident)?] $type:ty, $key:ident = $default:expr => later) => { $default };
    (@read $fields:ident [$($context:ident)?] $type:ty, $key:ident = $default:expr $(, $reader:expr)?) => {
        match $fields.get(stringify!($key)) {
            Some(at) => table!(@value at $($reader)?),
            None => $default,
        }
    };
    (@value $at:ident) => { $at.read()? };
    (@value $at:ident $reader:expr) => { $reader(&$at)? };
    (@keys $fields:ident $context:tt $($key:ident: $type:ty [$($how:tt)*])*) => {
        $(let $key: $type = table!(@read $fields $context $type, $key $($how)*);)*
    };
    ($(#[$about:meta])* $open:vis $table:ident $(($context:ident: $of:ty))? {
        $(
            $(#[$key_about:meta])*
            $key:ident: $type:ty $(=> $right:literal)? $(= $default:expr)? $(, $reader:expr)?
            $(=> $later:ident)?;
        )*
    }) => {
        #[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        $(#[$about])*
        $open struct $table { $($(#[$key_about])* $open $key: $type,)* }

        impl $table {
            /// Returns the names of its keys.
            #[allow(dead_code, reason = "a table that is flattened into another has no names of its own")]
            pub(crate) fn known() -> &'static [&'static str] {
                static KEYS: std::sync::LazyLock<Vec<&'static str>> =
                    std::sync::LazyLock::new($crate::file::tables::define::keys::<$table>);
                &KEYS
            }

            /// Reads the keys of a table over their defaults.
            pub(crate) fn read(
                fields: &$crate::file::cursor::Fields<'_>,
                $($context: $of,)?
            ) -> Result<Self, $crate::diagnostic::Diagnostic> {
                table!(@keys fields [$($context)?] $(
                    $key: $type [$(=> $right)? $(= $default)? $(, $reader)? $(=> $later)?]
                )*);
                Ok(Self { $($key),* })
            }
        }
    };
}

pub(crate) use table;

#[cfg(test)]
mod tests {
    use crate::diagnostic::Diagnostic;
    use crate::file::cursor::Cursor;
    use crate::file::node;

    table! {
        /// A table.
        Sample(most: u64) {
            /// A required key.
            size: u64 => "write a size, like 3", |at| at_most(at, most);
            /// A key with a default.
            long_name: u64 = 7;
            /// A key that the table fills in.
            total: u64 = size + long_name => later;
            #[serde(flatten)]
            inner: Inner => table;
        }
    }

    table! {
        /// A table inside.
        Inner(most: u64) {
            /// A key of the table inside.
            depth: u64 = most, |at| at_most(at, most);
        }
    }

    fn at_most(cursor: &Cursor<'_>, most: u64) -> Result<u64, Diagnostic> {
        match cursor.read()? {
            size if size > most => Err(cursor.invalid(format!("{size} is too large"), "")),
            size => Ok(size),
        }
    }

    /// Returns the values of the keys, or the message.
    fn read(text: &str) -> Result<[u64; 4], String> {
        let document = node::parse("x.toml", text).unwrap();
        let controllers = congestion::Registry::default();
        let fields = Cursor::root("x.toml", &controllers, &document).table(Sample::known());
        let table = fields.and_then(|fields| Sample::read(&fields, 5)).map_err(|wrong| wrong.to_string())?;
        Ok([table.size, table.long_name, table.total, table.inner.depth])
    }

    #[test]
    fn a_line_is_reader_default_and_range() {
        assert_eq!(Sample::known(), ["depth", "long-name", "size", "total"]);
        assert_eq!(read("size = 5"), Ok([5, 7, 12, 5]));
        let total = "total is left to the table, which knows the keys above";
        assert_eq!(read("size = 1\nlong-name = 2\ntotal = 9\ndepth = 4"), Ok([1, 2, 3, 4]), "{total}");
        for (text, says) in [
            ("long-name = 1", "size: missing; write a size, like 3"),
            ("size = 6", ":1: size: 6 is too large"),
            ("size = 1\ndepth = 6", ":2: depth: 6 is too large"),
            ("size = 1\nlong-name = \"a\"", ":2: long-name: must be an integer of at least 0, not \"a\""),
            ("size = 1\nlong_name = 2", ":2: long_name: unknown key; did you mean \"long-name\"?"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(says), "{said}");
        }
    }

    #[test]
    fn a_line_is_schema_and_manifest() {
        let schema = serde_json::to_value(schemars::schema_for!(Sample)).unwrap();
        assert_eq!(schema["properties"]["long-name"]["description"], "A key with a default.");
        let table = Sample { size: 1, long_name: 2, total: 3, inner: Inner { depth: 4 } };
        let written = toml::Table::try_from(table).unwrap();
        assert_eq!(["long-name", "depth"].map(|key| written[key].as_integer()), [Some(2), Some(4)]);
    }
}
