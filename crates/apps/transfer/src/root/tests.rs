use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use super::*;

/// Creates a folder to serve, with a secret file next to it.
fn world() -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir_all(root.join("sub")).unwrap();
    fs::write(dir.path().join("secret"), "secret").unwrap();
    fs::write(root.join("a"), "alpha").unwrap();
    fs::write(root.join("sub/b c"), "beta").unwrap();
    symlink("../secret", root.join("out")).unwrap();
    symlink(dir.path().join("secret"), root.join("absolute")).unwrap();
    symlink("..", root.join("up")).unwrap();
    symlink("sub/b c", root.join("inside")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    (Root::open(&root, 20).map(|open| (dir, open))).unwrap()
}

fn text(root: &Root, path: &str) -> Result<String, Refusal> {
    let file = root.file(path)?;
    let mut out = vec![0; usize::try_from(file.len()).unwrap()];
    file.read(0, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn files_below_the_root_alone() {
    let (_dir, root) = world();
    assert_eq!(text(&root, "/a"), Ok("alpha".to_owned()));
    assert_eq!(text(&root, "/sub/b%20c?x=/../..#y"), Ok("beta".to_owned()));
    for path in ["/out", "/absolute", "/up/secret", "/loop", "/none", "/a/b"] {
        assert_eq!(text(&root, path), Err(Refusal::NotFound), "{path}");
    }
    for path in ["/..", "/../secret", "/sub/../../secret", "/%2e%2e/secret", "/sub%2fb c", "a", ""] {
        assert_eq!(text(&root, path), Err(Refusal::Bad), "{path}");
    }
    for path in ["/", "//a", "/a/", "/./a", "/a%00", "/a%2", "/a%zz", "/a%"] {
        assert_eq!(text(&root, path), Err(Refusal::Bad), "{path}");
    }
    assert_eq!(text(&root, &format!("/{}", "x".repeat(MAX_PATH))), Err(Refusal::Bad));
    assert_eq!(text(&root, &format!("/{}", "x".repeat(300))), Err(Refusal::Bad));
}

/// Links inside the folder are followed only with `openat2`.
#[test]
fn links_inside() {
    let (_dir, root) = world();
    assert_eq!(text(&root, "/inside"), Ok("beta".to_owned()));
    let root = root.without_links().unwrap();
    assert_eq!(text(&root, "/sub/b c"), Ok("beta".to_owned()));
    for path in ["/inside", "/out", "/absolute", "/up/secret", "/loop"] {
        assert_eq!(text(&root, path), Err(Refusal::NotFound), "{path}");
    }
}

/// Opening a pipe does not block.
#[test]
fn no_folders_and_nothing_special() {
    let (dir, root) = world();
    let fifo = dir.path().join("root/fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for path in ["/sub", "/fifo"] {
        assert_eq!(text(&root, path), Err(Refusal::Forbidden), "{path}");
    }
}

/// A removed file can still be read. A modified file cannot.
#[test]
fn files_that_change_while_they_are_read() {
    let (dir, root) = world();
    let path = dir.path().join("root/a");
    let mut out = [0; 2];
    let file = root.file("/a").unwrap();
    fs::remove_file(&path).unwrap();
    file.read(1, &mut out).unwrap();
    assert_eq!(&out, b"lp");
    for changed in ["alph", "alphas", "ALPHA"] {
        fs::write(&path, "alpha").unwrap();
        let file = root.file("/a").unwrap();
        file.read(0, &mut out).unwrap();
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, changed).unwrap();
        // File systems round times of modification, some to two seconds.
        let later = before + std::time::Duration::from_secs(4);
        fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert_eq!(file.read(0, &mut out), Err(Refusal::Broken), "{changed}");
    }
}

/// A thousand requests hold few files open, and all can be read to the end, again and again. A file
/// that is replaced while it is not open is not mixed with the new one.
#[test]
fn a_thousand_requests_hold_few_files() {
    let (dir, root) = world();
    let path = dir.path().join("root/a");
    let opened = || {
        let all = fs::read_dir("/proc/self/fd").unwrap().flatten();
        all.filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| to.starts_with(&path))).count()
    };
    let files: Vec<Served> = (0..1000).map(|_| root.file("/a").unwrap()).collect();
    let mut out = [0; 5];
    for _ in 0..2 {
        for file in &files {
            file.read(0, &mut out).unwrap();
            assert_eq!(&out, b"alpha");
        }
        assert!(opened() <= 20, "{}", opened());
    }
    fs::write(dir.path().join("root/b"), "bravo").unwrap();
    fs::rename(dir.path().join("root/b"), &path).unwrap();
    assert_eq!(files[0].read(0, &mut out), Err(Refusal::Broken));
    files[999].read(0, &mut out).unwrap();
    assert_eq!(&out, b"alpha");
    drop(files);
    assert_eq!(opened(), 0);
}

/// Without descriptors the answer is that the server is busy, not that it is broken.
#[test]
fn no_descriptors() {
    for errno in [Errno::MFILE, Errno::NFILE] {
        assert_eq!((Refusal::from(errno), Refusal::from(errno).status()), (Refusal::Busy, 503));
    }
}
