//! A NAT that rebinds the client of our own endpoints.

use ackclock_stack::Cipher;
use scenario::{FlowConfig, Rebind};
use units::Duration;

use crate::common::*;

/// The transfer goes on behind another port and another address; what it costs is a PTO, since the NAT drops the server's ACKs until the next packet of the client. The simulator's flow takes no notice.
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

/// The same bytes twice, and none moved where nothing is rebound.
#[test]
fn the_same_twice() {
    let mut scenario = transfer("cubic");
    scenario.flows[0].rebind = vec![(Duration::from_secs(1), Rebind::Address)];
    let run = || format!("{:?}", on_stack(&scenario, Cipher::Tls));
    assert_eq!(run(), run());
}
