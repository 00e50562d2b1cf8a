//! Privileges of the process: those of root, or those in its own user namespace.

use std::fs;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

use crate::emu::error::Error;

/// Bits of `CapEff` (linux/capability.h) for configuring interfaces, and for making namespaces.
const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;
const TUN: &str = "/dev/net/tun";
/// Priority above every ordinary thread and below those of the kernel.
const PRIORITY: i32 = 10;

/// Source of the process's privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The process had them.
    Root,
    /// The process made a user namespace, in which it has them.
    UserNamespace,
}

/// Makes sure that this process can make network namespaces and TUN devices. Without the privileges
/// it enters its own user namespace, which the kernel permits only while the process has one
/// thread.
///
/// # Errors
/// The missing privilege and how to get it.
pub fn acquire() -> Result<Way, Error> {
    check_tun()?;
    if has(CAP_NET_ADMIN) && has(CAP_SYS_ADMIN) {
        return Ok(Way::Root);
    }
    let (uid, gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|e| {
        Error::new(format!(
            "this needs root or a user namespace ({e}): run it with sudo, or allow user namespaces with \
             `sysctl -w user.max_user_namespaces=10000` (Ubuntu: also kernel.apparmor_restrict_unprivileged_userns=0)"
        ))
    })?;
    let map = |file: &str, text: &str| {
        fs::write(format!("/proc/self/{file}"), text)
            .map_err(|e| Error::system(format_args!("write {file} of the user namespace"), e))
    };
    // Without it the kernel refuses the map of groups to those who are not root.
    map("setgroups", "deny")?;
    map("uid_map", &format!("0 {uid} 1"))?;
    map("gid_map", &format!("0 {gid} 1"))?;
    Ok(Way::UserNamespace)
}

/// Returns why the emulator cannot run here without a user namespace, for tests that are skipped
/// then.
pub fn missing() -> Option<String> {
    match check_tun() {
        Err(e) => Some(e.to_string()),
        Ok(()) if !(has(CAP_NET_ADMIN) && has(CAP_SYS_ADMIN)) => Some("not root".to_owned()),
        Ok(()) => None,
    }
}

fn check_tun() -> Result<(), Error> {
    let opened = fs::OpenOptions::new().read(true).write(true).open(TUN);
    opened.map(drop).map_err(|e| {
        let right = match e.kind() {
            std::io::ErrorKind::PermissionDenied => {
                "this user may not open it: run it with sudo, or `sudo chmod 0666 /dev/net/tun`"
            }
            _ => "load the driver with `sudo modprobe tun`; in a container, pass the device with --device /dev/net/tun",
        };
        Error::new(format!("cannot open {TUN} ({e}): {right}"))
    })
}

fn has(capability: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    bits.is_some_and(|bits| bits >> capability & 1 == 1)
}

/// Puts the calling thread under SCHED_FIFO, `below` steps under the emulator's priority, and makes
/// its timers exact. Returns false where that is not allowed. The thread then runs as any other
/// does.
#[allow(unsafe_code)]
pub fn real_time(below: u8) -> bool {
    // A slack of 1 ns instead of 50 us; without it the thread wakes later, nothing else.
    let _ = nix::sys::prctl::set_timerslack(1);
    let parameter = nix::libc::sched_param { sched_priority: (PRIORITY - i32::from(below)).max(1) };
    // SAFETY: the call reads the parameter, which lives until it returns, and concerns this thread
    // only (pid 0).
    unsafe { nix::libc::sched_setscheduler(0, nix::libc::SCHED_FIFO, &raw const parameter) == 0 }
}
