//! One place for a parameter: name, meaning, unit, source and default.

/// A parameter as `kneepoint algorithms` prints it.
#[derive(Clone, Copy, Debug)]
pub struct ParamDoc {
    /// The field's name; the key in an experiment file has dashes for underscores.
    pub name: &'static str,
    /// Meaning, unit and source.
    pub doc: &'static str,
}

/// Declares a controller's `Params`: struct, serde (kebab-case keys, unknown ones refused), defaults, documentation.
macro_rules! params {
    ($($(#[doc = $doc:literal])+ $(#[serde($($serde:meta),+)])? $name:ident: $type:ty = $default:expr,)*) => {
        /// The parameters; the defaults are those of the document in this file's header.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
        pub struct Params {
            $($(#[doc = $doc])+ $(#[serde($($serde),+)])? pub $name: $type,)*
        }
        impl Default for Params {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }
        impl Params {
            /// Every parameter with its meaning, unit and source.
            pub const DOCS: &'static [$crate::ParamDoc] =
                &[$($crate::ParamDoc { name: stringify!($name), doc: concat!($($doc),+) }),*];
        }
    };
}
pub(crate) use params;
