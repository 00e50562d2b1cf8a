//! Moves data between a session and its connection.

use bytes::{Buf, Bytes};
use quic::connection::{Connection, Ended, Event};
use quic::streams::{Read, StreamEvent, StreamId};
use quic::wire::Direction;
use units::Time;

use super::pipe::{Command, End, Finish, INBOX, OUTBOX, Pipe};
use super::{Session, State};

const DIRECTIONS: [Direction; 2] = [Direction::Bidirectional, Direction::Unidirectional];
/// Largest number of bytes per read from the transport.
const PIECE: usize = 64 << 10;
/// H3_EXCESSIVE_LOAD (RFC 9114 section 8.1), for peers that exceed the limit of a stream.
const EXCESSIVE_LOAD: u64 = 0x107;

impl Session {
    /// Handles an event of the connection.
    pub fn on_event(&self, event: &Event) {
        let state = &mut *self.0.borrow_mut();
        match event {
            Event::Stream(StreamEvent::Readable(id)) => {
                state.touch(*id, |pipe| pipe.readable = true);
            }
            Event::Stream(StreamEvent::Writable(id)) => state.touch(*id, |_| {}),
            Event::Stream(StreamEvent::Finished(id)) => state.touch(*id, |pipe| pipe.acked = true),
            Event::Stream(StreamEvent::Stopped(id, code)) => state.touch(*id, |pipe| {
                pipe.stopped = Some(*code);
                (pipe.outbox_len, pipe.outbox) = (0, std::collections::VecDeque::new());
                pipe.writer.take().into_iter().for_each(std::task::Waker::wake);
            }),
            Event::Ended(ended) => {
                state.ended.get_or_insert_with(|| ended.clone());
                state.wake_all();
            }
            _ => {}
        }
        if let Event::Stream(StreamEvent::Stopped(..)) = event {
            state.starved.drain(..).for_each(std::task::Waker::wake);
        }
    }

    /// Handles the removal of the connection. Nothing more can be read.
    pub fn on_gone(&self) {
        self.on_event(&Event::Ended(Ended::Idle));
        let state = &mut *self.0.borrow_mut();
        state.pipes.values_mut().for_each(|pipe| pipe.readable = false);
        state.wake_all();
    }

    /// Moves bytes and commands in both directions. Reports whether a task may be able to continue.
    ///
    /// Unless `reads`, received data stays in the connection, whose windows bound it.
    pub fn pump(&self, now: Time, connection: &mut Connection, reads: bool) -> bool {
        let state = &mut *self.0.borrow_mut();
        if let Some((code, reason)) = state.close.take() {
            connection.close(now, code, &reason);
        }
        let is_open = state.ended.is_none();
        let mut moved = is_open && (state.open(connection) | state.accept(connection));
        if reads {
            state.dirty.append(&mut state.unread);
        }
        let mut buf = Vec::new();
        while let Some(id) = state.dirty.pop_first() {
            let Some(pipe) = state.pipes.get_mut(&id) else { continue };
            // Data received before the end can still be read.
            moved |= is_open && pipe.send(now, connection, id);
            if reads {
                moved |= pipe.receive(now, connection, id, &mut buf);
            } else if pipe.readable {
                state.unread.insert(id);
            }
            if pipe.limit.is_some_and(|limit| pipe.received > limit) {
                connection.close(now, EXCESSIVE_LOAD, b"more than a request");
            }
            if pipe.is_over() {
                state.pipes.remove(&id);
            }
        }
        moved
    }
}

impl State {
    fn touch(&mut self, id: StreamId, change: impl FnOnce(&mut Pipe)) {
        // A stream that waits to be accepted is created here. A stream that is over is ignored.
        let waits = id.initiator() != self.side && id.index() >= self.accepted[id.direction() as usize];
        let new = waits.then(|| self.new_pipe(id));
        let known = match new {
            Some(new) => Some(self.pipes.entry(id).or_insert(new)),
            None => self.pipes.get_mut(&id),
        };
        if let Some(pipe) = known {
            change(pipe);
            self.dirty.insert(id);
        }
    }

    fn open(&mut self, connection: &mut Connection) -> bool {
        let mut moved = false;
        for direction in DIRECTIONS {
            while !self.openers[direction as usize].is_empty() {
                let Some(id) = connection.open(direction) else { break };
                self.pipes.insert(id, self.new_pipe(id));
                self.opened[direction as usize].push_back(id);
                self.openers[direction as usize].remove(0).wake();
                moved = true;
            }
        }
        moved
    }

    fn accept(&mut self, connection: &mut Connection) -> bool {
        let mut moved = false;
        for direction in DIRECTIONS {
            while let Some(id) = connection.accept_stream(direction) {
                let new = self.new_pipe(id);
                self.pipes.entry(id).or_insert(new);
                self.accepted[direction as usize] = id.index() + 1;
                self.incoming[direction as usize].push_back(id);
                moved = true;
            }
            if moved {
                std::mem::take(&mut self.acceptors[direction as usize])
                    .into_iter()
                    .for_each(std::task::Waker::wake);
            }
        }
        moved
    }
}

impl Pipe {
    /// Moves data and commands of the task to the transport.
    fn send(&mut self, now: Time, connection: &mut Connection, id: StreamId) -> bool {
        // Errors mean that the stream is unknown: it is over and needs nothing.
        if let Some(code) = self.reset.take()
            && self.finish != Finish::Sent
        {
            let _ = connection.reset(id, code);
        }
        if let Some(code) = self.stop.take() {
            let _ = connection.stop(now, id, code);
        }
        let before = self.outbox_len;
        while let Some(bytes) = self.outbox.front_mut() {
            let taken = connection.write(id, &bytes[..]).unwrap_or(0);
            self.outbox_len -= taken;
            bytes.advance(taken);
            if !bytes.is_empty() {
                break;
            }
            self.outbox.pop_front();
        }
        if self.finish == Finish::Pending && self.outbox.is_empty() && self.reset == Command::None {
            let _ = connection.finish(id);
            self.finish = Finish::Sent;
        }
        let moved = self.outbox_len < before && self.outbox_len < OUTBOX;
        if moved {
            self.writer.take().into_iter().for_each(std::task::Waker::wake);
        }
        moved
    }

    /// Moves data of the transport to the task.
    fn receive(&mut self, now: Time, connection: &mut Connection, id: StreamId, buf: &mut Vec<u8>) -> bool {
        let before = (self.inbox_len, self.end);
        while self.claimed && self.readable && self.inbox_len < INBOX && self.end.is_none() && self.receives {
            buf.resize(PIECE, 0);
            match connection.read(now, id, buf) {
                Ok(Read::Data(len)) => {
                    self.received += len as u64;
                    // Keep the data only if it can still be read.
                    if !self.dropped && self.stop == Command::None {
                        self.inbox_len += len;
                        self.inbox.push_back(Bytes::copy_from_slice(&buf[..len]));
                    }
                }
                Ok(Read::Blocked) => self.readable = false,
                Ok(Read::End) => self.end = Some(End::Fin),
                Ok(Read::Reset(code)) => self.end = Some(End::Reset(code)),
                Err(_) => self.end = Some(End::Reset(0)),
            }
        }
        let moved = before != (self.inbox_len, self.end);
        if moved {
            self.reader.take().into_iter().for_each(std::task::Waker::wake);
        }
        moved
    }
}
