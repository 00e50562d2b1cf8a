//! The traffic as pcapng with two interfaces, `client` and `server`, raw IP, nanoseconds.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapError};

use crate::emu::capture::row::Frame;
use crate::emu::linux::tun::MTU;

/// Time stamps are in units of 10^-9 s.
const NANOSECONDS: u8 = 9;

pub(crate) struct Pcap<W: Write> {
    writer: PcapNgWriter<BufWriter<W>>,
    /// Wall-clock time of the run's start, since 1970.
    start: Duration,
}

impl<W: Write> Pcap<W> {
    pub(crate) fn new(out: W, start: Duration) -> io::Result<Self> {
        let mut writer = PcapNgWriter::new(BufWriter::new(out)).map_err(system)?;
        for name in ["client", "server"] {
            let interface = InterfaceDescriptionBlock {
                linktype: DataLink::RAW,
                snaplen: MTU as u32,
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                    InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
                ],
            };
            writer.write_pcapng_block(interface).map_err(system)?;
        }
        Ok(Self { writer, start })
    }

    pub(crate) fn write(&mut self, frame: Frame) -> io::Result<()> {
        let block = EnhancedPacketBlock {
            interface_id: frame.interface as u32,
            timestamp: self.start + Duration::from_nanos(frame.at.0),
            original_len: frame.bytes.len() as u32,
            data: Cow::Owned(frame.bytes),
            options: Vec::new(),
        };
        self.writer.write_pcapng_block(block).map(drop).map_err(system)
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.writer.get_mut().flush()
    }
}

/// Extracts the system's error, which the library's message hides.
fn system(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use pcap_file::pcapng::{Block, PcapNgReader};
    use units::Time;

    use super::*;

    #[test]
    fn a_full_disk_is_called_one() {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut pcap = Pcap::new(full, Duration::ZERO).unwrap();
        let written = (0..10)
            .try_for_each(|at| pcap.write(Frame { interface: 0, at: Time(at), bytes: vec![0x45; 1500] }));
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn reads_back_what_was_written() {
        let mut file = Vec::new();
        let mut pcap = Pcap::new(&mut file, Duration::from_secs(1_700_000_000)).unwrap();
        for (interface, at) in [(0, 5), (1, 1_234_567_890)] {
            pcap.write(Frame { interface, at: Time(at), bytes: vec![0x45; 61] }).unwrap();
        }
        pcap.flush().unwrap();
        drop(pcap);
        let mut reader = PcapNgReader::new(&file[..]).unwrap();
        let mut packets = Vec::new();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(p) = block.unwrap() {
                packets.push((p.interface_id, p.timestamp.as_nanos(), p.data.len()));
            }
        }
        let start = 1_700_000_000_000_000_000;
        assert_eq!(packets, [(0, start + 5, 61), (1, start + 1_234_567_890, 61)]);
        assert!(reader.interfaces().iter().all(|i| i.linktype == DataLink::RAW));
    }
}
