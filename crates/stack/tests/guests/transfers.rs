use kneepoint_stack::{Profile, Stack, guests_of};
use scenario::{Outcome, Scenario, Watch};
use crate::common::*;

fn on(stack: Stack, scenario: &Scenario) -> Outcome {
    let guests = guests_of(stack, scenario, &Profile::default()).unwrap();
    sim::run_with_guests(scenario, guests, &Watch::default(), None).unwrap()
}

#[test]
fn table() {
    for name in ["new-reno", "cubic", "bbr3"] {
        let s = transfer(name);
        let m = on_simulator(&s);
        println!("{name} sim: {:.3} drops {} lost {}", done(&m), m.flows[0].totals.dropped, m.flows[0].stats.lost());
        for stack in Stack::ALL {
            let Ok(guests) = guests_of(stack, &s, &Profile::default()) else { continue };
            let o = sim::run_with_guests(&s, guests, &Watch::default(), None).unwrap();
            println!("{name} {}: {:?} drops {} stats {:?} packets {}", stack.word(), o.flows[0].finished, o.flows[0].totals.dropped, o.flows[0].stats, o.flows[0].totals.packets);
        }
    }
    let _ = on;
}
