//! Parameters of controllers as constants of the native programs.

use congestion::Algorithm;
use congestion::algorithms::delay::dstar::{self, IdleRestart, Restart};
use congestion::algorithms::reno::tcp_reno::{self, Halve};
use congestion::algorithms::reno::window::Growth;
use congestion::components::count::Count;
use congestion::components::slow_start::Kind;
use units::Duration;

/// Factors are multiples of one part of this.
const PARTS: f64 = 256.0;

/// A native program and its constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constants {
    /// Name of the program: `dstar` or `reno`.
    pub program: &'static str,
    /// Values by name, in the order of the program's struct of parameters.
    pub values: Vec<(&'static str, u64)>,
}

/// Returns the controllers that have a native program, with their usual parameters. For Reno these
/// are those of Linux.
pub fn natives() -> [Algorithm; 2] {
    let limit = u64::from(u32::MAX);
    let reno = tcp_reno::Params {
        halve: Halve::Cwnd,
        count: Count::Packets,
        abc_limit: limit,
        abc_limit_after_timeout: limit,
        ..tcp_reno::Params::default()
    };
    [dstar::Params::default().into(), reno.into()]
}

/// Translates the parameters of a controller.
///
/// # Errors
/// The parameter whose value the program cannot have, or a controller without a native program.
pub fn constants(algorithm: &Algorithm) -> Result<Constants, String> {
    if let Some(params) = algorithm.params() {
        return Ok(Constants { program: "dstar", values: dstar(params)? });
    }
    if let Some(params) = algorithm.params() {
        return Ok(Constants { program: "reno", values: reno(params)? });
    }
    let names = natives().map(|native| format!("`{}`", native.name()));
    Err(format!(
        "`{}` has no native program; {} have one, and an agent runs others",
        algorithm.name(),
        names.join(" and ")
    ))
}

fn dstar(p: &dstar::Params) -> Result<Vec<(&'static str, u64)>, String> {
    let timeout = match p.timeout {
        Restart::Window => 0,
        Restart::Drain => 1,
        Restart::SlowStart => 2,
    };
    let idle_restart = match p.idle_restart {
        IdleRestart::Off => 0,
        IdleRestart::Rto => 1,
        IdleRestart::After(time) => {
            return Err(refused("idle-restart", &format!("\"{time}\""), "\"rto\" or \"off\""));
        }
    };
    Ok(vec![
        ("min_cwnd", packets("min-cwnd", p.min_cwnd)?),
        ("max_cwnd", packets("max-cwnd", p.max_cwnd)?),
        ("min_gain_cwnd", count("min-gain-cwnd", p.min_gain_cwnd)?),
        ("gain", factor("gain", p.gain)?),
        ("max_gain", factor("max-gain", p.max_gain)?),
        ("slow_start_gain", factor("slow-start-gain", p.slow_start_gain)?),
        ("drain_rtts", count("drain-rtts", p.drain_rtts)?),
        ("gain_1_rtts", count("gain-1-rtts", p.gain_1_rtts)?),
        ("gain_2_rtts", count("gain-2-rtts", p.gain_2_rtts)?),
        ("timeout", timeout),
        ("idle_restart", idle_restart),
        ("ignore_app_limited", p.ignore_app_limited.into()),
        ("rtt_timeout", microseconds("rtt-timeout", p.rtt_timeout)?),
    ])
}

fn reno(p: &tcp_reno::Params) -> Result<Vec<(&'static str, u64)>, String> {
    if p.count != Count::Packets {
        return Err(refused("count", &format!("\"{:?}\"", p.count).to_lowercase(), "\"packets\""));
    }
    if p.growth != Growth::Window {
        return Err(refused("growth", &format!("\"{:?}\"", p.growth).to_lowercase(), "\"window\""));
    }
    if p.slow_start != Kind::Standard {
        return Err(refused("slow-start", "with an exit of its own", "\"standard\""));
    }
    if p.loss_window != 1 {
        return Err(refused("loss-window", &p.loss_window.to_string(), "1"));
    }
    Ok(vec![
        ("initial_window", packets("initial-window", p.initial_window)?),
        ("beta", factor("beta", p.beta)?),
        ("halve_flight", (p.halve == Halve::Flight).into()),
        ("abc_limit", count("abc-limit", p.abc_limit)?),
        ("abc_limit_after_timeout", count("abc-limit-after-timeout", p.abc_limit_after_timeout)?),
        ("min_window", packets("min-window", p.min_window)?),
    ])
}

fn refused(parameter: &str, value: &str, write: &str) -> String {
    format!("`{parameter}` is {value}, which the native program does not have; write {write}")
}

fn count(parameter: &str, value: u64) -> Result<u64, String> {
    let most = u64::from(u32::MAX);
    if value > most {
        return Err(refused(parameter, &value.to_string(), &format!("at most {most}")));
    }
    Ok(value)
}

/// Checks a window. One of nothing would never send.
fn packets(parameter: &str, value: u64) -> Result<u64, String> {
    if value == 0 {
        return Err(refused(parameter, "0", "at least 1"));
    }
    count(parameter, value)
}

fn factor(parameter: &str, value: f64) -> Result<u64, String> {
    let parts = value * PARTS;
    let nearest = parts.round().clamp(1.0, f64::from(u32::MAX));
    if parts != nearest {
        let nearest = (nearest / PARTS).to_string();
        return Err(format!(
            "`{parameter}` is {value}, but a native program has multiples of 1/256; the nearest is {nearest}"
        ));
    }
    Ok(nearest as u64)
}

fn microseconds(parameter: &str, value: Duration) -> Result<u64, String> {
    if !value.0.is_multiple_of(1000) {
        return Err(refused(parameter, &format!("\"{value}\""), "a multiple of 1 us"));
    }
    Ok(value.0 / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(algorithm: impl Into<Algorithm>) -> String {
        constants(&algorithm.into()).unwrap_err()
    }

    #[test]
    fn usual_parameters() {
        let [dstar, reno] = natives().map(|native| constants(&native).unwrap());
        assert_eq!((dstar.program, reno.program), ("dstar", "reno"));
        let value = |of: &Constants, name| of.values.iter().find(|(n, _)| *n == name).unwrap().1;
        assert_eq!((value(&dstar, "gain"), value(&dstar, "slow_start_gain")), (512, 384));
        assert_eq!((value(&dstar, "rtt_timeout"), value(&reno, "beta")), (10_000_000, 128));
    }

    #[test]
    fn values_that_integers_cannot_hold() {
        let dstar = dstar::Params::default;
        for (params, expected) in [
            (
                dstar::Params { gain: 1.7, ..dstar() },
                "`gain` is 1.7, but a native program has multiples of 1/256; the nearest is 1.69921875",
            ),
            (
                dstar::Params { idle_restart: IdleRestart::After(Duration::from_secs(1)), ..dstar() },
                "`idle-restart` is \"1 s\", which the native program does not have; write \"rto\" or \"off\"",
            ),
            (
                dstar::Params { rtt_timeout: Duration(1500), ..dstar() },
                "`rtt-timeout` is \"1.5 us\", which the native program does not have; write a multiple of 1 us",
            ),
            (
                dstar::Params { min_gain_cwnd: 1 << 32, ..dstar() },
                "`min-gain-cwnd` is 4294967296, which the native program does not have; write at most 4294967295",
            ),
            (
                dstar::Params { min_cwnd: 0, ..dstar() },
                "`min-cwnd` is 0, which the native program does not have; write at least 1",
            ),
        ] {
            assert_eq!(why(params), expected);
        }
        let infinite = dstar::Params { max_gain: f64::INFINITY, ..dstar() };
        assert!(why(infinite).starts_with("`max-gain` is inf"));
        let nothing = dstar::Params { gain: f64::NAN, ..dstar() };
        assert!(why(nothing).starts_with("`gain` is NaN"));
    }

    #[test]
    fn rules_that_the_program_lacks() {
        let reno = || tcp_reno::Params { count: Count::Packets, ..tcp_reno::Params::default() };
        for (params, expected) in [
            (
                tcp_reno::Params::default(),
                "`count` is \"bytes\", which the native program does not have; write \"packets\"",
            ),
            (
                tcp_reno::Params { growth: Growth::Ack, ..reno() },
                "`growth` is \"ack\", which the native program does not have; write \"window\"",
            ),
            (
                tcp_reno::Params { loss_window: 2, ..reno() },
                "`loss-window` is 2, which the native program does not have; write 1",
            ),
        ] {
            assert_eq!(why(params), expected);
        }
        let other = congestion::Registry::default().get("cubic").unwrap().algorithm();
        assert_eq!(
            why(other),
            "`cubic` has no native program; `dstar` and `tcp-reno` have one, and an agent runs others"
        );
    }
}
