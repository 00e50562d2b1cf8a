//! Transfers: everything arrives, byte by byte.

use crate::world::*;

#[test]
fn a_transfer() {
    let mut world = World::new(Plan::default());
    world.connect(&[2_000_000]);
    assert!(world.finish(ms(10_000)));
    assert!(world.now < ms(3_000), "{:?}", world.now);
}
