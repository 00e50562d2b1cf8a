//! Asks a question: runs it until Ctrl-C, writes its page, and prints its answer.

use std::path::{Path, PathBuf};

use questions::{Lab, Question, cost};
use serde::Serialize;

use crate::interrupt;
use crate::output::tell;
use crate::places;
use crate::progress::Bar;
use crate::status::{Error, HOLDS, print};

/// Estimated seconds of one core above which the cost is announced.
const LONG: f64 = 60.0;

/// How an answer is printed.
pub(super) struct View {
    pub(super) json: bool,
    pub(super) verbose: bool,
}

/// Answers a question with results and page below `out`, and prints the answer. `name` is that of
/// the command.
pub(super) fn ask<Q>(name: &str, question: &Q, out: &Path, view: &View) -> Result<Q::Answer, Error>
where
    Q: Question<Answer: Serialize>,
{
    let answer = answer(name, question, out)?;
    show(question, &answer, view, |folder| page_dir(out, folder))?;
    Ok(answer)
}

/// Answers a question with results below `out`. `name` is that of the command.
pub(super) fn answer<Q: Question>(name: &str, question: &Q, out: &Path) -> Result<Q::Answer, Error> {
    let watch = interrupt::watch()?;
    let (options, progress) = (places::simulate(out.to_owned()), Bar::default());
    let lab = Lab { options: &options, progress: &progress, watch: &watch };
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

/// Writes the page of an answer to the folder that `dir` returns for its names, and prints the
/// answer. Returns the exit status.
pub(super) fn show<Q>(
    question: &Q,
    answer: &Q::Answer,
    view: &View,
    dir: impl Fn(&[String]) -> PathBuf,
) -> Result<u8, Error>
where
    Q: Question<Answer: Serialize>,
{
    let mut shown = match view.json {
        true => serde_json::to_string_pretty(answer).map_err(Error::bad)? + "\n",
        false => question.text(answer, view.verbose),
    };
    if let Some(page) = question.page(answer) {
        let dir = dir(&page.folder);
        let word = page.word();
        let unwritten = |e| Error::bad(format!("cannot write the {word} to {}: {e}", dir.display()));
        let place = page.write(&dir).map_err(unwritten)?;
        if !view.json {
            shown += &format!("{word}: {place}\n");
        }
    }
    print(&shown);
    Ok(HOLDS)
}
