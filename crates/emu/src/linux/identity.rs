//! As whom a command runs. The emulator needs root; what it runs inside the link does not: with root's capabilities a
//! command could leave its network through another process' entry in /proc, or change the link's interfaces.

use std::env;
use std::ffi::{CString, OsString};
use std::fmt;
use std::io;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;

use nix::errno::Errno;
use nix::unistd::{Gid, Uid, User, getgrouplist, setgroups, setresgid, setresuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_keep_capabilities, set_no_new_privs,
};

use crate::error::Error;
use crate::linux::privilege::Way;

/// What a user's command may besides: `ping`, `tcpdump` and servers at port 443, all within the link's network.
const OF_A_USER: CapabilitySet = CapabilitySet::NET_RAW.union(CapabilitySet::NET_BIND_SERVICE);
/// What is left to root: besides, files of any owner, and servers that change into a user of their own. All other
/// capabilities reach beyond the link's network, or change it.
const OF_ROOT: CapabilitySet = OF_A_USER
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);
/// Bits of the kernel's capability sets.
const BITS: u32 = 64;

/// As whom a command runs, and what it may.
#[derive(Clone, Debug)]
pub struct Identity {
    words: String,
    change: Option<Change>,
    environment: Vec<(&'static str, OsString)>,
}

/// What happens to the process before it becomes the command.
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
    /// That of this process, with all that it may.
    pub fn own() -> Self {
        let uid = Uid::effective();
        let who = if uid.is_root() { "root".to_owned() } else { format!("uid {uid}") };
        let words = format!("{who}, with all capabilities");
        Self { words, change: None, environment: Vec::new() }
    }

    /// Of the user who called: who called sudo, if it was sudo; else who has started this process, without the capabilities
    /// that reach beyond the link's network. In a user namespace those reach no further anyway.
    ///
    /// # Errors
    /// `SUDO_UID` or `SUDO_GID` that is no number, or what the system says of the user.
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
                Ok(Self::with(words.to_owned(), None, OF_ROOT))
            }
            None => Ok(Self::with(format!("uid {own}, {LIMITS}"), None, OF_A_USER)),
        }
    }

    fn of_user(uid: Uid, gid: Option<Gid>) -> Result<Self, Error> {
        let user = User::from_uid(uid).map_err(|e| Error::system(format_args!("look up uid {uid}"), e))?;
        let gid = gid.or(user.as_ref().map(|user| user.gid)).ok_or_else(|| {
            Error::new(format!("uid {uid} is in no list of users and SUDO_GID is not set: set it"))
        })?;
        let Some(user) = user else {
            let ids = Ids { uid, gid, groups: vec![gid] };
            return Ok(Self::with(format!("uid {uid}, {LIMITS}"), Some(ids), OF_A_USER));
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
        Ok(Self { environment, ..Self::with(words, Some(Ids { uid, gid, groups }), OF_A_USER) })
    }

    fn with(words: String, user: Option<Ids>, capabilities: CapabilitySet) -> Self {
        Self { words, change: Some(Change { user, capabilities }), environment: Vec::new() }
    }

    /// Makes a file this user's, so that nobody else need be able to read it.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn give(&self, path: &Path) -> io::Result<()> {
        match self.change.as_ref().and_then(|change| change.user.as_ref()) {
            Some(Ids { uid, gid, .. }) => chown(path, Some(uid.as_raw()), Some(gid.as_raw())),
            None => Ok(()),
        }
    }

    /// Sets what programs read of their user.
    pub(crate) fn set_environment(&self, command: &mut Command) {
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
    }

    /// Makes the calling process this user, for good. System calls only: it stands between fork and exec.
    ///
    /// # Errors
    /// What the system refuses; the process must not go on then.
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

/// What [`OF_A_USER`] means.
const LIMITS: &str = "with no capabilities but those for raw sockets and ports below 1024";

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

/// Leaves the calling process these of its capabilities, through every later exec.
fn limit(to: CapabilitySet) -> io::Result<()> {
    let had = capabilities(None)?.permitted;
    // The change of the user has taken them out of effect.
    set_capabilities(None, CapabilitySets { effective: had, permitted: had, inheritable: had & to })?;
    // Where it is not allowed, what is not permitted now cannot come back under `no_new_privs` either.
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

/// A variable that sudo sets.
fn number(variable: &str) -> Result<Option<u32>, Error> {
    let Some(text) = env::var_os(variable) else { return Ok(None) };
    let number = text.to_str().and_then(|text| text.parse().ok());
    let wrong = || format!("{variable} is `{}`: it is the number that sudo sets", text.to_string_lossy());
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
        assert!(error.contains("uid 4000000001 is in no list of users"), "{error}");
    }
}
