//! Answers GET and HEAD with files (RFC 9114, RFC 9110).

use std::pin::pin;

use bytes::Bytes;
use futures_util::future::{Either, select};
use h3::error::{Code, StreamError};
use h3::server::{RequestResolver, RequestStream};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};

use super::adapter::Transport;
use super::range::{self, ByteRange};
use crate::job::{Job, Pieces};
use crate::root::{Refusal, Served};
use crate::session::Stream;

/// ALPN name of the protocol.
pub const ALPN: &[u8] = b"h3";
/// H3_NO_ERROR, the error code of streams and connections that end without an error.
pub const NO_ERROR: u64 = 0x100;
/// H3_REQUEST_CANCELLED, the error code of streams that a task drops before their end.
pub const CANCELLED: u64 = 0x10c;
/// Largest field section of a request or response, in bytes as HTTP counts them.
pub const MAX_FIELDS: u64 = 16 << 10;
/// Largest number of bytes that a client may send on a request stream, with a body that is not
/// read.
pub const MAX_REQUEST: u64 = 32 << 10;
/// Value of the `Server` and `User-Agent` fields.
pub const NAME: &str = concat!("ackclock/", env!("CARGO_PKG_VERSION"));

/// Well-known URI (RFC 8615) of the server's measurements of the path to the client.
///
/// The response has the format of [`Summary::to_text`](crate::meter::Summary::to_text). A client of
/// this crate requests it after its transfers.
pub const PATH_SEEN: &str = "/.well-known/ackclock-path";

type Requests = RequestStream<Stream, Bytes>;

/// Answers the requests of a connection until it ends. On shutdown, a GOAWAY tells the client that
/// no more requests are accepted.
pub(crate) async fn serve(job: Job) {
    let mut builder = h3::server::builder();
    builder.max_field_section_size(MAX_FIELDS);
    let transport = Transport(job.session.clone());
    let Ok(mut connection) = builder.build::<_, Bytes>(transport).await else { return };
    let mut stopping = false;
    loop {
        let next = {
            let accept = pin!(connection.accept());
            let stop = pin!(async {
                match stopping {
                    false => job.stop.wait().await,
                    true => std::future::pending().await,
                }
            });
            match select(accept, stop).await {
                Either::Left((next, _)) => Some(next),
                Either::Right(_) => None,
            }
        };
        match next {
            Some(Ok(Some(resolver))) => {
                let this = job.clone();
                job.answer(async move {
                    // An error here means that the client is gone or violated the protocol.
                    let _ = answer(resolver, &this).await;
                });
            }
            Some(_) => return,
            None => {
                stopping = true;
                if connection.shutdown(0).await.is_err() {
                    return;
                }
            }
        }
    }
}

async fn answer(resolver: RequestResolver<Transport, Bytes>, job: &Job) -> Result<(), StreamError> {
    let (request, mut stream) = resolver.resolve_request().await?;
    let path = request.uri().path().to_owned();
    let mut sent = 0;
    let status = respond(&request, &mut stream, job, &mut sent).await;
    if path == PATH_SEEN {
        return status.map(drop);
    }
    job.answered(&path, status.as_ref().map_or(0, StatusCode::as_u16), sent);
    status.map(drop)
}

/// Sends the response and returns its status. The status is 500 if it was aborted.
async fn respond(
    request: &Request<()>,
    stream: &mut Requests,
    job: &Job,
    sent: &mut u64,
) -> Result<StatusCode, StreamError> {
    let head = request.method() == Method::HEAD;
    if !head && request.method() != Method::GET {
        let response = plain(StatusCode::METHOD_NOT_ALLOWED).header(header::ALLOW, "GET, HEAD");
        return refuse(stream, response).await;
    }
    if request.uri().path() == PATH_SEEN {
        return send_text(stream, &job.meter.summary().to_text(), head).await;
    }
    let file = match job.root.file(request.uri().path()) {
        Ok(file) => file,
        Err(refusal) => return refuse(stream, plain(status_of(refusal))).await,
    };
    let field = request.headers().get(header::RANGE).and_then(|field| field.to_str().ok());
    // Ranges apply only to GET (RFC 9110 section 14.2).
    let asked = range::parse(field.filter(|_| !head), file.len());
    if asked == ByteRange::Unsatisfiable {
        let response = plain(StatusCode::RANGE_NOT_SATISFIABLE);
        return refuse(stream, response.header(header::CONTENT_RANGE, format!("bytes */{}", file.len())))
            .await;
    }
    let (status, response, pieces) = describe(file, asked);
    stream.send_response(built(response)).await?;
    if !head && let Err(refusal) = send(stream, pieces, job, sent).await? {
        // Fewer bytes than announced: the client must not take them for the file.
        stream.stop_stream(Code::H3_INTERNAL_ERROR);
        return Ok(status_of(refusal));
    }
    end(stream).await?;
    Ok(status)
}

fn describe(file: Served, asked: ByteRange) -> (StatusCode, http::response::Builder, Pieces) {
    let (status, mut pieces) = (StatusCode::OK, Pieces::whole(file));
    let (status, response) = match asked {
        ByteRange::Part(part) => {
            let said = format!("bytes {}-{}/{}", part.start, part.end - 1, pieces.file.len());
            pieces.left = part;
            let status = StatusCode::PARTIAL_CONTENT;
            (status, plain(status).header(header::CONTENT_RANGE, said))
        }
        _ => (status, plain(status)),
    };
    let len = pieces.left.end - pieces.left.start;
    let response = response
        .header(header::CONTENT_LENGTH, len)
        .header(header::ACCEPT_RANGES, "bytes")
        .header(header::CONTENT_TYPE, "application/octet-stream");
    (status, response, pieces)
}

/// Sends the body. The outer error is one of the stream, the inner error one of the file.
async fn send(
    stream: &mut Requests,
    mut pieces: Pieces,
    job: &Job,
    sent: &mut u64,
) -> Result<Result<(), Refusal>, StreamError> {
    loop {
        match pieces.next(&job.session).await {
            Ok(Some(piece)) => {
                let len = piece.len() as u64;
                stream.send_data(piece).await?;
                *sent += len;
            }
            Ok(None) => return Ok(Ok(())),
            Err(refusal) => return Ok(Err(refusal)),
        }
    }
}

/// Responds with a short text.
async fn send_text(stream: &mut Requests, text: &str, head: bool) -> Result<StatusCode, StreamError> {
    let response = plain(StatusCode::OK)
        .header(header::CONTENT_LENGTH, text.len())
        .header(header::CACHE_CONTROL, "no-store")
        .header(header::CONTENT_TYPE, "text/plain");
    stream.send_response(built(response)).await?;
    if !head {
        stream.send_data(Bytes::copy_from_slice(text.as_bytes())).await?;
    }
    end(stream).await?;
    Ok(StatusCode::OK)
}

async fn refuse(stream: &mut Requests, response: http::response::Builder) -> Result<StatusCode, StreamError> {
    let response = built(response.header(header::CONTENT_LENGTH, 0));
    let status = response.status();
    stream.send_response(response).await?;
    end(stream).await?;
    Ok(status)
}

/// Ends a complete response. Stops the rest of the request (RFC 9114 section 4.1).
async fn end(stream: &mut Requests) -> Result<(), StreamError> {
    stream.finish().await?;
    stream.stop_sending(Code::H3_NO_ERROR);
    Ok(())
}

fn plain(status: StatusCode) -> http::response::Builder {
    Response::builder().status(status).header(header::SERVER, HeaderValue::from_static(NAME))
}

fn built(response: http::response::Builder) -> Response<()> {
    // All fields are constants and numbers, which are valid.
    response.body(()).expect("valid fields")
}

fn status_of(refusal: Refusal) -> StatusCode {
    StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
