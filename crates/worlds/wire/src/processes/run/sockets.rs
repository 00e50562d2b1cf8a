//! Reads the state of a namespace's UDP sockets from the kernel's tables: listening ports, and
//! drops at full buffers.

use std::fs;

use crate::emu::{Rig, Side};

use crate::processes::error::Error;

/// Reports whether each of these UDP ports is open at the server's end.
///
/// # Errors
/// The error of the system call.
pub(super) fn listening(rig: &Rig, ports: &[u16]) -> Result<bool, Error> {
    let tables = tables(rig, Side::Server, &["udp", "udp6"])?;
    Ok(ports.iter().all(|port| has_port(&tables, *port)))
}

/// Returns the UDP packets dropped at full receive buffers, at the client's and at the server's
/// end.
///
/// # Errors
/// The error of the system call.
pub(super) fn drops(rig: &Rig) -> Result<[u64; 2], Error> {
    let of = |side| Ok::<_, Error>(receive_buffer_errors(&tables(rig, side, &["snmp"])?));
    Ok([of(Side::Client)?, of(Side::Server)?])
}

fn tables(rig: &Rig, side: Side, names: &[&str]) -> Result<String, Error> {
    let read = |name: &&str| fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
    Ok(rig.namespace(side).run(|| Ok(names.iter().map(read).collect::<String>()))?)
}

/// Finds a local port. The second column has the local address and port, in hexadecimal.
fn has_port(table: &str, port: u16) -> bool {
    let wanted = format!("{port:04X}");
    let local = |line: &str| {
        let address = line.split_whitespace().nth(1);
        address.and_then(|address| address.rsplit(':').next()) == Some(wanted.as_str())
    };
    table.lines().any(local)
}

/// Returns `RcvbufErrors` from two lines that start with `Udp:`, names and values. This covers
/// IPv4, which is all that runs use.
fn receive_buffer_errors(table: &str) -> u64 {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix("Udp:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(name, _)| *name == "RcvbufErrors").and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_the_kernels_table() {
        let table =
            "  sl  local_address rem_address   st\n  12: 0200400A:1B58 00000000:0000 07 00000000:00000000\n";
        assert!(has_port(table, 7000));
        assert!(!has_port(table, 7001) && !has_port(table, 0));
    }

    #[test]
    fn drops_of_the_kernels_table() {
        let table = "Tcp: A B\nTcp: 1 2\nUdp: InDatagrams NoPorts InErrors RcvbufErrors SndbufErrors\nUdp: 10 0 7 6 0\nUdpLite: x\n";
        assert_eq!(
            (
                receive_buffer_errors(table),
                receive_buffer_errors("Udp: RcvbufErrors\n"),
                receive_buffer_errors("")
            ),
            (6, 0, 0)
        );
    }
}
