/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Proportional rate reduction (RFC 9937), in packets. In user space a test compares it with the
 * equations of the RFC.
 */

/* A reduction under way. `delivered` includes the newest ACK, `sent` has all transmissions since. */
struct prr {
	u32 target; /* window at the end: ssthresh in the RFC */
	u32 prior;  /* in flight before: RecoverFS in the RFC */
	u32 delivered, sent;
};

/*
 * Window after an ACK that delivered `newly` packets and left `in_flight`. The ACK is `safe` if it
 * moved the left edge and told of no further loss.
 */
INLINE u32 prr_window(const struct prr *p, u32 in_flight, u32 newly, bool safe)
{
	s32 send;
	if (in_flight > p->target) {
		u32 prior = p->prior ? p->prior : 1;
		u64 share = (u64)p->target * p->delivered;
		send = (s32)((share + prior - 1) / prior) - (s32)p->sent;
	} else {
		s32 room = p->target - in_flight, owed = p->delivered - p->sent;
		send = (owed > (s32)newly ? owed : (s32)newly) + safe;
		send = send < room ? send : room;
	}
	/* The first retransmission always leaves. */
	s32 least = p->sent ? 0 : 1;
	u32 cwnd = in_flight + (send > least ? send : least);
	return cwnd ? cwnd : 1;
}
