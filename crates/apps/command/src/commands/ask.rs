//! Asks a question: runs it until Ctrl-C, writes its page, and prints its answer.

use std::path::{Path, PathBuf};

use questions::{Lab, Question, cost};
use serde::Serialize;

use crate::output::tell;
use crate::session::Session;
use crate::status::{Error, HOLDS, print};

/// Estimated seconds of one core above which the cost is announced.
const LONG: f64 = 60.0;

/// How an answer is printed.
pub(super) struct View {
    pub(super) json: bool,
    pub(super) verbose: bool,
}

/// An answer of a question, in every form that it has.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// The answer for a terminal.
    pub text: String,
    /// The same with all details.
    pub details: String,
    /// Numbers of the answer as JSON.
    pub json: String,
    /// The page or the tables that were written: what they are, and their paths.
    pub page: Option<(&'static str, String)>,
    /// Exit status of the command.
    pub status: u8,
}

impl Answered {
    /// Prints the answer. Returns the exit status.
    pub(super) fn print(&self, view: &View) -> u8 {
        if view.json {
            print(&self.json);
            return self.status;
        }
        let mut text = if view.verbose { self.details.clone() } else { self.text.clone() };
        if let Some((word, place)) = &self.page {
            text += &format!("{word}: {place}\n");
        }
        print(&text);
        self.status
    }
}

/// Answers a question with results and page below `out`. `name` is that of the command.
pub(super) fn ask<Q>(
    name: &str,
    question: &Q,
    out: &Path,
    session: &Session<'_>,
) -> Result<(Q::Answer, Answered), Error>
where
    Q: Question<Answer: Serialize>,
{
    let answer = answer(name, question, out, session)?;
    let shown = show(question, &answer, |folder| page_dir(out, folder))?;
    Ok((answer, shown))
}

/// Answers a question with results below `out`. `name` is that of the command.
pub(super) fn answer<Q: Question>(
    name: &str,
    question: &Q,
    out: &Path,
    session: &Session<'_>,
) -> Result<Q::Answer, Error> {
    let options = session.options(out.to_owned());
    let lab = Lab { options: &options, progress: session.progress, watch: session.watch };
    let work = question.check(&lab)?;
    if work.seconds > LONG || work.announced {
        tell(&format!("{name}: takes about {} on one core{}", cost::time(work.seconds), work.covers));
    }
    Ok(question.answer(&lab)?)
}

/// Returns the folder of a page with these names, below that of the results.
pub(super) fn page_dir(out: &Path, folder: &[String]) -> PathBuf {
    folder.iter().fold(out.join("report"), |dir, name| dir.join(name))
}

/// Writes the page of an answer to the folder that `dir` returns for its names. Returns the answer in
/// every form.
pub(super) fn show<Q>(
    question: &Q,
    answer: &Q::Answer,
    dir: impl Fn(&[String]) -> PathBuf,
) -> Result<Answered, Error>
where
    Q: Question<Answer: Serialize>,
{
    let [text, details] = [false, true].map(|all| question.text(answer, all));
    let json = serde_json::to_string_pretty(answer).map_err(Error::bad)? + "\n";
    let write = |page: questions::Page<'_>| {
        let dir = dir(&page.folder);
        let word = page.word();
        let unwritten = |e| Error::bad(format!("cannot write the {word} to {}: {e}", dir.display()));
        Ok::<_, Error>((word, page.write(&dir).map_err(unwritten)?))
    };
    let page = question.page(answer).map(write).transpose()?;
    Ok(Answered { text, details, json, page, status: HOLDS })
}
