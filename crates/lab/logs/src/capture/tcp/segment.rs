//! Header of TCP (RFC 9293 section 3.1) with its options (RFC 7323, RFC 2018).

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// A segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) seq: u32,
    pub(super) ack: Option<u32>,
    pub(super) window: u16,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) rst: bool,
    /// Size of the payload, in bytes.
    pub(super) len: u32,
    pub(super) mss: Option<u16>,
    pub(super) scale: Option<u8>,
    pub(super) timestamps: Option<(u32, u32)>,
    pub(super) sacks: Vec<(u32, u32)>,
    /// True if the capture has cut the options.
    pub(super) cut: bool,
}

fn four(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|four| u32::from_be_bytes(*four))
}

fn two(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|two| u16::from_be_bytes(*two))
}

impl Segment {
    /// Parses a header. `length` is the size of the segment. Returns `None` for a segment without a
    /// whole header of 20 bytes.
    pub(super) fn parse(bytes: &[u8], length: u32) -> Option<Self> {
        let header = usize::from(*bytes.get(12)? >> 4) * 4;
        let flags = *bytes.get(13)?;
        let mut segment = Self {
            seq: four(bytes, 4)?,
            ack: Some(four(bytes, 8)?).filter(|_| flags & ACK != 0),
            window: two(bytes, 14)?,
            syn: flags & SYN != 0,
            fin: flags & FIN != 0,
            rst: flags & RST != 0,
            len: length.checked_sub(header as u32)?,
            cut: bytes.len() < header,
            ..Self::default()
        };
        let options = bytes.get(20..header.min(bytes.len()))?;
        // Options behind a damaged one cannot be found.
        let _ = segment.options(options);
        Some(segment)
    }

    fn options(&mut self, mut rest: &[u8]) -> Option<()> {
        loop {
            let kind = *rest.first()?;
            let length = match kind {
                0 => return None,
                1 => 1,
                _ => usize::from(*rest.get(1)?).max(2),
            };
            let option = rest.get(..length)?;
            match (kind, length) {
                (2, 4) => self.mss = two(option, 2),
                (3, 3) => self.scale = option.get(2).map(|scale| (*scale).min(14)),
                (5, 10 | 18 | 26 | 34) => {
                    let ends = |at| Some((four(option, at)?, four(option, at + 4)?));
                    self.sacks = (2..length).step_by(8).filter_map(ends).collect();
                }
                (8, 10) => self.timestamps = Some((four(option, 2)?, four(option, 6)?)),
                _ => {}
            }
            rest = rest.get(length..)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(flags: u8, options: &[u8]) -> Vec<u8> {
        let mut header = vec![0, 80, 1, 187, 0, 0, 0, 9, 0, 0, 0, 7];
        header.extend([(5 + options.len() as u8 / 4) << 4, flags, 2, 0, 0, 0, 0, 0]);
        header.extend(options);
        header
    }

    #[test]
    fn options_of_a_syn() {
        let options = [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 3, 3, 15];
        let segment = Segment::parse(&header(SYN, &options), 40).unwrap();
        assert_eq!((segment.mss, segment.scale), (Some(1460), Some(14)), "RFC 7323 section 2.3");
        assert_eq!((segment.timestamps, segment.ack, segment.len), (Some((1, 2)), None, 0));
        assert!(segment.syn && !segment.fin && !segment.rst && !segment.cut);
    }

    #[test]
    fn blocks_and_cut_options() {
        let mut options = vec![1, 1, 5, 18];
        options.extend([0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 6]);
        let bytes = header(ACK | FIN, &options);
        let segment = Segment::parse(&bytes, 140).unwrap();
        assert_eq!(segment.sacks, [(1, 2), (5, 6)]);
        assert_eq!((segment.seq, segment.ack, segment.window, segment.len), (9, Some(7), 512, 100));
        let cut = Segment::parse(&bytes[..30], 140).unwrap();
        assert!(cut.cut && cut.fin && cut.sacks.is_empty());
        assert_eq!(Segment::parse(&bytes[..19], 140), None);
        assert_eq!(Segment::parse(&bytes, 30), None, "the header is longer than the segment");
        for damaged in [[5, 0, 0, 0], [8, 200, 1, 1], [2, 1, 1, 1], [0, 9, 9, 9]] {
            Segment::parse(&header(ACK, &damaged), 24).unwrap();
        }
    }
}
