//! A sink for tests.

use units::Time;

use crate::event::{About, Event, Sink};

/// Keeps events as text.
#[derive(Default)]
pub(crate) struct Keep {
    pub(crate) abouts: Vec<About>,
    pub(crate) lines: Vec<String>,
}

impl Sink for Keep {
    fn open(&mut self, about: About) -> usize {
        self.abouts.push(about);
        self.abouts.len() - 1
    }

    fn event(&mut self, connection: usize, at: Time, event: &Event<'_>) {
        let text = match event {
            Event::Interval(i) => {
                let mut text = format!("{:?} {:?} {:?}", i.from, i.length, i.bytes);
                text += if i.is_sent { " sent" } else { "" };
                text += &i.retransmissions.map(|n| format!(" repeats {n}")).unwrap_or_default();
                text += &i.cwnd.map(|n| format!(" cwnd {n}")).unwrap_or_default();
                text += &i.rtt.map(|n| format!(" rtt {n:?}")).unwrap_or_default();
                text += &i.rttvar.map(|n| format!(" rttvar {n:?}")).unwrap_or_default();
                text + if i.is_ping { " ping" } else { "" }
            }
            other => format!("{other:?}"),
        };
        self.lines.push(format!("{connection} {:.3} {text}", at.as_secs_f64()));
    }
}
