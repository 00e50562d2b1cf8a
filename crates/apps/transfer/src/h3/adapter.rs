//! Implements the transport traits of the `h3` crate for the streams of a session.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{
    Connection, ConnectionErrorIncoming, OpenStreams, RecvStream, SendStream, StreamErrorIncoming, StreamId,
    WriteBuf,
};
use quic::connection::{Close, Ended};
use quic::wire::Direction;

use crate::session::{Session, SessionError, Stream};

/// A session as a connection of the `h3` crate.
#[derive(Clone, Debug)]
pub struct Transport(pub Session);

fn lost(broken: SessionError) -> ConnectionErrorIncoming {
    match broken {
        SessionError::Connection(
            Ended::Peer(Close::Application { error, .. }) | Ended::Local(Close::Application { error, .. }),
        ) => ConnectionErrorIncoming::ApplicationClose { error_code: error },
        SessionError::Connection(Ended::Idle) => ConnectionErrorIncoming::Timeout,
        broken => ConnectionErrorIncoming::Undefined(Arc::new(broken)),
    }
}

fn ended(broken: SessionError) -> StreamErrorIncoming {
    match broken {
        SessionError::Stream(error_code) => StreamErrorIncoming::StreamTerminated { error_code },
        broken => StreamErrorIncoming::ConnectionErrorIncoming { connection_error: lost(broken) },
    }
}

impl<B: Buf> OpenStreams<B> for Transport {
    type BidiStream = Stream;
    type SendStream = Stream;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Stream, StreamErrorIncoming>> {
        self.0.poll_open(Direction::Bidirectional, cx).map_err(ended)
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<Stream, StreamErrorIncoming>> {
        self.0.poll_open(Direction::Unidirectional, cx).map_err(ended)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.0.close(code.value(), reason);
    }
}

impl<B: Buf> Connection<B> for Transport {
    type RecvStream = Stream;
    type OpenStreams = Self;

    fn poll_accept_recv(&mut self, cx: &mut Context<'_>) -> Poll<Result<Stream, ConnectionErrorIncoming>> {
        self.0.poll_accept(Direction::Unidirectional, cx).map_err(lost)
    }

    fn poll_accept_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<Stream, ConnectionErrorIncoming>> {
        self.0.poll_accept(Direction::Bidirectional, cx).map_err(lost)
    }

    fn opener(&self) -> Self {
        self.clone()
    }
}

impl<B: Buf> SendStream<B> for Stream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        Self::poll_ready(self, cx).map_err(ended)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        let mut data: WriteBuf<B> = data.into();
        while data.has_remaining() {
            let len = data.chunk().len();
            let piece: Bytes = data.copy_to_bytes(len);
            self.push(piece).map_err(ended)?;
        }
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(Self::poll_ready(self, cx)).map_err(ended)?;
        self.finish();
        Poll::Ready(Ok(()))
    }

    fn reset(&mut self, code: u64) {
        Self::reset(self, code);
    }

    fn send_id(&self) -> StreamId {
        number(self)
    }
}

impl RecvStream for Stream {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.poll_read(cx).map_err(ended)
    }

    fn stop_sending(&mut self, code: u64) {
        self.stop(code);
    }

    fn recv_id(&self) -> StreamId {
        number(self)
    }
}

fn number(stream: &Stream) -> StreamId {
    // A stream ID is at most 2^62 - 1 (RFC 9000 section 2.1), which is the bound of `h3`.
    StreamId::try_from(stream.id().0).expect("a valid stream ID")
}
