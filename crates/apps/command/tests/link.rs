//! `ackclock link` as a user sees it: the commands that it runs, its messages, and that it leaves
//! nothing behind.
//!
//! Without privileges a test prints that it is skipped, and why.
#![cfg(wire)]
// It waits for processes.
#![allow(clippy::disallowed_methods)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

const LINK: &str = "rate=10 Mbit/s delay=5 ms queue=2 BDP";

fn ackclock(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackclock"));
    command.args(args);
    command
}

fn link(args: &[&str]) -> Output {
    ackclock(&[&["link"], args].concat()).output().unwrap()
}

/// Sends SIGTERM. The shell has `kill` built in.
fn terminate(child: &Child) {
    let sent = Command::new("sh").args(["-c", &format!("kill {}", child.id())]).status().unwrap();
    assert!(sent.success());
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn skipped(test: &str) -> bool {
    let missing = wire::emu::privilege::missing();
    if let Some(reason) = &missing {
        say_skipped(test, reason);
    }
    missing.is_some()
}

/// Writes past the test harness, which hides the output of passing tests.
fn say_skipped(test: &str, reason: &str) {
    std::io::stderr().write_all(format!("{test}: skipped: {reason}\n").as_bytes()).unwrap();
}

/// Reports whether a program that a test needs is missing.
fn lacks(test: &str, program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        say_skipped(test, &format!("no program `{program}`"));
    }
    !found
}

/// Returns a number of seconds that no other process sleeps for, so that it identifies those that
/// do.
fn unique(test: u32) -> String {
    format!("{}{test}", 1_000_000 + std::process::id())
}

/// Returns the processes with this text in their arguments.
fn running(word: &str) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
    let others = all.filter(|p| !p.ends_with(std::process::id().to_string()));
    let lines = others.filter_map(|p| fs::read(p.join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(word)).collect()
}

/// Waits until a condition holds, for at most a minute.
fn await_that(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..6000 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{what}");
}

/// Returns the network interfaces of the host.
fn interfaces() -> Vec<String> {
    let table = fs::read_to_string("/proc/self/net/dev").unwrap();
    table.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim().to_owned()).collect()
}

/// Starts a link whose command and server sleep, each with a background process too.
fn asleep(seconds: &str) -> Child {
    let script = format!("setsid sleep {seconds} & sleep {seconds}");
    let child = ackclock(&["link", LINK, "--server", &script, "--", "sh", "-c", &script])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    await_that("four sleepers", || running(&format!("sleep {seconds}")).len() >= 4 + 3);
    child
}

#[test]
fn the_commands_status_is_passed_on_and_the_summary_stands_at_the_end() {
    if skipped("the_commands_status_is_passed_on_and_the_summary_stands_at_the_end") {
        return;
    }
    let output = link(&[LINK, "--", "sh", "-c", "echo $ACKCLOCK_SERVER; exit 7"]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(7), &b"10.64.0.2\n"[..]));
    let said = errors(&output);
    for part in
        ["10 Mbit/s, 5 ms one way, queue 25 kB, drop-tail", "client -> server: 0 packets sent", "audit: "]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let output = link(&["quic-dc/table-1", "-q", "--", "true"]);
    assert!(output.status.success(), "{}", errors(&output));
}

#[test]
fn bad_input_is_refused_in_one_sentence() {
    for (args, says) in [
        (&["rate=10 Mbit/s dealy=5 ms", "--", "true"][..], "dealy: unknown key; did you mean \"delay\"?"),
        (&["rate=10", "--", "true"], "rate: `10` has no unit"),
        (&["no-such-experiment", "--", "true"], "no-such-experiment"),
        (&["quic-dc", "--", "true"], "name one"),
        (&["quic-dc/table-1", "--back", "rate=1 Mbit/s", "--", "true"], "--back: only valid with a link"),
    ] {
        let output = link(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            errors(&output).contains(says) && !errors(&output).contains("panicked"),
            "{}",
            errors(&output)
        );
    }
    if skipped("bad_input_is_refused_in_one_sentence") {
        return;
    }
    let output = link(&[LINK, "--", "ackclock-no-such-program"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("cannot run `ackclock-no-such-program`"), "{}", errors(&output));
    let output = link(&[LINK, "--server", "exit 3", "--", "true"]);
    assert!(errors(&output).contains("the server's command ended early with status 3"));
    let output = link(&[LINK, "--log", "/proc/nowhere/x", "--", "true"]);
    assert!(errors(&output).contains("cannot write the packet log to /proc/nowhere/x"));
}

#[test]
fn sigkill_leaves_no_process_and_no_interface_and_the_next_start_works() {
    if skipped("sigkill_leaves_no_process_and_no_interface_and_the_next_start_works") {
        return;
    }
    let seconds = unique(1);
    let mut child = asleep(&seconds);
    child.kill().unwrap();
    child.wait().unwrap();
    await_that("no sleeper", || running(&seconds).is_empty());
    let left: Vec<String> = interfaces().into_iter().filter(|name| name.starts_with("ack")).collect();
    assert_eq!(left, Vec::<String>::new());
    assert!(link(&[LINK, "--", "true"]).status.success());
}

#[test]
fn sigterm_is_passed_on_and_ends_all() {
    if skipped("sigterm_is_passed_on_and_ends_all") {
        return;
    }
    let seconds = unique(2);
    let mut child = asleep(&seconds);
    terminate(&child);
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    assert_eq!(running(&seconds), Vec::<String>::new());
}

#[test]
fn a_command_that_heeds_no_signal_is_killed() {
    if skipped("a_command_that_heeds_no_signal_is_killed") {
        return;
    }
    let seconds = unique(3);
    let script = format!("trap '' TERM; sleep {seconds}; sleep {seconds}");
    let mut child = ackclock(&["link", LINK, "-q", "--", "sh", "-c", &script]).spawn().unwrap();
    await_that("a sleeper", || running(&seconds).len() >= 4);
    terminate(&child);
    assert_eq!(child.wait().unwrap().code(), Some(128 + 9));
    assert_eq!(running(&seconds), Vec::<String>::new());
}

#[test]
fn a_killed_command_ends_the_run() {
    if skipped("a_killed_command_ends_the_run") {
        return;
    }
    let output = link(&[LINK, "--", "sh", "-c", "kill -KILL $$"]);
    assert_eq!(output.status.code(), Some(128 + 9));
    assert!(errors(&output).contains("audit: "), "the summary is printed: {}", errors(&output));
}

#[test]
fn an_interface_that_is_deleted_is_an_error() {
    let test = "an_interface_that_is_deleted_is_an_error";
    if skipped(test) || lacks(test, "ip") {
        return;
    }
    let output = link(&[LINK, "--keep-root", "--", "sh", "-c", "ip link delete ack0 && sleep 60"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("ack0 of the client's namespace was deleted"), "{}", errors(&output));
}

#[test]
fn a_run_whose_interface_was_set_down_is_not_valid() {
    let test = "a_run_whose_interface_was_set_down_is_not_valid";
    if skipped(test) || lacks(test, "ip") {
        return;
    }
    let output = link(&[LINK, "-q", "--keep-root", "--", "ip", "link", "set", "ack0", "down"]);
    assert!(output.status.success(), "{}", errors(&output));
    let said = errors(&output);
    assert!(
        said.contains("audit: invalid: ") && said.contains("the client's interface ack0 was set down"),
        "{said}"
    );
    let output = link(&[LINK, "--", "ip", "link", "set", "ack0", "down"]);
    assert!(!output.status.success() && !errors(&output).contains("was set down"), "{}", errors(&output));
}

/// Attempts to become root and to leave the link's network for that of the process OUTSIDE. Prints
/// a line for each that worked.
const ESCAPES: &str = "
    setpriv --reuid=0 --regid=0 --clear-groups true && echo setuid
    setpriv --inh-caps=+net_admin true && echo capability
    (: </proc/1/ns/net) && echo proc
    nsenter -t 1 -n true && echo nsenter
    umount /proc && nsenter --net=/proc/$OUTSIDE/ns/net true && echo host
    ip link set ack0 down && echo down
";

/// Runs a script behind a link, as root with these ids of sudo, or without sudo. Returns the lines
/// of its standard output without the tabs of /proc, and the messages of Ackclock.
fn inside(sudo: Option<[&str; 2]>, flags: &[&str], script: &str) -> (Vec<String>, String) {
    let script = format!("exec 2>/dev/null; {script}\ntrue");
    let mut command = ackclock(&[&["link", LINK], flags, &["--", "sh", "-c", &script]].concat());
    command.env_remove("SUDO_UID").env_remove("SUDO_GID").env("OUTSIDE", std::process::id().to_string());
    if let Some([uid, gid]) = sudo {
        command.env("SUDO_UID", uid).env("SUDO_GID", gid);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    let lines = String::from_utf8_lossy(&output.stdout);
    (lines.lines().map(|line| line.replace('\t', " ")).collect(), errors(&output))
}

const STATUS: &str =
    "id -u; id -g; id -G; echo $USER; grep -E 'CapPrm|CapEff|CapBnd|NoNew' /proc/self/status";

#[test]
fn under_sudo_the_command_is_the_user_who_called_and_cannot_get_back() {
    let test = "under_sudo_the_command_is_the_user_who_called_and_cannot_get_back";
    if skipped(test) || ["ip", "setpriv", "nsenter"].iter().any(|program| lacks(test, program)) {
        return;
    }
    let id = |what: &str| {
        let said = Command::new("id").args([what, "65534"]).output().unwrap();
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    };
    let (groups, name) = (id("-G"), id("-un"));
    if name.is_empty() {
        return say_skipped(test, "no user has the uid 65534");
    }
    let (found, said) = inside(Some(["65534", "65534"]), &[], STATUS);
    assert_eq!(found[..4], ["65534", "65534", &groups, &name]);
    // Raw sockets and low ports.
    check_capabilities(&found[4..], &["CapPrm", "CapEff", "CapBnd"], 0x2400);
    let begins = format!("commands run as {name} (uid 65534), with no capabilities but");
    assert!(said.starts_with(&begins), "{said}");
    // A user without a name.
    let (found, _) = inside(Some(["3000000001", "3000000002"]), &[], STATUS);
    assert_eq!(found[..3], ["3000000001", "3000000002", "3000000002"]);
    let (worked, _) = inside(Some(["65534", "65534"]), &[], ESCAPES);
    assert_eq!(worked, Vec::<String>::new());
    // The server's command has the same restrictions.
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let done = dir.path().join("done").display().to_string();
    let server = format!("exec 2>/dev/null; id -u; {ESCAPES}\n: > {done}; sleep 60");
    let wait = format!("for i in $(seq 600); do [ -e {done} ] && break; sleep 0.1; done");
    let (found, _) = inside(Some(["65534", "65534"]), &["--server", &server], &wait);
    assert_eq!(found, ["65534"]);
}

/// Checks lines of /proc/self/status: these sets, no larger than `most`, and `NoNewPrivs`. In a
/// container root itself may have less.
fn check_capabilities(lines: &[String], sets: &[&str], most: u64) {
    let (last, lines) = lines.split_last().unwrap();
    assert_eq!(last, "NoNewPrivs: 1");
    let found: Vec<(&str, &str)> = lines.iter().map(|line| line.split_once(": ").unwrap()).collect();
    assert_eq!(found.iter().map(|(set, _)| *set).collect::<Vec<_>>(), sets);
    for (set, bits) in found {
        let bits = u64::from_str_radix(bits, 16).unwrap();
        assert_eq!(bits & !most, 0, "{set}: {bits:x}");
    }
}

#[test]
fn plain_root_stays_root_but_cannot_leave_the_link() {
    let test = "plain_root_stays_root_but_cannot_leave_the_link";
    if skipped(test) || ["ip", "setpriv", "nsenter"].iter().any(|program| lacks(test, program)) {
        return;
    }
    let (found, said) = inside(None, &[], STATUS);
    assert_eq!((found[0].as_str(), found[1].as_str()), ("0", "0"));
    check_capabilities(&found[found.len() - 2..], &["CapBnd"], 0x24fb);
    assert!(said.starts_with("commands run as root, with no capabilities but those for files"), "{said}");
    let (worked, _) = inside(None, &[], ESCAPES);
    assert_eq!(worked, ["setuid"], "to root, which it is");
    assert_eq!(inside(Some(["0", "0"]), &[], ESCAPES).0, worked, "root called sudo");
}

#[test]
fn root_is_kept_where_it_is_asked_for() {
    let test = "root_is_kept_where_it_is_asked_for";
    if skipped(test) || ["ip", "setpriv", "nsenter"].iter().any(|program| lacks(test, program)) {
        return;
    }
    for sudo in [None, Some(["65534", "65534"])] {
        let (worked, said) = inside(sudo, &["--keep-root"], ESCAPES);
        // What a container forbids does not work here either.
        let works = |way: &str| worked.iter().any(|worked| worked == way);
        assert!(works("setuid") && works("down") && works("capability"), "{worked:?}");
        assert!(said.starts_with("commands run as root, with all capabilities"), "{said}");
    }
}

#[test]
fn a_wrong_variable_of_sudo_is_named() {
    if skipped("a_wrong_variable_of_sudo_is_named") {
        return;
    }
    let output = ackclock(&["link", LINK, "--", "true"]).env("SUDO_UID", "me").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors(&output).contains("SUDO_UID is `me`, and must be the number that sudo sets"),
        "{}",
        errors(&output)
    );
}

/// The user nobody runs a copy of the program that it may read.
#[test]
fn works_without_root_in_a_user_namespace() {
    let test = "works_without_root_in_a_user_namespace";
    if skipped(test) || ["ip", "setpriv", "unshare"].iter().any(|program| lacks(test, program)) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("ackclock");
    fs::copy(env!("CARGO_BIN_EXE_ackclock"), &program).unwrap();
    open_to_all(dir.path());
    open_to_all(&program);
    let nobody = |command: &[&str]| {
        Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .args(command)
            .current_dir("/")
            .output()
            .unwrap()
    };
    if !nobody(&["unshare", "-Urn", "sh", "-c", ": <> /dev/net/tun"]).status.success() {
        return say_skipped(test, "no user namespace, or TUN is closed to users");
    }
    let program = program.to_str().unwrap();
    let script = "ip -o addr show dev ack0 && id -u";
    let output = nobody(&[program, "link", LINK, "--", "sh", "-c", script]);
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(out.contains("10.64.0.1/24") && out.contains("fd00:64::1/64") && out.ends_with("\n0\n"), "{out}");
    // Unless the limits of this user allow it (RLIMIT_RTPRIO).
    let limit = nobody(&["sh", "-c", "ulimit -r"]).stdout;
    let has_none = String::from_utf8_lossy(&limit).trim() == "0";
    assert!(!has_none || errors(&output).contains("no SCHED_FIFO"), "{}", errors(&output));
}

fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A log and a capture in the same file would destroy each other. Too few files for the emulator
/// are the reason given, and damage and copies have their own counts.
#[test]
fn files_and_their_limit() {
    if skipped("files_and_their_limit") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let log = log.to_str().unwrap();
    let output = link(&[LINK, "--log", log, "--pcap", log, "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors(&output).contains(&format!("--pcap {log}: the same file as --log {log}")),
        "{}",
        errors(&output)
    );
    for files in [8, 10, 11, 12, 13] {
        let script = format!("ulimit -n {files}; exec \"$0\" link -q 'rate=10 Mbit/s' -- true");
        let output =
            Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_ackclock")]).output().unwrap();
        let errors = errors(&output);
        assert!(errors.contains("EMFILE") || errors.contains("Too many open files"), "{files}: {errors}");
    }
}
