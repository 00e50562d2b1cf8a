//! Number of ack-eliciting packets per ACK, constant or in steps over time.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::{Duration, Time};

/// Ack-eliciting packets per ACK. In files: `2`, or steps `[["0 s", 2], ["10 s", 10]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AckEvery {
    /// The same number throughout the run.
    Constant(u64),
    /// Numbers with the times from which they apply, ascending. The first also applies before its
    /// time. An empty list means every packet.
    Steps(Vec<(Time, u64)>),
}

impl AckEvery {
    /// Returns the number at this time.
    #[inline]
    pub fn at(&self, now: Time) -> u64 {
        match self {
            Self::Constant(packets) => *packets,
            Self::Steps(steps) => {
                let next = steps.partition_point(|step| step.0 <= now).max(1);
                steps.get(next - 1).map_or(1, |step| step.1)
            }
        }
    }

    /// Checks the values.
    ///
    /// # Errors
    /// Returns a message for the first rule that is violated.
    pub fn check(&self) -> Result<(), String> {
        let least = match self {
            Self::Constant(packets) => *packets,
            Self::Steps(steps) if steps.is_empty() => return Err("`ack-every` has no steps".to_owned()),
            Self::Steps(steps) if !steps.is_sorted_by(|a, b| a.0 < b.0) => {
                return Err("the step times of `ack-every` must increase".to_owned());
            }
            Self::Steps(steps) => steps.iter().map(|step| step.1).min().unwrap_or(0),
        };
        if least >= 1 { Ok(()) } else { Err("`ack-every` must be at least 1".to_owned()) }
    }
}

impl From<u64> for AckEvery {
    fn from(packets: u64) -> Self {
        Self::Constant(packets)
    }
}

units::json_schema!(AckEvery, { "type": ["integer", "array"], "minimum": 1 });

impl Serialize for AckEvery {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Constant(packets) => packets.serialize(s),
            Self::Steps(steps) => {
                s.collect_seq(steps.iter().map(|&(at, packets)| (at - Time::ZERO, packets)))
            }
        }
    }
}

impl<'de> Deserialize<'de> for AckEvery {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = AckEvery;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of packets (2), or steps like [[\"0 s\", 2], [\"10 s\", 10]]")
            }
            fn visit_u64<E: de::Error>(self, packets: u64) -> Result<AckEvery, E> {
                Ok(AckEvery::Constant(packets))
            }
            fn visit_i64<E: de::Error>(self, packets: i64) -> Result<AckEvery, E> {
                let packets = u64::try_from(packets);
                packets.map(AckEvery::Constant).map_err(|_| E::custom("`ack-every` must be at least 1"))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<AckEvery, A::Error> {
                let mut steps = Vec::new();
                while let Some((at, packets)) = seq.next_element::<(Duration, u64)>()? {
                    steps.push((Time::ZERO + at, packets));
                }
                Ok(AckEvery::Steps(steps))
            }
        }
        d.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_from_its_time_on() {
        let steps = AckEvery::Steps(vec![(Time(10), 2), (Time(20), 10), (Time(30), 1)]);
        for (now, packets) in [(0, 2), (10, 2), (19, 2), (20, 10), (29, 10), (30, 1), (u64::MAX, 1)] {
            assert_eq!(steps.at(Time(now)), packets, "{now}");
        }
        assert_eq!(AckEvery::Steps(Vec::new()).at(Time(5)), 1);
        assert_eq!(AckEvery::from(4).at(Time(5)), 4);
    }

    #[test]
    fn what_is_refused() {
        for (every, word) in [
            (AckEvery::Constant(0), "at least 1"),
            (AckEvery::Steps(vec![(Time(0), 2), (Time(1), 0)]), "at least 1"),
            (AckEvery::Steps(Vec::new()), "no steps"),
            (AckEvery::Steps(vec![(Time(1), 2), (Time(1), 3)]), "must increase"),
        ] {
            assert!(every.check().unwrap_err().contains(word), "{every:?}");
        }
        assert!(AckEvery::Steps(vec![(Time(0), 2), (Time(1), 1)]).check().is_ok());
    }

    #[test]
    fn written_as_it_is_read() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct File {
            every: AckEvery,
        }
        for text in ["every = 2\n", "every = [[\"0 ns\", 2], [\"10 s\", 10]]\n"] {
            assert_eq!(toml::to_string(&toml::from_str::<File>(text).unwrap()).unwrap(), text);
        }
        for (text, word) in
            [("every = -1", "at least 1"), ("every = [[\"1 s\"]]", "length"), ("every = \"2\"", "steps")]
        {
            let wrong = toml::from_str::<File>(text).unwrap_err().to_string();
            assert!(wrong.contains(word), "{text}: {wrong}");
        }
    }
}
