//! Reads a bottleneck and its reverse direction from the command line or from an experiment.

use link::LinkConfig;
use units::Duration;

use experiment::diagnostic::Diagnostic;
use experiment::diagnostics::Diagnostics;
use experiment::file::{Experiment, Words, bare};

/// A bottleneck and the reverse direction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    /// The bottleneck.
    pub(crate) link: LinkConfig,
    /// The reverse direction; `Err` for a plain delay of this length.
    pub(crate) back: Result<LinkConfig, Duration>,
}

/// Parses a link, and the reverse direction if it is given. `packet` is the largest packet on the
/// wire, in bytes.
///
/// # Errors
/// All mistakes in both, with their keys.
pub(crate) fn read(text: &str, back: Option<&str>, packet: u32) -> Result<Pair, Diagnostics> {
    let (there, back) = both(Words::split(text), back.map(Words::split).transpose())?;
    let back = back.map(|back| back.with_default("delay", there.get("delay")));
    let delay = |words: &Words<'_>| bare::delay(&words.name(), &words.toml()).ok();
    // For invalid text any delay will do, because the result is not used.
    let there_delay = delay(&there).unwrap_or_default();
    let delay_back = back.as_ref().and_then(delay);
    let link = self::link(&there, packet, |own| own + delay_back.unwrap_or(own));
    let back = back.map(|back| self::link(&back, packet, |own| own + there_delay)).transpose();
    let (link, back) = both(link, back)?;
    let back = back.ok_or(link.delay);
    Ok(Pair { link, back })
}

/// Combines two results, or the mistakes of both.
fn both<A, B>(one: Result<A, Diagnostics>, other: Result<B, Diagnostics>) -> Result<(A, B), Diagnostics> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(one), Err(other)) => {
            let all = one.all().iter().chain(other.all()).cloned().collect();
            Err(Diagnostics::from_vec(all).unwrap_or(one))
        }
        (Err(wrong), _) | (_, Err(wrong)) => Err(wrong),
    }
}

fn link(
    words: &Words<'_>,
    packet: u32,
    rtt: impl Fn(Duration) -> Duration,
) -> Result<LinkConfig, Diagnostics> {
    // Line numbers mean nothing to the user, who wrote a single line.
    bare::link(&words.name(), &words.toml(), rtt, packet).map_err(Diagnostics::without_lines)
}

/// Returns the bottleneck of an experiment's first case, and a note that names the case.
///
/// # Errors
/// An experiment with several links.
pub(crate) fn from_experiment(experiment: &Experiment) -> Result<(Pair, String), Diagnostic> {
    let cases = experiment.cases();
    let problem = |wrong: &str, right: &str| Diagnostic::new(experiment.file.clone(), wrong, right);
    let case = cases.first().ok_or_else(|| problem("no case", ""))?;
    let scenario = experiment.scenario(case, 0);
    if !scenario.beyond.is_empty() || scenario.reverse.len() > 1 {
        let right = "one link is needed; write its keys on the command line";
        return Err(problem("the experiment has several links in series", right));
    }
    let rtt = scenario.flows.first().map_or(scenario.link.delay * 2, |flow| flow.rtt);
    let back = match scenario.reverse.into_iter().next() {
        Some(back) => Ok(back),
        None => Err(rtt - scenario.link.delay),
    };
    let note = match case.variant.as_str() {
        "" => experiment.name.clone(),
        variant => format!("{}, {variant}", experiment.name),
    };
    Ok((Pair { link: scenario.link, back }, note))
}

#[cfg(test)]
mod tests {
    use link::{Limit, RateModel};
    use proptest::prelude::*;
    use units::{Bytes, Rate};

    use super::*;

    fn link(text: &str) -> LinkConfig {
        read(text, None, 1500).unwrap().link
    }

    fn wrong(text: &str) -> String {
        read(text, None, 1500).unwrap_err().to_string()
    }

    #[test]
    fn the_words_of_an_experiment_file() {
        let plain = link("rate=10 Mbit/s delay=25 ms queue=2 BDP");
        assert_eq!(plain.rate, RateModel::Constant(Rate(10_000_000)));
        assert_eq!(plain.delay, Duration::from_millis(25));
        assert_eq!(plain.limit, Limit::Bytes(Bytes(125_000)), "2 * 10 Mbit/s * 50 ms");
        assert_eq!(link("rate=10Mbit/s rtt=50ms queue=2BDP"), plain);
        assert_eq!(
            link("  rate= 10 Mbit/s   delay =25 ms".replace("delay =", "delay=").as_str()).limit,
            Limit::Unlimited
        );
        assert_eq!(link("rate=1 Mbit/s loss=0.5 % jitter=1 ms burst=3 kB").loss, 0.005);
        assert_eq!(link("rate=1 Mbit/s aqm=codel").aqm.name(), "codel");
        assert_eq!(
            link("rate=1 Mbit/s aqm={ name = \"pie\", target=\"5 ms\" } bleach=true").aqm.name(),
            "pie"
        );
        let steps = link("rate=[[\"0 s\", \"10 Mbit/s\"], [\"5 s\", \"1 Mbit/s\"]] delay=5 ms");
        assert!(matches!(steps.rate, RateModel::Steps(s) if s.len() == 2));
    }

    #[test]
    fn the_way_back() {
        let pair =
            read("rate=10 Mbit/s delay=25 ms queue=1 BDP", Some("rate=1 Mbit/s queue=1 BDP"), 1500).unwrap();
        let back = pair.back.unwrap();
        assert_eq!((back.delay, back.limit), (Duration::from_millis(25), Limit::Bytes(Bytes(6250))));
        let steps = "rate=10 Mbit/s delay=[[\"0 s\", \"10 ms\"], [\"5 s\", \"40 ms\"]] queue=1 BDP";
        let pair = read(steps, Some("rate=1 Mbit/s"), 1500).unwrap();
        assert_eq!(pair.link.limit, Limit::Bytes(Bytes(25_000)), "an RTT of twice the first step");
        assert_eq!(pair.back.unwrap().delay_steps, pair.link.delay_steps);
        let pair =
            read("rate=10 Mbit/s rtt=20 ms queue=1 BDP", Some("rate=1 Mbit/s delay=40 ms"), 1500).unwrap();
        assert_eq!(pair.link.limit, Limit::Bytes(Bytes(62_500)), "an RTT of 10 + 40 ms");
        assert_eq!(read("rate=1 Mbit/s delay=7 ms", None, 1500).unwrap().back, Err(Duration::from_millis(7)));
    }

    #[test]
    fn errors_name_the_key_and_what_is_right() {
        for (text, says) in [
            ("", "the link is empty"),
            ("10 Mbit/s", "`10` is not a `key=value` pair"),
            ("rate=", "`rate` has no value"),
            ("rate=10 Mbit/s jitter", "`jitter` has no value"),
            ("rate=10 Mbit/s drop=[1.5]", "drop.0: `1.5` is not a packet number; write whole numbers"),
            ("rate=10", "rate: `10` has no unit"),
            ("rate=10 Mbit/s dealy=5 ms", "dealy: unknown key; did you mean \"delay\"?"),
            ("delay=5 ms", "rate: missing"),
            ("rate=1 Mbit/s rtt=5 ms delay=5 ms", "rtt: `rtt` and `delay` cannot be combined"),
            ("rate=1 Mbit/s rtt=5", "rtt: `5` has no unit"),
            ("rate=1 Mbit/s queue=1 pakket", "queue: `1 pakket` is not a queue size"),
            (
                "rate=10 Mbit/s delay=1 ms queue=0.1 BDP",
                "queue: a queue of 250 bytes drops every full packet",
            ),
            ("rate=1 Mbit/s rate=2 Mbit/s", "duplicate key"),
            ("rate=1 Mbit/s aqm={ name=\"codel\"", "invalid TOML"),
        ] {
            assert!(wrong(text).contains(says), "{text}: {}", wrong(text));
            assert!(!wrong(text).contains(":1:"), "no line: {}", wrong(text));
        }
    }

    /// Mistakes in both directions are reported, in the order of the text.
    #[test]
    fn all_mistakes_at_once() {
        let all = read("rate=10 dealy=5 ms queue=2 BPD", Some("rate=1 Mbit/s loss=2"), 1500).unwrap_err();
        let keys: Vec<&str> = all.all().iter().map(|problem| problem.key.as_str()).collect();
        assert_eq!(keys, ["rate", "dealy", "queue", "loss"], "{all}");
        assert!(all.to_string().ends_with("4 errors in link \"rate=10 dealy=5 ms queue=2 BPD\""), "{all}");
        let bare = wrong("rate= queue=");
        assert!(bare.contains("`rate` has no value") && bare.contains("`queue` has no value"), "{bare}");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(rate|delay|queue|aqm|x)?[=0-9a-z\"'{}\\[\\], %/.-]{0,40}") {
            let _ = read(&text, Some(&text), 1500);
        }
    }
}
