/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reno on plain integers: RFC 5681 (September 2009) with the byte counting of RFC 3465 (February
 * 2003), in whole packets, as Linux counts.
 *
 *   slow start            cwnd += min(N, L) per ACK of N packets               (RFC 3465 section 2.2)
 *                         L of its own after a timeout                         (RFC 3465 section 2.3)
 *   congestion avoidance  cwnd += 1 per cwnd packets acknowledged              (RFC 3465 section 2.1)
 *   loss, mark            ssthresh = max(FlightSize / 2, 2)                    (RFC 5681 equation 4)
 *   spurious              the window before it, if it is larger; what counts towards the next packet
 *
 * The decisions are those of the controller `tcp-reno` in ackclock-congestion with `count =
 * "packets"`. With `halve = "cwnd"` the window is halved instead of FlightSize, as Linux does.
 *
 * The kernel does the rest. It detects losses and reduces to ssthresh over a round trip (PRR, RFC
 * 6937). After a timeout it continues with one packet (RFC 5681 section 3.1), and keeps ssthresh on
 * a repeated one. It restarts the window after an idle time (RFC 2861).
 *
 * Deviations: beta is a multiple of 1/256. The last ACK of slow start may carry the window past
 * ssthresh, by less than L packets. Linux takes the rest of that ACK for congestion avoidance.
 * After an undo, Linux begins to count towards the next packet anew.
 *
 * The file is compiled for the kernel and, for a test, for user space.
 */
#pragma once

struct reno_params {
	u32 initial_window;
	u32 beta;                               /* times 256 */
	u32 halve_flight;                       /* 1: FlightSize, 0: the window */
	u32 abc_limit, abc_limit_after_timeout; /* L */
	u32 min_window;
};

/* A test changes it. */
#ifndef RENO_BETA
#define RENO_BETA 128
#endif
#define RENO_DEFAULTS { 10, RENO_BETA, 0, ~0U, ~0U, 2 }

/* What an undo restores besides the window. */
struct reno_progress {
	u32 acked; /* packets acknowledged towards the next growth */
	u32 timed_out;
};

struct reno {
	struct reno_progress now, before;
};

INLINE u32 reno_slow_start(const struct reno *r, const volatile struct reno_params *p, u32 cwnd, u32 acked)
{
	u32 limit = r->now.timed_out ? p->abc_limit_after_timeout : p->abc_limit;
	return cwnd + (acked < limit ? acked : limit);
}

INLINE u32 reno_avoid(struct reno *r, u32 cwnd, u32 acked)
{
	r->now.acked += acked;
	if (!acked || r->now.acked < cwnd)
		return cwnd;
	r->now.acked -= cwnd;
	return cwnd + 1;
}

/* Returns the window after an ACK of this many packets, outside of recovery. */
INLINE u32 reno_ack(struct reno *r, const volatile struct reno_params *p, u32 cwnd, u32 ssthresh, u32 acked)
{
	return cwnd < ssthresh ? reno_slow_start(r, p, cwnd, acked) : reno_avoid(r, cwnd, acked);
}

/* Begins a reduction. Returns ssthresh. */
INLINE u32 reno_reduce(struct reno *r, const volatile struct reno_params *p, u32 cwnd, u32 flight)
{
	u32 reduced = (u64)(p->halve_flight ? flight : cwnd) * p->beta / 256;
	r->before = r->now;
	r->now.acked = 0;
	return reduced < p->min_window ? p->min_window : reduced;
}

INLINE void reno_timeout(struct reno *r)
{
	r->now.timed_out = 1;
}

/* The window was restarted after an idle time. */
INLINE void reno_restarted(struct reno *r)
{
	r->now.acked = r->now.timed_out = 0;
}

/* The last reduction was spurious. Returns the window. */
INLINE u32 reno_undo(struct reno *r, u32 cwnd, u32 prior_cwnd)
{
	if (prior_cwnd <= cwnd)
		return cwnd;
	r->now = r->before;
	return prior_cwnd;
}
