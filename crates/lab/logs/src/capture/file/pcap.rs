//! Records of pcap files (draft-ietf-opsawg-pcap): a header of 24 bytes, then 16 bytes and the data
//! of each packet. The modified form of Kuznetzov has 24 bytes per packet.

use std::io::{self, Read};

use units::Time;

use super::input::Input;
use super::record::{Frame, Records};

const FILE_HEADER: usize = 24;
/// Largest packet, in bytes. libpcap writes up to 256 KiB.
const LARGEST_PACKET: u32 = 1 << 20;
/// Largest distance between two records, in seconds, when the reader looks for the next intact one.
const NEAR: u32 = 7 * 86_400;

/// Form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    big_endian: bool,
    nanoseconds: bool,
    modified: bool,
}

/// Header of a record.
#[derive(Clone, Copy, Debug)]
struct Record {
    seconds: u32,
    fraction: u32,
    captured: u32,
    length: u32,
}

impl Format {
    pub(super) fn detect(first_bytes: &[u8]) -> Option<Self> {
        let four = *first_bytes.first_chunk::<4>()?;
        let form = |number: u32| match number {
            0xa1b2_c3d4 => Some((false, false)),
            0xa1b2_3c4d => Some((true, false)),
            0xa1b2_cd34 => Some((false, true)),
            _ => None,
        };
        [false, true].into_iter().find_map(|big_endian| {
            let number = if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) };
            form(number).map(|(nanoseconds, modified)| Self { big_endian, nanoseconds, modified })
        })
    }

    const fn header(self) -> usize {
        if self.modified { 24 } else { 16 }
    }

    fn number(self, bytes: &[u8], at: usize) -> Option<u32> {
        let four = *bytes.get(at..)?.first_chunk::<4>()?;
        Some(if self.big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) })
    }

    fn record(self, bytes: &[u8]) -> Option<Record> {
        let number = |at| self.number(bytes, at);
        Some(Record { seconds: number(0)?, fraction: number(4)?, captured: number(8)?, length: number(12)? })
    }

    fn is_possible(self, record: &Record) -> bool {
        let unit = if self.nanoseconds { 1_000_000_000 } else { 1_000_000 };
        // A hole of zeros is no packet.
        let is_hole = record.captured == 0 && record.seconds == 0;
        record.captured <= LARGEST_PACKET && record.fraction < unit && !is_hole
    }

    fn time(self, record: &Record) -> Time {
        let fraction = u64::from(record.fraction) * if self.nanoseconds { 1 } else { 1000 };
        Time(u64::from(record.seconds) * 1_000_000_000 + fraction)
    }
}

pub(super) fn read<R: Read>(
    input: &mut Input<R>,
    format: Format,
    records: &mut dyn Records,
) -> io::Result<()> {
    // The upper half says how many bytes of checksum follow each packet.
    let Some(link) = format.number(input.data(), 20) else {
        records.truncated();
        return Ok(());
    };
    let link = link & 0xffff;
    input.consume(FILE_HEADER);
    records.interface(0, None);
    let mut last = None;
    while input.need(1)? {
        input.need(format.header())?;
        let Some(record) = format.record(input.data()).filter(|_| input.data().len() >= format.header())
        else {
            records.truncated();
            break;
        };
        let is_near = last.is_none_or(|last| record.seconds.abs_diff(last) < NEAR);
        if !format.is_possible(&record) || !is_near && !is_followed(input, format, &record)? {
            records.damage(input.offset, "this is no header of a packet");
            skip_damage(input, format, last, records)?;
            continue;
        }
        let size = format.header() + record.captured as usize;
        let is_whole = input.need(size)?;
        let data = input.data().get(format.header()..).unwrap_or_default();
        let data = data.get(..record.captured as usize).unwrap_or(data);
        last = Some(record.seconds);
        let at = Some(format.time(&record));
        let frame = Frame { at, interface: 0, link, data, length: record.length };
        let goes_on = records.frame(&frame, input.offset + size as u64);
        if !is_whole {
            records.truncated();
        }
        if !is_whole || !goes_on {
            break;
        }
        input.consume(size);
    }
    Ok(())
}

/// Skips bytes up to a record that is followed by another one.
fn skip_damage<R: Read>(
    input: &mut Input<R>,
    format: Format,
    last: Option<u32>,
    records: &mut dyn Records,
) -> io::Result<()> {
    while input.skip_byte(format.header(), records)? {
        let Some(record) = format.record(input.data()).filter(|record| is_likely(format, record, last))
        else {
            continue;
        };
        if is_followed(input, format, &record)? {
            break;
        }
    }
    Ok(())
}

/// Reports whether another record or the end of the file follows a record.
fn is_followed<R: Read>(input: &mut Input<R>, format: Format, record: &Record) -> io::Result<bool> {
    let next = format.header() + record.captured as usize;
    let is_last = !input.need(next + format.header())? && input.data().len() == next;
    let behind = input.data().get(next..).and_then(|bytes| format.record(bytes));
    Ok(is_last || behind.is_some_and(|next| is_likely(format, &next, Some(record.seconds))))
}

fn is_likely(format: Format, record: &Record, last: Option<u32>) -> bool {
    format.is_possible(record)
        && record.captured > 0
        && record.captured <= record.length
        && record.length <= LARGEST_PACKET
        && last.is_none_or(|last| record.seconds.abs_diff(last) < NEAR)
}
