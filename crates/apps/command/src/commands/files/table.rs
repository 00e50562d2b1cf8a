//! Formats the measurements of a transfer, in the terms of the papers' tables.

use transfer::{Spread, Summary};
use units::{Duration, Rate};

/// The measurements of a transfer.
pub(crate) struct Measured {
    /// Bytes of the files.
    pub(crate) bytes: u64,
    /// Time from the end of the handshake to the last byte.
    pub(crate) took: Duration,
    /// Measurements of the client.
    pub(crate) own: Summary,
    /// Measurements of the server, if it reports them.
    pub(crate) servers: Option<Summary>,
}

/// Explains the missing packet numbers, where only the client has measured.
const SKIPPED: &str = "packet numbers, lost or skipped by the server";
/// Explains those that the server misses. Most packets of a client that downloads carry only ACKs,
/// and their loss is seen by the server alone.
const SKIPPED_BY_CLIENT: &str = "packet numbers, lost or skipped by the client";

/// Formats a line for each quantity.
pub(crate) fn lines(measured: &Measured) -> String {
    let Measured { bytes, took, own, servers } = measured;
    let mut all = vec![("goodput", goodput(*bytes, *took))];
    let spread = |spread: &Spread| {
        let ms = |d: Duration| format!("{:.1}", d.0 as f64 / 1e6);
        format!("min {}, mean {}, p95 {} ms", ms(spread.min), ms(spread.mean), ms(spread.p95))
    };
    // The server sends the files and therefore has more samples.
    let rtt = servers.and_then(|seen| seen.rtt).or(own.rtt);
    all.extend(rtt.map(|rtt| ("RTT", spread(&rtt))));
    let above = |name, delay: Option<Spread>| {
        delay.map(|delay| (name, format!("{}, above the minimum", spread(&delay))))
    };
    all.extend(above("one-way delay, download", servers.and_then(|seen| seen.one_way)));
    all.extend(above("one-way delay, upload", own.one_way));
    all.push(match servers {
        Some(seen) => ("loss, download", share(seen.lost, seen.sent, "packets of the server")),
        // To a receiver, numbers that the sender skips on purpose (RFC 9000 section 21.4) look
        // lost.
        None => ("missing, download", share(own.missing, own.received + own.missing, SKIPPED)),
    });
    all.push(match servers {
        Some(seen) => {
            ("missing, upload", share(seen.missing, seen.received + seen.missing, SKIPPED_BY_CLIENT))
        }
        None => ("loss, upload", share(own.lost, own.sent, "packets that ask for an ACK")),
    });
    if own.ect > 0 {
        all.push(("marked CE", share(own.marked, own.ect, "packets received with ECN")));
    }
    if own.key_updates > 0 {
        all.push(("key updates", own.key_updates.to_string()));
    }
    all.iter().map(|(name, value)| format!("{name:24} {value}\n")).collect()
}

/// Formats a rate with four digits, and the bytes and the time behind it.
pub(crate) fn goodput(bytes: u64, took: Duration) -> String {
    let seconds = took.0 as f64 / 1e9;
    let rate = if took == Duration::ZERO { 0.0 } else { bytes as f64 * 8.0 / seconds };
    format!("{} ({bytes} bytes in {seconds:.3} s)", Rate(four_digits(rate as u64)))
}

/// Rounds to four significant digits.
fn four_digits(n: u64) -> u64 {
    let unit = 10_u64.pow(n.checked_ilog10().unwrap_or(0).saturating_sub(3));
    n.saturating_add(unit / 2) / unit * unit
}

fn share(part: u64, whole: u64, unit: &str) -> String {
    let percent = if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 };
    format!("{percent:.2} % ({part} of {whole} {unit})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table() {
        let ms = |least, mean, p95| {
            let ms = Duration::from_millis;
            Some(Spread { min: ms(least), mean: ms(mean), p95: ms(p95) })
        };
        let own = Summary { rtt: ms(20, 25, 40), received: 90, missing: 10, sent: 50, ..Summary::default() };
        let mut measured =
            Measured { bytes: 1_000_000, took: Duration::from_millis(800), own, servers: None };
        let text = lines(&measured);
        assert!(
            text.starts_with("goodput                  10 Mbit/s (1000000 bytes in 0.800 s)\n"),
            "{text}"
        );
        assert!(text.contains("RTT                      min 20.0, mean 25.0, p95 40.0 ms\n"), "{text}");
        let missing =
            "missing, download        10.00 % (10 of 100 packet numbers, lost or skipped by the server)\n";
        assert!(text.contains(missing) && !text.contains("loss, download"), "{text}");
        assert!(
            text.contains("loss, upload             0.00 % (0 of 50 packets that ask for an ACK)"),
            "{text}"
        );
        let seen = Summary {
            one_way: ms(0, 2, 5),
            sent: 200,
            lost: 3,
            received: 95,
            missing: 5,
            ..Summary::default()
        };
        measured.servers = Some(seen);
        let text = lines(&measured);
        assert!(text.contains("one-way delay, download  min 0.0, mean 2.0, p95 5.0 ms, above"), "{text}");
        assert!(text.contains("loss, download           1.50 % (3 of 200 packets of the server)"), "{text}");
        let missing =
            "missing, upload          5.00 % (5 of 100 packet numbers, lost or skipped by the client)";
        assert!(text.contains(missing) && !text.contains("loss, upload"), "{text}");
        assert_eq!(
            [0, 9_999, 12_344, 12_345, 1_218_794_536].map(four_digits),
            [0, 9_999, 12_340, 12_350, 1_219_000_000]
        );
        assert!(goodput(1, Duration::ZERO).starts_with("0 bit/s"), "{}", goodput(1, Duration::ZERO));
    }
}
