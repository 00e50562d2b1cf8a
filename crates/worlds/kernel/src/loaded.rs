//! Native controllers in this kernel, also those of other processes.

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Struct;
use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo, MapInfo, MapInfoIter};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};

use crate::error::{self, Error};
use crate::program::offset;

/// Start of the names of maps that register a native controller.
const PREFIX: &str = "ackclock_";
/// Flag of a map whose registration is a link (`BPF_F_LINK`).
const BY_LINK: u32 = 1 << 13;
/// State of a map that registers a controller (`BPF_STRUCT_OPS_STATE_INUSE`).
const IN_USE: u32 = 1;
/// Key of the only element of such a map.
const KEY: [u8; 4] = [0; 4];

/// A native controller in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Name that sockets choose.
    pub name: String,
    /// Name of the program: `dstar` or `reno`.
    pub program: String,
    /// Duration of its registration.
    pub lifetime: Lifetime,
    /// Number of sockets that use it, in all network namespaces, as the kernel counts references.
    pub sockets: u32,
}

/// Duration of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Until it is unloaded.
    Unlimited,
    /// As long as the process that registered it.
    Process,
    /// Over: no socket can choose it any more, and its last sockets use it.
    Over,
}

/// Position of what is read in the value of a map.
struct Layout {
    refcnt: usize,
    state: usize,
    name: usize,
}

/// Lists the native controllers in this kernel.
///
/// # Errors
/// Missing privileges, or a kernel without a description of its types.
pub fn loaded() -> Result<Vec<Loaded>, Error> {
    Ok(search()?.into_iter().map(|(_, loaded)| loaded).collect())
}

/// Unloads a controller that [`Native::load`](crate::Native::load) registered. Connections that use
/// it keep it until they end.
///
/// # Errors
/// A name that no controller has, or that a process holds; missing privileges.
pub fn unload(name: &str) -> Result<(), Error> {
    let all = search()?;
    let is_named = |loaded: &Loaded| loaded.name == name && loaded.lifetime != Lifetime::Over;
    let Some((id, loaded)) = all.iter().find(|(_, loaded)| is_named(loaded)) else {
        return Err(unknown(name, &all));
    };
    if loaded.lifetime == Lifetime::Process {
        return Err(Error::new(format!("`{name}` belongs to a process that runs; end that process")));
    }
    let map = MapHandle::from_map_id(*id);
    let unloaded = map.and_then(|map| map.delete(&KEY));
    unloaded.map_err(|e| Error::from_library(&format!("unload `{name}`"), &e))
}

fn unknown(name: &str, all: &[(u32, Loaded)]) -> Error {
    let stay = all.iter().filter(|(_, loaded)| loaded.lifetime == Lifetime::Unlimited);
    let names: Vec<_> = stay.map(|(_, loaded)| format!("`{}`", loaded.name)).collect();
    let known = if names.is_empty() { "none is".to_owned() } else { names.join(", ") };
    Error::new(format!("no native controller `{name}` is loaded; loaded: {known}"))
}

/// Finds the maps of native controllers.
fn search() -> Result<Vec<(u32, Loaded)>, Error> {
    error::check_search()?;
    error::collect_messages();
    let layout = Layout::read()?;
    let of_links: Vec<u32> = LinkInfoIter::default()
        .filter_map(|link| match link.info {
            LinkTypeInfo::StructOps(link) => Some(link.map_id),
            _ => None,
        })
        .collect();
    let maps = MapInfoIter::default().filter(|map| map.ty == MapType::StructOps);
    Ok(maps.filter_map(|map| Some((map.id, layout.describe(&map, &of_links)?))).collect())
}

impl Layout {
    fn read() -> Result<Self, Error> {
        let wrong = |e: libbpf_rs::Error| Error::from_library("read the types of the kernel", &e);
        let btf = Btf::from_vmlinux().map_err(wrong)?;
        let find = |ty: &str, member: &str| {
            let structure: Struct<'_> = btf.type_by_name(ty)?;
            offset(&structure, member)
        };
        let value = "bpf_struct_ops_tcp_congestion_ops";
        let layout = (|| {
            let common = find(value, "common")?;
            Some(Self {
                refcnt: common + find("bpf_struct_ops_common_value", "refcnt")?,
                state: common + find("bpf_struct_ops_common_value", "state")?,
                name: find(value, "data")? + find("tcp_congestion_ops", "name")?,
            })
        })();
        layout
            .ok_or_else(|| Error::new("this kernel has no TCP controllers by programs; it needs Linux 6.10"))
    }

    /// Describes a map. Returns `None` if it registers no native controller, or is gone.
    fn describe(&self, map: &MapInfo, of_links: &[u32]) -> Option<Loaded> {
        let program = map.name.to_str()?.strip_prefix(PREFIX)?.to_owned();
        let value = MapHandle::from_map_id(map.id).ok()?.lookup(&KEY, MapFlags::empty()).ok()??;
        let number = |at: usize| Some(u32::from_ne_bytes(*value.get(at..)?.first_chunk()?));
        let name = value.get(self.name..)?.split(|byte| *byte == 0).next()?;
        let lifetime = if map.map_flags & BY_LINK != 0 {
            if of_links.contains(&map.id) { Lifetime::Process } else { Lifetime::Over }
        } else if number(self.state)? == IN_USE {
            Lifetime::Unlimited
        } else {
            Lifetime::Over
        };
        // A registration is a reference, too.
        let own = u32::from(lifetime != Lifetime::Over);
        let sockets = number(self.refcnt)?.saturating_sub(own);
        Some(Loaded { name: String::from_utf8_lossy(name).into_owned(), program, lifetime, sockets })
    }
}
