//! `ackclock export`: writes a link for another emulator.
//!
//! ```text
//! tc         root netem: loss, delay, jitter, damage;  child tbf: rate, bucket, limit;  grandchild: queue management
//! mahimahi   mm-delay, mm-loss, mm-link with a trace of chances of 1504 bytes
//! ```
//!
//! tc-netem(8), tc-tbf(8), tc-codel(8), tc-fq_codel(8), tc-pie(8); mm-link's `link_queue.cc`.

use clap::{Args, ValueEnum};
use experiment::library::Library;
use link::{Aqm, JitterOrder, Limit, LimitCounts, LinkConfig, RateModel, Spells};
use units::{Duration, Rate};

use crate::commands::pair::{self, Pair};
use crate::commands::sources;
use crate::status::{Error, HOLDS, print};

/// Largest IP packet, and with the Ethernet header that tbf counts.
const PACKET: (u32, u64) = (1500, 1514);
/// Packets that netem may hold in propagation. Its default of 1000 would be a second queue.
const IN_PROPAGATION: u32 = 1_000_000;
/// Bytes of a queue without a limit.
const UNLIMITED: u64 = 1_000_000_000;
/// Rate of a way back without one, for Mahimahi.
const FAST: Rate = Rate(1_000_000_000);
/// Bits of a chance of mahimahi.
const CHANCE: f64 = 1504.0 * 8.0;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The link, as in "rate=10 Mbit/s delay=25 ms queue=2 BDP", or the name or file of an
    /// experiment, of which the first case is used.
    link: String,
    /// Set the reverse direction, in the same format.
    #[arg(long, value_name = "LINK")]
    back: Option<String>,
    /// Choose the emulator.
    #[arg(long, value_name = "EMULATOR")]
    to: Emulator,
    /// Set the network device that tc shapes.
    #[arg(long, default_value = "eth0")]
    device: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Emulator {
    /// Commands of tc(8) for Linux, one direction on each host.
    Tc,
    /// A command line of Mahimahi.
    Mahimahi,
}

/// Commands for an emulator, and a list of what they leave out.
#[derive(Debug, Default, PartialEq)]
struct Exported {
    lines: Vec<String>,
    cannot: Vec<String>,
}

/// Prints the commands. Returns the exit status.
pub(crate) fn run(args: &ExportArgs) -> Result<u8, Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._@:".contains(c);
    if args.device.is_empty() || !args.device.chars().all(is_plain) {
        return Err(Error::bad("--device: must be the name of a network device, like eth0"));
    }
    let Pair { link, back } = read(args)?;
    print(&match args.to {
        Emulator::Tc => {
            let there = shown(&tc(&link, &args.device));
            let back = match &back {
                Ok(back) => shown(&tc(back, &args.device)),
                Err(delay) => shown(&only_delay(*delay, &args.device)),
            };
            format!("# on the host that sends\n{there}# on the host that receives\n{back}")
        }
        Emulator::Mahimahi => {
            let plain = |delay| LinkConfig { delay, ..LinkConfig::plain(FAST) };
            shown(&mahimahi(&link, &back.unwrap_or_else(plain)))
        }
    });
    Ok(HOLDS)
}

fn read(args: &ExportArgs) -> Result<Pair, Error> {
    if args.link.contains('=') {
        return Ok(pair::read(&args.link, args.back.as_deref(), PACKET.0)?);
    }
    if args.back.is_some() {
        return Err(Error::bad("--back: only valid with a link like \"rate=10 Mbit/s delay=25 ms\""));
    }
    let sources = Library.resolve(std::slice::from_ref(&args.link))?;
    let [source] = &sources[..] else {
        return Err(Error::bad(format!("`{}` names {} experiments; name one", args.link, sources.len())));
    };
    Ok(pair::from_experiment(&sources::parsed(source)?)?.0)
}

fn shown(exported: &Exported) -> String {
    let lines = exported.lines.iter().map(|line| format!("{line}\n"));
    lines.chain(exported.cannot.iter().map(|what| format!("# not said: {what}\n"))).collect()
}

fn ms(time: Duration) -> String {
    format!("{}ms", time.0 as f64 / 1e6)
}

/// Formats a probability in percent.
fn percent(share: f64) -> String {
    format!("{}%", (share * 1e8).round() / 1e6)
}

/// Lists what neither emulator has.
fn beyond(link: &LinkConfig) -> Vec<String> {
    let parts = [
        (link.bleach, "bleaching"),
        (link.reorder.is_some(), "early packets (netem's `reorder` follows another rule)"),
        (!link.drop.is_empty(), "losses by number"),
        (link.mtu.is_some(), "an MTU; set that of the interface (`ip link set mtu`)"),
        (!link.blackhole.is_empty(), "black holes; change the loss to 100 % at their times"),
        (!link.delay_steps.is_empty(), "later delays; change the delay at their times"),
        (!link.limit_steps.is_empty(), "later queues"),
        (link.jitter_order == JitterOrder::Flow, "an order of packets for each flow"),
        (matches!(&link.rate, RateModel::Slots(s) if s.has_more()), "extra delays and outages of the slots"),
        (matches!(&link.rate, RateModel::Aggregates(_)), "aggregates and their gaps"),
    ];
    parts.iter().filter(|(there, _)| *there).map(|(_, what)| (*what).to_owned()).collect()
}

/// Returns the rate, and says what is lost if it changes.
fn constant(link: &LinkConfig, cannot: &mut Vec<String>) -> Rate {
    if !matches!(link.rate, RateModel::Constant(_)) {
        cannot.push("changes of the rate; this is its nominal value".to_owned());
    }
    link.rate.nominal()
}

fn add(device: &str, at: &str, what: &str) -> String {
    format!("tc qdisc add dev {device} {at} {what}")
}

/// Returns a way back that only delays.
fn only_delay(delay: Duration, device: &str) -> Exported {
    let netem = format!("netem delay {} limit {IN_PROPAGATION}", ms(delay));
    Exported { lines: vec![add(device, "root handle 1:", &netem)], cannot: Vec::new() }
}

fn tc(link: &LinkConfig, device: &str) -> Exported {
    let mut cannot = beyond(link);
    let rate = constant(link, &mut cannot);
    if polices(link) {
        cannot.push("a policer: here one packet waits, and tc-police(8) has another rule".to_owned());
    } else if (1..PACKET.1).contains(&link.burst.0) {
        cannot.push("a bucket below a packet".to_owned());
    }
    let mut netem = format!("delay {}", ms(link.delay + link.jitter / 2));
    if link.jitter > Duration::ZERO {
        netem += &format!(" {}", ms(link.jitter / 2));
        if link.jitter_correlation > 0.0 {
            netem += &format!(" {}", percent(link.jitter_correlation));
        }
        cannot.push("the order of packets: jitter of netem lets them overtake each other".to_owned());
    }
    match link.bursts.map(|bursts| (bursts.spells, bursts)) {
        Some((Spells::Packets { p, r }, bursts)) => {
            let [p, r, bad, good] = [p, r, bursts.bad_loss, bursts.good_loss].map(percent);
            netem += &format!(" loss gemodel {p} {r} {bad} {good}");
            cannot.extend((link.loss > 0.0).then(|| "single losses beside those in bursts".to_owned()));
        }
        Some(_) => cannot.push("losses in bursts by time".to_owned()),
        None if link.loss > 0.0 => netem += &format!(" loss random {}", percent(link.loss)),
        None => {}
    }
    for (word, share) in [("corrupt", link.corrupt), ("duplicate", link.duplicate)] {
        if share > 0.0 {
            netem += &format!(" {word} {}", percent(share));
        }
    }
    if link.limit_counts == LimitCounts::QueueAndDelay {
        let limit = packets(link.limit);
        let root = format!("netem {netem} rate {}bit limit {limit}", rate.0);
        return Exported { lines: vec![add(device, "root handle 1:", &root)], cannot };
    }
    cannot.push("the place of the delay: here it comes before the queue".to_owned());
    let burst = link.burst.0.max(PACKET.1);
    let mut lines = vec![
        add(device, "root handle 1:", &format!("netem {netem} limit {IN_PROPAGATION}")),
        add(
            device,
            "parent 1: handle 2:",
            &format!("tbf rate {}bit burst {burst} limit {}", rate.0, bytes(link)),
        ),
    ];
    lines.extend(managed(link, &mut cannot).map(|queue| add(device, "parent 2: handle 3:", &queue)));
    Exported { lines, cannot }
}

/// Reports whether a bucket has no queue.
fn polices(link: &LinkConfig) -> bool {
    let none =
        matches!(link.limit, Limit::Packets(0)) || matches!(link.limit, Limit::Bytes(bytes) if bytes.0 == 0);
    none && link.burst.0 > 0
}

/// Returns the limit of tbf in bytes. Its queue holds the packet in transmission too.
fn bytes(link: &LinkConfig) -> u64 {
    match link.limit {
        Limit::Bytes(bytes) => bytes.0 + PACKET.1,
        Limit::Packets(packets) => packets.saturating_add(1).saturating_mul(PACKET.1),
        Limit::Unlimited => UNLIMITED,
    }
}

fn packets(limit: Limit) -> u64 {
    match limit {
        Limit::Bytes(bytes) => (bytes.0 / u64::from(PACKET.0)).max(1),
        Limit::Packets(packets) => packets,
        Limit::Unlimited => IN_PROPAGATION.into(),
    }
}

/// Returns the queue of tbf, if it is not its own of bytes.
fn managed(link: &LinkConfig, cannot: &mut Vec<String>) -> Option<String> {
    let limit = packets(link.limit).saturating_add(1);
    let ecn = |on: bool, off: &'static str| if on { " ecn" } else { off };
    match &link.aqm {
        Aqm::DropTail(_) => match link.limit {
            Limit::Packets(_) => Some(format!("pfifo limit {limit}")),
            _ => None,
        },
        Aqm::Codel(p) => {
            let (target, interval, ecn) = (ms(p.target), ms(p.interval), ecn(p.ecn, " noecn"));
            Some(format!("codel limit {limit} target {target} interval {interval}{ecn}"))
        }
        Aqm::FqCodel(p) => {
            let (target, interval, ecn) = (ms(p.target), ms(p.interval), ecn(p.ecn, " noecn"));
            let (limit, flows, quantum) = (p.limit, p.flows, p.quantum.0);
            Some(format!(
                "fq_codel limit {limit} flows {flows} quantum {quantum} target {target} interval {interval}{ecn}"
            ))
        }
        Aqm::Pie(p) => {
            let (target, update, ecn) = (ms(p.target), ms(p.t_update), ecn(p.ecn, " noecn"));
            cannot.push("alpha and beta of PIE, whose units differ".to_owned());
            Some(format!("pie limit {limit} target {target} tupdate {update}{ecn}"))
        }
        other => {
            cannot.push(format!("the queue management {}; this is drop-tail", other.name()));
            None
        }
    }
}

fn mahimahi(link: &LinkConfig, back: &LinkConfig) -> Exported {
    let (mut lines, mut cannot) = (Vec::new(), Vec::new());
    let (mut traces, mut queues, mut losses) = (Vec::new(), Vec::new(), String::new());
    for (link, name) in [(link, "up"), (back, "down")] {
        let mut own = without_mahimahi(link);
        traces.push(match &link.rate {
            RateModel::Trace(trace) if trace.has_chances() => quoted(trace.path()),
            _ => {
                lines.push(trace(constant(link, &mut own), name));
                format!("{name}.trace")
            }
        });
        queues.push(queue(link, name, &mut own));
        if link.loss > 0.0 {
            losses += &format!("mm-loss {name}link {} ", link.loss);
            own.push("the place of the losses: here they come behind the queue".to_owned());
        }
        cannot.extend(own.into_iter().map(|what| format!("{name}link: {what}")));
    }
    let half = (link.delay + back.delay) / 2;
    let whole = (half.as_secs_f64() * 1e3).round();
    if link.delay != back.delay || half != Duration::from_millis(whole as u64) {
        cannot.push(format!(
            "delays of {} and {}: both ways have the same, in whole ms",
            link.delay, back.delay
        ));
    }
    let (traces, queues) = (traces.join(" "), queues.concat());
    lines.push("# COMMAND sends; for one that receives, exchange up and down".to_owned());
    lines.push(format!("mm-delay {whole} {losses}mm-link {traces}{queues} -- COMMAND"));
    Exported { lines, cannot }
}

/// Lists what Mahimahi does not have of a link.
fn without_mahimahi(link: &LinkConfig) -> Vec<String> {
    let mut cannot = beyond(link);
    let parts = [
        (link.jitter > Duration::ZERO, "jitter"),
        (link.bursts.is_some(), "losses in bursts"),
        (link.corrupt + link.duplicate > 0.0, "damaged and copied packets"),
        (polices(link), "a policer: here one packet waits"),
        (link.burst.0 > 0 && !polices(link), "the token bucket"),
        (link.limit_counts != LimitCounts::Queue, "a limit that counts packets in propagation"),
    ];
    cannot.extend(parts.iter().filter(|(there, _)| *there).map(|(_, what)| (*what).to_owned()));
    cannot
}

/// Returns the options of the queue of one direction, empty for one without a limit.
fn queue(link: &LinkConfig, way: &str, cannot: &mut Vec<String>) -> String {
    let drops = format!("packets={}", packets(link.limit).max(1));
    let (name, arguments) = match (&link.aqm, link.limit) {
        (Aqm::DropTail(_), Limit::Unlimited) => return String::new(),
        (Aqm::DropTail(_), Limit::Bytes(bytes)) if bytes.0 > 0 => ("droptail", format!("bytes={}", bytes.0)),
        (Aqm::DropTail(_), _) => ("droptail", drops),
        (Aqm::Codel(p), _) => {
            let [target, interval] = [p.target, p.interval].map(|time| time.0.div_ceil(1_000_000));
            if p.target.0 % 1_000_000 + p.interval.0 % 1_000_000 > 0 {
                cannot.push("times of CoDel below a millisecond".to_owned());
            }
            ("codel", format!("{drops}, target={target}, interval={interval}"))
        }
        (other, _) => {
            cannot.push(format!("the queue management {}; this is drop-tail", other.name()));
            ("droptail", drops)
        }
    };
    format!(" --{way}link-queue={name} --{way}link-queue-args=\"{arguments}\"")
}

/// Quotes a path for a shell, if it needs that.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-._+".contains(c);
    let is_plain = !path.is_empty() && !path.starts_with('-') && path.chars().all(plain);
    if is_plain {
        path.to_owned()
    } else {
        format!("'./{}'", path.replace('\'', "'\\''")).replacen("'.//", "'/", 1)
    }
}

/// Returns a command that writes a trace of a constant rate: N chances in a period of whole
/// seconds. The period is the one below 100 s whose rate is nearest.
fn trace(rate: Rate, name: &str) -> String {
    let chances = |seconds: u32| (rate.0 as f64 * f64::from(seconds) / CHANCE).round().max(1.0);
    let error = |seconds: &u32| (chances(*seconds) * CHANCE / f64::from(*seconds) - rate.0 as f64).abs();
    let limit = if rate.0 > 100_000_000 { 1 } else { 99 };
    let best = (1..=limit).min_by(|a, b| error(a).total_cmp(&error(b))).unwrap_or(1);
    let (count, ms) = (chances(best), best * 1000);
    format!("awk 'BEGIN {{ for (i = 1; i <= {count}; i++) print int(i * {ms} / {count}) }}' > {name}.trace")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(text: &str) -> LinkConfig {
        pair::read(text, None, PACKET.0).unwrap().link
    }

    #[test]
    fn commands_of_tc() {
        let plain = tc(&link("rate=10 Mbit/s delay=25 ms queue=2 BDP loss=1 %"), "eth0");
        assert_eq!(
            plain.lines,
            [
                "tc qdisc add dev eth0 root handle 1: netem delay 25ms loss random 1% limit 1000000",
                "tc qdisc add dev eth0 parent 1: handle 2: tbf rate 10000000bit burst 1514 limit 126514",
            ]
        );
        let fair = tc(&link("rate=10 Mbit/s delay=5 ms queue=50 packets aqm=fq-codel"), "eth0");
        assert!(
            fair.lines[2]
                .starts_with("tc qdisc add dev eth0 parent 2: handle 3: fq_codel limit 10240 flows 1024")
        );
        let bursts = tc(&link("rate=1 Mbit/s loss={ p = \"1 %\", r = \"10 %\" }"), "eth0");
        assert!(bursts.lines[0].contains("loss gemodel 1% 10% 100% 0%"), "{bursts:?}");
        let window = tc(&link("rate=1 Mbit/s delay=9 ms queue=30 packets limit-counts=queue+delay"), "eth0");
        assert_eq!(
            window.lines,
            ["tc qdisc add dev eth0 root handle 1: netem delay 9ms rate 1000000bit limit 30"]
        );
    }

    #[test]
    fn what_is_not_said() {
        let red = tc(&link("rate=1 Mbit/s queue=90 packets aqm=red jitter=2 ms bleach=true"), "eth0").cannot;
        for what in
            ["bleaching", "the order of packets", "the queue management red", "the place of the delay"]
        {
            assert!(red.iter().any(|said| said.contains(what)), "{what}: {red:?}");
        }
        let steps = tc(&link("rate=[[\"0 s\", \"1 Mbit/s\"], [\"5 s\", \"2 Mbit/s\"]]"), "eth0").cannot;
        assert!(steps.iter().any(|said| said.contains("changes of the rate")), "{steps:?}");
    }

    /// 10 Mbit/s are 831.12 chances of 1504 bytes in a second. The trace has the rate within a
    /// thousandth.
    #[test]
    fn a_line_of_mahimahi() {
        let there = link("rate=10 Mbit/s delay=25 ms queue=50 packets loss=1 %");
        let back = link("rate=1 Mbit/s delay=25 ms queue=5 packets loss=3 % jitter=5 ms");
        let exported = mahimahi(&there, &back);
        assert_eq!(
            exported.lines[3],
            "mm-delay 25 mm-loss uplink 0.01 mm-loss downlink 0.03 mm-link up.trace down.trace \
             --uplink-queue=droptail --uplink-queue-args=\"packets=50\" \
             --downlink-queue=droptail --downlink-queue-args=\"packets=5\" -- COMMAND"
        );
        let mut numbers =
            exported.lines[0].split(|c: char| !c.is_ascii_digit()).filter(|part| part.len() > 3);
        let (count, ms) = (numbers.next().unwrap(), numbers.next().unwrap());
        let rate = count.parse::<f64>().unwrap() * CHANCE / ms.parse::<f64>().unwrap() * 1e3;
        assert!((rate / 1e7 - 1.0).abs() < 1e-3, "{}", exported.lines[0]);
        assert!(exported.cannot.contains(&"downlink: jitter".to_owned()), "{:?}", exported.cannot);
        let policer = mahimahi(&link("rate=1 Mbit/s policer=30 kB"), &LinkConfig::plain(FAST));
        assert!(
            policer.lines[3].contains("packets=1\"") && policer.cannot[0].contains("policer"),
            "{policer:?}"
        );
    }

    #[test]
    fn paths_are_quoted() {
        for (path, shown) in [
            ("a/b-1.down", "a/b-1.down"),
            ("x; touch y #", "'./x; touch y #'"),
            ("it's", "'./it'\\''s'"),
            ("-x", "'./-x'"),
            ("/a b", "'/a b'"),
        ] {
            assert_eq!(quoted(path), shown);
        }
    }
}
