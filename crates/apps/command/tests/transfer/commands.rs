//! `ackclock serve` and `ackclock fetch` over this machine's loopback interface.
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use quic::crypto::tls::Identity;

use crate::common::*;

/// A server that is killed at the end of the test.
struct Server {
    dir: tempfile::TempDir,
    child: Child,
    address: String,
    fingerprint: String,
    /// The command that it prints for fetching a file.
    command: String,
    /// The line with its bounds.
    bounds: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(more: &[&str]) -> Self {
        Self::start_as(ackclock().arg("serve").arg("--quiet"), more)
    }

    fn start_as(command: &mut Command, more: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("www")).unwrap();
        fs::create_dir(dir.path().join("dl")).unwrap();
        let mut child = command
            .args(["--listen", "127.0.0.1:0", "--root"])
            .arg(dir.path().join("www"))
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut after = |mark: &str| {
            let line = lines.next().unwrap().unwrap();
            line.rsplit_once(mark).unwrap_or_else(|| panic!("{line}")).1.to_owned()
        };
        let address = after(" at ");
        let mut if_made = |mark| if more.contains(&"--cert") { String::new() } else { after(mark) };
        let (fingerprint, command) = (if_made(": "), if_made("fetch a file with: "));
        let bounds = after("at most ");
        Self { dir, child, address, fingerprint, command, bounds }
    }

    fn www(&self, name: &str) -> PathBuf {
        self.dir.path().join("www").join(name)
    }

    fn dl(&self) -> PathBuf {
        self.dir.path().join("dl")
    }

    fn url(&self, path: &str) -> String {
        format!("https://{}/{path}", self.address)
    }

    fn fetch(&self, path: &str, more: &[&str]) -> Command {
        let mut command = ackclock();
        command.args(["fetch", &self.url(path), "--insecure-accept", &self.fingerprint, "--out"]);
        command.arg(self.dl()).args(more);
        command
    }

    /// Returns the names in the download folder.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dl()).unwrap();
        let mut all: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    }
}

#[test]
fn three_sizes_by_both_protocols() {
    let server = Server::start(&["--controller", "bbr3"]);
    for (name, len) in [("1k", 1000), ("1M", 1_000_000), ("20M", 20_000_000)] {
        fs::write(server.www(name), noise(len)).unwrap();
    }
    for more in [&[][..], &["--hq"]] {
        let others = [server.url("1M"), server.url("20M")];
        let output = server.fetch("1k", more).args(&others).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", says(&output));
        for name in ["1k", "1M", "20M"] {
            let came = server.dl().join(name);
            assert_eq!(sha256(&came), sha256(&server.www(name)), "{name}");
            fs::remove_file(came).unwrap();
        }
        let table = String::from_utf8(output.stdout).unwrap();
        for word in ["goodput  ", "RTT  ", "one-way delay, upload", "21001000 bytes"] {
            assert!(table.contains(word), "{word}: {table}");
        }
        assert_eq!(table.contains("one-way delay, download"), more.is_empty(), "{table}");
        // By hq-interop the server cannot be asked, and it skips numbers.
        for word in ["loss, download", "missing, upload"] {
            assert_eq!(table.contains(word), more.is_empty(), "{word}: {table}");
        }
    }
}

#[test]
fn ranges_and_what_is_outside() {
    let server = Server::start(&["--retry"]);
    let bytes = noise(100_000);
    fs::write(server.www("a"), &bytes).unwrap();
    fs::write(server.dir.path().join("secret"), "secret").unwrap();
    symlink("../secret", server.www("out")).unwrap();
    let output = server.fetch("a", &["--range", "bytes=70000-70009"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", says(&output));
    assert_eq!(fs::read(server.dl().join("a")).unwrap(), &bytes[70_000..70_010]);
    fs::remove_file(server.dl().join("a")).unwrap();
    for (path, more, status) in [
        ("a", &["--range", "bytes=100000-"][..], "416"),
        ("out", &[], "404"),
        ("out", &["--hq"], "404"),
        ("%2e%2e/secret", &[], "400"),
        ("../secret", &["--hq"], "400"),
        ("none", &["--hq"], "404"),
    ] {
        let output = server.fetch(path, more).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{path}");
        assert!(says(&output).contains(&format!("the server answered {status}")), "{}", says(&output));
    }
    assert!(server.names().is_empty());
}

/// Certificates are verified by root and by name.
#[test]
fn certificates() {
    let dir = tempfile::tempdir().unwrap();
    let identity = Identity::self_signed(&["localhost"]).unwrap();
    let (cert, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    fs::write(&cert, pem("CERTIFICATE", &identity.chain[0])).unwrap();
    fs::write(&key, pem("PRIVATE KEY", identity.key.secret_der())).unwrap();
    let server = Server::start(&["--cert", cert.to_str().unwrap(), "--key", key.to_str().unwrap()]);
    fs::write(server.www("a"), "alpha").unwrap();
    let fetch = |host: &str, more: &[&str]| {
        let port = server.address.rsplit(':').next().unwrap();
        let url = format!("https://{host}:{port}/a");
        ackclock().args(["fetch", &url, "--out"]).arg(server.dl()).args(more).output().unwrap()
    };
    let ca = ["--ca", cert.to_str().unwrap()];
    let addresses = std::net::ToSocketAddrs::to_socket_addrs("localhost:1");
    if !addresses.is_ok_and(|mut all| all.any(|address| address.ip() == std::net::Ipv4Addr::LOCALHOST)) {
        println!("skipped: this machine does not know `localhost` as 127.0.0.1");
        return;
    }
    let output = fetch("localhost", &ca);
    assert_eq!(output.status.code(), Some(0), "{}", says(&output));
    for output in [fetch("127.0.0.1", &ca), fetch("localhost", &["--insecure-accept", &"0".repeat(64)])] {
        assert_eq!(output.status.code(), Some(2));
        assert!(says(&output).contains("certificate"), "{}", says(&output));
    }
    let wrong = ackclock()
        .args(["serve", "--listen", "127.0.0.1:0", "--root", "/", "--cert"])
        .arg(&key)
        .arg("--key")
        .arg(&cert)
        .output()
        .unwrap();
    assert!(wrong.status.code() == Some(2) && says(&wrong).contains("no certificate"), "{}", says(&wrong));
}

/// A wrong fingerprint is refused, and the message has that of the server.
#[test]
fn another_fingerprint() {
    let server = Server::start(&[]);
    let output = ackclock()
        .args(["fetch", &server.url("a"), "--insecure-accept", &"0".repeat(64), "--out"])
        .arg(server.dl())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let wanted = format!("the server's certificate has another fingerprint: {}", server.fingerprint);
    assert!(says(&output).contains(&wanted), "{}", says(&output));
}

/// Creates a sparse file that is too large to transfer during a test.
fn endless(path: &Path) {
    File::create(path).unwrap().set_len(20_000_000_000).unwrap();
}

/// A client that is killed or interrupted leaves no file.
#[test]
fn ended_in_the_middle() {
    let server = Server::start(&[]);
    endless(&server.www("a"));
    for kill in [true, false] {
        let mut child = server.fetch("a", &["--quiet"]).stderr(Stdio::null()).spawn().unwrap();
        wait_until_it_writes(&child);
        if kill {
            child.kill().unwrap();
        } else {
            interrupt(&child);
        }
        let status = patient(&mut child, LONG);
        assert_eq!(status, Some(if kill { -1 } else { 130 }));
        assert!(server.names().is_empty(), "{:?}", server.names());
    }
}

/// The client reports a file that is truncated, and a server that ends.
#[test]
fn servers_that_break_off() {
    let mut server = Server::start(&[]);
    endless(&server.www("a"));
    let child = server.fetch("a", &["--quiet"]).stderr(Stdio::piped()).spawn().unwrap();
    wait_until_it_writes(&child);
    File::create(server.www("a")).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(says(&output).contains("may have changed"), "{}", says(&output));
    endless(&server.www("a"));
    let child = server.fetch("a", &["--quiet"]).stderr(Stdio::piped()).spawn().unwrap();
    wait_until_it_writes(&child);
    interrupt(&server.child);
    // Two signals at once would arrive as one.
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&server.child);
    assert_eq!(patient(&mut server.child, LONG), Some(0));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(says(&output).contains("the server ends"), "{}", says(&output));
    assert!(server.names().is_empty());
}

/// A port where nobody listens, and one that never answers.
#[test]
fn nobody_there() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (address, word) in
        [(closed, "no server is listening there"), (silent.local_addr().unwrap(), "no answer for 1 s")]
    {
        let dir = tempfile::tempdir().unwrap();
        let output = ackclock()
            .args(["fetch", &format!("https://{address}/a"), "--patience", "1s", "--insecure-accept"])
            .args([&"0".repeat(64), "--out"])
            .arg(dir.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(says(&output).contains(word), "{}", says(&output));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

/// A full disk, if the test may mount a small one.
#[test]
fn a_full_disk() {
    let server = Server::start(&[]);
    fs::write(server.www("a"), noise(3_000_000)).unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(server.dl()).output();
    if !mounted.as_ref().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: a disk can be mounted by root alone ({mounted:?})");
        return;
    }
    let output = server.fetch("a", &[]).output().unwrap();
    let names = server.names();
    assert!(Command::new("umount").arg(server.dl()).status().unwrap().success());
    assert_eq!(output.status.code(), Some(1));
    assert!(says(&output).contains("No space left"), "{}", says(&output));
    assert!(names.is_empty(), "{names:?}");
}

/// Targets that are not regular files are refused before connecting, and stay as they are.
#[test]
fn places_that_are_no_files() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("plain"), "text").unwrap();
    symlink("plain", at("link")).unwrap();
    symlink("pipe", at("chain")).unwrap();
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    fs::create_dir_all(at("folder/a")).unwrap();
    for (out, what) in [
        ("link", "refusing to overwrite a symbolic link"),
        ("chain", "refusing to overwrite a symbolic link"),
        ("pipe", "refusing to overwrite a named pipe"),
        ("folder", "refusing to overwrite a folder"),
        ("-", "cannot write to standard output"),
    ] {
        let mut command = ackclock();
        command.current_dir(dir.path()).args([
            "fetch",
            "https://192.0.2.1/a",
            "--patience",
            "1s",
            "--out",
            out,
        ]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{out}");
        assert!(says(&output).contains(what), "{out}: {}", says(&output));
    }
    let link = |name: &str| fs::read_link(at(name)).unwrap();
    assert_eq!((link("link"), link("chain")), ("plain".into(), "pipe".into()));
    assert_eq!(fs::read_to_string(at("plain")).unwrap(), "text");
    assert!(fs::metadata(at("pipe")).unwrap().file_type().is_fifo());
    assert!(!at("-").exists());
}

/// Mistakes on the command line.
#[test]
fn mistakes() {
    for (args, says_it) in [
        (&["fetch", "http://h/a"][..], "only https"),
        (&["fetch", "https://h/"], "give one with --out"),
        (&["fetch", "https://h/a", "https://g/a"], "two servers"),
        (&["fetch", "https://h/a", "https://h/b/a"], "two files"),
        (&["fetch", "https://h/a", "https://h/b", "--out", "none/x"], "must be an existing folder"),
        (&["fetch", "https://h/a", "--insecure-accept", "00"], "SHA-256"),
        (&["fetch", "https://h/a", "--controller", "cubik"], "cubic"),
        (&["fetch", "https://h/a", "--range", "0-5"], "bytes=0-999"),
        (&["fetch", "https://h/a", "--range", "bytes=5-2"], "bytes=0-999"),
        (&["fetch", "https://h/a", "--range", "bytes=0-1,5-6"], "bytes=0-999"),
        (&["fetch", "https://h/a", "--range", ""], "bytes=0-999"),
        (&["serve", "--root", "/none/x"], "cannot serve"),
        (&["serve", "--root", "/", "--set", "beta=7"], "out of range"),
        (&["serve", "--root", "/", "--listen", "192.0.2.1:1"], "cannot bind a UDP socket"),
        (
            &["serve", "--root", "/", "--listen", "192.0.2.1:1", "--qlog", "/proc"],
            "cannot write qlog files to /proc",
        ),
        (
            &["serve", "--root", "/", "--listen", "192.0.2.1:1", "--qlog", "/proc/version"],
            "cannot write qlog files to",
        ),
    ] {
        let output = ackclock().args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(says(&output).contains(says_it), "{args:?}: {}", says(&output));
    }
}

/// Each connection leaves a log at both ends, and its secrets in the requested file.
#[test]
fn logs() {
    let dir = tempfile::tempdir().unwrap();
    let qlog = dir.path().join("qlog");
    let server = Server::start(&["--qlog", qlog.to_str().unwrap()]);
    fs::write(server.www("a"), noise(300_000)).unwrap();
    let secrets = dir.path().join("secrets");
    let more = ["--qlog", qlog.to_str().unwrap()];
    for _ in 0..2 {
        let output = server.fetch("a", &more).env("SSLKEYLOGFILE", &secrets).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", says(&output));
    }
    let mut server = server;
    interrupt(&server.child);
    assert_eq!(patient(&mut server.child, LONG), Some(0));
    let logs: Vec<PathBuf> = fs::read_dir(&qlog).unwrap().map(|entry| entry.unwrap().path()).collect();
    // The second fetch keeps the log of the first.
    assert_eq!(logs.len(), 4, "{logs:?}");
    for log in logs {
        let text = fs::read_to_string(&log).unwrap();
        assert!(text.lines().count() > 100 && text.contains("packet_received"), "{}", log.display());
    }
    assert!(fs::read_to_string(&secrets).unwrap().contains("CLIENT_TRAFFIC_SECRET_0"));
    assert_eq!(fs::metadata(&secrets).unwrap().permissions().mode() & 0o777, 0o600);
    let link = dir.path().join("link");
    symlink(&secrets, &link).unwrap();
    let output = server.fetch("a", &[]).env("SSLKEYLOGFILE", &link).output().unwrap();
    assert!(output.status.code() == Some(2) && says(&output).contains("symbolic link"), "{}", says(&output));
}

/// All logs of a server together have a limit, and are written up to it. Transfers go on.
#[test]
fn logs_have_a_limit() {
    let dir = tempfile::tempdir().unwrap();
    let qlog = dir.path().join("qlog");
    let mut command = ackclock();
    let command = command.args(["serve", "--quiet", "--qlog-limit", "100 kB", "--qlog"]).arg(&qlog);
    let mut server = Server::start_as(command.stderr(Stdio::piped()), &[]);
    fs::write(server.www("a"), noise(3_000_000)).unwrap();
    for _ in 0..2 {
        let output = server.fetch("a", &[]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", says(&output));
    }
    interrupt(&server.child);
    assert_eq!(patient(&mut server.child, LONG), Some(0));
    let bytes: u64 = fs::read_dir(&qlog).unwrap().map(|log| log.unwrap().metadata().unwrap().len()).sum();
    // Less than a record is left.
    assert!((98_000..=100_000).contains(&bytes), "{bytes}");
    let said = std::io::read_to_string(server.child.stderr.take().unwrap()).unwrap();
    assert_eq!(said.matches("reached 100 kB (--qlog-limit): server-1-127.0.0.1-").count(), 1, "{said}");
}

/// Short logs are written as long as they fit, with whole records. A header that does not fit
/// leaves no file.
#[test]
fn short_logs_have_a_limit() {
    let dir = tempfile::tempdir().unwrap();
    let qlog = dir.path().join("qlog");
    let mut command = ackclock();
    let command = command.args(["serve", "--quiet", "--qlog-limit", "8 kB", "--qlog"]).arg(&qlog);
    let mut server = Server::start_as(command.stderr(Stdio::piped()), &[]);
    fs::write(server.www("a"), "alpha").unwrap();
    for _ in 0..20 {
        let output = server.fetch("a", &[]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", says(&output));
    }
    interrupt(&server.child);
    assert_eq!(patient(&mut server.child, LONG), Some(0));
    let texts: Vec<String> =
        fs::read_dir(&qlog).unwrap().map(|log| fs::read_to_string(log.unwrap().path()).unwrap()).collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    assert!((6_000..=8_000).contains(&bytes) && (2..20).contains(&texts.len()), "{bytes} {}", texts.len());
    assert!(texts.iter().all(|text| text.starts_with('\x1e') && text.ends_with("}\n")), "{texts:?}");
    let said = std::io::read_to_string(server.child.stderr.take().unwrap()).unwrap();
    assert_eq!(said.matches("(--qlog-limit)").count(), 1, "{said}");
}

/// A server whose standard error nobody reads goes on, and ends at Ctrl-C.
#[test]
fn nobody_reads() {
    let mut server = Server::start_as(ackclock().arg("serve").stderr(Stdio::piped()), &[]);
    fs::write(server.www("a"), "alpha").unwrap();
    // More lines than a pipe and the queue hold. Without files nothing is left in the folder.
    let names: Vec<String> = (0..700).map(|n| format!("{n}{}", "x".repeat(200))).collect();
    let urls = names.iter().skip(1).map(|name| server.url(name));
    let output = server.fetch(&names[0], &["--hq"]).args(urls).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", says(&output));
    assert_eq!(says(&output).matches("the server answered 404").count(), 700);
    let output = server.fetch("a", &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", says(&output));
    interrupt(&server.child);
    assert_eq!(patient(&mut server.child, LONG), Some(0));
}

/// A server says what clients can take, and raises the number of its files to what is allowed.
#[test]
fn what_clients_can_take() {
    let shell = format!("ulimit -S -n 100 && exec {} serve --quiet \"$@\"", env!("CARGO_BIN_EXE_ackclock"));
    let server =
        Server::start_as(Command::new("sh").args(["-c", &shell, "sh"]), &["--max-connections", "10"]);
    assert_eq!(server.bounds, "10 connections, 5 of them from one host, 290 MB of memory, 256 open files");
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.child.id())).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let words: Vec<&str> = files.split_whitespace().collect();
    assert_eq!(words[3], words[4], "{files}");
    let server = Server::start(&["--max-per-host", "7"]);
    assert!(server.bounds.starts_with("100 connections, 7 of them from one host, "), "{}", server.bounds);
}

/// The printed number of open files is one that the process can have. Too few are refused.
#[test]
fn few_open_files() {
    let shell = format!("ulimit -n 40 && exec {} serve --quiet \"$@\"", env!("CARGO_BIN_EXE_ackclock"));
    let sh = || {
        let mut sh = Command::new("sh");
        sh.args(["-c", &shell, "sh"]);
        sh
    };
    let server = Server::start_as(&mut sh(), &[]);
    assert!(server.bounds.ends_with(" 24 open files"), "{}", server.bounds);
    // More files at once than may be open.
    let names: Vec<String> = (0..60).map(|n| format!("f{n}")).collect();
    names.iter().for_each(|name| fs::write(server.www(name), noise(100_000)).unwrap());
    let urls = names.iter().skip(1).map(|name| server.url(name));
    let output = server.fetch(&names[0], &[]).args(urls).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", says(&output));
    let dir = tempfile::tempdir().unwrap();
    let qlog = dir.path().join("qlog");
    let logs = ["--qlog", qlog.to_str().unwrap()];
    let server = Server::start_as(&mut sh(), &[&logs[..], &["--max-connections", "10"]].concat());
    assert!(server.bounds.ends_with(" 14 open files"), "{}", server.bounds);
    let output = sh().args(["--root", "/", "--listen", "127.0.0.1:0"]).args(logs).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let why = "the server needs 117 open files (100 for --qlog) and may have 40: run `ulimit -n 117` first, or lower --max-connections";
    assert!(says(&output).contains(why), "{}", says(&output));
}

/// Keys that do not fit the certificate, and kinds that are not supported.
#[test]
fn keys_that_do_not_fit() {
    let dir = tempfile::tempdir().unwrap();
    if !certificate_by_openssl(dir.path()) {
        println!("skipped: this machine has no openssl");
        return;
    }
    let openssl = |args: &str| {
        let made = Command::new("openssl").args(args.split(' ')).current_dir(dir.path()).output();
        assert!(made.is_ok_and(|output| output.status.success()), "{args}");
    };
    openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out other.key");
    openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-521 -out large.key");
    fs::write(dir.path().join("damaged.key"), pem("PRIVATE KEY", &[1, 2, 3])).unwrap();
    for (key, why) in [
        ("other.key", "the key is not that of the first certificate"),
        ("large.key", "the key is damaged or of an unsupported kind; supported: RSA of 2048"),
        ("damaged.key", "the key is damaged or of an unsupported kind"),
        ("/dev/zero", "cannot read the key in /dev/zero: not a regular file"),
    ] {
        let args = ["serve", "--root", "/", "--listen", "192.0.2.1:1", "--cert", "cert.pem", "--key", key];
        let output = ackclock().current_dir(dir.path()).args(args).output().unwrap();
        assert!(output.status.code() == Some(2) && says(&output).contains(why), "{key}: {}", says(&output));
    }
}

/// The printed command fetches a file as it is, and scripts read the fingerprint from a file.
#[test]
fn the_printed_command_works() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("fingerprint");
    fs::write(&file, "of an earlier server").unwrap();
    let server = Server::start(&["--fingerprint-file", file.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("{}\n", server.fingerprint));
    fs::write(server.www("a"), "alpha").unwrap();
    let line = server.command.replace("FILE", "a");
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(words[..2], ["ackclock", "fetch"], "{line}");
    let output = ackclock().args(&words[1..]).current_dir(server.dl()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{line}: {}", says(&output));
    assert_eq!(fs::read_to_string(server.dl().join("a")).unwrap(), "alpha");
}

/// The fingerprint replaces regular files only.
#[test]
fn fingerprint_files_that_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("plain"), "text").unwrap();
    symlink("plain", at("link")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    for name in ["link", "folder", "pipe"] {
        let args = ["serve", "--root", "/", "--listen", "192.0.2.1:1", "--fingerprint-file", name];
        let output = ackclock().current_dir(dir.path()).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(says(&output).starts_with(&format!("ackclock: cannot write {name}: ")), "{}", says(&output));
    }
    assert_eq!(fs::read_to_string(at("plain")).unwrap(), "text");
    assert!(fs::metadata(at("pipe")).unwrap().file_type().is_fifo());
}
