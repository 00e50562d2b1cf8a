//! Questions as functions: no terminal, no process-wide state, any thread.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use ackclock_questions::compare::Asked;
use ackclock_questions::{Content, Failure, Lab, Question, compare, conform, diff, stability};
use congestion::Registry;
use experiment::place::Place;
use scenario::Watch;
use sim::Simulator;
use stack::{Stack, VirtualTime};
use study::{Options, Places, Program, Progress, State};

/// Progress that counts the studies with runs to make.
#[derive(Default)]
struct Studies(AtomicUsize);

impl Progress for Studies {
    fn update(&self, state: &State<'_>) {
        assert!(state.runs > 0);
    }

    fn done(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn options(out: &Path) -> Options {
    let places =
        Places::default().with(Place::SIM, Simulator).with(Place::STACK, VirtualTime(Stack::Ackclock));
    Options::simulate(out.to_owned(), places, Program::default())
}

/// Checks a question, answers it, and returns the answer as JSON, as text, and as the title of its
/// page.
fn answered<Q: Question>(question: &Q, lab: &Lab<'_>) -> (Q::Answer, String, Option<String>) {
    assert!(question.check(lab).unwrap().seconds >= 0.0);
    let answer = question.answer(lab).unwrap();
    let text = question.text(&answer, true);
    let title = question.page(&answer).map(|page| match page.content {
        Content::Answer { title, .. } => title,
        _ => String::new(),
    });
    (answer, text, title)
}

fn asked() -> Asked {
    Asked {
        controllers: ["cubic", "new-reno"].map(str::to_owned).to_vec(),
        link: "rate=5 Mbit/s rtt=20 ms queue=1 BDP".to_owned(),
        flow: None,
        vary: None,
        against: None,
        time: Some(units::Duration::from_secs(6)),
        repeat: Some(2),
        margin: 0.05,
        stacks: Vec::new(),
        registry: Registry::default(),
    }
}

#[test]
fn controllers_are_compared_and_results_differ() {
    let out = tempfile::tempdir().unwrap();
    let options = options(out.path());
    let studies = Studies::default();
    let ask = |asked: &Asked| {
        let lab = Lab { options: &options, progress: &studies, watch: &Watch::default() };
        answered(&compare::Question::new(asked).unwrap(), &lab)
    };
    let (answer, text, title) = std::thread::scope(|scope| scope.spawn(|| ask(&asked())).join().unwrap());
    assert_eq!(answer.ranking.len(), 2);
    assert!(text.contains(&answer.ranking[0].label) && text.contains("cubic"), "{text}");
    assert!(title.is_some_and(|title| title.starts_with("cubic, new-reno on rate=5 Mbit/s")));
    let json = serde_json::to_value(&answer).unwrap();
    assert_eq!(json["results"].as_array().unwrap().len(), 3);
    let ran = studies.0.load(Ordering::Relaxed);
    let again = ask(&asked());
    assert_eq!((again.1, serde_json::to_value(&again.0).unwrap()), (text, json));

    // A link without a queue has that of a question without a link, and the first sentence says so.
    let bare = ask(&Asked { link: "rate=5 Mbit/s rtt=30 ms".to_owned(), ..asked() });
    let given = ask(&Asked { link: "rate=5 Mbit/s rtt=30 ms queue=1 BDP".to_owned(), ..asked() });
    assert_eq!(
        serde_json::to_value(&bare.0.ranking).unwrap(),
        serde_json::to_value(&given.0.ranking).unwrap()
    );
    let first = bare.1.split(". ").next().unwrap().replace("\n  ", " ");
    assert!(
        first.contains("on a link with rate=5 Mbit/s rtt=30 ms queue=1 BDP (default), within"),
        "{first}"
    );

    let slow = compare::Question::new(&Asked { link: "rate=1 Mbit/s rtt=5 ms".to_owned(), ..asked() });
    assert!(format!("{:?}", slow.unwrap()).contains("queue=10 packets (default)"), "a BDP is 625 bytes");

    // The same question on half the rate, compared with the first.
    let slower = ask(&Asked { link: asked().link.replace("rate=5", "rate=2.5"), ..asked() });
    assert!(ran > 0 && studies.0.load(Ordering::Relaxed) > ran);
    let set = |answer: &compare::Answer, name: &str| diff::Set {
        name: name.to_owned(),
        results: answer.results.iter().map(|of| diff::Measured::load(&of.path).unwrap()).collect(),
    };
    let rules = vec!["goodput -3 %", "goodput +3 %"].into_iter().map(|rule| diff::Rule::read(rule).unwrap());
    let (before, after, rules) = (set(&answer, "five"), set(&slower.0, "half"), rules.collect());
    let lab = Lab { options: &options, progress: &studies, watch: &Watch::default() };
    let (changes, text, page) = answered(&diff::Question { before, after, rules }, &lab);
    assert!(changes.broken().count() > 0 && changes.broken().all(|c| c.broken() == Some("goodput -3 %")));
    assert!(text.contains("break") && page.is_none(), "{text}");
    assert!(changes.junit().contains("<failure"));
}

#[test]
fn a_stack_is_checked() {
    let out = tempfile::tempdir().unwrap();
    let options = options(out.path());
    let question = conform::Question::new(&conform::Asked {
        stack: "ackclock".to_owned(),
        place: Place::STACK,
        controller: "new-reno".to_owned(),
        kernel: false,
        quick: true,
        repeat: Some(1),
        registry: Registry::default(),
    });
    let lab = Lab { options: &options, progress: &study::Silent, watch: &Watch::default() };
    let (answer, text, title) = answered(&question.unwrap(), &lab);
    assert!(answer.conforms && !answer.cells.is_empty(), "{text}");
    assert!(text.starts_with("new-reno in ackclock conforms to RFC 9002"), "{text}");
    assert_eq!(title.as_deref(), Some("new-reno in ackclock compared with RFC 9002"));
}

/// Mistakes name the field, as the command names its flag.
#[test]
fn mistakes_name_their_field() {
    let wrong = |asked: Asked| compare::Question::new(&asked).unwrap_err();
    let failure = wrong(Asked { link: "rate=5 Mbit/s rtt=20 ms queue=1 BDPs".to_owned(), ..asked() });
    assert!(matches!(&failure, Failure::Fields(all) if all[0].file == "link"), "{failure}");
    let failure = wrong(Asked { vary: Some("queue=2..1 BDP".to_owned()), ..asked() });
    assert!(failure.to_string().starts_with("vary \"queue=2..1 BDP\": a range must"), "{failure}");
    let failure = wrong(Asked { controllers: vec!["cubic".to_owned()], ..asked() });
    assert!(failure.to_string().contains("name two or more"), "{failure}");
}

/// A stopped question keeps its finished runs, and says so.
#[test]
fn a_question_can_be_stopped() {
    let out = tempfile::tempdir().unwrap();
    let (options, watch) = (options(out.path()), Watch::default());
    watch.stop.store(true, Ordering::Relaxed);
    let lab = Lab { options: &options, progress: &study::Silent, watch: &watch };
    let stopped = compare::Question::new(&asked()).unwrap().answer(&lab).unwrap_err();
    assert!(matches!(stopped, Failure::Study(study::Failure::Interrupted(_))), "{stopped}");
}

#[test]
fn a_loop_is_analysed() {
    let options = options(Path::new(""));
    let lab = Lab { options: &options, progress: &study::Silent, watch: &Watch::default() };
    let asked = stability::Asked {
        algorithm: "dccc".to_owned(),
        rtt: Some(units::Duration::from_millis(100)),
        rate: Some(units::Rate(1_000_000)),
        links: 1,
        ..stability::Asked::default()
    };
    let (answer, text, page) = answered(&stability::Question::new(&asked).unwrap(), &lab);
    assert!(matches!(answer, stability::Answer::Loop(_)) && page.is_some());
    assert!(text.contains("margin"), "{text}");
    let unknown = stability::Asked { algorithm: "cubic".to_owned(), ..asked };
    assert!(stability::Question::new(&unknown).unwrap_err().to_string().contains("no stability analysis"));
}
