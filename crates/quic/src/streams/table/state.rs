//! The table itself, and what all its parts do.

use std::collections::{BTreeSet, VecDeque};

use units::{Duration, Time};

use crate::by_id::ById;
use crate::level::Side;
use crate::streams::assembler::Keep;
use crate::streams::flow::{ReceiveWindow, SendCredit, WindowConfig};
use crate::streams::id::StreamId;
use crate::streams::limits::StreamLimits;
use crate::streams::receive::ReceiveStream;
use crate::streams::send::SendStream;
use crate::wire::frame::Direction;
use crate::wire::transport_parameters::TransportParameters;

/// What an application is told of streams. Of each kind there is at most one for a stream until the application has answered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// The peer has opened streams of this direction: [`StreamTable::accept`] until there is none.
    Opened(Direction),
    /// There is something to read, or an end to hear of. Told again once a read has found nothing.
    Readable(StreamId),
    /// There is room again, after a write that found too little.
    Writable(StreamId),
    /// All was acknowledged, or the reset was.
    Finished(StreamId),
    /// The peer does not want more, with this error code; the stream was reset.
    Stopped(StreamId, u64),
    /// The peer allows more streams of this direction.
    Available(Direction),
}

/// What a table is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableConfig {
    /// Credit for all streams together.
    pub data_window: WindowConfig,
    /// Credit for each.
    pub stream_window: WindowConfig,
    /// What an application may write ahead on a stream, in bytes.
    pub send_buffer: usize,
    /// What becomes of received bytes.
    pub keep: Keep,
    /// How many bidirectional streams the peer may have open at once.
    pub bidirectional: u64,
    /// How many unidirectional ones.
    pub unidirectional: u64,
}

/// One stream: the parts that it has.
pub(super) struct Stream {
    pub(super) send: Option<SendStream>,
    pub(super) receive: Option<ReceiveStream>,
    /// It stands in `ready`.
    pub(super) queued: bool,
    /// The application knows that it is readable.
    pub(super) told_readable: bool,
    /// A write found too little room.
    pub(super) waits_for_room: bool,
    /// MAX_STREAM_DATA is to be sent.
    pub(super) max_data: bool,
    pub(super) told_stopped: bool,
    pub(super) told_finished: bool,
}

/// All streams of one connection.
pub struct StreamTable {
    pub(super) side: Side,
    pub(super) config: TableConfig,
    pub(super) streams: ById<StreamId, Stream>,
    pub(super) limits: StreamLimits,
    pub(super) credit: SendCredit,
    pub(super) window: ReceiveWindow,
    /// What the peer grants each new stream: of this end's bidirectional ones, of its own, of this end's unidirectional ones.
    pub(super) grants: [u64; 3],
    /// Streams with data to send, in turns.
    pub(super) ready: VecDeque<StreamId>,
    /// Streams with frames of their own to send besides data.
    pub(super) control: BTreeSet<StreamId>,
    pub(super) max_data: bool,
    pub(super) max_streams: [bool; 2],
    pub(super) incoming: [VecDeque<StreamId>; 2],
    /// Streams were refused that the peer did not allow.
    pub(super) wants: [bool; 2],
    pub(super) events: VecDeque<StreamEvent>,
    pub(super) smoothed_rtt: Duration,
}

impl StreamTable {
    /// Without streams; none can be opened before the peer's parameters are known.
    pub fn new(side: Side, config: TableConfig) -> Self {
        Self {
            side,
            config,
            streams: ById::default(),
            limits: StreamLimits::new(side, config.bidirectional, config.unidirectional),
            credit: SendCredit::default(),
            window: ReceiveWindow::new(config.data_window),
            grants: [0; 3],
            ready: VecDeque::new(),
            control: BTreeSet::new(),
            max_data: false,
            max_streams: [false; 2],
            incoming: [VecDeque::new(), VecDeque::new()],
            wants: [false; 2],
            events: VecDeque::new(),
            smoothed_rtt: Duration::ZERO,
        }
    }

    /// What the peer grants, before any stream was opened.
    pub fn on_parameters(&mut self, peer: &TransportParameters) {
        self.credit.raise(peer.initial_max_data);
        self.grants = [
            peer.initial_max_stream_data_bidi_remote,
            peer.initial_max_stream_data_bidi_local,
            peer.initial_max_stream_data_uni,
        ];
        self.limits.on_max_streams(Direction::Bidirectional, peer.initial_max_streams_bidi);
        self.limits.on_max_streams(Direction::Unidirectional, peer.initial_max_streams_uni);
    }

    /// By this the windows judge whether a part of them was read quickly.
    pub const fn set_smoothed_rtt(&mut self, rtt: Duration) {
        self.smoothed_rtt = rtt;
    }

    /// The next thing to tell the application.
    pub fn poll_event(&mut self) -> Option<StreamEvent> {
        self.events.pop_front()
    }

    /// How many streams are known.
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// None is known.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// How much memory received data takes, in bytes.
    pub fn memory(&self) -> usize {
        self.streams.values().filter_map(|stream| stream.receive.as_ref()).map(ReceiveStream::memory).sum()
    }

    /// How many bytes that an application has written are held, on all streams, until they are acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.streams.values().filter_map(|stream| stream.send.as_ref()).map(SendStream::held).sum()
    }

    pub(super) fn create(&mut self, id: StreamId) {
        let local = id.initiator() == self.side;
        let grant = match (id.direction(), local) {
            (Direction::Bidirectional, true) => self.grants[0],
            (Direction::Bidirectional, false) => self.grants[1],
            (Direction::Unidirectional, _) => self.grants[2],
        };
        let send = id.sends(self.side).then(|| SendStream::new(grant, self.config.send_buffer));
        let receives = id.sends(self.side.peer());
        let receive = receives.then(|| ReceiveStream::new(self.config.stream_window, self.config.keep));
        let stream = Stream {
            send,
            receive,
            queued: false,
            told_readable: false,
            waits_for_room: false,
            max_data: false,
            told_stopped: false,
            told_finished: false,
        };
        self.streams.insert(id, stream);
    }

    /// A stream may have something to send.
    pub(super) fn queue(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(id) else { return };
        let pending = stream.send.as_ref().is_some_and(|send| send.has_pending(u64::MAX));
        if pending && !stream.queued {
            stream.queued = true;
            self.ready.push_back(id);
        }
    }

    /// Bytes of a stream were read, or will never be: credit moves on.
    pub(super) fn settle(&mut self, now: Time, id: StreamId) {
        let Some(stream) = self.streams.get_mut(id) else { return };
        let Some(receive) = &mut stream.receive else { return };
        self.window.on_consumed(receive.take_consumed());
        if receive.update(now, self.smoothed_rtt).is_some() {
            stream.max_data = true;
            self.control.insert(id);
        }
        self.max_data |= self.window.update(now, self.smoothed_rtt).is_some();
        // Neither part has an end to tell of, in most packets of a transfer.
        if stream.send.is_some() || receive.is_over() {
            self.reap(id);
        }
    }

    /// Forgets a stream that is over in both directions.
    pub(super) fn reap(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(id) else { return };
        let sent = stream.send.as_ref().is_none_or(SendStream::is_over);
        if sent && stream.send.is_some() && !stream.told_finished {
            stream.told_finished = true;
            self.events.push_back(StreamEvent::Finished(id));
        }
        if !sent || stream.receive.as_ref().is_some_and(|receive| !receive.is_over()) {
            return;
        }
        if stream.queued {
            self.ready.retain(|ready| *ready != id);
        }
        self.streams.remove(id);
        self.control.remove(&id);
        self.limits.on_closed(id);
        let direction = id.direction();
        self.max_streams[direction as usize] |= self.limits.grant(direction).is_some();
    }
}
