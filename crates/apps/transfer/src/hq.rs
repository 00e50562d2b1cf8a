//! `hq-interop`: HTTP/0.9 over streams, as used in interoperability tests of QUIC.
//!
//! A request is `GET /path\r\n`, followed by the end of the client's part of the stream. The
//! response is the bytes of the file, followed by the end of the server's part. Responses have no
//! status. If there is no file, the server resets the stream with the HTTP status as error code.

use std::future::poll_fn;
use std::pin::pin;

use bytes::Bytes;
use futures_util::future::{Either, select};
use quic::wire::Direction;

use crate::download::Download;
use crate::job::{Job, Pieces};
use crate::progress::{Failure, FetchRequest, Progress};
use crate::root::{MAX_PATH, Refusal};
use crate::session::{Session, SessionError, Stream};

/// ALPN name of the protocol.
pub const ALPN: &[u8] = b"hq-interop";
/// Error code of streams and connections that end without an error.
pub const NO_ERROR: u64 = 0;
/// Largest request with method and line end, in bytes.
pub const MAX_REQUEST: usize = MAX_PATH + 8;

/// Answers the requests of a connection until it ends or the server shuts down.
pub(crate) async fn serve(job: Job) {
    loop {
        let stream = {
            let next = pin!(poll_fn(|cx| job.session.poll_accept(Direction::Bidirectional, cx)));
            let stop = pin!(job.stop.wait());
            match select(next, stop).await {
                Either::Left((Ok(stream), _)) => stream,
                _ => return,
            }
        };
        let this = job.clone();
        job.answer(async move { answer(stream, &this).await });
    }
}

async fn answer(mut stream: Stream, job: &Job) {
    let path = match request(&mut stream).await {
        Ok(path) => path,
        Err(status) => return stream.reset(status.into()),
    };
    let mut sent = 0;
    let status = match send(&mut stream, &path, job, &mut sent).await {
        Ok(()) => 200,
        Err(refusal) => {
            stream.reset(refusal.status().into());
            refusal.status()
        }
    };
    job.answered(&path, status, sent);
}

async fn send(stream: &mut Stream, path: &str, job: &Job, sent: &mut u64) -> Result<(), Refusal> {
    let mut pieces = Pieces::whole(job.root.file(path)?);
    while let Some(piece) = pieces.next(&job.session).await? {
        let len = piece.len() as u64;
        if stream.write(piece).await.is_err() {
            // The client is gone or sent STOP_SENDING. This is not an error of the server.
            break;
        }
        *sent += len;
    }
    stream.finish();
    Ok(())
}

/// Reads the path of a request, or returns the status of the refusal.
async fn request(stream: &mut Stream) -> Result<String, u16> {
    let mut line = Vec::new();
    while !line.contains(&b'\n') {
        match stream.read().await {
            Ok(Some(bytes)) if line.len() + bytes.len() <= MAX_REQUEST => line.extend_from_slice(&bytes),
            // Some clients end the stream without a line end.
            Ok(None) => break,
            _ => return Err(Refusal::Bad.status()),
        }
    }
    parse(&line).ok_or(Refusal::Bad.status())
}

/// Parses `GET /path\r\n`. Also accepts a version after the path, `\n` alone, and no line end.
fn parse(line: &[u8]) -> Option<String> {
    let end = line.iter().position(|byte| *byte == b'\n').unwrap_or(line.len());
    let mut words = std::str::from_utf8(&line[..end]).ok()?.split_ascii_whitespace();
    let (method, path) = (words.next()?, words.next()?);
    (method == "GET").then(|| path.to_owned())
}

/// Sends each request on its own stream.
pub(crate) fn fetch(session: &Session, requests: Vec<FetchRequest>, progress: &Progress) {
    for request in requests {
        let (session, mine) = (session.clone(), progress.clone());
        progress.spawn(request.number, async move { get(&session, &request, &mine).await });
    }
}

async fn get(session: &Session, request: &FetchRequest, progress: &Progress) -> Result<(), Failure> {
    let mut stream =
        poll_fn(|cx| session.poll_open(Direction::Bidirectional, cx)).await.map_err(to_failure)?;
    let line = format!("GET {}\r\n", request.path);
    stream.push(Bytes::from(line)).map_err(to_failure)?;
    stream.finish();
    let mut download = None;
    loop {
        let piece = stream.read().await.map_err(to_failure)?;
        if download.is_none() {
            progress.began(request.number, None);
            download = Some(Download::begin(&request.out)?);
        }
        let Some(target) = &mut download else { break };
        let Some(piece) = piece else { break };
        target.write(&piece)?;
        progress.grew(request.number, piece.len() as u64);
    }
    // The protocol has no length. The stream has ended properly, or the read would have failed.
    download.map_or(Ok(()), Download::commit)
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn to_failure(broken: SessionError) -> Failure {
    match broken {
        SessionError::Stream(code) => match u16::try_from(code).ok().filter(|code| (400..600).contains(code))
        {
            Some(status) => Failure::Status(status),
            None => Failure::Reset(code),
        },
        SessionError::Connection(_) => Failure::Lost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests() {
        let path = |line: &[u8]| parse(line);
        assert_eq!(path(b"GET /a/b%20c\r\n").as_deref(), Some("/a/b%20c"));
        for line in [&b"GET /a\n"[..], b"GET /a", b"GET /a HTTP/0.9\r\n", b"GET  /a \r\nmore"] {
            assert_eq!(path(line).as_deref(), Some("/a"));
        }
        for line in [&b""[..], b"\r\n", b"GET", b"GET\r\n/a", b"POST /a\r\n", b"get /a\r\n", b"GET \xff\r\n"]
        {
            assert_eq!(path(line), None);
        }
    }
}
