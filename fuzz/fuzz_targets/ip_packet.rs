//! Reads bytes as an IP packet from a TUN device. The emulator refuses it with a message, or reads
//! every property that it needs, without a panic.
#![no_main]

use wire::emu::relay::packet::WirePacket;
use libfuzzer_sys::fuzz_target;
use link::Packet;
use units::Time;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut packet) = WirePacket::new(bytes.to_vec(), 14, Time::ZERO) else { return };
    assert_eq!(packet.bytes(), bytes);
    let _ = packet.segment();
    packet.set_ce();
    // A mark changes the ECN field and the checksum, but neither size nor flow.
    let marked =
        WirePacket::new(packet.bytes().to_vec(), 14, Time::ZERO).expect("a marked packet is a packet");
    assert_eq!((marked.bytes().len(), marked.flow()), (bytes.len(), packet.flow()));
});
