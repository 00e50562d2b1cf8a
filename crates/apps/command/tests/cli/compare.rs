//! `ackclock compare`: the screen, the report and refusals.

use crate::*;

/// The answer fits one screen of 80 columns: verdict, ranking and reasons.
#[test]
fn compares() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let link = "rate=10 Mbps rtt=40 ms queue=1 BDP loss=0.5 %";
    let compare = |more: &[&str]| {
        let args =
            ["compare", "new-reno", "bbr", "--link", link, "--time", "12 s", "--repeat", "3", "--out", out];
        ackclock(&[&args, more].concat())
    };
    let done = compare(&[]);
    let screen = text(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    assert!(screen.lines().count() <= 27, "{screen}");
    // The goodput of the competitor, and the random elements.
    let flat = screen.replace("-\n  ", "-").replace("\n  ", " ");
    let kept = flat.split_once("Against bbr3, new-reno gets ").expect("the goodput of the competitor").1;
    let end = " % of its goodput against another new-reno.";
    assert!(kept.contains(end) || kept.contains(") of its goodput against another new-reno."), "{screen}");
    assert!(flat.contains("beside one flow of new-reno: Mbit/s, its Mbit/s"), "{screen}");
    assert!(flat.contains("Random between runs: losses and start times."), "{screen}");
    let long = tree(dir.path())
        .into_iter()
        .find(|(name, _)| name.ends_with("summary.json") && name.contains("long"));
    assert!(text(&long.unwrap().1).contains("\"utilization @ measure\""), "the window of the goodput");
    assert!(screen.starts_with("bbr3 achieves ") && screen.contains("the goodput of new-reno"), "{screen}");
    assert!(flat.contains("losses are random") && flat.contains("Mathis et al. 1997"), "{screen}");
    let page = fs::read_to_string(dir.path().join("report/compare/index.html")).unwrap();
    let verdict = screen.lines().next().unwrap();
    assert!(
        page.contains(&format!("<p>{verdict}")) && page.find("<p>") < page.find("<svg"),
        "the answer first"
    );

    let json: serde_json::Value = serde_json::from_slice(&compare(&["--json"]).stdout).unwrap();
    let best = &json["ranking"][0];
    let ratio = &json["ranking"][1]["best_over_this"];
    assert_eq!(best["label"], "bbr3");
    let quotient =
        best["long"]["goodput"].as_f64().unwrap() / json["ranking"][1]["long"]["goodput"].as_f64().unwrap();
    // The geometric mean of the pairs is close to the quotient of the means.
    assert!((ratio["value"].as_f64().unwrap() / quotient - 1.0).abs() < 0.01, "{json}");
    assert_eq!((&json["ranking"][1]["verdict"], &json["pairs"]), (&"more".into(), &3.into()), "{json}");
    assert!(ratio["low"].as_f64().unwrap() > 1.0 && ratio["low"].as_f64() < ratio["high"].as_f64(), "{json}");
    for (number, name) in ["compare/long-flows", "compare/beside", "compare/start-up"].iter().enumerate() {
        check_stored(&json["results"][number], name);
    }

    let swept = text(&compare(&["--vary", "queue=0.5, 2 BDP", "--against", "cubic"]).stdout);
    assert!(
        swept.contains("with one of cubic") && swept.contains("0.5 BDP") && swept.contains("2 BDP"),
        "{swept}"
    );
    assert!(swept.lines().all(|line| line.chars().count() <= 80) && swept.lines().count() <= 40, "{swept}");
    assert!(swept.contains("Highest goodput") && swept.contains("bbr3 "), "{swept}");
    let numbers = |line: &str| line.starts_with("     0.5 BDP").then(|| !line.contains(" 0 "));
    let rows: Vec<bool> = swept.lines().filter_map(numbers).collect();
    assert!(!rows.is_empty() && rows.iter().all(|all| *all), "no row without numbers: {swept}");
    for says in ["mean RTT, ms", "loss, %", "competitor, Mbit/s", "Lowest mean RTT: "] {
        assert!(swept.contains(says), "{says}: {swept}");
    }
    let pages: String = tree(&dir.path().join("report/compare")).iter().map(|(_, page)| text(page)).collect();
    assert!(pages.contains("Mean RTT on ") && pages.contains("Loss on "), "charts of delay and loss");
}

/// Formulas of a single drop-tail link are not applied to other networks, and the text says what
/// the intervals cover.
#[test]
fn compares_on_other_networks() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let on = |link: &str| {
        let args =
            ["compare", "cubic", "bbr", "--link", link, "--time", "9 s", "--repeat", "2", "--out", out];
        let done = ackclock(&args);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        text(&done.stdout).replace("\n  ", " ")
    };
    let managed = on("rate=10 Mbps rtt=40 ms queue=4 BDP loss=0.5 % aqm=pie");
    assert!(
        managed
            .contains("The network has `pie` in its queue: formulas and reasons for a single drop-tail link"),
        "{managed}"
    );
    assert!(!managed.contains("Closed form") && !managed.contains("BDP in flight"), "{managed}");
    assert!(managed.contains("Random between runs: losses, the AQM and start times."), "{managed}");
    let plain = on("rate=10 Mbps rtt=40 ms queue=1 BDP");
    assert!(
        plain.contains("Only start times vary between runs") && !plain.contains("The network has"),
        "{plain}"
    );
}

/// Without an arrived packet there is no RTT, no formula and no share, and the verdict says what to
/// change. On a link with steps the share of the link is that of the integral of its rate.
#[test]
fn compares_where_nothing_arrives_and_on_steps() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let on = |link: &str, more: &[&str]| {
        let args =
            ["compare", "cubic", "bbr", "--link", link, "--time", "9 s", "--repeat", "2", "--out", out];
        let done = ackclock(&[&args, more].concat());
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        text(&done.stdout)
    };
    let lost = "rate=10 Mbps rtt=40 ms queue=1 BDP loss=100 %";
    let screen = on(lost, &[]).replace("\n  ", " ");
    let verdict =
        format!("No data arrives from 3 s to 9 s on a link with {lost}: `loss` is 100 %; lower it.");
    assert!(screen.starts_with(&verdict), "{screen}");
    let row = "cubic              0   0 %       -       - 100.000       -      -      -\n";
    assert!(screen.contains(row) && screen.contains("bbr3               0         0   -, -\n"), "{screen}");
    assert!(screen.contains("bbr3: sent packets, but none arrived, so there is no RTT\n"), "{screen}");
    assert!(!screen.contains("Closed form") && !screen.contains("BDP in flight"), "{screen}");
    let json: serde_json::Value = serde_json::from_str(&on(lost, &["--json"])).unwrap();
    let [best, beside] = [&json["ranking"][0]["long"], &json["ranking"][0]["beside"]];
    assert!(best["rtt_mean"].is_null() && beside["share"].is_null() && best["loss"] == 100.0, "{json}");
    let swept = on("rate=10 Mbps rtt=40 ms queue=1 BDP", &["--vary", "loss=1, 100 %"]).replace("\n  ", " ");
    assert!(swept.contains("none (no packet arrives) at 100 %."), "{swept}");
    assert!(swept.contains(" 100 %           0       0           -       - "), "{swept}");

    let steps = "rate=[['0 s','10 Mbit/s'],['5 s','2 Mbit/s']] rtt=40 ms queue=1 BDP";
    let json: serde_json::Value = serde_json::from_str(&on(steps, &["--json"])).unwrap();
    let long = &json["ranking"][0]["long"];
    // 2.02 s of 10 Mbit/s and 3.98 s of 2 Mbit/s arrive, with 1215 of 1294 bytes of data.
    let capacity = (2.02 * 10.0 + 3.98 * 2.0) / 6.0 * 1215.0 / 1294.0;
    let share = long["goodput"].as_f64().unwrap() / capacity;
    assert!((long["of_link"].as_f64().unwrap() - share).abs() < 1e-9 && share <= 1.0, "{json}");
    assert!(on(steps, &[]).contains(" 100 %   "), "its share on the screen");
    let policer = on("rate=10 Mbps rtt=40 ms policer=30 kB", &[]).replace("\n  ", " ");
    assert!(policer.contains("the bucket has no queue and drops what is above its rate"), "{policer}");
    assert!(!policer.contains("the queue overflows"), "{policer}");
}

/// A comparison on real endpoints: screen and page name the stacks, and each stack has its own
/// rows.
#[test]
fn compares_on_the_stack() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let compare = |more: &[&str]| {
        let link = "rate=4 Mbps rtt=20 ms queue=1 BDP";
        let args = ["compare", "cubic", "new-reno", "--link", link, "--time", "6 s", "--repeat", "2"];
        let done = ackclock(&[&args, &["--out", out, "--on", "stack"][..], more].concat());
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        text(&done.stdout)
    };
    let screen = compare(&[]);
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let flat = screen.replace("\n  ", " ");
    let place = "run on real QUIC endpoints (ackclock)";
    assert!(flat.contains(place) && flat.contains("Goodput in the simulator, Mbit/s: "), "{screen}");
    let page = fs::read_to_string(dir.path().join("report/compare/index.html")).unwrap();
    assert!(page.replace("&#39;", "'").contains(place), "the page says it too");
    let json: serde_json::Value = serde_json::from_str(&compare(&["--json"])).unwrap();
    let [best, next] = [0, 1].map(|i| &json["ranking"][i]);
    assert!(best["on"] == "stack" && next["on"] == "stack", "the simulator's rows are not compared: {json}");
    let [here, there] = [&best["long"]["goodput"], &best["simulated"]].map(|n| n.as_f64().unwrap());
    assert!(here != there && (here / there - 1.0).abs() < 0.02, "{here} for {there}");

    if cfg!(feature = "others") {
        let both = compare(&["--stack", "noq,ackclock,noq", "--vary", "queue=0.5, 2 BDP"]);
        let says = ["cubic (noq)", "new-reno (s", "run on real QUIC endpoints (noq and ackclock)"];
        let flat = both.replace("\n  ", " ");
        assert!(says.iter().all(|says| flat.contains(says)), "{both}");
    }
}

#[test]
fn comparisons_that_cannot_be_made() {
    for (args, says) in [
        (&["cubic", "--link", "rate=1 Mbit/s rtt=5 ms"][..], "name two or more"),
        (&["cubic", "cubic", "--link", "rate=1 Mbit/s rtt=5 ms"], "`cubic` is given twice"),
        (
            &["cubic", "bbr9", "--link", "rate=1 Mbit/s rtt=5 ms"],
            "unknown algorithm `bbr9`; did you mean \"bbr",
        ),
        (
            &["cubic", "bbr", "--link", "rate=1 Mbit/s rt=5 ms"],
            "--link: rt: unknown key; did you mean \"rtt\"?",
        ),
        (&["cubic", "bbr", "--link", "rate=1 Mbit/s rtt=5 ms", "--vary", "queue=2..1 BDP"], "must rise"),
        (
            &["cubic", "bbr", "--link", "rate=1 Mbit/s rtt=5 ms", "--vary", "quee=1..2 BDP"],
            "did you mean \"queue\"",
        ),
        (
            &["cubic", "bbr", "--link", "no-such-file"],
            "--link \"no-such-file\": not a link, a network or an experiment; `ackclock networks` lists the networks; or write a link like",
        ),
        (
            &["cubic", "bbr", "--link", "rate=1 Mbit/s rtt=5 ms", "--stack", "noq"],
            "--stack: requires --on stack",
        ),
        (
            &["cubic", "bbr", "--link", "rate=1 Mbit/s rtt=5 ms", "--on", "stack", "--flow", "transport=tcp"],
            "cubic cannot run on the stack: flow: it uses TCP",
        ),
        #[cfg(feature = "others")]
        (
            &["cubic", "bbr", "--link", "rate=1 Mbit/s rtt=5 ms", "--on", "stack", "--stack", "quinn"],
            "bbr3 does not run in quinn",
        ),
        (&["cubic", "{ name = }", "--link", "rate=1 Mbit/s rtt=5 ms"], "is not valid TOML"),
        (&["cubic", "bbr", "--time", "0 s"], "must be longer than 0 s"),
        (&["cubic", "bbr", "--flow", "controller=vegas"], "--flow: controller: the comparison sets it; name"),
        (&["cubic", "bbr", "--flow", "label=x"], "--flow: label: the comparison sets it; label a controller"),
        (&["cubic", "bbr", "--flow", "count=2"], "--flow: count: the comparison runs one flow alone"),
        (&["cubic", "bbr", "--flow", "transfer=1 MB"], "--flow: transfer: the comparison runs bulk flows"),
        (&["cubic", "bbr", "--flow", "stop=10 s"], "--flow: stop: the comparison runs bulk flows"),
        (&["cubic", "bbr", "--flow", "pauses=[['6 s', '30 s']]"], "set their duration with --time"),
        (
            &["cubic", "bbr", "--against", "{ name = \"cubic\", beta = 0.5 }"],
            "--against: two controllers have the label `cubic`; label this one",
        ),
        (
            &[
                "cubic",
                "bbr",
                "--flow",
                "rtt=200 ms",
                "--vary",
                "delay=2, 20 ms",
                "--link",
                "rate=9 Mbit/s delay=9 ms",
            ],
            "--vary: delay: has no effect",
        ),
    ] {
        let done = ackclock(&[&["compare"], args].concat());
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        assert!(text(&done.stderr).contains(says), "{args:?}: {}", text(&done.stderr));
    }
}

/// A network has the same numbers in words and as a file: alone, with another delay, rate and
/// transport. Defaults of a file do not outweigh what the question changes.
#[test]
fn a_file_and_the_same_words() {
    let dir = tempfile::tempdir().unwrap();
    let [out, file] = ["out", "same.toml"].map(|name| dir.path().join(name).display().to_string());
    let keys = "rate = \"20 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"1 BDP\"\n";
    let text_of =
        format!("title = \"same\"\nduration = \"60 s\"\n[link]\n{keys}[[flow]]\ncontroller = \"cubic\"\n");
    fs::write(&file, text_of).unwrap();
    let answer = |link: &str, more: &[&str]| {
        let args = ["compare", "cubic", "new-reno", "--time", "6 s", "--repeat", "2", "--out", &out];
        let done = ackclock(&[&args, &["--link", link][..], more].concat());
        assert_eq!(done.status.code(), Some(0), "{more:?}: {}", text(&done.stderr));
        text(&done.stdout).replace("\n  ", " ")
    };
    let words = "rate=20 Mbit/s delay=20 ms queue=1 BDP";
    let plain = numbers(&answer(words, &["--json"]));
    for more in [
        &["--json"][..],
        &["--vary", "delay=2, 20 ms", "--json"],
        &["--vary", "rate=2, 40 Mbit/s", "--json"],
        &["--flow", "transport=tcp", "--json"],
        &["--flow", "rtt=200 ms", "--json"],
        &["--flow", "stack=mvfst", "--json"],
    ] {
        let [of_words, of_file] = [answer(words, more), answer(&file, more)].map(|text| numbers(&text));
        assert!(more.len() == 1 || of_words != plain, "{more:?} has an effect");
        assert_eq!(of_words, of_file, "{more:?}");
    }
}

/// Flows and UDP may start later than a second.
#[test]
fn late_starts() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let udp = dir.path().join("udp.toml").display().to_string();
    let keys = "[link]\nrate = \"1 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"9 packets\"\n";
    let flow = "[[flow]]\ncontroller = \"cubic\"\n";
    let cross = "[[udp]]\nrate = \"500 kbit/s\"\nsize = \"999 bytes\"\nstart = \"8 s\"\nstop = \"9 s\"\n";
    fs::write(&udp, format!("title = \"t\"\nduration = \"9 s\"\n{keys}{flow}{cross}")).unwrap();
    for more in [&["--flow", "start=2 s"][..], &["--flow", "start-jitter=5 s"], &["--link", &udp]] {
        let args = ["compare", "cubic", "new-reno", "--repeat", "1", "--out", out];
        let done = ackclock(&[&args, more].concat());
        assert_eq!(done.status.code(), Some(0), "{more:?}: {}", text(&done.stderr));
    }
}

/// The ranking, or that of each value of a sweep.
fn numbers(json: &str) -> String {
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    format!("{} {}", json["ranking"], json["variants"])
}

/// A sweep in JSON has a ranking at each value, with the link's share at that value.
#[test]
fn a_sweep_in_json() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let args = ["compare", "cubic", "bbr3", "--vary", "rate=0.2, 2 Mbit/s", "--time", "6 s", "--repeat", "2"];
    let done =
        ackclock(&[&args, &["--link", "rate=1 Mbit/s rtt=40 ms", "--json", "--out", out][..]].concat());
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(json.get("ranking").is_none(), "a ranking of what: {json}");
    let variants = json["variants"].as_array().unwrap();
    for (variant, (name, rate)) in variants.iter().zip([("0.2 Mbit/s", 0.2), ("2 Mbit/s", 2.0)]) {
        assert_eq!(variant["variant"], format!("rate = {name}"));
        let long = &variant["ranking"][0]["long"];
        let share = long["goodput"].as_f64().unwrap() / (rate * 1215.0 / 1294.0);
        assert!(share > 0.8 && (long["of_link"].as_f64().unwrap() - share).abs() < 1e-9, "{variant}");
        assert_eq!(variant["ranking"].as_array().unwrap().len(), 2);
    }
    assert_eq!(variants.len(), 2);
    let page = fs::read_to_string(dir.path().join("report/compare/index.html")).unwrap();
    assert!(page.contains("queue=1 BDP, at least 10 packets (default)"), "the queue of each value");
}

/// Four networks, of which one corner cannot exist.
const SET: &str = "title = 't'\nduration = '8 s'\n[link]\nqueue = '0.3 BDP'\nloss = '0.5 %'\n[[flow]]\n\
                   controller = 'cubic'\ncount = 2\n[vary]\n'link.rate' = ['2 Mbit/s', '20 Mbit/s']\n\
                   'link.rtt' = ['10 ms', '100 ms']\n'flow.controller' = ['vegas']\n";

/// A file with several networks is judged as a set: on the screen, as JSON and as Markdown.
#[test]
fn compares_on_all_networks_of_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    fs::write(path("set.toml"), SET).unwrap();
    let (link, out) = (path("set.toml"), path("out"));
    let compare = |more: &[&str]| {
        let args = ["compare", "cubic", "bbr3", "--link", &link, "--out", &out];
        let done = ackclock(&[&args, more].concat());
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        (text(&done.stdout), text(&done.stderr))
    };
    let (screen, _) = compare(&["--against", "cubic"]);
    let flat = screen.replace("\n  ", " ");
    for says in [
        "of 3 networks of ",
        "1 of 4 combinations is left out; with rate = 2 Mbit/s, rtt = 10 ms",
        "Not used of ",
        ": flow.count.",
        "Leader on most networks, by link.",
        " keeps\n",
        "One run of each controller on each network",
    ] {
        assert!(flat.contains(says) || screen.contains(says), "{says}: {screen}");
    }
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let json: serde_json::Value = serde_json::from_str(&compare(&["--json"]).0).unwrap();
    let networks = json["networks"].as_array().unwrap();
    let wins = networks.iter().filter(|network| network["controllers"][1]["verdict"] == "more").count();
    assert_eq!(json["standings"][1]["wins"].as_u64(), Some(wins as u64), "{json}");
    let (markdown, _) = compare(&["--markdown"]);
    assert_eq!(
        markdown.lines().filter(|line| line.starts_with("| ") && line.contains("Mbit/s |")).count(),
        4,
        "{markdown}"
    );
    let (decided, cost) = compare(&["--decide"]);
    assert!(
        cost.contains("for 5 pairs on each of 3 networks") && cost.contains("without --decide"),
        "{cost}"
    );
    assert!(decided.contains("open") && decided.contains("pairs of runs on each"), "{decided}");

    for (more, says) in [
        (&["--vary", "loss=0, 1 %"][..], "already has 3 networks"),
        (&["--map", "rate,loss"], "loss: does not vary; these do: link.rate, link.rtt"),
        (&["--decide", "--quick"], "cannot be used with"),
    ] {
        let done = ackclock(&[&["compare", "cubic", "bbr3", "--link", &link][..], more].concat());
        assert!(text(&done.stderr).contains(says), "{more:?}: {}", text(&done.stderr));
        assert_eq!(done.status.code(), Some(2));
    }
    let done = ackclock(&["compare", "cubic", "bbr3", "--decide"]);
    assert!(text(&done.stderr).contains("is a single network"), "{}", text(&done.stderr));
}
