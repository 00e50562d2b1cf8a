//! Immediate ACKs at gaps in the packet numbers of a QUIC receiver.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

/// Packets acknowledged at once when packet numbers are missing.
///
/// In files: `"once"`, `"all"` or `"off"`. `true` means `"once"` and `false` means `"off"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnGap {
    /// No packet. A gap waits for the next scheduled ACK.
    Off,
    /// The packet that reveals a gap, and each late packet: every number other than the largest so
    /// far plus 1. RFC 9000 section 13.2.1 asks for no more ("missing packets between that packet
    /// and this packet"). mvfst does no more (AckStates.h:40, QuicStateFunctions.cpp:114-122,
    /// 446-450, May 2025).
    Once,
    /// Also every packet while an earlier packet is missing and the sender has not yet declared it
    /// lost. This applies the rule of TCP (RFC 5681 section 4.2) to RFC 9000 section 13.2.1.
    /// Packets beyond a hole are counted as soon as they arrive.
    All,
}

units::json_schema!(OnGap, { "enum": ["once", "all", "off", true, false] });

impl<'de> Deserialize<'de> for OnGap {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = OnGap;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"once\", \"all\" or \"off\"")
            }
            fn visit_bool<E: de::Error>(self, once: bool) -> Result<OnGap, E> {
                Ok(if once { OnGap::Once } else { OnGap::Off })
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<OnGap, E> {
                match word {
                    "once" => Ok(OnGap::Once),
                    "all" => Ok(OnGap::All),
                    "off" => Ok(OnGap::Off),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }
        }
        d.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct File {
        gap: OnGap,
    }

    /// Older files write `true` or `false`, from before there were three values.
    #[test]
    fn words_and_truth_values() {
        for (text, gap, written) in [
            ("gap = true", OnGap::Once, "once"),
            ("gap = false", OnGap::Off, "off"),
            ("gap = \"once\"", OnGap::Once, "once"),
            ("gap = \"all\"", OnGap::All, "all"),
            ("gap = \"off\"", OnGap::Off, "off"),
        ] {
            let file: File = toml::from_str(text).unwrap();
            assert_eq!(file, File { gap }, "{text}");
            assert_eq!(toml::to_string(&file).unwrap(), format!("gap = \"{written}\"\n"));
        }
        let wrong = toml::from_str::<File>("gap = \"every\"").unwrap_err().to_string();
        assert!(wrong.contains("\"once\", \"all\" or \"off\""), "{wrong}");
    }
}
