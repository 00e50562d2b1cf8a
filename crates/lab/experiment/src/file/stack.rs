//! `stack` of a flow: the QUIC implementation that supplies the defaults of `packet`, `recovery`
//! and `ack`.
//!
//! `"mvfst"` is facebook/mvfst as of May 2025 under `hq`, the stack in the testbed of QUIC-DC
//! (arXiv 2507.00896). The table lists its values and their origin. Files are mvfst's.
//!
//! | key | value | origin |
//! |---|---|---|
//! | `packet.datagram` | 1232 B | `kDefaultUDPSendPacketLen`, QuicConstants.h:56-63; hq does not raise it, HQCommandLine.cpp:218-328 |
//! | `packet.header` | 26 B | derived: about 1206 B of the stream in each |
//! | `packet.overhead` | 42 B | UDP 8, IPv4 20, Ethernet 14: 1274 B on the wire |
//! | `ack.ack-every` | 10 | QuicConstants.h:565-569, QuicStateFunctions.cpp:102-122 |
//! | `ack.max-ack-delay`, `.delay-factor` | 25 ms, 0.25 | QuicTransportBaseLite.cpp:3236-3254, QuicConstants.h:573-575, TransportSettings.h:438 |
//! | `ack.timer-tick` | 1 ms | rounded up to 1 ms; hq's event base ticks in 10 ms, tperf's in 1 (tperf.cpp:34-37) |
//! | `ack.immediate-on-gap` | once | AckStates.h:40, QuicStateFunctions.cpp:114-122, 446-450 |
//! | `ack.timestamps`, `.timestamp-exponent` | 10, 3 | TransportSettings.h:136-139, QuicConstants.h:790-791 |
//! | `recovery.packet-threshold` | 4 | QuicLossFunctions.cpp:354-377, QuicConstants.h:436 |
//! | `recovery.time-threshold` | 1.25 | QuicConstants.h:439-443, QuicLossFunctions.cpp:455-459 |
//! | `recovery.granularity` | 0 | no floor under the time threshold |
//! | `recovery.initial-rtt` | 50 ms | QuicConstants.h:431 |
//! | `recovery.pto` | mvfst | QuicLossFunctions.cpp:13-19, 46-114, QuicConstants.h:445, 602 |
//! | `recovery.undo` | false | no controller undoes a reduction |
//! | `recovery.overshoot` | true | QuicTransportFunctions.cpp:1060-1100 |
//! | `recovery.skip-numbers` | 1000 | kSkipOneInNPacketSequenceNumber, kDistanceToClearSkippedPacketNumber |
//! | `recovery.paced` | by-rate | NewReno never refreshes the pacer, NewReno.cpp:109-115; CUBIC and BBR have rates of their own |
//! | `recovery.pacing.style`, `.min-burst` | bursts, 5 | CongestionControlFunctions.cpp:25-54, QuicConstants.h:451 |
//! | `recovery.pacing.interval` | 200 us | HQCommandLine.cpp:77-78 |
//!
//! Rules that are not modelled, with mvfst's rule in brackets:
//!
//! * The smoothed RTT subtracts the ACK delay from a sample that exceeds the minimum by at least
//!   that delay (by more). It subtracts at most `max-ack-delay` (all of it; no ACK here is later
//!   than its timer).
//! * Persistent congestion follows RFC 9002 (a single ACK is examined).
//! * A reduction allows one packet beyond the window (RFC 9002 section 7.3.2; mvfst: none).
//! * A packet declared lost may arrive within three PTOs, and is then not retransmitted (one PTO,
//!   and it is).
//! * Packets sent at the same instant share a send time (packets of one write do), so there is
//!   nothing to choose.
//! * Receive times are truncated to their unit one by one (differences are, which adds up to 80
//!   us). Late packets have a receive time too (none). A lost ACK loses its receive times (the
//!   last ten are kept).
//! * A skipped packet number is forgotten after 1000 packets (with an ACK above it), and counts for
//!   the packet threshold (does not).
//!
//! Also missing: alarms in whole milliseconds, and a receiver that reads several packets at once.
//! The controller is the file's.

use recovery::{AckConfig, Config, OnGap, Paced, Pacing, Pto, Style, TimeThreshold};
use scenario::{FlowConfig, Transport};
use units::Duration;

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Fields;

/// A source of default values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stack {
    /// RFC 9000 and RFC 9002 as written, the default for QUIC.
    Rfc9002,
    Mvfst,
    /// Linux, the only choice for TCP. It has no name in files.
    Linux,
}

impl Stack {
    /// Reads the stack of a flow with this transport.
    pub(crate) fn read(fields: &Fields<'_>, tcp: bool) -> Result<Self, Diagnostic> {
        let Some(cursor) = fields.get("stack") else {
            return Ok(if tcp { Self::Linux } else { Self::Rfc9002 });
        };
        let stack = cursor.word("stack", &[("rfc9002", Self::Rfc9002), ("mvfst", Self::Mvfst)])?;
        if tcp {
            let right = "remove `stack`: TCP uses the defaults of Linux, changed by `recovery` and `ack`";
            return Err(cursor.problem("`stack` applies to QUIC only, but the flow is TCP", right));
        }
        Ok(stack)
    }

    /// Returns the defaults of a flow. A TCP connection always begins with a handshake, and so has
    /// an RTT sample before its first data.
    pub(crate) fn flow(self) -> FlowConfig {
        let (ack, recovery, transport) = (self.ack(), self.recovery(), self.transport());
        FlowConfig { ack, recovery, transport, handshake: self == Self::Linux, ..FlowConfig::default() }
    }

    /// Returns the packet sizes.
    pub(crate) fn transport(self) -> Transport {
        match self {
            Self::Rfc9002 => Transport::default(),
            Self::Mvfst => Transport::Quic { datagram: 1232, header: 26, overhead: 42 },
            Self::Linux => Transport::Tcp { mss: 1448, overhead: 52 },
        }
    }

    /// Returns the receiver's ACK behaviour.
    fn ack(self) -> AckConfig {
        match self {
            Self::Rfc9002 => AckConfig::default(),
            Self::Mvfst => AckConfig {
                ack_every: 10.into(),
                max_ack_delay: Duration::from_millis(25),
                delay_factor: Some(0.25),
                timer_tick: Duration::from_millis(1),
                immediate_on_gap: OnGap::Once,
                timestamps: 10,
                timestamp_exponent: 3,
                ..AckConfig::default()
            },
            Self::Linux => AckConfig::tcp(),
        }
    }

    /// Returns the sender's loss recovery.
    fn recovery(self) -> Config {
        match self {
            Self::Rfc9002 => Config::quic(),
            Self::Mvfst => Config {
                packet_threshold: Some(4),
                time_threshold: TimeThreshold::Factor(1.25),
                granularity: Duration::ZERO,
                initial_rtt: Duration::from_millis(50),
                pto: Pto::Mvfst,
                undo: false,
                overshoot: true,
                paced: Paced::ByRate,
                skip_numbers: Some(1000),
                pacing: Pacing {
                    style: Style::Bursts,
                    min_burst: 5,
                    interval: Duration::from_micros(200),
                    ..Pacing::default()
                },
                ..Config::quic()
            },
            Self::Linux => Config::tcp(),
        }
    }
}
