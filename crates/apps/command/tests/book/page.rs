//! Pages of the documentation.

use std::fs;
use std::path::{Path, PathBuf};

/// A Markdown file.
pub struct Page {
    pub path: PathBuf,
    pub text: String,
}

/// A fenced block of code.
#[derive(Debug)]
pub struct Block {
    /// Words after the fence: `sh`, `toml,file=study.toml`.
    pub info: String,
    pub text: String,
    /// Reason why it is not run, from `<!-- by hand: REASON -->` on the line before it.
    pub by_hand: Option<String>,
    /// Number of its first line.
    pub line: usize,
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_root = |folder: &&Path| folder.join("Cargo.lock").exists() && folder.join("docs").exists();
    here.ancestors().find(is_root).expect("the tests run in the repository").to_owned()
}

/// Returns the folder of the book's pages.
pub fn book() -> PathBuf {
    root().join("docs/src")
}

impl Page {
    pub fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Self { path, text }
    }

    /// Returns its path within the repository.
    pub fn name(&self) -> String {
        self.path.strip_prefix(root()).unwrap_or(&self.path).display().to_string()
    }

    /// Returns its fenced blocks.
    pub fn blocks(&self) -> Vec<Block> {
        let (mut blocks, mut open): (Vec<Block>, Option<Block>) = (Vec::new(), None);
        let mut reason = None;
        for (number, line) in self.text.lines().enumerate() {
            match (&mut open, line.strip_prefix("```")) {
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(block), None) => block.text += &format!("{line}\n"),
                (None, Some(info)) => {
                    let (info, by_hand) = (info.trim().to_owned(), reason.take());
                    open = Some(Block { info, text: String::new(), by_hand, line: number + 1 });
                }
                (None, None) => {
                    let mark = line.strip_prefix("<!-- by hand: ").and_then(|rest| rest.strip_suffix(" -->"));
                    reason = mark.map(str::to_owned);
                }
            }
        }
        blocks
    }

    /// Returns the text without fenced blocks.
    pub fn prose(&self) -> String {
        let mut inside = false;
        let outside = |line: &&str| {
            let is_fence = line.trim_start().starts_with("```");
            inside ^= is_fence;
            !inside && !is_fence
        };
        self.text.lines().filter(outside).collect::<Vec<_>>().join("\n")
    }
}

/// Returns the Markdown files below a folder, sorted by path.
pub fn pages(folder: &Path) -> Vec<Page> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                folders.push(path);
            } else if name.ends_with(".md") {
                all.push(Page::read(path));
            }
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
}
