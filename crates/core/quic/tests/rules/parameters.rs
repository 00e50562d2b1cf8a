//! Transport parameters: encoding and decoding are inverse, and values that section 18.2 of RFC
//! 9000 forbids are refused.

use std::net::{SocketAddrV4, SocketAddrV6};

use ackclock_quic::wire::codec::Writer;
use ackclock_quic::wire::transport_parameters::{PreferredAddress, TransportParameters};
use ackclock_quic::wire::{ConnectionId, StampFormat, varint};
use ackclock_quic::{Code, Side};
use proptest::prelude::*;

use crate::appendix_a::{CLIENT_CRYPTO, bytes};

fn id(len: usize) -> Option<ConnectionId> {
    ConnectionId::new(&[3; 20][..len])
}

prop_compose! {
    fn any_parameters()(
        n in prop::array::uniform9(0..=varint::MAX), small in prop::array::uniform4(0_u64..=20), ids in prop::array::uniform4(0_usize..=20),
        flags in prop::array::uniform4(any::<bool>()), ports: (u16, u16), ack_delay in 0_u64..1 << 14, grease: Option<u64>,
    ) -> TransportParameters {
        let v4 = flags[1].then(|| SocketAddrV4::new([10, 0, 0, 1].into(), ports.0));
        let v6 = flags[2].then(|| SocketAddrV6::new([7; 16].into(), ports.1, 0, 0));
        let address = PreferredAddress { v4, v6, id: id(ids[3].max(1)).unwrap(), reset_token: [9; 16] };
        TransportParameters {
            original_destination_connection_id: id(ids[0]),
            max_idle_timeout: n[0],
            stateless_reset_token: flags[0].then_some([8; 16]),
            max_udp_payload_size: n[1].max(1200),
            initial_max_data: n[2],
            initial_max_stream_data_bidi_local: n[3],
            initial_max_stream_data_bidi_remote: n[4],
            initial_max_stream_data_uni: n[5],
            initial_max_streams_bidi: n[6].min(1 << 60),
            initial_max_streams_uni: n[7].min(1 << 60),
            ack_delay_exponent: small[0],
            max_ack_delay: ack_delay,
            disable_active_migration: flags[1],
            preferred_address: flags[3].then_some(address),
            active_connection_id_limit: small[1].max(2),
            initial_source_connection_id: id(ids[1]),
            retry_source_connection_id: flags[2].then(|| id(ids[2])).flatten(),
            max_datagram_frame_size: n[8],
            min_ack_delay: flags[0].then_some(ack_delay * 1000),
            max_receive_timestamps_per_ack: flags[1].then_some(small[2]),
            receive_timestamps_exponent: flags[2].then_some(small[3]),
            grease: grease.map(TransportParameters::grease_from),
        }
    }
}

proptest! {
    #[test]
    fn come_back(parameters in any_parameters()) {
        let bytes = parameters.to_vec();
        prop_assert_eq!(bytes.len(), parameters.size());
        let back = TransportParameters::decode(&bytes, Side::Server);
        // Grease is unknown to the decoder, so it is not kept.
        prop_assert_eq!(back, Ok(TransportParameters { grease: None, ..parameters.clone() }));
        prop_assert!(parameters.grease.is_none_or(|id| id % 31 == 27 && id <= varint::MAX));
        for cut in 0..bytes.len() {
            let _ = TransportParameters::decode(&bytes[..cut], Side::Server);
        }
    }

    #[test]
    fn random_and_damaged_bytes(
        parameters in any_parameters(), damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..9),
        random in prop::collection::vec(any::<u8>(), 0..100), client: bool,
    ) {
        let side = if client { Side::Client } else { Side::Server };
        let mut bytes = parameters.to_vec();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        for bytes in [bytes, random] {
            if let Ok(read) = TransportParameters::decode(&bytes, side) {
                prop_assert_eq!(read.check(), Ok(()));
            }
        }
    }
}

/// Encodes one parameter.
fn one(id: u64, value: &[u8]) -> Vec<u8> {
    let mut buf = [0; 300];
    let mut w = Writer::new(&mut buf);
    w.varint(id);
    w.prefixed(value);
    w.written().to_vec()
}

fn refused(bytes: &[u8], from: Side) -> &'static str {
    let error = TransportParameters::decode(bytes, from).unwrap_err();
    assert_eq!(error.code, Code::TRANSPORT_PARAMETER_ERROR);
    error.reason
}

#[test]
fn what_is_refused() {
    let v = |value: u64| varint::encoded(value, 8);
    let rows = [
        (0x03, 1199, "max_udp_payload_size below 1200"),
        (0x08, (1 << 60) + 1, "initial_max_streams_bidi above 2^60"),
        (0x09, (1 << 60) + 1, "initial_max_streams_uni above 2^60"),
        (0x0a, 21, "ack_delay_exponent above 20"),
        (0x0b, 1 << 14, "max_ack_delay of 2^14 or more"),
        (0x0e, 1, "active_connection_id_limit below 2"),
        (0xff04_de1b, 25_001, "min_ack_delay above max_ack_delay"),
        (0xff04_de1b, varint::MAX, "min_ack_delay above max_ack_delay"),
        (0x4ac26, 21, "receive_timestamps_exponent above 20"),
    ];
    for (id, value, reason) in rows {
        assert_eq!(refused(&one(id, &v(value)), Side::Client), reason);
        assert!(TransportParameters::decode(&one(id, &v(value)), Side::Client).is_err());
    }
    let twice = [one(0x04, &[1]), one(0x05, &[1]), one(0x04, &[1])].concat();
    assert_eq!(refused(&twice, Side::Client), "duplicate transport parameter");
    let unknown_twice = [one(0x7777, b"x"), one(0x7777, b"")].concat();
    assert_eq!(refused(&unknown_twice, Side::Client), "duplicate transport parameter");
    for (id, value) in [(0x00, &[1][..]), (0x02, &[1; 16]), (0x10, &[])] {
        assert!(TransportParameters::decode(&one(id, value), Side::Server).is_ok());
        assert_eq!(refused(&one(id, value), Side::Client), "server transport parameter from a client");
    }
    let wrong = "transport parameter of the wrong length";
    assert_eq!(refused(&one(0x04, &[1, 2]), Side::Server), wrong);
    assert_eq!(refused(&one(0x0c, &[0]), Side::Server), wrong);
    assert_eq!(refused(&one(0x02, &[0; 15]), Side::Server), wrong);
    assert_eq!(refused(&one(0x0f, &[0; 21]), Side::Server), wrong);
    assert_eq!(refused(&[4, 9, 1], Side::Server), "transport parameters are truncated");
    let empty_id = [&[0; 24][..], &[0], &[7; 16]].concat();
    assert_eq!(refused(&one(0x0d, &empty_id), Side::Server), "preferred_address without a connection ID");
}

/// The parameters in the ClientHello of RFC 9001 appendix A.2.
#[test]
fn those_of_the_sample_client() {
    let hello = bytes(CLIENT_CRYPTO);
    // quic_transport_parameters (0x39) of 50 bytes.
    let at = hello.windows(4).position(|four| four == [0, 0x39, 0, 50]).unwrap() + 4;
    let read = TransportParameters::decode(&hello[at..at + 50], Side::Client).unwrap();
    let expected = TransportParameters {
        initial_max_data: varint::MAX,
        initial_max_stream_data_bidi_local: 65_535,
        initial_max_stream_data_bidi_remote: 65_535,
        initial_max_stream_data_uni: 65_535,
        initial_max_streams_bidi: 16,
        initial_max_streams_uni: 16,
        max_idle_timeout: 30_000,
        initial_source_connection_id: ConnectionId::new(&bytes("8394c8f03e515708")),
        ..TransportParameters::default()
    };
    assert_eq!(read, expected);
    assert_eq!(read.size(), 50);
}

#[test]
fn defaults_are_not_written_and_unknown_ones_ignored() {
    assert_eq!(TransportParameters::default().size(), 0);
    let read = TransportParameters::decode(&one(31 * 9 + 27, b"whatever"), Side::Client).unwrap();
    assert_eq!(read, TransportParameters::default());
    assert_eq!((read.max_udp_payload_size, read.ack_delay_exponent, read.max_ack_delay), (65_527, 3, 25));
    assert_eq!(read.stamp_format(), StampFormat { max: 0, exponent: 0 });
}
