//! Declaration of a parameter in one place: name, meaning, unit, source, default and range.

use core::fmt;

/// A parameter, as `ackclock algorithms` prints it.
#[derive(Clone, Copy, Debug)]
pub struct ParamDoc {
    /// Name of the field. The key in an experiment file has dashes in place of underscores.
    pub name: &'static str,
    /// Meaning, unit and source.
    pub doc: &'static str,
    /// Type, as written in the source: `f64`, `Option<u64>`.
    pub kind: &'static str,
    /// Range of allowed numbers. Without it, any number that is not negative is allowed.
    pub range: Option<Range>,
    /// Parameters of the nested table, if it is one.
    pub keys: &'static [ParamDoc],
}

impl ParamDoc {
    /// Returns the range of allowed numbers.
    pub fn allowed(&self) -> Range {
        self.range.unwrap_or(Range::from(0.0))
    }
}

/// An interval of finite numbers. Each end may be included or excluded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    low: End,
    high: End,
    limit: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct End {
    at: f64,
    included: bool,
}

impl Range {
    /// A factor that shrinks: above 0, below 1.
    pub const SHARE: Self = Self::above(0.0).below(1.0);
    /// A part of something: 0 to 1.
    pub const PART: Self = Self::from(0.0).to(1.0);
    /// A gain or another factor that must not be 0.
    pub const FACTOR: Self = Self::above(0.0).to(1e6);
    /// A window in packets. The upper end keeps a run from filling the memory at its start.
    pub const PACKETS: Self = Self::from(1.0).to(1e6);
    /// A count of at least one.
    pub const COUNT: Self = Self::from(1.0);

    /// Numbers from `low` upwards, `low` included.
    pub const fn from(low: f64) -> Self {
        Self::between(low, true)
    }
    /// Numbers above `low`.
    pub const fn above(low: f64) -> Self {
        Self::between(low, false)
    }
    const fn between(low: f64, included: bool) -> Self {
        let high = End { at: f64::INFINITY, included: false };
        Self { low: End { at: low, included }, high, limit: None }
    }
    /// Adds an upper end, included.
    pub const fn to(self, high: f64) -> Self {
        Self { high: End { at: high, included: true }, ..self }
    }
    /// Adds an upper end, excluded.
    pub const fn below(self, high: f64) -> Self {
        Self { high: End { at: high, included: false }, ..self }
    }

    /// Adds a limit: the value of the parameter with this name.
    pub const fn up_to(self, name: &'static str) -> Self {
        Self { limit: Some(name), ..self }
    }

    /// Returns the name of the parameter that limits this one.
    pub fn limit(&self) -> Option<&'static str> {
        self.limit
    }

    /// Reports whether a number lies in the range.
    pub fn contains(&self, number: f64) -> bool {
        let Self { low, high, .. } = self;
        number.is_finite()
            && (number > low.at || (low.included && number == low.at))
            && (number < high.at || (high.included && number == high.at))
    }
}

/// Formats as "from 1 to 1000000", "above 0, below 1", "at least 0".
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { low, high, limit } = self;
        match (low.included, high.included, high.at.is_finite()) {
            (true, true, _) => write!(f, "from {} to {}", low.at, high.at),
            (true, false, true) => write!(f, "at least {}, below {}", low.at, high.at),
            (true, false, false) => write!(f, "at least {}", low.at),
            (false, true, _) => write!(f, "above {}, at most {}", low.at, high.at),
            (false, false, true) => write!(f, "above {}, below {}", low.at, high.at),
            (false, false, false) => write!(f, "above {}", low.at),
        }?;
        limit.map_or(Ok(()), |name| write!(f, ", at most `{}`", name.replace('_', "-")))
    }
}

/// Declares a controller's `Params`: struct, defaults and documentation. With the feature `serde`
/// they can be read and written; keys are in kebab-case, and unknown keys are an error.
///
/// `name: type = default => range,` sets the range of allowed numbers.
/// `name: type = default; keys,` names the parameters of a nested table.
///
/// `also Over;` before the parameters declares `Over::deserialize`. It reads the same `Params` with
/// the values of the module's `other_defaults()` as defaults. Use it for an algorithm that is
/// another one with other values.
///
/// ```
/// use ackclock_congestion::{Range, params};
///
/// params! {
///     /// Factor by which the window is multiplied after a loss, 0..1. RFC 9438 section 4.6.
///     beta: f64 = 0.7 => Range::SHARE,
/// }
/// # fn main() {
/// assert_eq!(Params::default().beta, 0.7);
/// assert!(!Params::DOCS[0].allowed().contains(1.0));
/// # }
/// ```
#[macro_export]
macro_rules! params {
    (also $over:ident; $($fields:tt)*) => {
        $crate::params! { $($fields)* }
        $crate::with_other_defaults! { $over; $($fields)* }
    };
    ($(
        $(#[doc = $doc:expr])+
        $(#[serde($($serde:meta),+)])?
        $name:ident: $type:ty = $default:expr $(=> $range:expr)? $(; $keys:expr)?,
    )*) => {
        $crate::params_struct! { $($(#[doc = $doc])+ $(#[serde($($serde),+)])? $name: $type,)* }
        impl Default for Params {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }
        impl Params {
            /// Description, unit, source and range of every parameter.
            pub const DOCS: &'static [$crate::ParamDoc] = &[$($crate::ParamDoc {
                name: stringify!($name),
                doc: concat!($($doc),+),
                kind: stringify!($type),
                range: $crate::last!(None $(, Some($range))?),
                keys: $crate::last!(&[] $(, $keys)?),
            }),*];
        }
    };
}

/// The struct of [`params!`].
#[cfg(feature = "serde")]
#[doc(hidden)]
#[macro_export]
macro_rules! params_struct {
    ($($(#[doc = $doc:expr])+ $(#[serde($($serde:meta),+)])? $name:ident: $type:ty,)*) => {
        /// The parameters. Defaults are those of the document named in the module's documentation.
        #[derive(Clone, Debug, PartialEq, $crate::serde::Serialize, $crate::serde::Deserialize)]
        #[serde(crate = "ackclock_congestion::serde")]
        #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
        pub struct Params {
            $($(#[doc = $doc])+ $(#[serde($($serde),+)])? pub $name: $type,)*
        }
    };
}

/// The struct of [`params!`].
#[cfg(not(feature = "serde"))]
#[doc(hidden)]
#[macro_export]
macro_rules! params_struct {
    ($($(#[doc = $doc:expr])+ $(#[serde($($serde:meta),+)])? $name:ident: $type:ty,)*) => {
        /// The parameters. Defaults are those of the document named in the module's documentation.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Params {
            $($(#[doc = $doc])+ pub $name: $type,)*
        }
    };
}

/// The type that `also` in [`params!`] declares.
#[cfg(feature = "serde")]
#[doc(hidden)]
#[macro_export]
macro_rules! with_other_defaults {
    ($over:ident; $(
        $(#[doc = $doc:expr])+
        $(#[serde($($serde:meta),+)])?
        $name:ident: $type:ty = $default:expr $(=> $range:expr)? $(; $keys:expr)?,
    )*) => {
        /// Reads [`Params`] with other defaults.
        #[derive($crate::serde::Deserialize)]
        #[serde(crate = "ackclock_congestion::serde")]
        #[serde(remote = "Params", default = "other_defaults", deny_unknown_fields, rename_all = "kebab-case")]
        pub(super) struct $over {
            $($(#[serde($($serde),+)])? $name: $type,)*
        }
    };
}

/// The type that `also` in [`params!`] declares.
#[cfg(not(feature = "serde"))]
#[doc(hidden)]
#[macro_export]
macro_rules! with_other_defaults {
    ($($anything:tt)*) => {};
}

/// Expands to its last argument: a default, or the value that replaces it.
#[doc(hidden)]
#[macro_export]
macro_rules! last {
    ($default:expr) => {
        $default
    };
    ($default:expr, $given:expr) => {
        $given
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        for (range, text, inside, outside) in [
            (Range::SHARE, "above 0, below 1", vec![1e-9, 0.5, 0.999], vec![-0.1, 0.0, 1.0]),
            (Range::PART, "from 0 to 1", vec![0.0, 0.5, 1.0], vec![-1e-9, 1.001]),
            (Range::FACTOR, "above 0, at most 1000000", vec![1e-9, 1e6], vec![0.0, 1e6 + 1.0]),
            (Range::PACKETS, "from 1 to 1000000", vec![1.0, 1e6], vec![0.0, 0.5, 2e6]),
            (Range::COUNT, "at least 1", vec![1.0, 1e300], vec![0.0]),
            (Range::above(1.0), "above 1", vec![1.1], vec![1.0]),
            (Range::from(1.0).below(2.0), "at least 1, below 2", vec![1.0, 1.9], vec![0.9, 2.0]),
        ] {
            assert_eq!(range.to_string(), text);
            assert!(inside.iter().all(|&n| range.contains(n)), "{text}: {inside:?}");
            assert!(outside.iter().all(|&n| !range.contains(n)), "{text}: {outside:?}");
            let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
            assert!(odd.iter().all(|&n| !range.contains(n)), "{text}");
        }
    }

    #[allow(unreachable_pub)]
    mod declared {
        use super::Range;
        use crate::algorithms::reno::new_reno;

        params! {
            /// Any. Test.
            any: f64 = 0.5,
            /// A share. Test.
            share: f64 = 0.5 => Range::SHARE,
            /// A table. Test.
            inner: new_reno::Params = new_reno::Params::default(); new_reno::Params::DOCS,
        }
    }

    #[test]
    fn declarations() {
        let docs = declared::Params::DOCS;
        assert_eq!(docs[0].allowed(), Range::from(0.0));
        assert_eq!(docs[1].range, Some(Range::SHARE));
        assert_eq!(docs[2].keys.len(), crate::algorithms::reno::new_reno::Params::DOCS.len());
        assert!(docs[..2].iter().all(|doc| doc.keys.is_empty()));
    }
}
