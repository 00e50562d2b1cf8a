//! Puts the commit into the binary, for the manifests of results, and says which features of Linux
//! this build has.

use std::env;
use std::process::Command;

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Sets `cfg(kernel)`, `cfg(wire)` and `cfg(transfer)` for the crate and its tests: each needs Linux
/// and its feature.
fn set_linux_features() {
    let is_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    for name in ["kernel", "transfer", "wire"] {
        let feature = format!("CARGO_FEATURE_{}", name.to_uppercase());
        println!("cargo::rustc-check-cfg=cfg({name})");
        if is_linux && env::var_os(feature).is_some() {
            println!("cargo::rustc-cfg={name}");
        }
    }
}

fn main() {
    set_linux_features();
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".into());
    let clean = git(&["status", "--porcelain", "--untracked-files=no"]).is_none_or(|s| s.is_empty());
    println!("cargo::rustc-env=ACKCLOCK_COMMIT={commit}{}", if clean { "" } else { "+changes" });
    if let Some(dir) = git(&["rev-parse", "--absolute-git-dir"]) {
        println!("cargo::rerun-if-changed={dir}/HEAD");
        println!("cargo::rerun-if-changed={dir}/index");
        // An edit touches neither of them, and must not pass for the commit: results are found
        // again by it.
        if let Some(root) = git(&["rev-parse", "--show-toplevel"]) {
            for sources in ["crates", "Cargo.toml", "Cargo.lock"] {
                println!("cargo::rerun-if-changed={root}/{sources}");
            }
        }
    }
}
