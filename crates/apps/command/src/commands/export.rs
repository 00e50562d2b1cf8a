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
use link::{Aqm, Limit, LimitCounts, LinkConfig, RateModel, Spells};
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

/// What an emulator is told, and what it cannot do.
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
    let delay = |delay| LinkConfig { delay, ..LinkConfig::plain(Rate(1_000_000_000_000)) };
    let back = back.unwrap_or_else(delay);
    print(&match args.to {
        Emulator::Tc => {
            let [there, back] = [&link, &back].map(|link| shown(&tc(link, &args.device)));
            format!("# on the host that sends\n{there}# on the host that receives\n{back}")
        }
        Emulator::Mahimahi => shown(&mahimahi(&link, &back)),
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
        (!link.blackhole.is_empty(), "black holes; change the loss to 100 % at their times"),
        (!link.delay_steps.is_empty(), "later delays; change the delay at their times"),
        (!link.limit_steps.is_empty(), "later queues"),
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

fn tc(link: &LinkConfig, device: &str) -> Exported {
    let mut cannot = beyond(link);
    let rate = constant(link, &mut cannot);
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
    let add = |at: &str, what: &str| format!("tc qdisc add dev {device} {at} {what}");
    if link.limit_counts == LimitCounts::QueueAndDelay {
        let limit = packets(link.limit);
        let root = format!("netem {netem} rate {}bit limit {limit}", rate.0);
        return Exported { lines: vec![add("root handle 1:", &root)], cannot };
    }
    cannot.push("the place of the delay: here it comes before the queue".to_owned());
    let burst = link.burst.0.max(PACKET.1);
    let mut lines = vec![
        add("root handle 1:", &format!("netem {netem} limit {IN_PROPAGATION}")),
        add("parent 1: handle 2:", &format!("tbf rate {}bit burst {burst} limit {}", rate.0, bytes(link))),
    ];
    lines.extend(managed(link, &mut cannot).map(|queue| add("parent 2: handle 3:", &queue)));
    Exported { lines, cannot }
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
    let mut cannot = beyond(link);
    cannot.extend((link.jitter > Duration::ZERO).then(|| "jitter".to_owned()));
    cannot.extend((link.bursts.is_some()).then(|| "losses in bursts".to_owned()));
    cannot.extend((link.corrupt + link.duplicate > 0.0).then(|| "damaged and copied packets".to_owned()));
    cannot.extend((link.burst.0 > 0).then(|| "the token bucket".to_owned()));
    cannot.extend(
        (link.limit_counts != LimitCounts::Queue)
            .then(|| "a limit that counts packets in propagation".to_owned()),
    );
    let mut lines = Vec::new();
    let [up, down] = [(link, "up"), (back, "down")].map(|(link, name)| match &link.rate {
        RateModel::Trace(trace) if trace.has_chances() => trace.path().to_owned(),
        _ => {
            lines.push(trace(constant(link, &mut cannot), name));
            format!("{name}.trace")
        }
    });
    let half = (link.delay + back.delay) / 2;
    let whole = (half.as_secs_f64() * 1e3).round();
    if link.delay != back.delay || half != Duration::from_millis(whole as u64) {
        cannot.push(format!("delays of {} and {}: both ways have whole ms", link.delay, back.delay));
    }
    let queue = match (&link.aqm, link.limit) {
        (Aqm::DropTail(_), Limit::Unlimited) => "infinite".to_owned(),
        (Aqm::DropTail(_), Limit::Bytes(bytes)) => {
            format!("droptail --uplink-queue-args=\"bytes={}\"", bytes.0)
        }
        (Aqm::DropTail(_), Limit::Packets(packets)) => {
            format!("droptail --uplink-queue-args=\"packets={packets}\"")
        }
        (Aqm::Codel(p), limit) => {
            let args = (packets(limit), p.target.0 as f64 / 1e6, p.interval.0 as f64 / 1e6);
            format!(
                "codel --uplink-queue-args=\"packets={}, target={}, interval={}\"",
                args.0, args.1, args.2
            )
        }
        (other, _) => {
            cannot.push(format!("the queue management {}", other.name()));
            format!("droptail --uplink-queue-args=\"packets={}\"", packets(link.limit))
        }
    };
    let loss = if link.loss > 0.0 { format!("mm-loss uplink {} ", link.loss) } else { String::new() };
    lines.push(format!("mm-delay {whole} {loss}mm-link {up} {down} --uplink-queue={queue} -- COMMAND"));
    Exported { lines, cannot }
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
        let back = LinkConfig { delay: there.delay, ..LinkConfig::plain(Rate(1_000_000_000)) };
        let exported = mahimahi(&there, &back);
        assert_eq!(
            exported.lines[2],
            "mm-delay 25 mm-loss uplink 0.01 mm-link up.trace down.trace \
             --uplink-queue=droptail --uplink-queue-args=\"packets=50\" -- COMMAND"
        );
        let mut numbers =
            exported.lines[0].split(|c: char| !c.is_ascii_digit()).filter(|part| part.len() > 3);
        let (count, ms) = (numbers.next().unwrap(), numbers.next().unwrap());
        let rate = count.parse::<f64>().unwrap() * CHANCE / ms.parse::<f64>().unwrap() * 1e3;
        assert!((rate / 1e7 - 1.0).abs() < 1e-3, "{}", exported.lines[0]);
        assert_eq!(exported.cannot, Vec::<String>::new());
    }
}
