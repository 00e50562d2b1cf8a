//! Errors of loading programs into the kernel.

use std::fmt;
use std::fs;
use std::sync::{Mutex, PoisonError};

use libbpf_rs::{ErrorKind, PrintLevel};

/// Bits of CAP_SYS_ADMIN, CAP_PERFMON and CAP_BPF (linux/capability.h).
const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;

/// Oldest version of the kernel whose `cong_control` has these arguments.
const OLDEST: (u32, u32) = (6, 10);

/// Newest complaint of the verifier, which the library prints instead of returning it.
static COMPLAINT: Mutex<String> = Mutex::new(String::new());

/// The reason why a program could not be loaded, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }

    /// Describes an error of the library. `tried` is a clause such as `read the program of dstar`.
    pub(crate) fn from_library(tried: &str, error: &libbpf_rs::Error) -> Self {
        let complaint = COMPLAINT.lock().unwrap_or_else(PoisonError::into_inner);
        let why = if complaint.is_empty() { format!("{error:#}") } else { complaint.clone() };
        Self(match error.kind() {
            ErrorKind::NotFound => format!(
                "cannot {tried}: this kernel lacks something that it needs ({why}); controllers need Linux 6.10"
            ),
            _ => format!("cannot {tried}: {why}"),
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Checks that this process may load controllers into this kernel.
///
/// # Errors
/// The requirement that is not met.
pub fn check() -> Result<(), Error> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split('.').map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < OLDEST {
        let (major, minor) = OLDEST;
        return Err(Error::new(format!(
            "controllers inside the kernel need Linux {major}.{minor}, and this is {}",
            release.trim()
        )));
    }
    if !fs::exists("/sys/kernel/btf/vmlinux").unwrap_or(false) {
        return Err(Error::new(
            "this kernel does not describe its types (/sys/kernel/btf/vmlinux); it needs CONFIG_DEBUG_INFO_BTF",
        ));
    }
    if !(holds(CAP_PERFMON) && holds(CAP_BPF)) {
        return Err(Error::new("loading programs into the kernel needs CAP_BPF and CAP_PERFMON; use sudo"));
    }
    Ok(())
}

/// Checks that this process may look for programs of others.
pub(crate) fn check_search() -> Result<(), Error> {
    if !holds(CAP_SYS_ADMIN) {
        return Err(Error::new("listing the programs in the kernel needs CAP_SYS_ADMIN; use sudo"));
    }
    Ok(())
}

/// Reports whether this process holds a capability, or the one that contains all of them.
fn holds(capability: u64) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    held & (capability | CAP_SYS_ADMIN) != 0
}

/// Keeps the messages of the library for errors, instead of printing them.
pub(crate) fn collect_messages() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, message| {
        // The verifier's log ends with its reason, before two lines of statistics.
        let lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
        let reason = lines.rev().find(|line| !line.starts_with("processed ") && !line.starts_with("-- "));
        if let (Some(reason), true) = (reason, message.contains("LOG")) {
            reason.clone_into(&mut COMPLAINT.lock().unwrap_or_else(PoisonError::into_inner));
        }
    })));
    COMPLAINT.lock().unwrap_or_else(PoisonError::into_inner).clear();
}
