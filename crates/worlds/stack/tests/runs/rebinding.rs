//! A NAT rebinds the client of an `ackclock-quic` connection.

use ackclock_stack::Cipher;
use scenario::{FlowConfig, Rebind};
use units::Duration;

use crate::common::*;

/// The transfer continues from another port and another address. It is delayed by a PTO, because
/// the NAT drops the server's ACKs until the client's next packet. The simulated flow is not
/// affected.
#[test]
fn it_goes_on() {
    for rebind in [
        vec![(Duration::from_secs(2), Rebind::Port)],
        vec![(Duration::from_secs(2), Rebind::Address)],
        vec![(Duration::from_secs(2), Rebind::Port), (Duration::from_secs(4), Rebind::Address)],
    ] {
        let plain = transfer("cubic");
        let mut scenario = plain.clone();
        scenario.flows[0] = FlowConfig { rebind: rebind.clone(), ..scenario.flows[0].clone() };
        for cipher in [Cipher::Plain, Cipher::Tls] {
            let (undisturbed, outcome) = (on_stack(&plain, cipher), on_stack(&scenario, cipher));
            let later = done(&outcome) - done(&undisturbed);
            println!("{rebind:?}: {later:+.4} s");
            assert_eq!(outcome.flows[0].delivered, 10_000_000);
            assert!(later < 0.25 * rebind.len() as f64, "{later}");
        }
        let model = [on_simulator(&plain), on_simulator(&scenario)];
        assert_eq!(format!("{:?}", model[0]), format!("{:?}", model[1]));
    }
}

/// Two runs are identical.
#[test]
fn the_same_twice() {
    let mut scenario = transfer("cubic");
    scenario.flows[0].rebind = vec![(Duration::from_secs(1), Rebind::Address)];
    let run = || format!("{:?}", on_stack(&scenario, Cipher::Tls));
    assert_eq!(run(), run());
}
