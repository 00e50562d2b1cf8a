//! `bbr2-mvfst`: BBRv2 as facebook/mvfst has it at commit b48045620d4a (31 May 2025), the stack under the testbed of QUIC-DC
//! (arXiv 2507.00896). The code is that of `bbr2`; here are its values. Facts from mvfst.md sections 3 and 8; lines are of
//! `Bbr2.cpp` where no file is named.
//!
//! ```text
//! Startup         pacing gain 2.885 over half of the RTT: 5.77; window gain 2.885                     24, 31; QTB:3096-3116
//!   ends          by the plateau, or by a loss round with lost / sent > 0.02 in >= 6 ranges: at a round start, no recovery
//!                 needed;  inflight_hi = max(BDP, latest delivered)                                   553-594
//! max_bw          best sample of the ACK's packets: bytes / max(send, ACK interval), ACK times less the ACK's delay;
//!                 2 cycles, a cycle ends where DOWN begins unless the application limited it          17, 954-958, 1009-1045
//! too high        lost in the loss round > 0.02 * inflight when the newest acknowledged packet left   718-748
//!                 inflight_hi = max(that inflight, 0.7 * (BDP and budget)), once per UP
//! UP              window gain 2.25; ends with 3 rounds of < 25 % growth, or with loss;
//!                 window used (> 0.9 in the round) and 1.25 BDP >= inflight_hi: the rounds count anew 34, 702-711, 984-989
//! wait            2 to 3 s, no bound by rounds                                                        944-947, 1047-1056
//! ProbeRTT        every 10 s; min_rtt of 10.2 s; a smaller raw RTT puts it off                        18-20, 786-861
//! pacing          no margin; quantum 200 us at the rate, 2 packets to 64 KiB; bursts of 5 packets;
//!                 the initial window of 10 packets leaves unpaced                                     43, 58-66, 356-362; QC:451
//! recovery        every loss, in every state:  W = inflight - lost, at least 4 packets;  cwnd = min(cwnd, W)
//!                 each ACK:  W = max(W, inflight + acked), and W += acked from the next round on;
//!                 over, and cwnd back, with a packet that left after the last loss                    235-304, 384
//! persistent congestion   W = 4 packets.   Marks, spurious losses: no answer
//! ```
//!
//! Deviations, besides those of `bbr2`:
//! 1. The first pacing rate is 5.77 initial windows per first RTT and a floor until the pipe is full; mvfst's floor is 2
//!    windows per min_rtt. The first bandwidth sample is about the initial window per RTT, so both pace alike.
//! 2. The ranges lost in the ACK that ends a loss round count in it; mvfst counts them nowhere. Its bytes count nowhere here too.
//! 3. DOWN ends below `max_bw * min_rtt`, not `bw * min_rtt`; headroom is at least a packet, not a byte; an idle restart does
//!    not forget the minimum RTT; ProbeRTT does not end early when nothing is in flight.
//! 4. A loss of more bytes than W makes mvfst's W overflow to the largest window; here it leaves 4 packets, or what is in flight.
//! 5. The first bandwidth samples begin with the first packet, not with the handshake.
//! 6. Bursts are a bound on what leaves at once, where mvfst's pacer lets no fewer than 5 packets go: in between, packets
//!    leave one by one.

#[cfg(feature = "serde")]
use super::params::OverMvfst;
use super::params::mvfst_values;
use crate::ParamDoc;

/// Those of `bbr2` with mvfst's values as defaults.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Params(
    #[cfg_attr(feature = "serde", serde(deserialize_with = "OverMvfst::deserialize"))] pub super::Params,
);

impl Params {
    /// Every parameter with its meaning, unit, source and range.
    pub const DOCS: &'static [ParamDoc] = super::Params::DOCS;
}

impl Default for Params {
    fn default() -> Self {
        Self(mvfst_values())
    }
}
