//! What the process may do, and how it comes by what it needs: as root, or in a user namespace of its own.

use std::fs;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

use crate::error::Error;

/// Bits of `CapEff` (linux/capability.h): to configure interfaces, and to make namespaces.
const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;
const TUN: &str = "/dev/net/tun";
/// Above every ordinary thread, below the kernel's own.
const PRIORITY: i32 = 10;

/// How the process came by its privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It had them.
    Root,
    /// It made a user namespace, in which it has them.
    UserNamespace,
}

/// Makes sure that this process can make network namespaces and TUN devices. Where it is not allowed to, it enters a
/// user namespace of its own, which the kernel permits only before the first further thread.
///
/// # Errors
/// What is missing and how to get it.
pub fn acquire() -> Result<Way, Error> {
    check_tun()?;
    if has(CAP_NET_ADMIN) && has(CAP_SYS_ADMIN) {
        return Ok(Way::Root);
    }
    let (uid, gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|e| {
        Error::new(format!(
            "neither root nor a user namespace is to be had ({e}): run it with sudo, or allow user namespaces with \
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

/// Why it would not work here; what tests say when they skip.
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
                "it is not open to this user: run it with sudo, or `sudo chmod 0666 /dev/net/tun`"
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

/// Puts the calling thread under SCHED_FIFO, `below` steps under the emulator's priority, and makes its timers exact.
/// False where that is not allowed; it then runs as any other thread does.
#[allow(unsafe_code)]
pub fn real_time(below: u8) -> bool {
    // A slack of 1 ns instead of 50 us; without it the thread wakes later, nothing else.
    let _ = nix::sys::prctl::set_timerslack(1);
    let parameter = nix::libc::sched_param { sched_priority: (PRIORITY - i32::from(below)).max(1) };
    // SAFETY: the call reads the parameter, which lives until it returns, and concerns this thread only (pid 0).
    unsafe { nix::libc::sched_setscheduler(0, nix::libc::SCHED_FIFO, &raw const parameter) == 0 }
}
