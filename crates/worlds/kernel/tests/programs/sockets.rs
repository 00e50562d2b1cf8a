//! Connections over the loopback interface, with a chosen controller.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, setsockopt, socket, sockopt};

/// Returns whether this machine can load programs, or says why it cannot.
pub(crate) fn can_load() -> bool {
    let able = ackclock_kernel::check();
    if let Err(why) = &able {
        eprintln!("skipped: {why}");
    }
    able.is_ok()
}

pub(crate) fn own_name(last: &str) -> String {
    format!("ack{}_{last}", std::process::id())
}

/// Connects over the loopback interface with this controller.
pub(crate) fn connect(controller: &str) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
    setsockopt(&client, sockopt::TcpCongestion, &controller.into()).unwrap();
    let port = listener.local_addr().unwrap().port();
    nix::sys::socket::connect(client.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, port)).unwrap();
    (TcpStream::from(client), listener.accept().unwrap().0)
}

/// Sends this many bytes, and returns the number that arrived.
pub(crate) fn transfer((mut client, mut server): (TcpStream, TcpStream), bytes: usize) -> usize {
    let sender = thread::spawn(move || {
        let chunk = vec![7; 1 << 16];
        (0..bytes / chunk.len()).for_each(|_| client.write_all(&chunk).unwrap());
    });
    let (mut chunk, mut arrived) = (vec![0; 1 << 16], 0);
    while let Ok(count @ 1..) = server.read(&mut chunk) {
        arrived += count;
    }
    sender.join().unwrap();
    arrived
}

pub(crate) fn available() -> String {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap()
}

/// Waits until the kernel has no more references of closed sockets.
pub(crate) fn wait_until(is_so: impl Fn() -> bool) {
    for _ in 0..200 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("not after 10 s");
}
