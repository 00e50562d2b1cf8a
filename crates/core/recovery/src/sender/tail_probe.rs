//! Tail loss probe of TCP (RFC 8985 section 7).

/// State of the tail loss probe: one at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailProbe {
    outstanding: bool,
    /// End of the stream when the tail was probed, including the probe (`tlp_high_seq` in Linux).
    end: u64,
    /// Number and first byte of the probe that repeats a payload still in flight.
    repeat: Option<(u64, u64)>,
}

impl TailProbe {
    /// Begins a probe of a stream sent up to `edge`.
    pub(super) fn begin(&mut self, edge: u64) {
        (self.outstanding, self.end) = (true, edge);
    }

    /// Ends the probe.
    pub(super) fn cancel(&mut self) {
        self.outstanding = false;
    }

    /// Reports whether a probe is outstanding.
    pub(super) fn is_outstanding(&self) -> bool {
        self.outstanding
    }

    /// Records that the probe is sent: its serial, the first byte of a repeated payload, and the
    /// end of the stream after it.
    pub(super) fn on_sent(&mut self, serial: u64, repeats: Option<u64>, edge: u64) {
        if let Some(start) = repeats {
            self.repeat = Some((serial, start));
        }
        self.end = edge;
    }

    /// Ends the probe once everything sent before it has arrived (section 7.3). `unacknowledged` is
    /// TCP's `SND.UNA`.
    pub(super) fn on_progress(&mut self, unacknowledged: Option<u64>) {
        self.outstanding &= unacknowledged.is_some_and(|unacknowledged| unacknowledged < self.end);
    }

    /// Reports whether the packet of this number is the probe, and repeats the payload that starts
    /// at `start`.
    pub(super) fn repeats(&self, pn: u64, start: u64) -> bool {
        self.repeat == Some((pn, start))
    }
}
