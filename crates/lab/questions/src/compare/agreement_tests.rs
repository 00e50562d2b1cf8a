//! Compares short answers with long ones, in some ten minutes: `cargo test --release -p
//! ackclock-questions --lib agreement -- --ignored --nocapture`.
//!
//! 200 networks are drawn from a fixed seed, 50 of them with a ratio from 1.02 to 1.08. Each has
//! the answer of `compare`, and that of 30 pairs of runs twice as long on other seeds.

use congestion::Registry;
use experiment::place::Place;
use results::summary::Results;
use scenario::Watch;
use sim::Simulator;
use study::{Options, Places, Program, Silent};
use units::Rng;

use super::pairs::Goodputs;
use super::question::{Asked, Kind, Question, Seeds};
use crate::Lab;
use crate::decision::{MOST_PAIRS, Rule, Verdict};
use crate::ratio::Ratio;
use experiment::row::RowLabel;

const NETWORKS: usize = 200;
const CLOSE: usize = 50;
const BAND: std::ops::Range<f64> = 1.02..1.08;
const MARGIN: f64 = 0.05;
const CONTROLLERS: [&str; 5] = ["cubic", "new-reno", "bbr3", "illinois", "westwood-plus"];

fn drawn(rng: &mut Rng) -> Asked {
    let mut between = |low: f64, high: f64| low * libm::pow(high / low, rng.unit());
    let (rate, rtt, queue) = (between(1.0, 20.0), between(10.0, 150.0), between(0.2, 4.0));
    let loss = between(0.001, 1.0);
    let loss = if loss < 0.005 { 0.0 } else { loss };
    // A queue that holds a few packets.
    let queue = queue.max(8.0 * 5_000.0 * 1e-3 / (rate * rtt));
    let link = format!("rate={rate:.2} Mbit/s rtt={rtt:.1} ms queue={queue:.2} BDP loss={loss:.4} %");
    let one = (rng.unit() * CONTROLLERS.len() as f64) as usize;
    let other = (one + 1 + (rng.unit() * (CONTROLLERS.len() - 1) as f64) as usize) % CONTROLLERS.len();
    Asked {
        controllers: [one, other].map(|i| CONTROLLERS[i].to_owned()).to_vec(),
        link,
        flow: None,
        vary: None,
        against: None,
        time: None,
        repeat: None,
        margin: MARGIN,
        stacks: Vec::new(),
        registry: Registry::default(),
    }
}

fn decided(question: &Question, results: &Results, rule: &Rule) -> (Ratio, Verdict) {
    let labels = [0, 1].map(|i| RowLabel::new(&question.controllers[i].label, Place::SIM));
    let goodputs = Goodputs::new([results], question.least());
    goodputs.decide(rule, &results.summary.variants[0].name, [&labels[0], &labels[1]]).unwrap()
}

fn shown((ratio, verdict): &(Ratio, Verdict)) -> String {
    format!("{verdict:?} {:.3} ({:.3} to {:.3})", ratio.value, ratio.low, ratio.high)
}

/// Answers a question as `compare` does, then with long runs. Returns both, and the pairs of the
/// first. `None` if the ratio is not wanted.
fn both(asked: &Asked, wanted: impl Fn(f64) -> bool) -> Option<[(Ratio, Verdict); 2]> {
    let out = tempfile::tempdir().unwrap();
    let places = Places::default().with(Place::SIM, Simulator);
    let options = Options::simulate(out.path().to_owned(), places, Program::default());
    let lab = Lab { options: &options, progress: &Silent, watch: &Watch::default() };
    let mut question = Question::new(asked).unwrap();
    let run =
        |question: &Question, seeds| lab.run(&question.experiment(Kind::Long, seeds).unwrap(), &options);
    let (results, _, pairs) = question.long_flows(&|_: &Kind, seeds| run(&question, seeds)).unwrap();
    let rule = question.rule.clone();
    let short = decided(&question, &results, &rule);
    if !wanted(short.0.value.max(1.0 / short.0.value)) {
        return None;
    }
    let length = question.to - question.from;
    question.to = question.from + length * 2;
    question.rule = Rule::once(MOST_PAIRS, MARGIN);
    let (results, _) = run(&question, Seeds { skipped: 1000, count: MOST_PAIRS }).unwrap();
    let long = decided(&question, &results, &question.rule);
    println!(
        "{pairs} pairs: {}; long: {}; {:?} {}",
        shown(&short),
        shown(&long),
        asked.controllers,
        asked.link
    );
    Some([short, long])
}

#[test]
#[ignore = "makes some 20 000 runs"]
fn with_longer_runs_on_other_seeds() {
    let mut rng = Rng::stream(47, "networks");
    let (mut close, mut others) = (0, 0);
    let (mut reversed, mut changed, mut open) = (0, 0, 0);
    while close + others < NETWORKS {
        let room = (close < CLOSE, others < NETWORKS - CLOSE);
        let wanted = |ratio: f64| if BAND.contains(&ratio) { room.0 } else { room.1 };
        let Some([short, long]) = both(&drawn(&mut rng), wanted) else { continue };
        match BAND.contains(&short.0.value.max(1.0 / short.0.value)) {
            true => close += 1,
            false => others += 1,
        }
        match (short.1, long.1) {
            (Verdict::More, Verdict::Less) | (Verdict::Less, Verdict::More) => reversed += 1,
            (Verdict::Undecided, Verdict::Undecided) | (_, Verdict::Undecided) => {}
            (Verdict::Undecided, _) => open += 1,
            (short, long) => changed += usize::from(short != long),
        }
    }
    println!("{reversed} reversed, {changed} more against equal, {open} that only the long runs decide");
    assert!(reversed == 0 && changed <= 5 && open <= 20);
}
