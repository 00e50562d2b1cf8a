//! HTTP/3 requests that `fetch` does not send: HEAD and other methods.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;

use ackclock_transfer::h3::Transport;
use ackclock_transfer::h3::server::{CANCELLED, PATH_SEEN};
use ackclock_transfer::session::Session;
use ackclock_transfer::tasks::Pool;
use ackclock_transfer::{Protocol, ServeConfig, Summary};
use bytes::{Buf, Bytes};
use http::{Method, Request, StatusCode};
use quic::Side;
use quic::connection::Event;
use quic::crypto::ClientCrypto;
use quic::endpoint::{Endpoint, Handle, Program};
use units::Time;

use crate::world::*;

/// Status, fields, body.
type Answer = (StatusCode, Vec<(String, String)>, Vec<u8>);

/// Sends requests one after another.
struct Asker {
    requests: Vec<Request<()>>,
    answers: Rc<RefCell<Vec<Answer>>>,
    session: Session,
    pool: Pool,
    handle: Option<Handle>,
}

async fn ask(
    session: Session,
    requests: Vec<Request<()>>,
    answers: Rc<RefCell<Vec<Answer>>>,
    pool: ackclock_transfer::tasks::Spawner,
) {
    let (mut driver, mut sender) = h3::client::new::<_, _>(Transport(session)).await.unwrap();
    pool.spawn(async move { drop(poll_fn(|cx| driver.poll_close(cx)).await) }, || {});
    for request in requests {
        let mut stream = sender.send_request(request).await.unwrap();
        stream.finish().await.unwrap();
        let response = stream.recv_response().await.unwrap();
        let fields = response.headers().iter();
        let fields = fields.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
        let (status, fields) = (response.status(), fields.collect());
        let mut body = Vec::new();
        while let Some(mut piece) = stream.recv_data().await.unwrap() {
            let piece: Bytes = piece.copy_to_bytes(piece.remaining());
            body.extend_from_slice(&piece);
        }
        answers.borrow_mut().push((status, fields, body));
    }
}

impl Program for Asker {
    fn on_event(&mut self, _: Time, _: &mut Endpoint, handle: Handle, event: Event) {
        if event == Event::Connected {
            self.handle = Some(handle);
            let (session, answers) = (self.session.clone(), Rc::clone(&self.answers));
            let requests = std::mem::take(&mut self.requests);
            let spawner = self.pool.spawner();
            self.pool.spawner().spawn(ask(session, requests, answers, spawner), || panic!("it failed"));
        }
        self.session.on_event(&event);
    }

    fn run(&mut self, now: Time, endpoint: &mut Endpoint) {
        loop {
            self.pool.run();
            let connection = self.handle.and_then(|handle| endpoint.connection_mut(handle));
            if !connection.is_some_and(|connection| self.session.pump(now, connection, true)) {
                return;
            }
        }
    }

    fn deadline(&self) -> Time {
        Time::NEVER
    }

    fn is_done(&self, _: &Endpoint) -> bool {
        false
    }
}

fn answers(files: &[(&str, &[u8])], requests: Vec<Request<()>>) -> Vec<Answer> {
    let mut world = World::new(files, ServeConfig::default());
    world.ends[0] = client_endpoint(Protocol::Http3);
    let (count, answers) = (requests.len(), Rc::default());
    let asker = Asker {
        requests,
        answers: Rc::clone(&answers),
        session: Session::new(Side::Client, CANCELLED, None),
        pool: Pool::default(),
        handle: None,
    };
    world.others[0] = Some(Box::new(asker));
    let ends = ("10.0.0.1:4000".parse().unwrap(), "10.0.0.2:443".parse().unwrap());
    let crypto = ClientCrypto::Plain { tag_len: 16 };
    world.ends[0].connect(world.now, &crypto, "server", ends, b"").unwrap();
    let mine = Rc::clone(&answers);
    assert!(world.run(ms(10_000), |_| mine.borrow().len() == count));
    answers.take()
}

fn request(method: &Method, path: &str, range: Option<&str>) -> Request<()> {
    let mut request = Request::builder().method(method).uri(format!("https://server{path}"));
    if let Some(range) = range {
        request = request.header("range", range);
    }
    request.body(()).unwrap()
}

fn field<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.1.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
}

/// HEAD has the fields of GET without the body. Ranges apply only to GET (RFC 9110 sections 9.3.2,
/// 14.2).
#[test]
fn head() {
    let requests = vec![
        request(&Method::HEAD, "/a", None),
        request(&Method::HEAD, "/a", Some("bytes=1-2")),
        request(&Method::HEAD, "/none", None),
        request(&Method::GET, "/a", Some("bytes=1-2")),
        request(&Method::GET, "/a", None),
    ];
    let answers = answers(&[("a", b"alpha")], requests);
    for answer in &answers[..2] {
        assert_eq!((answer.0, field(answer, "content-length")), (StatusCode::OK, Some("5")));
        assert_eq!(field(answer, "accept-ranges"), Some("bytes"));
        assert!(answer.2.is_empty());
    }
    assert_eq!(answers[2].0, StatusCode::NOT_FOUND);
    assert_eq!((answers[3].0, &answers[3].2[..]), (StatusCode::PARTIAL_CONTENT, &b"lp"[..]));
    assert_eq!(field(&answers[3], "content-range"), Some("bytes 1-2/5"));
    assert_eq!((answers[4].0, &answers[4].2[..]), (StatusCode::OK, &b"alpha"[..]));
}

/// Other methods are refused, with the list of allowed ones.
#[test]
fn other_methods() {
    let requests = [Method::POST, Method::PUT, Method::DELETE].map(|method| request(&method, "/a", None));
    for answer in answers(&[("a", b"alpha")], requests.into()) {
        assert_eq!(answer.0, StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(field(&answer, "allow"), Some("GET, HEAD"));
    }
}

/// The server's measurements of the path are text, and not a file of the folder.
#[test]
fn the_path() {
    let answers = answers(&[], vec![request(&Method::GET, PATH_SEEN, None)]);
    assert_eq!((answers[0].0, field(&answers[0], "cache-control")), (StatusCode::OK, Some("no-store")));
    assert!(Summary::from_text(std::str::from_utf8(&answers[0].2).unwrap()).received > 0);
}
