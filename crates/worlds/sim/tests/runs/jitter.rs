//! Side effects that jitter on a link must not have.

use units::{Duration, Time};

use crate::common::{quic_flow, run, scenario};

/// Three equal flows have equal shares, whichever is listed first: packets held back by jitter
/// arrive in the order of the link, one after the other. When they arrived all at once, the flows
/// carried 174, 119 and 81 MB in this test: the first flow's packets took the free places in the
/// queue.
#[test]
fn no_place_in_the_list_is_better() {
    let mut delivered = [0_u64; 3];
    for seed in 1..=8 {
        let starts = [seed * 37 % 100, seed * 61 % 100, seed * 83 % 100].map(Time::from_millis);
        let flows = starts
            .map(|start| scenario::FlowConfig { start, ..quic_flow("name = 'cubic'") })
            .into_iter()
            .collect();
        let mut s = scenario(2.0, 40, flows);
        (s.link.jitter, s.seed) = (Duration::from_millis(30), seed);
        for (sum, flow) in delivered.iter_mut().zip(&run(&s).flows) {
            *sum += flow.totals.delivered;
        }
    }
    let (least, most) = (delivered.iter().min().unwrap(), delivered.iter().max().unwrap());
    assert!((*most as f64) < 1.25 * *least as f64, "{delivered:?}");
}
