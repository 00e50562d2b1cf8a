//! Any bytes as the IP packet that a TUN device hands over: refused with a word, or carried through every thing that the emulator
//! asks of a packet, without a panic.
#![no_main]

use emu::relay::packet::WirePacket;
use libfuzzer_sys::fuzz_target;
use link::Packet;
use units::Time;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut packet) = WirePacket::new(bytes.to_vec(), 14, Time::ZERO) else { return };
    assert_eq!(packet.bytes(), bytes);
    let _ = packet.segment();
    packet.set_ce();
    // A mark changes the ECN field and the checksum over it: it is a packet of the same size and flow.
    let marked =
        WirePacket::new(packet.bytes().to_vec(), 14, Time::ZERO).expect("a marked packet is a packet");
    assert_eq!((marked.bytes().len(), marked.flow()), (bytes.len(), packet.flow()));
});
