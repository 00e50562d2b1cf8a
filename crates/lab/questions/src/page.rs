//! The page of an answer.

use std::io;
use std::path::Path;

use report::Block;
use results::summary::Results;
use stability::Analysis;

/// An answer as a page.
#[derive(Debug)]
pub struct Page<'a> {
    /// Names of its folders, one below the other. They may have any characters.
    pub folder: Vec<String>,
    pub content: Content<'a>,
}

/// Content of a page.
#[derive(Debug)]
pub enum Content<'a> {
    /// An answer, followed by the results behind it.
    Answer {
        title: String,
        /// The answer, for the beginning of the page.
        blocks: Vec<Block>,
        /// Results that the rest of the page shows.
        results: &'a [Results],
    },
    /// A loop with its plots.
    Stability(&'a Analysis),
    /// Tables by the names of their files.
    Numbers(Vec<(&'static str, String)>),
}

impl Page<'_> {
    /// Returns the word for it in messages.
    pub fn word(&self) -> &'static str {
        match self.content {
            Content::Answer { .. } => "report",
            Content::Stability(_) => "page",
            Content::Numbers(_) => "numbers",
        }
    }

    /// Writes the page to a folder. Returns the paths of its files for the reader.
    ///
    /// # Errors
    /// Fails if the file system refuses.
    pub fn write(&self, dir: &Path) -> io::Result<String> {
        match &self.content {
            Content::Answer { title, blocks, results } => {
                let page = report::write_answer(dir, title, blocks, results)?;
                Ok(page.display().to_string())
            }
            Content::Stability(analysis) => Ok(report::write_stability(dir, analysis)?.display().to_string()),
            Content::Numbers(files) => {
                report::write_numbers(dir, files)?;
                let names = files.iter().map(|(name, _)| dir.join(name).display().to_string());
                Ok(names.collect::<Vec<_>>().join(", "))
            }
        }
    }
}
