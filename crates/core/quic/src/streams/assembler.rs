//! Reassembly of a stream from pieces in any order.
//!
//! Bytes are stored in pages of 4 KiB, which exist only where data has arrived. A page tracks its
//! bytes as one run, or as a bitmap once there is a gap. Memory is therefore bounded by the granted
//! window, plus an eighth for bitmaps and one page at either end. This holds however the peer
//! splits its data. There is no list of gaps that could grow, and no limit on their number that
//! would close a connection.

use std::collections::BTreeMap;

use ring::digest::{Context, SHA256};

/// Size of a page, in bytes.
const PAGE: usize = 4096;
const WORDS: usize = PAGE / 64;

/// Treatment of received bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Stored until the application reads them.
    #[default]
    All,
    /// Counted and hashed with SHA-256 as soon as they are in order. They cannot be read.
    Hash,
    /// Counted as soon as they are in order. No byte is stored.
    Count,
}

/// The bytes of a page that have arrived.
enum Fill {
    /// One run; empty if nothing has arrived.
    Run(usize, usize),
    Bits(Box<[u64; WORDS]>),
}

impl Fill {
    fn insert(&mut self, from: usize, to: usize) {
        match self {
            Self::Run(start, end) if start == end => (*start, *end) = (from, to),
            Self::Run(start, end) if from <= *end && *start <= to => {
                (*start, *end) = (from.min(*start), to.max(*end));
            }
            Self::Run(start, end) => {
                let mut bits = Box::new([0; WORDS]);
                set(&mut bits, *start, *end);
                set(&mut bits, from, to);
                *self = Self::Bits(bits);
            }
            Self::Bits(bits) => {
                set(bits, from, to);
                // The page is complete, so it needs no bitmap.
                if bits.iter().all(|word| *word == u64::MAX) {
                    *self = Self::Run(0, PAGE);
                }
            }
        }
    }

    /// Returns the end of the last byte that has arrived.
    fn end(&self) -> usize {
        match self {
            Self::Run(_, end) => *end,
            Self::Bits(bits) => {
                let last = bits.iter().rposition(|word| *word != 0);
                last.map_or(0, |at| at * 64 + 64 - bits[at].leading_zeros() as usize)
            }
        }
    }

    /// Returns the end of the bytes that have arrived without a gap, starting at `from`.
    fn run_end(&self, from: usize) -> usize {
        match self {
            Self::Run(start, end) => {
                if (*start..*end).contains(&from) {
                    *end
                } else {
                    from
                }
            }
            Self::Bits(bits) => {
                let mut at = from;
                while at < PAGE {
                    let ones = (bits[at / 64] >> (at % 64)).trailing_ones() as usize;
                    at += ones;
                    if ones == 0 || !at.is_multiple_of(64) {
                        break;
                    }
                }
                at
            }
        }
    }
}

/// Sets the bits in from..to.
fn set(bits: &mut [u64; WORDS], from: usize, to: usize) {
    let mut at = from;
    while at < to {
        let until = ((at / 64 + 1) * 64).min(to);
        let ones = until - at;
        let mask = if ones == 64 { u64::MAX } else { (1 << ones) - 1 };
        bits[at / 64] |= mask << (at % 64);
        at = until;
    }
}

struct Page {
    fill: Fill,
    /// Empty if bytes are only counted.
    data: Box<[u8]>,
}

/// Reassembles one stream. The caller must have checked flow control.
pub struct Assembler {
    pages: BTreeMap<u64, Page>,
    keep: Keep,
    hash: Option<Context>,
    /// End of the bytes that were read.
    read: u64,
    /// End of the bytes that have arrived without a gap.
    ready: u64,
    /// A page that can be reused. One suffices for bulk data.
    spare: Option<Box<[u8]>>,
}

impl Default for Assembler {
    fn default() -> Self {
        Self::new(Keep::All)
    }
}

impl Assembler {
    /// Creates an empty assembler.
    pub fn new(keep: Keep) -> Self {
        let hash = (keep == Keep::Hash).then(|| Context::new(&SHA256));
        Self { pages: BTreeMap::new(), keep, hash, read: 0, ready: 0, spare: None }
    }

    /// Returns the end of the bytes that were read by the application, or counted.
    pub const fn read_to(&self) -> u64 {
        self.read
    }

    /// Returns the end of the bytes that have arrived without a gap.
    pub const fn ready_to(&self) -> u64 {
        self.ready
    }

    /// Reports whether bytes have arrived beyond a gap.
    pub fn has_beyond(&self) -> bool {
        let Some((number, page)) = self.pages.last_key_value() else { return false };
        number * PAGE as u64 + page.fill.end() as u64 > self.ready
    }

    /// Returns the memory used by the pages, including bitmaps, in bytes.
    pub fn memory(&self) -> usize {
        let page = |page: &Page| {
            let bits = if matches!(page.fill, Fill::Bits(_)) { PAGE / 8 } else { 0 };
            size_of::<Page>() + page.data.len() + bits
        };
        self.pages.values().map(page).sum()
    }

    /// Inserts a piece. If a peer sends different values for the same bytes, later ones replace
    /// earlier ones until they are read.
    pub fn insert(&mut self, offset: u64, data: &[u8]) {
        let known = self.ready.saturating_sub(offset).min(data.len() as u64);
        let (offset, data) = (offset + known, &data[known as usize..]);
        if data.is_empty() {
            return;
        }
        if self.keep != Keep::All && offset == self.ready {
            self.pass(data);
        } else {
            self.store(offset, data);
        }
        if offset <= self.ready {
            self.advance();
        }
    }

    /// Counts and hashes bytes in order that will not be read.
    fn pass(&mut self, data: &[u8]) {
        if let Some(hash) = &mut self.hash {
            hash.update(data);
        }
        self.ready += data.len() as u64;
        self.read = self.ready;
        self.free();
    }

    fn store(&mut self, mut offset: u64, mut data: &[u8]) {
        while !data.is_empty() {
            let (number, from) = (offset / PAGE as u64, (offset % PAGE as u64) as usize);
            let (piece, rest) = data.split_at(data.len().min(PAGE - from));
            let (keep, spare) = (self.keep, &mut self.spare);
            let page = self.pages.entry(number).or_insert_with(|| {
                let mut empty = || spare.take().unwrap_or_else(|| vec![0; PAGE].into_boxed_slice());
                Page {
                    fill: Fill::Run(0, 0),
                    data: if keep == Keep::Count { Box::default() } else { empty() },
                }
            });
            page.fill.insert(from, from + piece.len());
            if keep != Keep::Count {
                page.data[from..from + piece.len()].copy_from_slice(piece);
            }
            offset += piece.len() as u64;
            data = rest;
        }
    }

    /// Advances `ready` over bytes that arrived early.
    fn advance(&mut self) {
        while let Some(page) = self.pages.get(&(self.ready / PAGE as u64)) {
            let from = (self.ready % PAGE as u64) as usize;
            let to = page.fill.run_end(from);
            if to == from {
                break;
            }
            if let Some(hash) = &mut self.hash {
                hash.update(&page.data[from..to]);
            }
            self.ready += (to - from) as u64;
            if to < PAGE {
                break;
            }
        }
        if self.keep != Keep::All {
            self.read = self.ready;
            self.free();
        }
    }

    /// Frees pages that were read.
    fn free(&mut self) {
        // If bytes are not read, a partly complete page is not worth keeping.
        if self.keep != Keep::All && !self.has_beyond() {
            self.pages.clear();
        }
        while let Some(entry) = self.pages.first_entry() {
            if (entry.key() + 1) * PAGE as u64 > self.read {
                break;
            }
            let page = entry.remove();
            if !page.data.is_empty() {
                self.spare = Some(page.data);
            }
        }
        if self.pages.is_empty() {
            self.spare = None;
        }
    }

    /// Copies bytes that are in order into `out`. Returns their number.
    pub fn read(&mut self, out: &mut [u8]) -> usize {
        let mut done = 0;
        while done < out.len() && self.read < self.ready {
            let from = (self.read % PAGE as u64) as usize;
            let len = (out.len() - done).min(PAGE - from).min((self.ready - self.read) as usize);
            let page = &self.pages[&(self.read / PAGE as u64)];
            out[done..done + len].copy_from_slice(&page.data[from..from + len]);
            done += len;
            self.read += len as u64;
        }
        self.free();
        done
    }

    /// Discards all data, because the stream was reset or is no longer wanted.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.spare = None;
        self.ready = self.read;
    }

    /// Returns the SHA-256 of all bytes that arrived in order. `None` unless requested.
    pub fn sha256(&self) -> Option<[u8; 32]> {
        let digest = self.hash.clone()?.finish();
        digest.as_ref().try_into().ok()
    }
}
