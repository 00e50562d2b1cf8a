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
    (Root::open(&root).map(|open| (dir, open))).unwrap()
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
    let root = root.without_links();
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
