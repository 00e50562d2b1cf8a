//! Rules of configurations, and the resulting transport parameters.

use ackclock_quic::Side;
use ackclock_quic::config::{
    AckFrequencyConfig, AckRequest, Config, DatagramConfig, ENDLESS, EndpointConfig, MIN_PACKET_SIZE,
    TimestampConfig,
};
use ackclock_quic::endpoint::token::MAX_TOKEN;
use ackclock_quic::streams::WindowConfig;
use ackclock_quic::units::{Bytes, Duration};
use ackclock_quic::wire::{AckToSend, ConnectionId, EcnCounts, Frame, StampFormat, TransportParameters};

fn full() -> Config {
    Config {
        datagrams: Some(DatagramConfig::default()),
        ack_frequency: AckFrequencyConfig { min_ack_delay: Some(Duration::from_micros(500)), request: None },
        timestamps: TimestampConfig { wanted: Some(StampFormat { max: 64, exponent: 3 }), offered: true },
        ..Config::default()
    }
}

#[test]
fn defaults_are_valid_and_declared() {
    assert_eq!(Config::default().check(), Ok(()));
    assert_eq!(Config::exact().check(), Ok(()));
    assert_eq!(EndpointConfig::default().check(), Ok(()));
    let id = ConnectionId::new(&[5; 8]).unwrap();
    for config in [Config::default(), Config::exact(), full()] {
        let declared = config.parameters(id);
        assert_eq!(TransportParameters::decode(&declared.to_vec(), Side::Client), Ok(declared));
    }
    let declared = full().parameters(id);
    assert_eq!((declared.max_idle_timeout, declared.max_ack_delay), (30_000, 25));
    assert_eq!((declared.initial_max_data, declared.initial_max_stream_data_uni), (1 << 20, 512 << 10));
    assert_eq!((declared.min_ack_delay, declared.max_datagram_frame_size), (Some(500), 65_535));
    assert_eq!(declared.stamp_format(), StampFormat { max: 64, exponent: 3 });
    assert_eq!(declared.initial_source_connection_id, Some(id));
    assert_eq!((declared.active_connection_id_limit, declared.max_udp_payload_size), (4, 65_527));
    // No parameter of servers.
    assert_eq!(declared.stateless_reset_token, None);
    let silent = Config { idle_timeout: None, ..Config::default() };
    assert_eq!(silent.parameters(id).max_idle_timeout, 0);
}

#[test]
fn what_is_wrong_is_named() {
    let window = |initial, max| WindowConfig { initial, max };
    let request = |threshold, delay: Option<u64>, reordering_threshold| {
        let max_ack_delay = delay.map(Duration::from_millis);
        Some(AckRequest { threshold, max_ack_delay, reordering_threshold })
    };
    type Change = Box<dyn Fn(&mut Config)>;
    let rows: Vec<(&str, Change)> = vec![
        ("idle_timeout", Box::new(|c| c.idle_timeout = Some(Duration::ZERO))),
        ("idle_timeout", Box::new(|c| c.idle_timeout = Some(Duration::from_micros(1500)))),
        ("bidirectional_streams", Box::new(|c| c.bidirectional_streams = (1 << 16) + 1)),
        ("unidirectional_streams", Box::new(|c| c.unidirectional_streams = (1 << 16) + 1)),
        ("send_buffer", Box::new(|c| c.send_buffer = Bytes(0))),
        ("connection_id_len", Box::new(|c| c.connection_id_len = 21)),
        ("active_connection_id_limit", Box::new(|c| c.active_connection_id_limit = 1)),
        ("active_connection_id_limit", Box::new(|c| c.active_connection_id_limit = 9)),
        ("initial_datagram_size", Box::new(|c| c.initial_datagram_size = Bytes(96))),
        ("initial_datagram_size", Box::new(|c| c.initial_datagram_size = Bytes(65_528))),
        ("max_datagram_size", Box::new(|c| c.max_datagram_size = Bytes(1199))),
        ("max_datagram_size", Box::new(|c| c.max_datagram_size = Bytes(65_528))),
        (
            "max_datagram_size",
            Box::new(|c| (c.initial_datagram_size, c.max_datagram_size) = (Bytes(300), Bytes(1199))),
        ),
        ("max_ack_delay", Box::new(|c| c.max_ack_delay = Duration::from_millis(1 << 14))),
        ("max_ack_delay", Box::new(|c| c.max_ack_delay = Duration::from_micros(1))),
        ("ack_delay_exponent", Box::new(|c| c.ack_delay_exponent = 21)),
        ("min_ack_delay", Box::new(|c| c.ack_frequency.min_ack_delay = Some(Duration::from_millis(26)))),
        ("min_ack_delay", Box::new(|c| c.ack_frequency.min_ack_delay = Some(Duration(1)))),
        ("ack_frequency", Box::new(move |c| c.ack_frequency.request = request(1 << 62, None, 1))),
        ("ack_frequency", Box::new(move |c| c.ack_frequency.request = request(1, None, 1 << 62))),
        ("ack_frequency", Box::new(move |c| c.ack_frequency.request = request(1, Some(1 << 14), 1))),
        ("timestamps", Box::new(|c| c.timestamps.wanted = Some(StampFormat { max: 0, exponent: 0 }))),
        ("timestamps", Box::new(|c| c.timestamps.wanted = Some(StampFormat { max: 1, exponent: 21 }))),
        ("data_window", Box::new(move |c| c.data_window = window(2, 1))),
        ("stream_window", Box::new(move |c| c.stream_window = window(1, 1 << 62))),
        ("datagrams", Box::new(|c| c.datagrams.as_mut().unwrap().max_frame_size = Bytes(0))),
        ("datagrams", Box::new(|c| c.datagrams.as_mut().unwrap().max_frame_size = Bytes(65_536))),
        ("grease", Box::new(|c| c.fixed_sizes = true)),
    ];
    assert_eq!(full().check(), Ok(()));
    for (row, (field, change)) in rows.iter().enumerate() {
        let mut config = full();
        change(&mut config);
        let broken = config.check().map_err(|error| error.field);
        assert_eq!(broken, Err(*field), "row {row}");
    }
    let windows = Config { stream_window: window(9, 9), ..Config::exact() };
    assert_eq!(
        windows.check().unwrap_err().to_string(),
        "`stream_window` must be `ENDLESS` with `fixed_sizes`"
    );
    assert_eq!(Config::exact().data_window, ENDLESS);
    let tiny = Config { initial_datagram_size: Bytes(96), ..Config::default() };
    assert_eq!(tiny.check().unwrap_err().to_string(), "`initial_datagram_size` must be 97 B to 65527 B");
}

/// A small packet holds every frame that cannot be divided. The announced limit stays that of RFC
/// 9000 section 18.2.
#[test]
fn the_least_packet() {
    let least = Config { initial_datagram_size: Bytes(97), max_datagram_size: Bytes(1200), ..full() };
    assert_eq!((MIN_PACKET_SIZE, least.check()), (97, Ok(())));
    let room = MIN_PACKET_SIZE - (1 + ConnectionId::MAX_LEN + 4 + 16);
    let (id, most) = (ConnectionId::new(&[5; ConnectionId::MAX_LEN]).unwrap(), (1 << 62) - 1);
    let new_id = Frame::NewConnectionId { sequence: most, retire_prior_to: most, id, reset_token: [0; 16] };
    let ecn = Some(EcnCounts { ect0: most, ect1: most, ce: most });
    let ack = AckToSend { ranges: &[(0, most)], delay: most, ecn, stamps: None };
    // A token for a later connection: all but the port and the connection IDs of a Retry.
    let token = Frame::NewToken(&[0; MAX_TOKEN - 2 - 2 * (1 + ConnectionId::MAX_LEN)]);
    assert!([new_id.size(), ack.size(), token.size()].into_iter().all(|size| size <= room));
    assert_eq!(least.parameters(id).max_udp_payload_size, 1200);
}

#[test]
fn endpoints_too() {
    let wrong = |change: fn(&mut EndpointConfig)| {
        let mut config = EndpointConfig { accepts: true, ..EndpointConfig::default() };
        assert_eq!(config.check(), Ok(()));
        change(&mut config);
        config.check().unwrap_err().field
    };
    assert_eq!(wrong(|c| c.alpn.clear()), "alpn");
    assert_eq!(wrong(|c| c.alpn.push(Vec::new())), "alpn");
    assert_eq!(wrong(|c| c.alpn.push(vec![b'x'; 256])), "alpn");
    assert_eq!(wrong(|c| c.retry_lifetime = Duration::ZERO), "retry_lifetime");
    assert_eq!(wrong(|c| c.token_lifetime = Duration::ZERO), "token_lifetime");
    assert_eq!(wrong(|c| c.tokens = 5), "tokens");
    assert_eq!(wrong(|c| c.used_tokens = 0), "used_tokens");
    assert_eq!(wrong(|c| c.unaccepted = 0), "unaccepted");
    assert_eq!(wrong(|c| c.unaccepted = 1 << 17), "unaccepted");
    assert_eq!(wrong(|c| c.unaccepted_bytes = Bytes(1199)), "unaccepted_bytes");
    assert_eq!(wrong(|c| c.connection.connection_id_len = 3), "connection_id_len");
    assert_eq!(wrong(|c| c.connection.send_buffer = Bytes(0)), "send_buffer");
}
