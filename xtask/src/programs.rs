//! Compiles the programs of the kernel crate, whose objects are part of the sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Checked;

/// Folder of the crate.
const KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/worlds/kernel");
/// Options of the compiler. The programs use nothing of an architecture but its byte order.
const OPTIONS: [&str; 9] = [
    "-O2",
    "-g",
    "-target",
    "bpf",
    "-mcpu=v3",
    "-D__TARGET_ARCH_x86",
    "-Wall",
    "-Werror",
    "-Wno-unused-function",
];
/// File with the version of the compiler that made the objects.
const COMPILER: &str = "compiler.txt";

/// Compiles the programs, or compares them with the objects in the sources.
pub(crate) fn run(check: bool) -> Checked {
    let objects = Path::new(KERNEL).join("objects");
    let version = version()?;
    let made_by = fs::read_to_string(objects.join(COMPILER)).unwrap_or_default();
    if check && made_by != version {
        println!("skipped: the objects are made by {}, and this is {}", made_by.trim(), version.trim());
        return Ok(Vec::new());
    }
    let scratch = objects.join(".new");
    fs::create_dir_all(&scratch).map_err(|e| format!("cannot create {}: {e}", scratch.display()))?;
    let done = compile_all(&objects, &scratch, check);
    // What is left over is written again by the next call.
    let _ = fs::remove_dir_all(&scratch);
    let complaints = done?;
    if !check {
        fs::write(objects.join(COMPILER), version).map_err(|e| e.to_string())?;
    }
    Ok(complaints)
}

fn compile_all(objects: &Path, scratch: &Path, check: bool) -> Checked {
    let mut complaints = Vec::new();
    for name in programs()? {
        let (new, kept) = (scratch.join(&name), objects.join(&name));
        compile(&name, &new)?;
        if !check {
            fs::rename(&new, &kept).map_err(|e| format!("cannot write {}: {e}", kept.display()))?;
        } else if fs::read(&new).ok() != fs::read(&kept).ok() {
            complaints.push(format!("objects/{name} is not what its source gives; run `cargo xtask bpf`"));
        }
    }
    Ok(complaints)
}

/// Returns the names of the objects: `dstar.o` of `bpf/dstar.bpf.c`.
fn programs() -> Result<Vec<String>, String> {
    let listed =
        fs::read_dir(Path::new(KERNEL).join("bpf")).map_err(|e| format!("cannot list {KERNEL}/bpf: {e}"))?;
    let names = listed.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut all: Vec<String> =
        names.filter_map(|name| Some(format!("{}.o", name.strip_suffix(".bpf.c")?))).collect();
    all.sort();
    Ok(all)
}

/// Compiles a program. Paths in its debugging information are relative.
fn compile(name: &str, to: &PathBuf) -> Result<(), String> {
    let source = format!("{}.bpf.c", name.trim_end_matches(".o"));
    let folder = Path::new(KERNEL).join("bpf");
    let mut clang = Command::new("clang");
    clang.args(OPTIONS).arg("-fdebug-compilation-dir=.").arg("-c").arg(&source).arg("-o").arg(to);
    call(clang.current_dir(folder))?;
    call(Command::new("llvm-strip").arg("-g").arg(to))
}

fn call(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name} failed: {status}")),
        Err(e) => Err(format!("cannot run {name} ({e}); install clang, llvm and libbpf-dev")),
    }
}

fn version() -> Result<String, String> {
    let output = Command::new("clang").arg("--version").output();
    let output = output.map_err(|e| format!("cannot run clang ({e}); install clang, llvm and libbpf-dev"))?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned() + "\n")
}
