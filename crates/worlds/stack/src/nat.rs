//! A NAT between a client and its server. It changes the client's source address as the flow's
//! `rebind` says, and drops datagrams for the previous one.
//!
//! The source or destination address crosses the links as one extra byte at the end of the
//! datagram. That byte is not part of its size.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use scenario::{FlowConfig, Rebind};
use units::Time;

/// Number for a destination that never was a source of the client.
const NOWHERE: u8 = u8::MAX;

/// The client's source addresses over time.
#[derive(Clone, Debug)]
pub(crate) struct Nat {
    /// Source addresses, each with the time from which it is used. The first is valid from the
    /// start.
    sources: Vec<(Time, SocketAddr)>,
}

impl Nat {
    /// Creates the NAT of a flow whose client has this address.
    pub(crate) fn new(flow: &FlowConfig, client: SocketAddr) -> Self {
        let mut source = client;
        let mut sources = vec![(Time::ZERO, source)];
        // An experiment file allows at most 200 rebindings, so that a byte holds every number.
        for (at, what) in flow.rebind.iter().take(usize::from(NOWHERE) - 1) {
            let number = sources.len() as u8;
            match what {
                Rebind::Port => source.set_port(source.port() + 1),
                Rebind::Address => source.set_ip(IpAddr::V4(Ipv4Addr::new(10, 0, 1, number))),
            }
            sources.push((Time::ZERO + *at, source));
        }
        Self { sources }
    }

    /// Reports whether the flow has a NAT.
    fn is_there(&self) -> bool {
        self.sources.len() > 1
    }

    fn number(&self, now: Time) -> usize {
        self.sources.partition_point(|(since, _)| *since <= now).saturating_sub(1)
    }

    /// Adds the current source to a datagram that the client sends.
    pub(crate) fn client_sends(&self, now: Time, bytes: &mut Vec<u8>) {
        if self.is_there() {
            bytes.push(self.number(now) as u8);
        }
    }

    /// Adds the destination to a datagram that the server sends.
    pub(crate) fn server_sends(&self, to: SocketAddr, bytes: &mut Vec<u8>) {
        if self.is_there() {
            let number = self.sources.iter().position(|(_, source)| *source == to);
            bytes.push(number.map_or(NOWHERE, |number| number as u8));
        }
    }

    /// Removes and returns the source of a datagram that reaches the server.
    pub(crate) fn server_gets(&self, bytes: &mut Vec<u8>) -> Option<SocketAddr> {
        let number = if self.is_there() { usize::from(bytes.pop()?) } else { 0 };
        self.sources.get(number).map(|(_, source)| *source)
    }

    /// Removes the destination of a datagram from the server, and reports whether the NAT still
    /// maps it to the client.
    pub(crate) fn client_gets(&self, now: Time, bytes: &mut Vec<u8>) -> bool {
        !self.is_there() || bytes.pop().is_some_and(|number| usize::from(number) == self.number(now))
    }
}

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;

    fn client() -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], 4000))
    }

    #[test]
    fn sources() {
        let (port, address) =
            ((Duration::from_secs(1), Rebind::Port), (Duration::from_secs(2), Rebind::Address));
        let nat = Nat::new(&FlowConfig { rebind: vec![port, address], ..FlowConfig::default() }, client());
        let seen = |ms| {
            let mut bytes = vec![7];
            nat.client_sends(Time::from_millis(ms), &mut bytes);
            let from = nat.server_gets(&mut bytes).unwrap().to_string();
            assert_eq!(bytes, [7]);
            from
        };
        assert_eq!(
            [seen(0), seen(999), seen(1000), seen(2500)],
            ["10.0.0.1:4000", "10.0.0.1:4000", "10.0.0.1:4001", "10.0.1.2:4001"]
        );
        let known = |to: &str, ms| {
            let mut bytes = vec![7];
            nat.server_sends(to.parse().unwrap(), &mut bytes);
            nat.client_gets(Time::from_millis(ms), &mut bytes)
        };
        assert!(known("10.0.0.1:4000", 999) && known("10.0.0.1:4001", 1000) && known("10.0.1.2:4001", 2000));
        assert!(!known("10.0.0.1:4000", 1000), "forgotten");
        assert!(!known("10.0.0.1:4001", 999), "not yet");
        assert!(!known("192.0.2.1:9", 0), "nobody's");
        assert!(nat.server_gets(&mut vec![]).is_none() && nat.server_gets(&mut vec![9]).is_none(), "damaged");
    }

    #[test]
    fn none() {
        let (nat, mut bytes) = (Nat::new(&FlowConfig::default(), client()), vec![7]);
        nat.client_sends(Time::ZERO, &mut bytes);
        nat.server_sends(client(), &mut bytes);
        assert!(nat.client_gets(Time::ZERO, &mut bytes));
        assert_eq!((nat.server_gets(&mut bytes), bytes), (Some(client()), vec![7]));
    }
}
