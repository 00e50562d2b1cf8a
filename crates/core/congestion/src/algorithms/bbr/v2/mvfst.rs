//! `bbr2-mvfst`: BBRv2 of facebook/mvfst at commit b48045620d4a (31 May 2025), the stack in the
//! testbed of QUIC-DC (arXiv 2507.00896). It is the code of `bbr2` with mvfst's values. Line
//! numbers without a file name refer to `Bbr2.cpp`.
//!
//! ```text
//! Startup         pacing gain 2.885 over half of the RTT: 5.77; window gain 2.885                     24, 31; QTB:3096-3116
//!   ends          by the plateau, or by a loss round with lost / sent > 0.02 in >= 6 ranges: at a round start, no recovery
//!                 needed;  inflight_hi = max(BDP, latest delivered)                                   553-594
//! max_bw          best sample of the ACK's packets: bytes / max(send, ACK interval), ACK times minus the ACK delay;
//!                 2 cycles, a cycle ends where DOWN begins unless the application limited it          17, 954-958, 1009-1045
//! too high        lost in the loss round > 0.02 * inflight when the newest acknowledged packet was sent   718-748
//!                 inflight_hi = max(that inflight, 0.7 * (BDP and budget)), once per UP
//! UP              window gain 2.25; ends with 3 rounds of < 25 % growth, or with loss;
//!                 window used (> 0.9 in the round) and 1.25 BDP >= inflight_hi: the count restarts   34, 702-711, 984-989
//! wait            2 to 3 s, no limit in rounds                                                        944-947, 1047-1056
//! ProbeRTT        every 10 s; min_rtt of 10.2 s; a smaller raw RTT postpones it                        18-20, 786-861
//! pacing          no margin; quantum 200 us at the rate, 2 packets to 64 KiB; bursts of 5 packets;
//!                 the initial window of 10 packets is sent unpaced                                     43, 58-66, 356-362; QC:451
//! recovery        every loss, in every state:  W = inflight - lost, at least 4 packets;  cwnd = min(cwnd, W)
//!                 each ACK:  W = max(W, inflight + acked), and W += acked from the next round on;
//!                 ends, and restores cwnd, with a packet sent after the last loss                    235-304, 384
//! persistent congestion   W = 4 packets.   Marks, spurious losses: ignored
//! ```
//!
//! Deviations, besides those of `bbr2`:
//! 1. The first pacing rate is 5.77 initial windows per first RTT, and a minimum until the pipe is
//!    full. mvfst's minimum is 2 windows per min_rtt. The first bandwidth sample is about the
//!    initial window per RTT, so both pace alike.
//! 2. The ranges lost in the ACK that ends a loss round count in that round. mvfst does not count
//!    them at all. The bytes lost in that ACK are not counted here either.
//! 3. DOWN ends below `max_bw * min_rtt`, not `bw * min_rtt`. Headroom is at least a packet, not a
//!    byte. An idle restart keeps the minimum RTT. ProbeRTT does not end early when nothing is in
//!    flight.
//! 4. A loss of more bytes than W makes mvfst's W overflow to the largest window. Here it leaves 4
//!    packets, or the bytes in flight.
//! 5. The first bandwidth samples begin with the first packet, not with the handshake.
//! 6. The burst size is an upper limit, and in between packets are sent one by one. mvfst's pacer
//!    never releases fewer than 5 packets at a time.

#[cfg(feature = "serde")]
use super::params::OverMvfst;
use super::params::mvfst_values;
use crate::ParamDoc;

/// Parameters of `bbr2` with mvfst's values as defaults.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Params(
    #[cfg_attr(feature = "serde", serde(deserialize_with = "OverMvfst::deserialize"))] pub super::Params,
);

impl Params {
    /// Description, unit, source and range of every parameter.
    pub const DOCS: &'static [ParamDoc] = super::Params::DOCS;
}

impl Default for Params {
    fn default() -> Self {
        Self(mvfst_values())
    }
}
