//! Asks for files with GET (RFC 9114, RFC 9110).

use std::future::poll_fn;

use bytes::{Buf, Bytes};
use h3::client::{RequestStream, SendRequest};
use h3::error::StreamError;
use http::{HeaderMap, Request, Response, StatusCode, header};

use super::adapter::Transport;
use super::server::{MAX_FIELDS, NAME, PATH_SEEN};
use crate::board::{Board, Failure, Wanted};
use crate::download::Download;
use crate::session::{Session, Stream};
use quic::streams::StreamId;

/// What a server may send on one stream before its answer was read, in bytes.
const MAX_HEAD: u64 = 256 << 10;
/// What it may send between two pieces of a body, or after it: more than waits in a session, in
/// bytes.
const MAX_BETWEEN: u64 = 1 << 20;
/// Answers before the answer (status 1xx) that are read.
const MAX_INFORMATIONAL: usize = 16;

/// How servers of ours call themselves.
const OURS: &[u8] = b"ackclock/";
/// What a server's view of the path may be, in bytes.
const MAX_SEEN: usize = 4096;

type Requests = RequestStream<Stream, Bytes>;

/// Asks for all that is wanted, each on a stream of its own.
pub(crate) fn fetch(session: &Session, wanted: Vec<Wanted>, board: &Board) {
    let (session, mine) = (session.clone(), board.clone());
    let authority = wanted.first().map(|wanted| wanted.authority.clone()).unwrap_or_default();
    board.stay();
    let task = async move {
        let mut builder = h3::client::builder();
        builder.max_field_section_size(MAX_FIELDS);
        let built = builder.build::<_, _, Bytes>(Transport(session.clone())).await;
        let Ok((mut driver, sender)) = built else { return mine.lost() };
        for wanted in wanted {
            let (sender, session, board) = (sender.clone(), session.clone(), mine.clone());
            mine.spawn(wanted.number, async move { get(sender, &session, &wanted, &board).await });
        }
        let errand = mine.clone();
        let task = async move {
            errand.all_over().await;
            if errand.is_ours() {
                // It is a favour: without it the files are there all the same.
                errand.heard(path_seen(sender, &authority).await.ok());
            }
            errand.leave();
        };
        let bug = mine.clone();
        mine.spawner().spawn(task, move || bug.leave());
        poll_fn(|cx| driver.poll_close(cx)).await;
    };
    let mine = board.clone();
    board.spawner().spawn(task, move || mine.lost());
}

async fn get(
    mut sender: SendRequest<Transport, Bytes>,
    session: &Session,
    wanted: &Wanted,
    board: &Board,
) -> Result<(), Failure> {
    let mut stream = sender
        .send_request(request(&wanted.authority, &wanted.path, wanted.range.as_deref())?)
        .await
        .map_err(why)?;
    let id = StreamId(stream.id().into_inner());
    session.allow(id, MAX_HEAD);
    stream.finish().await.map_err(why)?;
    let response = head(&mut stream).await?;
    if response.headers().get(header::SERVER).is_some_and(|server| server.as_bytes().starts_with(OURS)) {
        board.set_ours();
    }
    let (expected, part) = check(&response, wanted)?;
    session.allow(id, MAX_BETWEEN);
    board.began(wanted.number, expected);
    if wanted.range.is_some() && part.is_none() {
        board.is_whole(wanted.number);
    }
    let mut download = Download::begin(&wanted.out)?;
    let mut came = 0;
    while let Some(mut piece) = stream.recv_data().await.map_err(why)? {
        session.allow(id, MAX_BETWEEN);
        while piece.has_remaining() {
            let len = piece.chunk().len();
            came += len as u64;
            if expected.is_some_and(|expected| came > expected) {
                return Err(Failure::Protocol("more bytes than it announced".to_owned()));
            }
            download.write(piece.chunk())?;
            piece.advance(len);
            board.grew(wanted.number, len as u64);
        }
    }
    match expected.or(part) {
        Some(expected) if came != expected => Err(Failure::Short(came, expected)),
        _ => download.keep(),
    }
}

/// What the server has seen of the path.
async fn path_seen(
    mut sender: SendRequest<Transport, Bytes>,
    authority: &str,
) -> Result<crate::meter::Summary, Failure> {
    let mut stream = sender.send_request(request(authority, PATH_SEEN, None)?).await.map_err(why)?;
    stream.finish().await.map_err(why)?;
    let response = head(&mut stream).await?;
    if response.status() != StatusCode::OK {
        return Err(Failure::Status(response.status().as_u16()));
    }
    let mut text = Vec::new();
    while let Some(mut piece) = stream.recv_data().await.map_err(why)? {
        if text.len() + piece.remaining() > MAX_SEEN {
            return Err(Failure::Protocol("it talks too much".to_owned()));
        }
        text.extend_from_slice(&piece.copy_to_bytes(piece.remaining()));
    }
    Ok(crate::meter::Summary::from_text(&String::from_utf8_lossy(&text)))
}

fn request(authority: &str, path: &str, range: Option<&str>) -> Result<Request<()>, Failure> {
    let uri = format!("https://{authority}{path}");
    let mut request = Request::get(uri).header(header::USER_AGENT, NAME);
    if let Some(range) = range {
        request = request.header(header::RANGE, range);
    }
    request.body(()).map_err(|error| Failure::Protocol(format!("no request can be made: {error}")))
}

/// The answer's beginning, after those that only say that it will come.
async fn head(stream: &mut Requests) -> Result<Response<()>, Failure> {
    for _ in 0..MAX_INFORMATIONAL {
        let response = stream.recv_response().await.map_err(why)?;
        if !response.status().is_informational() {
            return Ok(response);
        }
    }
    Err(Failure::Protocol("it never begins".to_owned()))
}

/// How long the body will be, by its length and by its range.
fn check(response: &Response<()>, wanted: &Wanted) -> Result<(Option<u64>, Option<u64>), Failure> {
    let expected = length(response.headers())?;
    match (response.status(), &wanted.range) {
        (StatusCode::OK, _) => Ok((expected, None)),
        (StatusCode::PARTIAL_CONTENT, Some(_)) => {
            let field = response.headers().get(header::CONTENT_RANGE).and_then(|field| field.to_str().ok());
            let part = field.and_then(part_len);
            let part = part.ok_or_else(|| Failure::Protocol("a part that it does not name".to_owned()))?;
            match expected {
                Some(expected) if expected != part => {
                    Err(Failure::Protocol("a part of two lengths".to_owned()))
                }
                _ => Ok((expected, Some(part))),
            }
        }
        (status, _) => Err(Failure::Status(status.as_u16())),
    }
}

fn length(headers: &HeaderMap) -> Result<Option<u64>, Failure> {
    let mut fields = headers.get_all(header::CONTENT_LENGTH).iter();
    let Some(field) = fields.next() else { return Ok(None) };
    let wrong = || Failure::Protocol("its length is no number".to_owned());
    let len = field.to_str().ok().and_then(|text| text.parse().ok()).ok_or_else(wrong)?;
    if fields.any(|other| other != field) { Err(wrong()) } else { Ok(Some(len)) }
}

/// How many bytes `bytes 2-4/10` are.
fn part_len(field: &str) -> Option<u64> {
    let (first, rest) = field.strip_prefix("bytes ")?.split_once('-')?;
    let (last, _) = rest.split_once('/')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    last.checked_sub(first)?.checked_add(1)
}

fn why(error: StreamError) -> Failure {
    match error {
        StreamError::RemoteTerminate { code, .. } => Failure::Reset(code.value()),
        StreamError::ConnectionError { .. } | StreamError::RemoteClosing { .. } => Failure::Lost,
        other => Failure::Protocol(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, fields: &[(&'static str, &str)]) -> Response<()> {
        let mut response = Response::builder().status(status);
        for (name, value) in fields {
            response = response.header(*name, *value);
        }
        response.body(()).unwrap()
    }

    #[test]
    fn what_an_answer_announces() {
        let wanted = |range: Option<&str>| Wanted {
            number: 0,
            authority: "a".to_owned(),
            path: "/".to_owned(),
            range: range.map(str::to_owned),
            out: "x".into(),
        };
        let check = |status, fields: &[_], range| check(&answer(status, fields), &wanted(range)).ok();
        let len = ("content-length", "3");
        assert_eq!(check(200, &[len], None), Some((Some(3), None)));
        assert_eq!(check(200, &[len, len], None), Some((Some(3), None)));
        assert_eq!(check(200, &[], Some("bytes=2-4")), Some((None, None)));
        let part = ("content-range", "bytes 2-4/10");
        assert_eq!(check(206, &[part], Some("bytes=2-4")), Some((None, Some(3))));
        assert_eq!(check(206, &[part, len], Some("bytes=2-4")), Some((Some(3), Some(3))));
        for (status, fields, range) in [
            (206, &[part][..], None),
            (206, &[], Some("bytes=2-4")),
            (206, &[part, ("content-length", "4")], Some("bytes=2-4")),
            (206, &[("content-range", "bytes 4-2/10")], Some("bytes=2-4")),
            (206, &[("content-range", "bytes 0-18446744073709551615/*")], Some("bytes=0-")),
            (200, &[len, ("content-length", "4")], None),
            (200, &[("content-length", "-1")], None),
            (404, &[len], None),
            (301, &[], None),
            (204, &[], None),
        ] {
            assert_eq!(check(status, fields, range), None, "{status} {fields:?}");
        }
    }
}
