//! Records of a capture, whatever the format of the file.

use units::Time;

/// Packet as it was captured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// Time since 1970. `None` if the file has no times.
    pub(crate) at: Option<Time>,
    /// Interface, from 0. Interfaces of later sections have other numbers.
    pub(crate) interface: u32,
    /// Type of the link layer, a number of <https://www.tcpdump.org/linktypes.html>.
    pub(crate) link: u32,
    /// Bytes that were captured.
    pub(crate) data: &'a [u8],
    /// Size on the link, in bytes.
    pub(crate) length: u32,
}

/// Receives the records of a file.
pub(crate) trait Records {
    /// Receives a packet. `offset` is the position after its record. Returns false to stop.
    fn frame(&mut self, frame: &Frame<'_>, offset: u64) -> bool;
    /// Reports whether reading should go on. Asked while damage is skipped.
    fn goes_on(&mut self, offset: u64) -> bool;
    /// Receives the name of an interface.
    fn interface(&mut self, number: u32, name: Option<&str>);
    /// Receives TLS keys, in the format of SSLKEYLOGFILE.
    fn keys(&mut self, text: &str);
    /// Reports a record that cannot be read. `offset` is its position.
    fn damage(&mut self, offset: u64, reason: &str);
    /// Reports that the file ends inside a record.
    fn truncated(&mut self);
}
