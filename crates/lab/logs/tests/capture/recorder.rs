//! Sink that keeps everything.

use ackclock_logs::event::{About, Ack, Control, Event, Gap, Parameters, Piece, Sink};
use ackclock_logs::{Error, capture};
use quic::passive::KeyLog;
use quic::{Side, Space};
use units::{Ecn, Time};

/// A packet, without borrows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) at: Time,
    pub(crate) from: Side,
    pub(crate) space: Space,
    pub(crate) number: Option<u64>,
    pub(crate) bytes: u32,
    pub(crate) wire: Option<u32>,
    pub(crate) eliciting: bool,
    pub(crate) ecn: Option<Ecn>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) acks: Vec<Ack>,
    pub(crate) limit: Option<u64>,
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) spin: Option<bool>,
    pub(crate) control: Control,
}

impl Packet {
    /// Offset and length of the data.
    pub(crate) fn data(&self) -> Option<(u64, u64)> {
        self.pieces.first().map(|piece| (piece.offset, piece.len))
    }

    pub(crate) fn cumulative(&self) -> Option<u64> {
        self.acks.first().and_then(|ack| ack.cumulative)
    }
}

/// All that is known of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) about: About,
    pub(crate) packets: Vec<Packet>,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) vantage: Vec<Side>,
    pub(crate) parameters: Vec<(Side, Parameters)>,
}

impl Connection {
    pub(crate) fn has(&self, gap: &Gap) -> bool {
        self.gaps.contains(gap)
    }
}

#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) all: Vec<Connection>,
    last: Vec<Time>,
    events: u64,
    /// Stops after this many events, if it is not 0.
    stop: u64,
}

impl Recorder {
    pub(crate) fn stopping(stop: u64) -> Self {
        Self { stop, ..Self::default() }
    }
}

impl Sink for Recorder {
    fn open(&mut self, about: About) -> usize {
        let (packets, gaps, vantage, parameters) = Default::default();
        self.all.push(Connection { about, packets, gaps, vantage, parameters });
        self.last.push(Time::ZERO);
        self.all.len() - 1
    }

    fn event(&mut self, connection: usize, at: Time, event: &Event<'_>) {
        self.events += 1;
        assert!(at >= self.last[connection], "time runs backwards");
        self.last[connection] = at;
        let connection = &mut self.all[connection];
        match event {
            Event::Packet(packet) => connection.packets.push(Packet {
                at,
                from: packet.from,
                space: packet.space,
                number: packet.number,
                bytes: packet.bytes,
                wire: packet.wire,
                eliciting: packet.ack_eliciting,
                ecn: packet.ecn,
                pieces: packet.pieces.to_vec(),
                acks: packet.acks.to_vec(),
                limit: packet.limit,
                timestamps: packet.timestamps,
                spin: packet.spin,
                control: packet.control,
            }),
            Event::Gap(gap) => connection.gaps.push(gap.clone()),
            Event::Vantage(side) => connection.vantage.push(*side),
            Event::Parameters { from, parameters } => connection.parameters.push((*from, *parameters)),
            other => panic!("no capture tells {other:?}"),
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop > 0 && self.events >= self.stop
    }
}

pub(crate) fn try_read(file: &[u8], keys: Option<&KeyLog>) -> Result<Vec<Connection>, Error> {
    let mut recorder = Recorder::default();
    capture::read(file, "file.pcap", keys, &mut recorder)?;
    Ok(recorder.all)
}

pub(crate) fn read(file: &[u8]) -> Vec<Connection> {
    try_read(file, None).unwrap()
}
