//! Blocks of pcapng files (draft-ietf-opsawg-pcapng), parsed by `pcap-parser`.

use std::io::{self, Read};

use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, InterfaceDescriptionBlock, SecretsType, parse_block_be, parse_block_le};
use units::Time;

use super::input::{Input, LARGEST};
use super::record::{Frame, Records};

const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Byte-order magic of a section header, in big endian.
const ORDER: u32 = 0x1a2b_3c4d;
/// Block types that the reader looks for after damage, without the section header: interfaces, the
/// three kinds of packets, names, statistics, secrets.
const USUAL: [u32; 7] = [1, 2, 3, 4, 5, 6, 10];
/// Largest block that the reader looks for after damage, in bytes.
const LARGEST_USUAL: usize = 1 << 20;
/// Packet block, which enhanced packet blocks replaced.
const OLD_PACKET: u32 = 2;
/// Largest number of interfaces that are followed.
const MOST_INTERFACES: usize = 1 << 16;

pub(super) fn looks_like(first_bytes: &[u8]) -> bool {
    first_bytes.starts_with(&SECTION) && order(first_bytes).is_some()
}

/// Reports whether the section that begins here is in big endian, if it begins here.
fn order(bytes: &[u8]) -> Option<bool> {
    match u32::from_be_bytes(*bytes.get(8..)?.first_chunk()?) {
        ORDER => Some(true),
        magic if magic.swap_bytes() == ORDER => Some(false),
        _ => None,
    }
}

/// Interface of the current section.
struct Interface {
    link: u32,
    snaplen: u32,
    /// Units of time per second.
    units: u128,
    /// Seconds to add to all times.
    offset: i64,
}

impl Interface {
    fn new(block: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Self {
        let exponent = u32::from(block.if_tsresol & 0x7f);
        let base: u128 = if block.if_tsresol & 0x80 == 0 { 10 } else { 2 };
        // The library reads the offset as little endian.
        let offset = if big_endian { block.if_tsoffset.swap_bytes() } else { block.if_tsoffset };
        Self {
            link: u32::try_from(block.linktype.0).unwrap_or(u32::MAX),
            snaplen: block.snaplen,
            units: base.checked_pow(exponent).unwrap_or(u128::MAX),
            offset,
        }
    }

    fn time(&self, high: u32, low: u32) -> Time {
        let ticks = u128::from(high) << 32 | u128::from(low);
        let nanoseconds = match self.units {
            1_000_000 => ticks * 1000,
            1_000_000_000 => ticks,
            units => ticks * 1_000_000_000 / units,
        };
        let offset = i128::from(self.offset) * 1_000_000_000;
        let time = i128::try_from(nanoseconds).unwrap_or(i128::MAX).saturating_add(offset);
        Time(u64::try_from(time.max(0)).unwrap_or(u64::MAX))
    }
}

/// State of a section.
struct Section {
    big_endian: bool,
    interfaces: Vec<Interface>,
    /// Number of interfaces of earlier sections.
    before: u32,
}

pub(super) fn read<R: Read>(input: &mut Input<R>, records: &mut dyn Records) -> io::Result<()> {
    let mut section = Section { big_endian: false, interfaces: Vec::new(), before: 0 };
    while input.need(1)? {
        if !input.need(12)? {
            records.truncated();
            break;
        }
        let Some(size) = block_size(input.data(), section.big_endian).filter(|size| *size <= LARGEST) else {
            records.damage(input.offset, "this is no block of a pcapng file");
            skip_damage(input, section.big_endian, records)?;
            continue;
        };
        if !input.need(size)? {
            records.truncated();
            break;
        }
        let offset = input.offset;
        let Some(block) = input.data().get(..size) else { break };
        let parse = if section.big_endian { parse_block_be } else { parse_block_le };
        match parse(block) {
            Ok((_, parsed)) => {
                if !section.take(parsed, offset + size as u64, records) {
                    break;
                }
            }
            Err(_) if ends_well(block, section.big_endian) => {
                records.damage(offset, "the contents of this block are damaged");
                section.keep_count(block);
            }
            Err(_) => {
                records.damage(offset, "the two lengths of this block differ");
                skip_damage(input, section.big_endian, records)?;
                continue;
            }
        }
        input.consume(size);
    }
    Ok(())
}

fn number(bytes: &[u8], at: usize, big_endian: bool) -> Option<u32> {
    let four = *bytes.get(at..)?.first_chunk::<4>()?;
    Some(if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) })
}

/// Returns the size of the block that begins here, in bytes.
fn block_size(bytes: &[u8], big_endian: bool) -> Option<usize> {
    let big_endian = if bytes.starts_with(&SECTION) { order(bytes)? } else { big_endian };
    let size = number(bytes, 4, big_endian)? as usize;
    (size >= 12 && size.is_multiple_of(4)).then_some(size)
}

/// Reports whether the length at the end of a block is that at its beginning.
fn ends_well(block: &[u8], big_endian: bool) -> bool {
    let big_endian = if block.starts_with(&SECTION) { order(block) } else { Some(big_endian) };
    big_endian.is_some_and(|big| {
        let length = number(block, 4, big);
        block.len().checked_sub(4).and_then(|at| number(block, at, big)) == length
    })
}

/// Skips bytes up to a block that has its length at both ends.
fn skip_damage<R: Read>(input: &mut Input<R>, big_endian: bool, records: &mut dyn Records) -> io::Result<()> {
    while input.skip_byte(12, records)? {
        let kind = number(input.data(), 0, big_endian);
        let is_usual = kind.is_some_and(|kind| USUAL.contains(&kind)) || input.data().starts_with(&SECTION);
        let size = block_size(input.data(), big_endian).filter(|size| is_usual && *size <= LARGEST_USUAL);
        let Some(size) = size else { continue };
        if input.need(size)? && input.data().get(..size).is_some_and(|block| ends_well(block, big_endian)) {
            break;
        }
    }
    Ok(())
}

impl Section {
    /// Receives a block. Returns false to stop.
    fn take(&mut self, block: Block<'_>, offset: u64, records: &mut dyn Records) -> bool {
        match block {
            Block::SectionHeader(header) => {
                self.big_endian = header.big_endian();
                self.before = self.before.saturating_add(self.interfaces.len() as u32);
                self.interfaces.clear();
            }
            Block::InterfaceDescription(block) if self.interfaces.len() < MOST_INTERFACES => {
                let number = self.before.saturating_add(self.interfaces.len() as u32);
                records.interface(number, block.if_name().and_then(Result::ok));
                self.interfaces.push(Interface::new(&block, self.big_endian));
            }
            Block::EnhancedPacket(packet) => {
                let time = Some((packet.ts_high, packet.ts_low));
                return self.packet(
                    packet.if_id,
                    time,
                    packet.packet_data(),
                    packet.origlen,
                    offset,
                    records,
                );
            }
            Block::SimplePacket(packet) => {
                let data = packet.packet_data();
                let snaplen = self.interfaces.first().map_or(0, |interface| interface.snaplen as usize);
                let data = data.get(..snaplen).filter(|_| snaplen > 0).unwrap_or(data);
                return self.packet(0, None, data, packet.origlen, offset, records);
            }
            // The library reads the type as little endian.
            Block::Unknown(block) if [OLD_PACKET, OLD_PACKET.swap_bytes()].contains(&block.block_type) => {
                return self.old_packet(block.data, offset, records);
            }
            Block::DecryptionSecrets(secrets) if secrets.secrets_type == SecretsType::TlsKeyLog => {
                let text = secrets.data.get(..secrets.secrets_len as usize).unwrap_or(secrets.data);
                records.keys(&String::from_utf8_lossy(text));
            }
            _ => {}
        }
        true
    }

    fn packet(
        &self,
        interface: u32,
        time: Option<(u32, u32)>,
        data: &[u8],
        length: u32,
        offset: u64,
        records: &mut dyn Records,
    ) -> bool {
        let Some(from) = self.interfaces.get(interface as usize) else {
            records.damage(offset, "the packet before it is of an interface that is not described");
            return true;
        };
        let at = time.map(|(high, low)| from.time(high, low));
        let interface = self.before.saturating_add(interface);
        records.frame(&Frame { at, interface, link: from.link, data, length }, offset)
    }

    fn old_packet(&self, body: &[u8], offset: u64, records: &mut dyn Records) -> bool {
        let number = |at| number(body, at, self.big_endian);
        let (Some(first), Some(high), Some(low), Some(captured), Some(length)) =
            (number(0), number(4), number(8), number(12), number(16))
        else {
            return true;
        };
        let interface = if self.big_endian { first >> 16 } else { first & 0xffff };
        let data = body.get(20..).unwrap_or_default();
        let data = data.get(..captured as usize).unwrap_or(data);
        self.packet(interface, Some((high, low)), data, length, offset, records)
    }

    /// Counts an interface whose description is damaged, so that later ones keep their numbers.
    fn keep_count(&mut self, block: &[u8]) {
        if number(block, 0, self.big_endian) == Some(1) && self.interfaces.len() < MOST_INTERFACES {
            let units = 1_000_000;
            self.interfaces.push(Interface { link: u32::MAX, snaplen: 0, units, offset: 0 });
        }
    }
}
