//! Sequence diagrams: an arrow for each packet between the two ends of a flow, downwards in time. A
//! packet that does not arrive ends in a cross, at the slope of the others.

use experiment::chart::{ScriptEnd, ScriptStep};
use experiment::row::RowLabel;
use maud::{Markup, html};
use units::Duration;

use super::axis::Scale;
use super::frame::Frame;
use super::svg::{self, Anchor, Figure, SMALL, TEXT, px};
use super::{Source, wanted};
use crate::colours::{AXIS, INK, MUTED, colour};
use results::exchange::{Exchange, Step, StepKind};

/// Height of a step, and the least and the most of a diagram.
const STEP: f64 = 15.0;
const HEIGHTS: (f64, f64) = (160.0, 1200.0);
/// Distance of the labels on one side.
const LABEL: f64 = 13.0;
/// Farthest distance of a label from its step. A label that would be farther is left out.
const DRIFT: f64 = 65.0;
/// Share of the way at which a lost packet ends.
const LOST_AT: f64 = 0.6;
/// Positions of the ends, as shares of the width.
const ENDS: (f64, f64) = (0.43, 0.68);
/// Largest number of rows of a diagram, beyond which a page becomes too long.
const MOST_ROWS: usize = 6;

/// Draws one figure per variant, row and flow.
pub(super) fn draw(
    source: &Source<'_>,
    title: &str,
    rows: &[RowLabel],
    (from, to): (Duration, Duration),
) -> Vec<Figure> {
    let mut figures = Vec::new();
    let is_shown = |exchange: &&Exchange| !drawn(exchange, (from, to)).is_empty();
    let all: Vec<&Exchange> = source.results.summary.exchanges.iter().filter(is_shown).collect();
    for variant in &source.results.summary.variants {
        let labels = wanted(variant, rows);
        let own = all.iter().filter(|e| e.variant == variant.name && labels.contains(&e.row.as_str()));
        for exchange in own.take(MOST_ROWS) {
            let flows = all.iter().filter(|e| e.variant == variant.name && e.row == exchange.row).count();
            let mut parts = vec![variant.name.as_str()];
            parts.extend((labels.len() > 1).then_some(exchange.row.as_str()));
            parts.extend((flows > 1).then_some(exchange.label.as_str()));
            parts.retain(|part| !part.is_empty());
            let steps = drawn(exchange, (from, to));
            let left_out = exchange.left_out;
            let remark = (left_out > 0).then(|| format!("{left_out} further steps are not drawn"));
            let usual = Usual::new(&steps);
            figures.push(figure(
                source.column,
                (title, &parts.join(", ")),
                (&steps, usual),
                (from, to),
                remark,
            ));
        }
    }
    if figures.is_empty() {
        let why = "no packets in this part of the run";
        figures.push(Frame::placeholder(source.column, why).figure("sequence", title, ""));
    }
    figures
}

/// Draws an exchange that the file lists.
pub(super) fn draw_script(width: f64, title: &str, script: &[ScriptStep]) -> Figure {
    let kind = |step: &ScriptStep| match step.from {
        Some(ScriptEnd::Sender) => StepKind::Data,
        Some(ScriptEnd::Receiver) => StepKind::Reply,
        None => StepKind::Decision,
    };
    let step = |step: &ScriptStep| Step {
        at: step.at.as_secs_f64(),
        arrives: step.arrives.map(Duration::as_secs_f64),
        kind: kind(step),
        text: step.text.clone(),
    };
    let steps: Vec<Step> = script.iter().map(step).collect();
    let end = script.iter().map(|step| step.arrives.unwrap_or(step.at)).max().unwrap_or_default();
    let start = script.first().map_or(Duration::ZERO, |step| step.at);
    let remark = Some("scripted in the file, not the result of a run".to_owned());
    let steps: Vec<&Step> = steps.iter().collect();
    figure(width, (title, ""), (&steps, Usual::of_script(&steps)), (start, end), remark)
}

/// Draws these steps between two times.
fn figure(
    width: f64,
    (title, name): (&str, &str),
    (steps, usual): (&[&Step], Usual),
    (from, to): (Duration, Duration),
    remark: Option<String>,
) -> Figure {
    let mut frame = Frame::new(width);
    let last = steps.iter().map(|s| s.arrives.unwrap_or(s.at)).fold(0.0, f64::max);
    let end = last.min(to.as_secs_f64()).max(from.as_secs_f64() + f64::EPSILON);
    let height = (steps.len() as f64 * STEP).clamp(HEIGHTS.0, HEIGHTS.1);
    let time = Scale::exact(from.as_secs_f64() * 1e3, end * 1e3, 8);
    frame.bottom = 8.0;
    let plot = frame.plot(TEXT + 6.0, height, &Scale::exact(0.0, 1.0, 1), &time);
    let (top, bottom) = plot.span();
    // Time runs downwards.
    let down = time.on(top, bottom);
    let ends = (ENDS.0 * width, ENDS.1 * width);
    let head = top - 8.0;
    frame.draw(html! {
        (svg::text(ends.0, head, TEXT, INK, Anchor::Middle, "sender"))
        (svg::text(ends.1, head, TEXT, INK, Anchor::Middle, "receiver"))
        @for tick in &down.ticks {
            (svg::text(38.0, down.at(*tick) + 4.0, SMALL, MUTED, Anchor::End, &down.label(*tick)))
            (svg::line(42.0, down.at(*tick), 47.0, down.at(*tick), AXIS))
        }
        (svg::line(ends.0, top, ends.0, bottom, AXIS))
        (svg::line(ends.1, top, ends.1, bottom, AXIS))
        @for step in steps { (arrow(step, ends, &down, &usual)) }
        (texts(steps, StepKind::Reply, (ends.1 + 6.0, width - ends.1 - 10.0), (&down, bottom)))
        (texts(steps, StepKind::Data, (ends.0 - 6.0, ends.0 - 58.0), (&down, bottom)))
    });
    frame.foot("", &remark.into_iter().collect::<Vec<_>>());
    frame.draw(svg::text(38.0, head, SMALL, MUTED, Anchor::End, "ms"));
    frame.figure("sequence", title, name)
}

/// Returns the steps within a part of the run.
fn drawn(exchange: &Exchange, (from, to): (Duration, Duration)) -> Vec<&Step> {
    let part = from.as_secs_f64()..=to.as_secs_f64();
    exchange.steps.iter().filter(|step| part.contains(&step.at)).collect()
}

/// Times in ms that packets of each kind usually take, and the time of the last event.
struct Usual {
    data: f64,
    reply: f64,
    last: f64,
}

impl Usual {
    fn new(steps: &[&Step]) -> Self {
        let median = |kind: StepKind| {
            let taken = |s: &&&Step| Some((s.arrives? - s.at) * 1e3).filter(|_| s.kind == kind);
            let mut all: Vec<f64> = steps.iter().filter_map(|s| taken(&s)).collect();
            all.sort_by(f64::total_cmp);
            all.get(all.len() / 2).copied().unwrap_or(0.0)
        };
        let last = steps.iter().map(|s| s.arrives.unwrap_or(s.at) * 1e3).fold(0.0, f64::max);
        Self { data: median(StepKind::Data), reply: median(StepKind::Reply), last }
    }

    /// Returns the times of a script, whose lost packets are all due. Where none of a kind arrives,
    /// the time is that of the other kind, or a tenth of the whole.
    fn of_script(steps: &[&Step]) -> Self {
        let Self { data, reply, last } = Self::new(steps);
        let whole = last - steps.first().map_or(0.0, |step| step.at * 1e3);
        let or =
            |own: f64, other: f64| [own, other, whole / 10.0].into_iter().find(|ms| *ms > 0.0).unwrap_or(1.0);
        Self { data: or(data, reply), reply: or(reply, data), last: f64::INFINITY }
    }

    /// Returns the usual time of a packet, and whether it would have arrived before the last event.
    fn time(&self, step: &Step) -> (f64, bool) {
        let usual = if step.kind == StepKind::Reply { self.reply } else { self.data };
        (usual, step.at * 1e3 + 1.5 * usual < self.last)
    }
}

/// Draws the arrow of a packet, or the dot of a decision, with its text as a tooltip.
fn arrow(step: &Step, (left, right): (f64, f64), time: &Scale, usual: &Usual) -> Markup {
    let y = time.at(step.at * 1e3);
    let (start, end, paint) = match step.kind {
        StepKind::Data => (left, right, colour(0)),
        StepKind::Reply => (right, left, colour(3)),
        StepKind::Decision => {
            return html! { circle cx=(px(left)) cy=(px(y)) r="3" fill=(colour(1)) { title { (step.text) } } };
        }
    };
    let (taken, is_due) = usual.time(step);
    let arrival = step.arrives.map_or(step.at * 1e3 + taken, |at| at * 1e3);
    // An arrow ends at the lower edge if the packet arrives later.
    let edge = time.high();
    let within = ((edge - step.at * 1e3) / (arrival - step.at * 1e3).max(1e-9)).clamp(0.0, 1.0);
    let share = if step.arrives.is_some() { within } else { LOST_AT.min(within) };
    let (x2, y2) =
        (start + share * (end - start), time.at(step.at * 1e3 + share * (arrival - step.at * 1e3)));
    let back = if end > start { -6.0 } else { 6.0 };
    let (paint, tip) = match step.arrives {
        Some(_) if within < 1.0 => (paint, String::new()),
        Some(_) => {
            (paint, format!("M{} {}l{} -3M{} {}l{} 3", px(x2), px(y2), px(back), px(x2), px(y2), px(back)))
        }
        None if is_due => (colour(1), format!("M{} {}l6 6m-6 0l6 -6", px(x2 - 3.0), px(y2 - 3.0))),
        // The run ended before it could arrive.
        None => (paint, String::new()),
    };
    html! {
        g {
            title { (step.text) }
            (svg::line(start, y, x2, y2, paint))
            path d=(tip) stroke=(paint) fill="none" {}
        }
    }
}

/// Draws the texts of one side: those of the sender include its decisions. Texts that would overlap
/// move down, and are left out if they would be too far from their step.
fn texts(steps: &[&Step], side: StepKind, (x, space): (f64, f64), (time, bottom): (&Scale, f64)) -> Markup {
    let of_receiver = side == StepKind::Reply;
    let anchor = if of_receiver { Anchor::Start } else { Anchor::End };
    let mut free = f64::NEG_INFINITY;
    let mut placed = Vec::new();
    for step in steps.iter().filter(|step| (step.kind == StepKind::Reply) == of_receiver) {
        let at = time.at(step.at * 1e3) + 4.0;
        let y = at.max(free);
        if y - at <= DRIFT && y <= bottom + LABEL {
            placed.push((y, step.text.as_str()));
            free = y + LABEL;
        }
    }
    html! { @for (y, text) in &placed { (svg::label(x, *y, SMALL, anchor, space, text)) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::realistic;
    use crate::styles::Palette;

    fn step(at: f64, arrives: Option<f64>, kind: StepKind, text: &str) -> Step {
        Step { at, arrives, kind, text: text.to_owned() }
    }

    fn pictures(steps: Vec<Step>) -> Vec<String> {
        let mut experiments = realistic();
        let variant = experiments[0].summary.variants[0].clone();
        experiments[0].summary.exchanges = vec![Exchange {
            variant: variant.name,
            row: variant.rows[0].label.clone(),
            flow: 0,
            label: "flow".to_owned(),
            steps,
            left_out: 3,
        }];
        let palette = Palette::new(&experiments);
        let part = (Duration::ZERO, Duration::from_secs(1));
        let figures = draw(&Source::new(&experiments[0], &palette, 430.0), "T", &[], part);
        figures.iter().map(|figure| figure.body.0.clone()).collect()
    }

    /// A lost packet ends in a cross. One that the end of the run overtakes does not.
    #[test]
    fn arrows_and_crosses() {
        let steps = vec![
            step(0.0, Some(0.03), StepKind::Data, "0: 0-999"),
            step(0.001, None, StepKind::Data, "1: 1000-1999"),
            step(0.03, Some(0.06), StepKind::Reply, "ACK 0"),
            step(0.061, None, StepKind::Decision, "1 lost: time_threshold"),
            step(0.062, Some(0.092), StepKind::Data, "2: 1000-1999, again"),
            step(0.092, None, StepKind::Reply, "ACK 0, 2"),
            step(5.0, None, StepKind::Data, "outside"),
        ];
        let all = pictures(steps);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].matches("l6 6m-6 0l6 -6").count(), 1, "{}", all[0]);
        assert!(all[0].contains("<circle") && all[0].contains(">ACK 0, 2<"), "{}", all[0]);
        assert!(
            !all[0].contains("outside") && all[0].contains("3 further steps are not drawn"),
            "{}",
            all[0]
        );
    }

    /// A scripted exchange says so. Its lost packet ends in a cross.
    #[test]
    fn scripted() {
        let step = |at, from, arrives: Option<u64>, text: &str| ScriptStep {
            at: Duration::from_millis(at),
            from,
            arrives: arrives.map(Duration::from_millis),
            text: text.to_owned(),
        };
        let script = [
            step(0, Some(ScriptEnd::Sender), None, "0: Initial"),
            step(1, Some(ScriptEnd::Sender), Some(26), "1: 0-RTT"),
            step(200, None, None, "timer"),
            step(227, Some(ScriptEnd::Receiver), Some(252), "ACK 2"),
        ];
        let drawn = draw_script(430.0, "T", &script).body.0;
        assert_eq!((drawn.matches("l6 6m-6 0l6 -6").count(), drawn.matches("<circle").count()), (1, 1));
        assert!(drawn.contains("not the result of a run") && drawn.contains(">ACK 2<"), "{drawn}");
        // A lost one is crossed out also at the end, alone, and if none of its kind arrives.
        let last = [script[1].clone(), step(300, Some(ScriptEnd::Receiver), None, "ACK 1")];
        for script in [&last[..], &last[1..]] {
            let drawn = draw_script(430.0, "T", script).body.0;
            assert_eq!(drawn.matches("l6 6m-6 0l6 -6").count(), 1, "{drawn}");
        }
    }

    #[test]
    fn without_packets() {
        assert!(pictures(Vec::new())[0].contains("no packets in this part"));
    }
}
