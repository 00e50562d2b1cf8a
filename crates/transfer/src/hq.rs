//! `hq-interop`: HTTP/0.9 over streams, as implementations of QUIC try each other out.
//!
//! A request is `GET /path\r\n` and the end of the client's part of a stream; the answer is the
//! file's bytes and the end of the server's. There is no status: where there is no file the stream
//! is reset, with the status of HTTP as its error code.

use std::future::poll_fn;
use std::pin::pin;

use bytes::Bytes;
use futures_util::future::{Either, select};
use quic::wire::Direction;

use crate::board::{Board, Failure, Wanted};
use crate::download::Download;
use crate::job::{Job, Pieces};
use crate::root::{MAX_PATH, Refusal};
use crate::session::{Broken, Session, Stream};

/// The application protocol.
pub const ALPN: &[u8] = b"hq-interop";
/// The error code of streams and connections that end without an error.
pub const NO_ERROR: u64 = 0;
/// What a request may be, in bytes: with the method and the end of the line.
pub const MAX_REQUEST: usize = MAX_PATH + 8;

/// Answers the requests of a connection until it ends, or until the job is to stop.
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
    while let Some(piece) = pieces.next()? {
        let len = piece.len() as u64;
        if stream.write(piece).await.is_err() {
            // The client is gone, or does not want it: nothing is wrong here.
            break;
        }
        *sent += len;
    }
    stream.finish();
    Ok(())
}

/// The path of a request, or the status that it deserves.
async fn request(stream: &mut Stream) -> Result<String, u16> {
    let mut line = Vec::new();
    while !line.contains(&b'\n') {
        match stream.read().await {
            Ok(Some(bytes)) if line.len() + bytes.len() <= MAX_REQUEST => line.extend_from_slice(&bytes),
            // Some clients end the request with the stream alone.
            Ok(None) => break,
            _ => return Err(Refusal::Bad.status()),
        }
    }
    parse(&line).ok_or(Refusal::Bad.status())
}

/// `GET /path\r\n`, with what some clients add to it: the version, another end of the line, or
/// none.
fn parse(line: &[u8]) -> Option<String> {
    let end = line.iter().position(|byte| *byte == b'\n').unwrap_or(line.len());
    let mut words = std::str::from_utf8(&line[..end]).ok()?.split_ascii_whitespace();
    let (method, path) = (words.next()?, words.next()?);
    (method == "GET").then(|| path.to_owned())
}

/// Asks for all that is wanted, each on a stream of its own.
pub(crate) fn fetch(session: &Session, wanted: Vec<Wanted>, board: &Board) {
    for wanted in wanted {
        let (session, mine) = (session.clone(), board.clone());
        board.spawn(wanted.number, async move { get(&session, &wanted, &mine).await });
    }
}

async fn get(session: &Session, wanted: &Wanted, board: &Board) -> Result<(), Failure> {
    let mut stream = poll_fn(|cx| session.poll_open(Direction::Bidirectional, cx)).await.map_err(why)?;
    let request = format!("GET {}\r\n", wanted.path);
    stream.push(Bytes::from(request)).map_err(why)?;
    stream.finish();
    let mut download = None;
    loop {
        let piece = stream.read().await.map_err(why)?;
        if download.is_none() {
            board.began(wanted.number, None);
            download = Some(Download::begin(&wanted.out)?);
        }
        let Some(target) = &mut download else { break };
        let Some(piece) = piece else { break };
        target.write(&piece)?;
        board.grew(wanted.number, piece.len() as u64);
    }
    // Without a length the end of the stream is all there is: it came, or the read would have
    // failed.
    download.map_or(Ok(()), Download::keep)
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn why(broken: Broken) -> Failure {
    match broken {
        Broken::Stream(code) => match u16::try_from(code).ok().filter(|code| (400..600).contains(code)) {
            Some(status) => Failure::Status(status),
            None => Failure::Reset(code),
        },
        Broken::Connection(_) => Failure::Lost,
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
