//! A TUN device inside a namespace. The engine outside reads and writes its packets.
//!
//! Uses ioctls, and netlink where they do not suffice. No `ip` program is needed.
// Ioctls have no safe signature.
#![allow(unsafe_code)]

use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use crate::emu::error::Error;
use crate::emu::linux::namespace::Namespace;
use crate::emu::linux::netlink;
use crate::emu::linux::watch::{Change, Watch};

/// Name of the interface in both namespaces.
pub(crate) const NAME: &str = "ack0";
/// Largest IP packet, in bytes.
pub(crate) const MTU: usize = 1500;
/// Packets that can wait for the engine to read them. A short queue would drop packets that no log
/// sees.
const QUEUE: u32 = 10_000;
/// Attempts to use the new IPv6 address, 5 ms apart.
const TRIES: u32 = 400;
const IPV4_PREFIX: u32 = 24;
const IPV6_PREFIX: u32 = 64;
/// Largest TCP buffers, in bytes: above 467 Mbit/s at 50 ms the default would be the bottleneck.
const TCP_BUFFER: &str = "4096 131072 67108864";

/// The device, from outside the namespace.
#[derive(Debug)]
pub(crate) struct Tun {
    file: File,
    watch: Watch,
}

/// Lost packets that the packet log does not see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HiddenDrops {
    /// Packets sent while the device's queue was full: `tx_dropped`.
    pub to_emulator: u64,
    /// Packets delivered but not taken by the receiver's kernel: `rx_dropped`.
    pub from_emulator: u64,
}

impl Tun {
    /// Opens the device in the namespace and brings it up with these addresses.
    pub(crate) fn open(namespace: &Namespace, ipv4: Ipv4Addr, ipv6: Ipv6Addr) -> Result<Self, Error> {
        namespace.run(|| {
            quiet_ipv6();
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .custom_flags(libc::O_NONBLOCK)
                .open("/dev/net/tun")
                .map_err(|e| Error::system("open /dev/net/tun", e))?;
            let mut create = request(NAME);
            // Nothing else: no packet information, no header, no offloads.
            create.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
            ioctl(&file, libc::TUNSETIFF, &mut create, "make the TUN device")?;
            configure(ipv4, ipv6)?;
            // Where the kernel refuses, its defaults stay.
            let _ = fs::write("/proc/sys/net/ipv4/tcp_rmem", TCP_BUFFER);
            let _ = fs::write("/proc/sys/net/ipv4/tcp_wmem", TCP_BUFFER);
            Ok(Self { file, watch: watch([ipv4.into(), ipv6.into()])? })
        })
    }

    /// Returns the first change of the device since the last call. Only a command can have made it.
    pub(crate) fn change(&self) -> Option<Change> {
        self.watch.change()
    }

    /// Reads a packet. Returns `None` if there is none now.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Delivers a packet to the namespace.
    pub(crate) fn write(&self, packet: &[u8]) -> io::Result<()> {
        (&self.file).write(packet).map(drop)
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Returns the packets that the device in this namespace has lost so far, or `None` if the device
/// is gone.
pub(crate) fn hidden_drops(namespace: &Namespace) -> Result<Option<HiddenDrops>, Error> {
    let table = namespace.run(|| {
        fs::read_to_string("/proc/thread-self/net/dev")
            .map_err(|e| Error::system("read the interface's counters", e))
    })?;
    Ok(table.lines().find_map(drops_in))
}

/// Parses a line of /proc/net/dev:
/// `name: rx(bytes packets errs drop ...8) tx(bytes packets errs drop ...)`.
fn drops_in(line: &str) -> Option<HiddenDrops> {
    let numbers = line.trim().strip_prefix(NAME)?.strip_prefix(':')?;
    let numbers: Vec<u64> = numbers.split_whitespace().map_while(|n| n.parse().ok()).collect();
    Some(HiddenDrops { from_emulator: *numbers.get(3)?, to_emulator: *numbers.get(11)? })
}

/// Turns off router solicitations and link-local addresses, which would cause packets that no
/// command has sent.
fn quiet_ipv6() {
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/router_solicitations", "0");
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1");
}

fn configure(ipv4: Ipv4Addr, ipv6: Ipv6Addr) -> Result<(), Error> {
    let inet = datagram(AddressFamily::Inet)?;
    let set = |value: libc::__c_anonymous_ifr_ifru, call, what: &str| {
        let mut request = request(NAME);
        request.ifr_ifru = value;
        ioctl(&inet, call, &mut request, what)
    };
    let mask = Ipv4Addr::from_bits(u32::MAX << (32 - IPV4_PREFIX));
    set(libc::__c_anonymous_ifr_ifru { ifru_mtu: MTU as i32 }, libc::SIOCSIFMTU, "set the MTU")?;
    set_queue_length(index()?).map_err(|e| Error::system("set the queue's length", e))?;
    set(address(ipv4), libc::SIOCSIFADDR, "give the TUN device its IPv4 address")?;
    set(address(mask), libc::SIOCSIFNETMASK, "give the TUN device its IPv4 mask")?;
    // Without IFF_MULTICAST nothing announces itself; without ARP no address is probed before use.
    let flags = (libc::IFF_UP | libc::IFF_NOARP) as i16;
    set(libc::__c_anonymous_ifr_ifru { ifru_flags: flags }, libc::SIOCSIFFLAGS, "bring the TUN device up")?;
    let mut loopback = request("lo");
    loopback.ifr_ifru.ifru_flags = libc::IFF_UP as i16;
    ioctl(&inet, libc::SIOCSIFFLAGS, &mut loopback, "bring the loopback interface up")?;
    add_ipv6(ipv6)
}

fn watch(addresses: [IpAddr; 2]) -> Result<Watch, Error> {
    let opened = Watch::open(index()?, MTU as u32, addresses);
    opened.map_err(|e| Error::system("watch the TUN device", e))
}

/// Returns the device's number. libc's function reports ENOENT if no file can be opened.
fn index() -> Result<u32, Error> {
    let (inet, mut request) = (datagram(AddressFamily::Inet)?, request(NAME));
    ioctl(&inet, libc::SIOCGIFINDEX, &mut request, "find the TUN device")?;
    // SAFETY: the call has set this field of the union, and any bytes are a number.
    Ok(unsafe { request.ifr_ifru.ifru_ifindex } as u32)
}

/// Sets the length of the device's queue by rtnetlink, because in a user namespace the kernel
/// refuses the ioctl for this.
fn set_queue_length(index: u32) -> io::Result<()> {
    let header = netlink::interface_header(index, 0);
    let queue = QUEUE.to_ne_bytes();
    netlink::Request::new(libc::RTM_SETLINK, 0, &header).with(libc::IFLA_TXQLEN, &queue).send()
}

/// Adds an IPv6 address. Does nothing if the kernel has no IPv6.
fn add_ipv6(address: Ipv6Addr) -> Result<(), Error> {
    let index = index()?;
    let inet6 = match socket(AddressFamily::Inet6, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None) {
        Err(Errno::EAFNOSUPPORT) => return Ok(()),
        opened => opened.map_err(no_socket)?,
    };
    let mut request = libc::in6_ifreq {
        ifr6_addr: libc::in6_addr { s6_addr: address.octets() },
        ifr6_prefixlen: IPV6_PREFIX,
        ifr6_ifindex: index as i32,
    };
    ioctl(&inet6, libc::SIOCSIFADDR, &mut request, "give the TUN device its IPv6 address")?;
    // The kernel takes the address into use a little later, on a thread of its own.
    for _ in 0..TRIES {
        match UdpSocket::bind((address, 0)) {
            Err(e) if e.kind() == io::ErrorKind::AddrNotAvailable => {
                thread::sleep(Duration::from_millis(5));
            }
            bound => return bound.map(drop).map_err(no_socket),
        }
    }
    Err(Error::new(format!("the kernel has not taken the IPv6 address {address} into use within 2 s")))
}

fn datagram(family: AddressFamily) -> Result<OwnedFd, Error> {
    socket(family, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).map_err(no_socket)
}

fn no_socket(said: impl Display) -> Error {
    Error::system("open a socket in the namespace", said)
}

fn request(name: &str) -> libc::ifreq {
    // SAFETY: a C struct of numbers and a union of plain data, for which all zeros is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

fn address(address: Ipv4Addr) -> libc::__c_anonymous_ifr_ifru {
    // SAFETY: as in `request`.
    let mut all: libc::__c_anonymous_ifr_ifru = unsafe { std::mem::zeroed() };
    let mut data = [0; 14];
    // sockaddr_in after its family: port, then address.
    for (to, from) in data[2..6].iter_mut().zip(address.octets()) {
        *to = from as libc::c_char;
    }
    all.ifru_addr = libc::sockaddr { sa_family: libc::AF_INET as u16, sa_data: data };
    all
}

fn ioctl<T>(on: &impl AsRawFd, call: libc::Ioctl, argument: &mut T, tried: &str) -> Result<(), Error> {
    // SAFETY: every call above reads or writes no more than the struct that its manual page names,
    // which is T.
    let done = unsafe { libc::ioctl(on.as_raw_fd(), call, std::ptr::from_mut(argument)) };
    match done {
        0.. => Ok(()),
        _ => Err(Error::system(tried, io::Error::last_os_error())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_table() {
        let line = "   ack0:    1000      10    0    3    0     0          0         0     2000      20    0    7    0     0       0          0";
        assert_eq!(drops_in(line), Some(HiddenDrops { to_emulator: 7, from_emulator: 3 }));
        for other in ["", "ack0:", "ack01: 1 2 3", "    lo: 1 1 1 1 1 1 1 1 1 1 1 1", " face |bytes"] {
            assert_eq!(drops_in(other), None, "{other}");
        }
    }
}
