//! The user that a command runs as. The emulator needs root, and the commands inside the link do
//! not. With root's capabilities a command could leave its network through the /proc entry of
//! another process, or change the link's interfaces.

use std::env;
use std::ffi::{CString, OsString};
use std::fmt;
use std::io;
use std::os::unix::fs::lchown;
use std::path::Path;
use std::process::Command;

use nix::errno::Errno;
use nix::unistd::{Gid, Uid, User, getgrouplist, setgroups, setresgid, setresuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_keep_capabilities, set_no_new_privs,
};

use crate::emu::error::Error;
use crate::emu::linux::privilege::Way;

/// Capabilities of a user's command: for `ping`, `tcpdump` and servers at port 443, all within the
/// link's network.
const USER_CAPABILITIES: CapabilitySet = CapabilitySet::NET_RAW.union(CapabilitySet::NET_BIND_SERVICE);
/// Capabilities that root keeps in addition: for files of any owner, and for servers that change to
/// another user. All other capabilities reach beyond the link's network, or change it.
const ROOT_CAPABILITIES: CapabilitySet = USER_CAPABILITIES
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);
/// Bits of the kernel's capability sets.
const BITS: u32 = 64;

/// User and capabilities of a command.
#[derive(Clone, Debug)]
pub struct Identity {
    words: String,
    change: Option<Change>,
    environment: Vec<(&'static str, OsString)>,
}

/// Changes of the process before it becomes the command.
#[derive(Clone, Debug)]
struct Change {
    user: Option<Ids>,
    capabilities: CapabilitySet,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Ids {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

impl Identity {
    /// The identity of this process, with all its capabilities.
    pub fn own() -> Self {
        let uid = Uid::effective();
        let who = if uid.is_root() { "root".to_owned() } else { format!("uid {uid}") };
        let words = format!("{who}, with all capabilities");
        Self { words, change: None, environment: Vec::new() }
    }

    /// The identity of the calling user: the user that called sudo, or else the user of this
    /// process. It lacks the capabilities that reach beyond the link's network. In a user namespace
    /// they do not reach further anyway.
    ///
    /// # Errors
    /// `SUDO_UID` or `SUDO_GID` is not a number, or the system's error about the user.
    pub fn of_caller(way: Way) -> Result<Self, Error> {
        if way == Way::UserNamespace {
            let words = "this user, who is root in the link's network and nowhere else".to_owned();
            return Ok(Self { words, ..Self::own() });
        }
        let own = Uid::effective();
        match number("SUDO_UID")?.map(Uid::from_raw).filter(|uid| own.is_root() && !uid.is_root()) {
            Some(uid) => Self::of_user(uid, number("SUDO_GID")?.map(Gid::from_raw)),
            None if own.is_root() => {
                let words = "root, with no capabilities but those for files, users and sockets";
                Ok(Self::with(words.to_owned(), None, ROOT_CAPABILITIES))
            }
            None => Ok(Self::with(format!("uid {own}, {LIMITS}"), None, USER_CAPABILITIES)),
        }
    }

    fn of_user(uid: Uid, gid: Option<Gid>) -> Result<Self, Error> {
        let user = User::from_uid(uid).map_err(|e| Error::system(format_args!("look up uid {uid}"), e))?;
        let gid = gid.or(user.as_ref().map(|user| user.gid)).ok_or_else(|| {
            Error::new(format!("the system does not know uid {uid}, and SUDO_GID is not set: set it"))
        })?;
        let Some(user) = user else {
            let ids = Ids { uid, gid, groups: vec![gid] };
            return Ok(Self::with(format!("uid {uid}, {LIMITS}"), Some(ids), USER_CAPABILITIES));
        };
        let failed = |e: Errno| Error::system(format_args!("find the groups of {}", user.name), e);
        let name = CString::new(user.name.as_str()).map_err(|_| failed(Errno::EINVAL))?;
        let groups = getgrouplist(&name, gid).map_err(failed)?;
        let words = format!("{} (uid {uid}), {LIMITS}", user.name);
        let environment = vec![
            ("HOME", user.dir.into()),
            ("SHELL", user.shell.into()),
            ("USER", user.name.clone().into()),
            ("LOGNAME", user.name.into()),
        ];
        Ok(Self { environment, ..Self::with(words, Some(Ids { uid, gid, groups }), USER_CAPABILITIES) })
    }

    fn with(words: String, user: Option<Ids>, capabilities: CapabilitySet) -> Self {
        Self { words, change: Some(Change { user, capabilities }), environment: Vec::new() }
    }

    /// The user ID that commands run under.
    pub fn uid(&self) -> u32 {
        let user = self.change.as_ref().and_then(|change| change.user.as_ref());
        user.map_or_else(Uid::effective, |user| user.uid).as_raw()
    }

    /// An unprivileged user with these IDs, for tests of other crates.
    #[doc(hidden)]
    pub fn for_test(uid: u32, gid: u32) -> Self {
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        Self::with(format!("uid {uid}"), Some(Ids { uid, gid, groups: vec![gid] }), USER_CAPABILITIES)
    }

    /// Makes this user the owner of a file or folder, so that no other user needs access to it.
    /// Does not follow a link.
    ///
    /// # Errors
    /// Any error of the system call.
    pub fn give(&self, path: &Path) -> io::Result<()> {
        match self.change.as_ref().and_then(|change| change.user.as_ref()) {
            Some(Ids { uid, gid, .. }) => lchown(path, Some(uid.as_raw()), Some(gid.as_raw())),
            None => Ok(()),
        }
    }

    /// Sets the variables in which programs look for their user.
    pub(crate) fn set_environment(&self, command: &mut Command) {
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
    }

    /// Changes the calling process to this user, permanently. Makes system calls only, because it
    /// runs between fork and exec.
    ///
    /// # Errors
    /// The error of the system call. The process must not go on then.
    pub(crate) fn take(&self) -> io::Result<()> {
        let Some(change) = &self.change else { return Ok(()) };
        if let Some(Ids { uid, gid, groups }) = &change.user {
            // With root's uid all capabilities would go, those too that are to stay.
            set_keep_capabilities(true)?;
            setgroups(groups)?;
            setresgid(*gid, *gid, *gid)?;
            setresuid(*uid, *uid, *uid)?;
        }
        limit(change.capabilities)?;
        // No set-user-ID program and no capability of a file brings back what is gone.
        Ok(set_no_new_privs(true)?)
    }
}

/// Description of [`USER_CAPABILITIES`].
const LIMITS: &str = "with no capabilities but those for raw sockets and ports below 1024";

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

/// Limits the calling process to these capabilities, through every later exec.
fn limit(to: CapabilitySet) -> io::Result<()> {
    let had = capabilities(None)?.permitted;
    // The change of the user has taken them out of effect.
    set_capabilities(None, CapabilitySets { effective: had, permitted: had, inheritable: had & to })?;
    // Where it is not allowed, what is not permitted now cannot come back under `no_new_privs`
    // either.
    if had.contains(CapabilitySet::SETPCAP) {
        limit_bounding_set(to)?;
    }
    let kept = had & to;
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: kept })?;
    clear_ambient_capability_set()?;
    for capability in kept.iter() {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

fn limit_bounding_set(to: CapabilitySet) -> io::Result<()> {
    // Also of those that this program has no name for.
    for capability in (0..BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit)) {
        match capability_is_in_bounding_set(capability) {
            Ok(true) if !to.contains(capability) => remove_capability_from_bounding_set(capability)?,
            Ok(_) => {}
            // Above the last one that the kernel knows.
            Err(rustix::io::Errno::INVAL) => break,
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

/// Reads a variable that sudo sets.
fn number(variable: &str) -> Result<Option<u32>, Error> {
    let Some(text) = env::var_os(variable) else { return Ok(None) };
    let number = text.to_str().and_then(|text| text.parse().ok());
    let wrong =
        || format!("{variable} is `{}`, and must be the number that sudo sets", text.to_string_lossy());
    number.map(Some).ok_or_else(|| Error::new(wrong()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_its_groups_and_home_and_an_unknown_one_its_group_alone() {
        let root = Identity::of_user(Uid::from_raw(0), None).unwrap();
        let groups = getgrouplist(c"root", Gid::from_raw(0)).unwrap();
        let ids = Ids { uid: Uid::from_raw(0), gid: Gid::from_raw(0), groups };
        assert_eq!(root.change.unwrap().user, Some(ids));
        assert!(root.environment.contains(&("USER", "root".into())), "{:?}", root.environment);
        assert!(root.words.starts_with("root (uid 0), with no capabilities but"), "{}", root.words);

        let (uid, gid) = (Uid::from_raw(4_000_000_001), Gid::from_raw(4_000_000_002));
        let unknown = Identity::of_user(uid, Some(gid)).unwrap();
        assert_eq!(unknown.change.unwrap().user, Some(Ids { uid, gid, groups: vec![gid] }));
        assert_eq!(unknown.environment, []);
        let error = Identity::of_user(uid, None).unwrap_err().to_string();
        assert!(error.contains("the system does not know uid 4000000001"), "{error}");
    }
}
