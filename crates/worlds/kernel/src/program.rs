//! eBPF objects: their constants, their name in the kernel, loading and registration.

use libbpf_rs::btf::types::{DataSec, Int, MemberAttr, Struct, Var};
use libbpf_rs::btf::{Btf, BtfType, ReferencesType};
use libbpf_rs::{
    ErrorKind, Link, MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder, OpenMapMut, OpenObject,
};

use crate::error::{self, Error};

/// Longest name of a TCP controller, in bytes (`TCP_CA_NAME_MAX` with its final zero).
const MAX_NAME: usize = 15;

/// An object that is not loaded yet.
pub(crate) struct Program {
    name: String,
    btf: Btf<'static>,
    open: OpenObject,
}

/// A registered TCP controller. It disappears from the kernel when this is dropped; connections
/// that use it keep it until they end.
pub(crate) struct Registered {
    pub(crate) object: Object,
    _link: Link,
}

impl Program {
    /// Opens an object. `name` becomes the name of its TCP controller.
    pub(crate) fn open(object: &'static [u8], name: &str) -> Result<Self, Error> {
        check_name(name)?;
        error::check()?;
        error::collect_messages();
        let wrong = |e: libbpf_rs::Error| Error::from_library(&format!("read the program of `{name}`"), &e);
        let btf = Btf::from_raw("object", object).map_err(wrong)?;
        let btf = btf.ok_or_else(|| Error::new("the program has no BTF"))?;
        let open = ObjectBuilder::default().open_memory(object).map_err(wrong)?;
        let mut program = Self { name: name.to_owned(), btf, open };
        program.rename()?;
        Ok(program)
    }

    fn rename(&mut self) -> Result<(), Error> {
        let ops: Option<Struct<'_>> = self.btf.type_by_name("tcp_congestion_ops");
        let at = ops.and_then(|ops| offset(&ops, "name"));
        let at = at.ok_or_else(not_a_controller)?;
        let name = self.name.clone();
        let mut map = self.struct_ops()?;
        let field = map.initial_value_mut().and_then(|value| value.get_mut(at..=at + MAX_NAME));
        let field = field.ok_or_else(not_a_controller)?;
        field.fill(0);
        field[..name.len()].copy_from_slice(name.as_bytes());
        Ok(())
    }

    /// Sets a constant of the program: a variable, or a member of a struct (`P.min_cwnd`).
    pub(crate) fn set(&mut self, constant: &str, value: u64) -> Result<(), Error> {
        let unknown = || Error::new(format!("the program of `{}` has no constant `{constant}`", self.name));
        let (at, size) = locate(&self.btf, constant).ok_or_else(unknown)?;
        let is_constants = |map: &OpenMapMut<'_>| map.name().to_string_lossy().ends_with(".rodata");
        let map = self.open.maps_mut().find(is_constants);
        let mut map = map.ok_or_else(unknown)?;
        let field = map.initial_value_mut().and_then(|value| value.get_mut(at..at + size));
        field.ok_or_else(unknown)?.copy_from_slice(&value.to_le_bytes()[..size]);
        Ok(())
    }

    /// Loads the programs and registers the controller.
    pub(crate) fn register(self) -> Result<Registered, Error> {
        let (object, link) = self.attach()?;
        Ok(Registered { object, _link: link })
    }

    /// Loads the programs and registers the controller until it is [unloaded](crate::unload).
    pub(crate) fn install(mut self) -> Result<(), Error> {
        // Without a link, the registration belongs to the map.
        self.struct_ops()?.set_map_flags(0).map_err(|e| Error::from_library("prepare the program", &e))?;
        let (_, mut link) = self.attach()?;
        link.disconnect();
        Ok(())
    }

    fn struct_ops(&mut self) -> Result<OpenMapMut<'_>, Error> {
        let map = self.open.maps_mut().find(|map| map.map_type() == MapType::StructOps);
        map.ok_or_else(not_a_controller)
    }

    fn attach(self) -> Result<(Object, Link), Error> {
        let Self { name, open, .. } = self;
        let wrong = |tried: &str, e: &libbpf_rs::Error| Error::from_library(&format!("{tried} `{name}`"), e);
        let mut object = open.load().map_err(|e| wrong("load the program of", &e))?;
        let map = object.maps_mut().find(|map| map.map_type() == MapType::StructOps);
        let mut map = map.ok_or_else(not_a_controller)?;
        let link = map.attach_struct_ops().map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => {
                Error::new(format!("the kernel has a TCP controller `{name}` already; choose another name"))
            }
            _ => wrong("register the TCP controller", &e),
        })?;
        Ok((object, link))
    }
}

impl Registered {
    /// Opens a map of the program.
    pub(crate) fn map(&self, name: &str) -> Result<MapHandle, Error> {
        let map = self.object.maps().find(|map| map.name() == name);
        let map = map.ok_or_else(|| Error::new(format!("the program has no map `{name}`")))?;
        MapHandle::try_from(&map).map_err(|e| Error::from_library(&format!("open the map `{name}`"), &e))
    }

    /// Returns the value of a counter of the program.
    pub(crate) fn counter(&self, index: usize) -> u64 {
        let map = self.object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss"));
        let value = map.and_then(|map| map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok().flatten());
        let bytes = value.as_deref().and_then(|value| value.get(index * 8..index * 8 + 8));
        bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
    }
}

fn not_a_controller() -> Error {
    Error::new("the program is no TCP controller")
}

/// Checks a name of a TCP controller.
fn check_name(name: &str) -> Result<(), Error> {
    let is_right = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_right) {
        return Err(Error::new(format!(
            "`{name}` cannot be the name of a TCP controller; write up to {MAX_NAME} letters, digits, `_` and `.`"
        )));
    }
    Ok(())
}

/// Returns offset and size of a constant within the section of constants, in bytes.
fn locate(btf: &Btf<'_>, constant: &str) -> Option<(usize, usize)> {
    let (name, member) =
        constant.split_once('.').map_or((constant, None), |(name, member)| (name, Some(member)));
    let section: DataSec<'_> = btf.type_by_name(".rodata")?;
    section.iter().find_map(|entry| {
        let variable: Var<'_> = btf.type_by_id(entry.ty)?;
        variable.name().filter(|found| *found == name)?;
        let at = entry.offset as usize;
        let Some(member) = member else { return Some((at, entry.size)) };
        let structure = Struct::try_from(variable.referenced_type().skip_mods_and_typedefs()).ok()?;
        let field = structure.iter().find(|field| field.name.is_some_and(|name| name == member))?;
        let ty: BtfType<'_> = btf.type_by_id(field.ty)?;
        let size = Int::try_from(ty.skip_mods_and_typedefs()).ok()?.bits as usize / 8;
        Some((at + offset(&structure, member)?, size))
    })
}

/// Returns the offset of a member, in bytes.
pub(crate) fn offset(structure: &Struct<'_>, member: &str) -> Option<usize> {
    let field = structure.iter().find(|field| field.name.is_some_and(|name| name == member))?;
    match field.attr {
        MemberAttr::Normal { offset } => Some(offset as usize / 8),
        MemberAttr::BitField { .. } => None,
    }
}
