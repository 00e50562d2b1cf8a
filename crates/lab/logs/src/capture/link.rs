//! Finds the IP packet in a frame of the link layer.

/// EtherTypes, and the protocol numbers of PPP.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const PPPOE: u16 = 0x8864;
const VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
/// Largest number of VLAN tags that are skipped.
const MOST_TAGS: usize = 8;

/// IP packet in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inner<'a> {
    /// Bytes from the IP header on.
    pub(super) ip: &'a [u8],
    /// Size of the headers before it, in bytes.
    pub(super) before: u32,
    /// Number of the device in a capture of all devices, otherwise 0.
    pub(super) device: u32,
}

/// Link layers by their numbers in <https://www.tcpdump.org/linktypes.html>.
pub(super) const fn is_known(link: u32) -> bool {
    matches!(link, 0 | 1 | 9 | 12 | 14 | 50 | 51 | 101 | 108 | 113 | 228 | 229 | 276)
}

/// Reports whether a link is the loopback of BSD, which has no usual packet size.
pub(super) const fn is_loopback(link: u32) -> bool {
    matches!(link, 0 | 108)
}

/// Returns the IP packet of a frame. Returns `None` for other protocols, and for frames that are
/// cut before it.
pub(super) fn find(link: u32, frame: &[u8]) -> Option<Inner<'_>> {
    let (ip, device) = match link {
        1 => (ethertype(number(frame, 12)?, frame.get(14..)?)?, 0),
        113 => (ethertype(number(frame, 14)?, frame.get(16..)?)?, 0),
        276 => (ethertype(number(frame, 0)?, frame.get(20..)?)?, device(frame)?),
        9 | 50 => (ppp(frame.strip_prefix(&[0xff, 3]).unwrap_or(frame))?, 0),
        51 => (ppp(frame.get(6..)?)?, 0),
        0 | 108 => (frame.get(4..)?, 0),
        12 | 14 | 101 | 228 | 229 => (frame, 0),
        _ => return None,
    };
    matches!(ip.first()? >> 4, 4 | 6).then(|| {
        let before = frame.len().saturating_sub(ip.len());
        Inner { ip, before: u32::try_from(before).unwrap_or(u32::MAX), device }
    })
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|two| u16::from_be_bytes(*two))
}

/// Returns the interface index of a Linux cooked header, version 2.
fn device(frame: &[u8]) -> Option<u32> {
    frame.get(4..)?.first_chunk().map(|four| u32::from_be_bytes(*four))
}

fn ethertype(mut kind: u16, mut rest: &[u8]) -> Option<&[u8]> {
    for _ in 0..MOST_TAGS {
        if !VLAN.contains(&kind) {
            break;
        }
        kind = number(rest, 2)?;
        rest = rest.get(4..)?;
    }
    match kind {
        IPV4 | IPV6 => Some(rest),
        PPPOE => ppp(rest.get(6..)?),
        _ => None,
    }
}

/// Skips the protocol number of PPP, which has one or two bytes (RFC 1661 section 2).
fn ppp(bytes: &[u8]) -> Option<&[u8]> {
    let short = u16::from(*bytes.first()?);
    let (kind, size) = if short & 1 == 1 { (short, 1) } else { (number(bytes, 0)?, 2) };
    matches!(kind, PPP_IPV4 | PPP_IPV6).then(|| bytes.get(size..)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: [u8; 3] = [0x45, 1, 2];

    fn inner(link: u32, before: &[u8]) -> Option<(usize, u32)> {
        let frame = [before, &IP].concat();
        for length in 0..=before.len() {
            assert_eq!(find(link, &frame[..length]), None, "cut at {length}");
        }
        find(link, &frame).map(|inner| (inner.before as usize, inner.device)).inspect(|_| {
            assert_eq!(find(link, &frame).unwrap().ip, IP);
        })
    }

    #[test]
    fn layers() {
        let ethernet = [[0; 12].as_slice(), &[8, 0]].concat();
        assert_eq!(inner(1, &ethernet), Some((14, 0)));
        let vlan = [[0; 12].as_slice(), &[0x81, 0, 0, 7, 8, 0]].concat();
        assert_eq!(inner(1, &vlan), Some((18, 0)));
        let stacked = [[0; 12].as_slice(), &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 9, 8, 0]].concat();
        assert_eq!(inner(1, &stacked), Some((22, 0)));
        let pppoe = [[0; 12].as_slice(), &[0x88, 0x64, 0x11, 0, 0, 1, 0, 9, 0, 0x21]].concat();
        assert_eq!(inner(1, &pppoe), Some((22, 0)));
        let arp = [[0; 12].as_slice(), &[8, 6]].concat();
        assert_eq!(inner(1, &arp), None);
        let cooked = [[0; 14].as_slice(), &[8, 0]].concat();
        assert_eq!(inner(113, &cooked), Some((16, 0)));
        let mut second = [0; 20];
        (second[0], second[7]) = (8, 5);
        assert_eq!(inner(276, &second), Some((20, 5)));
        for link in [12, 14, 101, 228, 229] {
            assert_eq!(inner(link, &[]), Some((0, 0)));
        }
        for (link, before) in [(0, [2, 0, 0, 0]), (108, [0, 0, 0, 2]), (9, [0xff, 3, 0, 0x21])] {
            assert_eq!(inner(link, &before), Some((4, 0)));
        }
        assert_eq!(inner(9, &[0x21]), Some((1, 0)));
        assert_eq!(inner(127, &[]), None, "no layer that we know");
        assert!(is_known(276) && !is_known(127));
    }
}
