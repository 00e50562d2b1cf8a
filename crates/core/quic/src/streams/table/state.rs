//! The table of streams, and shared operations.

use std::collections::{BTreeSet, VecDeque};

use units::{Duration, Time};

use crate::level::Side;
use crate::small_map::SmallMap;
use crate::streams::assembler::Keep;
use crate::streams::flow::{ReceiveWindow, SendCredit, WindowConfig};
use crate::streams::id::StreamId;
use crate::streams::limits::StreamLimits;
use crate::streams::receive::ReceiveStream;
use crate::streams::send::SendStream;
use crate::wire::frame::Direction;
use crate::wire::transport_parameters::TransportParameters;

/// Event of a stream. An event is not repeated for a stream until the application has reacted to
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// The peer has opened streams of this direction. Call [`StreamTable::accept`] until it returns
    /// `None`.
    Opened(Direction),
    /// There is data to read, or an end of the stream to report. Repeated once a read has found
    /// nothing.
    Readable(StreamId),
    /// The stream accepts data again, after a write that did not fit.
    Writable(StreamId),
    /// All data, or the reset, was acknowledged.
    Finished(StreamId),
    /// The peer sent STOP_SENDING with this error code. The stream was reset.
    Stopped(StreamId, u64),
    /// The peer allows more streams of this direction.
    Available(Direction),
}

/// Configuration of a stream table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableConfig {
    /// Flow control window of the connection, over all streams.
    pub data_window: WindowConfig,
    /// Flow control window of each stream.
    pub stream_window: WindowConfig,
    /// Limit of unacknowledged data that an application may write on a stream, in bytes.
    pub send_buffer: usize,
    /// Treatment of received bytes.
    pub keep: Keep,
    /// Number of bidirectional streams that the peer may have open at once.
    pub bidirectional: u64,
    /// Number of unidirectional streams that the peer may have open at once.
    pub unidirectional: u64,
}

/// One stream, with the parts that it has.
#[derive(Default)]
pub(super) struct Stream {
    pub(super) send: Option<SendStream>,
    pub(super) receive: Option<ReceiveStream>,
    /// Whether it is in `ready`.
    pub(super) queued: bool,
    /// Whether `Readable` was reported.
    pub(super) told_readable: bool,
    /// Whether a write did not fit.
    pub(super) waits_for_room: bool,
    /// Whether MAX_STREAM_DATA must be sent.
    pub(super) max_data: bool,
    pub(super) told_stopped: bool,
    pub(super) told_finished: bool,
}

/// All streams of one connection.
pub struct StreamTable {
    pub(super) side: Side,
    pub(super) config: TableConfig,
    pub(super) streams: SmallMap<StreamId, Stream>,
    pub(super) limits: StreamLimits,
    pub(super) credit: SendCredit,
    pub(super) window: ReceiveWindow,
    /// Initial credit from the peer: for bidirectional streams of this end, bidirectional streams
    /// of the peer, and unidirectional streams of this end.
    pub(super) grants: [u64; 3],
    /// Streams with data to send, in round-robin order.
    pub(super) ready: VecDeque<StreamId>,
    /// Streams with frames to send besides data.
    pub(super) control: BTreeSet<StreamId>,
    pub(super) max_data: bool,
    pub(super) max_streams: [bool; 2],
    pub(super) incoming: [VecDeque<StreamId>; 2],
    /// Whether a stream could not be opened because of the peer's limit.
    pub(super) wants: [bool; 2],
    pub(super) events: VecDeque<StreamEvent>,
    pub(super) smoothed_rtt: Duration,
}

impl StreamTable {
    /// Creates a table without streams. None can be opened before the peer's parameters are known.
    pub fn new(side: Side, config: TableConfig) -> Self {
        Self {
            side,
            config,
            streams: SmallMap::default(),
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

    /// Sets the peer's initial limits, before any stream is opened.
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

    /// Sets the smoothed RTT, by which the windows judge whether data was read quickly.
    pub const fn set_smoothed_rtt(&mut self, rtt: Duration) {
        self.smoothed_rtt = rtt;
    }

    /// Returns the next event for the application.
    pub fn poll_event(&mut self) -> Option<StreamEvent> {
        self.events.pop_front()
    }

    /// Returns the number of known streams.
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// Reports whether no streams are known.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Returns the memory used by received data, in bytes.
    pub fn memory(&self) -> usize {
        self.streams.values().filter_map(|stream| stream.receive.as_ref()).map(ReceiveStream::memory).sum()
    }

    /// Returns the number of written bytes, on all streams, that are not acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.streams.values().filter_map(|stream| stream.send.as_ref()).map(SendStream::held).sum()
    }

    /// Returns the memory used by written data, in bytes.
    pub fn memory_to_send(&self) -> usize {
        self.streams.values().filter_map(|stream| stream.send.as_ref()).map(SendStream::memory).sum()
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
        self.streams.insert(id, Stream { send, receive, ..Stream::default() });
    }

    /// Queues a stream if it has something to send.
    pub(super) fn queue(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(id) else { return };
        let pending = stream.send.as_ref().is_some_and(|send| send.has_pending(u64::MAX));
        if pending && !stream.queued {
            stream.queued = true;
            self.ready.push_back(id);
        }
    }

    /// Updates credit after bytes of a stream were read, or will never be read.
    pub(super) fn update_credit(&mut self, now: Time, id: StreamId) {
        let Some(stream) = self.streams.get_mut(id) else { return };
        let Some(receive) = &mut stream.receive else { return };
        self.window.on_consumed(receive.take_consumed());
        if receive.update(now, self.smoothed_rtt).is_some() {
            stream.max_data = true;
            self.control.insert(id);
        }
        self.max_data |= self.window.update(now, self.smoothed_rtt).is_some();
        // In most packets of a transfer, neither part has ended.
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
