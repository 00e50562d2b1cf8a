//! The tracing program in this kernel.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::rc::Rc;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Typedef;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, RingBuffer, RingBufferBuilder};

use super::record::TraceRecord;
use crate::error::{self, Error};

/// The compiled program.
const OBJECT: &[u8] = include_bytes!("../../objects/trace.o");
/// The program of a tracepoint that older kernels lack, and the type by which a kernel says that it
/// has it.
const OPTIONAL: (&str, &str) = ("trace_reduction", "btf_trace_tcp_cwnd_reduction_tp");

/// The tracing program, attached until this is dropped.
pub struct Probe {
    ring: RingBuffer<'static>,
    records: Rc<RefCell<Vec<TraceRecord>>>,
    listed: BTreeSet<u64>,
    object: Object,
    _links: Vec<Link>,
}

impl Probe {
    /// Traces connections with this port at either end (0: any). If `listed`, only those that
    /// [`list`](Self::list) names.
    ///
    /// # Errors
    /// A kernel that refuses the program, missing privileges.
    pub fn attach(port: u16, listed: bool) -> Result<Self, Error> {
        error::check()?;
        error::collect_messages();
        let wrong = |e: libbpf_rs::Error| Error::from_library("load the tracing program", &e);
        let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(wrong)?;
        let filter = [u32::from(port), u32::from(listed)];
        let constants = open.maps_mut().find(|map| map.name().to_string_lossy().ends_with(".rodata"));
        let mut constants = constants.ok_or_else(|| Error::new("the tracing program has no constants"))?;
        if let Some(value) = constants.initial_value_mut().and_then(|value| value.get_mut(..8)) {
            value.copy_from_slice(bytemuck::bytes_of(&filter));
        }
        let kernel = Btf::from_vmlinux().map_err(wrong)?;
        let is_missing = kernel.type_by_name::<Typedef<'_>>(OPTIONAL.1).is_none();
        for mut program in open.progs_mut().filter(|program| is_missing && program.name() == OPTIONAL.0) {
            program.set_autoload(false);
        }
        let object = open.load().map_err(wrong)?;
        let programs = object.progs_mut().filter(|program| !(is_missing && program.name() == OPTIONAL.0));
        let links = programs.map(|program| program.attach()).collect::<Result<_, _>>().map_err(wrong)?;
        let records = Rc::new(RefCell::new(Vec::new()));
        let (mut builder, taken) = (RingBufferBuilder::new(), Rc::clone(&records));
        let take = move |bytes: &[u8]| {
            taken.borrow_mut().extend(TraceRecord::read(bytes));
            0
        };
        let buffer = map(&object, "records")?;
        builder.add(&buffer, take).map_err(wrong)?;
        let ring = builder.build().map_err(wrong)?;
        Ok(Self { ring, records, listed: BTreeSet::new(), object, _links: links })
    }

    /// Lists the sockets to trace by their cookies.
    ///
    /// # Errors
    /// More sockets than the program has room for.
    pub fn list(&mut self, cookies: BTreeSet<u64>) -> Result<(), Error> {
        let map = map(&self.object, "listed")?;
        let wrong = |e: libbpf_rs::Error| Error::from_library("list the sockets to trace", &e);
        for cookie in cookies.difference(&self.listed) {
            map.update(&cookie.to_ne_bytes(), &[1], MapFlags::ANY).map_err(wrong)?;
        }
        for cookie in self.listed.difference(&cookies) {
            map.delete(&cookie.to_ne_bytes()).map_err(wrong)?;
        }
        self.listed = cookies;
        Ok(())
    }

    /// Moves the records since the last call to `into`.
    ///
    /// # Errors
    /// The kernel's ring buffer cannot be read.
    pub fn read(&self, into: &mut Vec<TraceRecord>) -> Result<(), Error> {
        self.ring.consume().map_err(|e| Error::from_library("read the records of the kernel", &e))?;
        into.append(&mut self.records.borrow_mut());
        Ok(())
    }

    /// Returns the number of records that are missing: the ring buffer was full, or an interrupt
    /// brought a packet while a program ran on that processor. The kernel counts the latter for all
    /// connections, so this is an upper bound.
    pub fn lost_records(&self) -> u64 {
        let map = self.object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss"));
        let value = map.and_then(|map| map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok().flatten());
        let full = value.and_then(|value| value.first_chunk().copied()).map_or(0, u64::from_ne_bytes);
        full + self.object.progs().map(|program| skipped(program.as_fd().as_raw_fd())).sum::<u64>()
    }
}

/// Returns how often the kernel has not run a program because it was running on that processor.
fn skipped(program: RawFd) -> u64 {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{program}")).unwrap_or_default();
    let count = info.lines().find_map(|line| line.strip_prefix("recursion_misses:"));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

fn map(object: &Object, name: &str) -> Result<MapHandle, Error> {
    let map = object.maps().find(|map| map.name() == name);
    let map = map.ok_or_else(|| Error::new(format!("the program has no map `{name}`")))?;
    MapHandle::try_from(&map).map_err(|e| Error::from_library(&format!("open the map `{name}`"), &e))
}
