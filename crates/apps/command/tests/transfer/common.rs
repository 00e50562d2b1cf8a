//! Shared helpers of the tests.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use units::Rng;

/// Timeout that is long enough on any machine.
pub const LONG: Duration = Duration::from_secs(60);

pub fn ackclock() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackclock"));
    command.env_remove("SSLKEYLOGFILE").stdin(Stdio::null());
    command
}

pub fn noise(len: usize) -> Vec<u8> {
    let mut rng = Rng::stream(len as u64, "noise");
    let mut out = vec![0; len];
    out.chunks_mut(8).for_each(|eight| eight.copy_from_slice(&rng.next_u64().to_le_bytes()[..eight.len()]));
    out
}

pub fn sha256(file: &Path) -> String {
    let sum = Command::new("sha256sum").arg(file).output().unwrap();
    assert!(sum.status.success(), "{}", file.display());
    String::from_utf8(sum.stdout).unwrap().split(' ').next().unwrap().to_owned()
}

pub fn says(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Ends a process as Ctrl-C does.
pub fn interrupt(child: &Child) {
    let sent = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(sent.success());
}

pub fn patient(child: &mut Child, most: Duration) -> Option<i32> {
    let until = Instant::now() + most;
    while Instant::now() < until {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.code().unwrap_or(-1));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    None
}

/// Encodes bytes as PEM.
pub fn pem(label: &str, der: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let four = |three: &[u8]| -> String {
        let bits = three.iter().chain(&[0, 0]).take(3).fold(0, |bits, byte| bits << 8 | usize::from(*byte));
        let digit = |at: usize| {
            let there = at <= three.len();
            if there { char::from(DIGITS[bits >> (18 - 6 * at) & 63]) } else { '=' }
        };
        (0..4).map(digit).collect()
    };
    let text: String = der.chunks(3).map(four).collect();
    let lines: Vec<&str> = (0..text.len()).step_by(64).map(|at| &text[at..text.len().min(at + 64)]).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// Creates `cert.pem` and `priv.key` for `localhost` in this folder, as the interop runner's
/// certs.sh does: P-256, and the key after its parameters. Returns false without openssl.
pub fn certificate_by_openssl(dir: &Path) -> bool {
    const MAKE: &str = "openssl ecparam -name prime256v1 -genkey -out priv.key && openssl req -x509 -nodes -days 10 \
        -key priv.key -out cert.pem -subj /O=test/ -addext subjectAltName=DNS:localhost \
        -addext basicConstraints=critical,CA:FALSE";
    let made = Command::new("sh").args(["-c", MAKE]).current_dir(dir).stderr(Stdio::null()).status();
    made.is_ok_and(|status| status.success())
}

/// Reports whether IPv6 is available, also for a socket that takes IPv4 too, and says so if not.
pub fn has_ipv6() -> bool {
    let only = std::fs::read_to_string("/proc/sys/net/ipv6/bindv6only").is_ok_and(|text| text.trim() == "1");
    let has = std::net::UdpSocket::bind("[::1]:0").is_ok() && !only;
    if !has {
        println!("skipped: this machine has no IPv6, or net.ipv6.bindv6only is set");
    }
    has
}

/// Waits until a process has written enough that its transfer is under way.
pub fn wait_until_it_writes(child: &Child) {
    let until = Instant::now() + LONG;
    let written = || {
        let text = std::fs::read_to_string(format!("/proc/{}/io", child.id())).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("wchar: "));
        line.and_then(|bytes| bytes.parse::<u64>().ok()).unwrap_or(0)
    };
    while written() < 1_000_000 {
        assert!(Instant::now() < until, "nothing is written");
        std::thread::sleep(Duration::from_millis(20));
    }
}
