//! Fetches files with GET (RFC 9114, RFC 9110).

use std::future::poll_fn;

use bytes::{Buf, Bytes};
use h3::client::{RequestStream, SendRequest};
use h3::error::StreamError;
use http::{HeaderMap, Request, Response, StatusCode, header};

use super::adapter::Transport;
use super::range::{self, ByteRange};
use super::server::{MAX_FIELDS, NAME, PATH_SEEN};
use crate::download::Download;
use crate::progress::{Failure, FetchRequest, Progress};
use crate::session::{Session, Stream};
use quic::streams::StreamId;

/// Largest number of bytes that a server may send on a stream before its response was read.
const MAX_HEAD: u64 = 256 << 10;
/// Largest number of bytes that it may send between two pieces of a body or after it. It exceeds
/// the buffer of a session.
const MAX_BETWEEN: u64 = 1 << 20;
/// Largest number of informational responses (1xx) before the final one.
const MAX_INFORMATIONAL: usize = 16;

/// Start of the `Server` field of this crate's servers.
const SERVER_PREFIX: &[u8] = b"ackclock/";
/// Largest text of a server's path measurements, in bytes.
const MAX_SEEN: usize = 4096;

type Requests = RequestStream<Stream, Bytes>;

/// Sends each request on its own stream. Afterwards, asks a server of this crate for its
/// measurements.
pub(crate) fn fetch(session: &Session, requests: Vec<FetchRequest>, progress: &Progress) {
    let (session, mine) = (session.clone(), progress.clone());
    let authority = requests.first().map(|request| request.authority.clone()).unwrap_or_default();
    progress.hold();
    let task = async move {
        let mut builder = h3::client::builder();
        builder.max_field_section_size(MAX_FIELDS);
        let built = builder.build::<_, _, Bytes>(Transport(session.clone())).await;
        let Ok((mut driver, sender)) = built else { return mine.lost() };
        for request in requests {
            let (sender, session, progress) = (sender.clone(), session.clone(), mine.clone());
            mine.spawn(request.number, async move { get(sender, &session, &request, &progress).await });
        }
        let errand = mine.clone();
        let task = async move {
            errand.all_over().await;
            if errand.is_ackclock() {
                // Optional: a failure does not affect the files.
                errand.set_seen_by_server(path_seen(sender, &authority).await.ok());
            }
            errand.release();
        };
        let bug = mine.clone();
        mine.spawner().spawn(task, move || bug.release());
        poll_fn(|cx| driver.poll_close(cx)).await;
    };
    let mine = progress.clone();
    progress.spawner().spawn(task, move || mine.lost());
}

async fn get(
    mut sender: SendRequest<Transport, Bytes>,
    session: &Session,
    request: &FetchRequest,
    progress: &Progress,
) -> Result<(), Failure> {
    let mut stream = sender
        .send_request(get_request(&request.authority, &request.path, request.range.as_deref())?)
        .await
        .map_err(to_failure)?;
    let id = StreamId(stream.id().into_inner());
    session.allow(id, MAX_HEAD);
    stream.finish().await.map_err(to_failure)?;
    let response = head(&mut stream).await?;
    if response
        .headers()
        .get(header::SERVER)
        .is_some_and(|server| server.as_bytes().starts_with(SERVER_PREFIX))
    {
        progress.set_ackclock();
    }
    let (expected, part) = check(&response, request)?;
    session.allow(id, MAX_BETWEEN);
    progress.began(request.number, expected);
    if request.range.is_some() && part.is_none() {
        progress.set_whole(request.number);
    }
    let mut download = Download::begin(&request.out)?;
    let mut came = 0;
    while let Some(mut piece) = stream.recv_data().await.map_err(to_failure)? {
        session.allow(id, MAX_BETWEEN);
        while piece.has_remaining() {
            let len = piece.chunk().len();
            came += len as u64;
            if expected.is_some_and(|expected| came > expected) {
                return Err(Failure::Protocol("more bytes than announced".to_owned()));
            }
            download.write(piece.chunk())?;
            piece.advance(len);
            progress.grew(request.number, len as u64);
        }
    }
    match expected.or(part) {
        Some(expected) if came != expected => Err(Failure::Short(came, expected)),
        _ => download.commit(),
    }
}

/// Fetches the server's measurements of the path.
async fn path_seen(
    mut sender: SendRequest<Transport, Bytes>,
    authority: &str,
) -> Result<crate::meter::Summary, Failure> {
    let mut stream =
        sender.send_request(get_request(authority, PATH_SEEN, None)?).await.map_err(to_failure)?;
    stream.finish().await.map_err(to_failure)?;
    let response = head(&mut stream).await?;
    if response.status() != StatusCode::OK {
        return Err(Failure::Status(response.status().as_u16()));
    }
    let mut text = Vec::new();
    while let Some(mut piece) = stream.recv_data().await.map_err(to_failure)? {
        if text.len() + piece.remaining() > MAX_SEEN {
            return Err(Failure::Protocol("the path measurements are too long".to_owned()));
        }
        text.extend_from_slice(&piece.copy_to_bytes(piece.remaining()));
    }
    Ok(crate::meter::Summary::from_text(&String::from_utf8_lossy(&text)))
}

fn get_request(authority: &str, path: &str, range: Option<&str>) -> Result<Request<()>, Failure> {
    let uri = format!("https://{authority}{path}");
    let mut request = Request::get(uri).header(header::USER_AGENT, NAME);
    if let Some(range) = range {
        request = request.header(header::RANGE, range);
    }
    request.body(()).map_err(|error| Failure::Protocol(format!("cannot build the request: {error}")))
}

/// Reads the head of the final response, after informational ones.
async fn head(stream: &mut Requests) -> Result<Response<()>, Failure> {
    for _ in 0..MAX_INFORMATIONAL {
        let response = stream.recv_response().await.map_err(to_failure)?;
        if !response.status().is_informational() {
            return Ok(response);
        }
    }
    Err(Failure::Protocol("too many informational responses".to_owned()))
}

/// Returns the length of the body by `Content-Length`, and by `Content-Range` for a partial
/// response.
fn check(response: &Response<()>, request: &FetchRequest) -> Result<(Option<u64>, Option<u64>), Failure> {
    let expected = length(response.headers())?;
    match (response.status(), &request.range) {
        (StatusCode::OK, _) => Ok((expected, None)),
        (StatusCode::PARTIAL_CONTENT, Some(_)) => {
            let field = response.headers().get(header::CONTENT_RANGE).and_then(|field| field.to_str().ok());
            let part = field.and_then(|field| part_len(field, request.range.as_deref()?));
            let part = part.ok_or_else(|| {
                Failure::Protocol(
                    "partial content without a Content-Range, or not of the range asked for".to_owned(),
                )
            })?;
            match expected {
                Some(expected) if expected != part => {
                    Err(Failure::Protocol("Content-Length and Content-Range differ".to_owned()))
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
    let wrong = || Failure::Protocol("invalid Content-Length".to_owned());
    let len = field.to_str().ok().and_then(number).ok_or_else(wrong)?;
    if fields.any(|other| other != field) { Err(wrong()) } else { Ok(Some(len)) }
}

/// Parses `1*DIGIT`. A sign is not allowed (RFC 9110 section 8.6).
fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the length of a `Content-Range` such as `bytes 2-4/10`, if this is the range that was
/// asked for. A server that does not tell the length of the file may send less.
fn part_len(field: &str, asked: &str) -> Option<u64> {
    let (first, rest) = field.strip_prefix("bytes ")?.split_once('-')?;
    let (last, whole) = rest.split_once('/')?;
    let (first, end) = (number(first)?, number(last)?.checked_add(1)?);
    let len = end.checked_sub(first)?;
    let is_of = |file| match range::parse(Some(asked), file) {
        ByteRange::Part(part) if whole != "*" => part == (first..end),
        ByteRange::Part(part) if asked.starts_with("bytes=-") => len <= part.end - part.start,
        ByteRange::Part(part) => part.start == first && end <= part.end,
        _ => false,
    };
    let file = if whole == "*" { u64::MAX } else { number(whole)? };
    is_of(file).then_some(len)
}

fn to_failure(error: StreamError) -> Failure {
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
        let request = |range: Option<&str>| FetchRequest {
            number: 0,
            authority: "a".to_owned(),
            path: "/".to_owned(),
            range: range.map(str::to_owned),
            out: "x".into(),
        };
        let check = |status, fields: &[_], range| check(&answer(status, fields), &request(range)).ok();
        let len = ("content-length", "3");
        assert_eq!(check(200, &[len], None), Some((Some(3), None)));
        assert_eq!(check(200, &[len, len], None), Some((Some(3), None)));
        assert_eq!(check(200, &[], Some("bytes=2-4")), Some((None, None)));
        let tail = ("content-range", "bytes 7-9/10");
        for range in ["bytes=7-", "bytes=-3", "bytes=7-20"] {
            assert_eq!(check(206, &[tail], Some(range)), Some((None, Some(3))), "{range}");
        }
        for range in ["bytes=2-", "bytes=2-6", "bytes=-3"] {
            assert_eq!(check(206, &[("content-range", "bytes 2-4/*")], Some(range)), Some((None, Some(3))));
        }
        let part = ("content-range", "bytes 2-4/10");
        assert_eq!(check(206, &[part], Some("bytes=2-4")), Some((None, Some(3))));
        assert_eq!(check(206, &[part, len], Some("bytes=2-4")), Some((Some(3), Some(3))));
        for (status, fields, range) in [
            (206, &[part][..], None),
            (206, &[], Some("bytes=2-4")),
            (206, &[part, ("content-length", "4")], Some("bytes=2-4")),
            (206, &[("content-range", "bytes 4-2/10")], Some("bytes=2-4")),
            (206, &[part], Some("bytes=0-4")),
            (206, &[part], Some("bytes=2-3")),
            (206, &[part], Some("bytes=2-")),
            (206, &[part], Some("bytes=2-6")),
            (206, &[part], Some("bytes=-3")),
            (206, &[("content-range", "bytes 7-8/10")], Some("bytes=-3")),
            (206, &[("content-range", "bytes 4-7/*")], Some("bytes=-3")),
            (206, &[("content-range", "bytes 2-4/x")], Some("bytes=2-4")),
            (206, &[("content-range", "bytes 2-4/4")], Some("bytes=2-4")),
            (206, &[("content-range", "bytes 0-18446744073709551615/*")], Some("bytes=0-")),
            (200, &[len, ("content-length", "4")], None),
            (200, &[("content-length", "-1")], None),
            (200, &[("content-length", "+10")], None),
            (200, &[("content-length", "")], None),
            (206, &[("content-range", "bytes +2-4/10")], Some("bytes=2-4")),
            (404, &[len], None),
            (301, &[], None),
            (204, &[], None),
        ] {
            assert_eq!(check(status, fields, range), None, "{status} {fields:?}");
        }
    }
}
