/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP D* ("Davis") on plain integers: T. Lynn and D. Ghosal, arXiv 2012.14996 (December 2020), with
 * the rules of the authors' Linux module tcp_davis.c at commit 86c3ada (8 May 2020).
 *
 *   r         = dD / dt over GAIN 2                        packets/s   (equation 1)
 *   bdp       = ceil(r * RTTmin)                           packets     (equation 2)
 *   gain_cwnd = 4 + min(2 |bdp - last_bdp|, bdp)           packets     (section 3.2.4)
 *   cwnd      = bdp + gain_cwnd                            packets     (section 3.2.2)
 *               limited to between 4 and 32 767                        (tcp_davis.c: MAX_TCP_WINDOW)
 *
 *   GAIN 1    settle, longer than 2 RTT; then GAIN 2                                (3.2.2)
 *   GAIN 2    measure, longer than 1 RTT; then bdp, gain_cwnd, cwnd and GAIN 1, or  (3.2.3)
 *             DRAIN if RTTmin is older than 10 s: cwnd = 4, RTTmin = RTT            (3.2.1)
 *   DRAIN     longer than 2 RTT; then cwnd = bdp + gain_cwnd and GAIN 1
 *
 *   slow start (3.3): GAIN 1 and 2 as above, but cwnd = 3/2 bdp (equation 6) while bdp grows;
 *             if bdp did not grow, or on loss or mark: DRAIN, and slow start ends
 *             entered at the start, and again when the flow sends after an idle RTO (RFC 2861): bdp, RTTmin reset
 *
 * RTT is the latest sample and includes the ACK delay. Every "longer" is strict and is tested when
 * an ACK arrives: there is no timer. Outside of slow start neither losses nor marks change the
 * window. Times are in us, windows in packets.
 *
 * Deviations from tcp_davis.c, which are those of the controller `dstar` in ackclock-congestion:
 * slow start is a mode, not cwnd < ssthresh. A loss ends it at once, as in the paper. A spurious
 * event is undone: GAIN 1 follows with the previous window and estimates. An idle time restarts slow
 * start; the module's hook for that is not connected. Products have 64 bits; the module's 32 bits
 * overflow at 43 000 packets and 100 ms.
 *
 * Deviations from that controller: factors are multiples of 1/256. An undo starts GAIN 1 at the
 * time of the undo, not of the signal before it. There is neither persistent congestion nor a limit
 * of idle time other than the retransmission timeout.
 *
 * The file is compiled for the kernel and, for a test, for user space.
 */
#pragma once

enum { DSTAR_RESTART_WINDOW, DSTAR_RESTART_DRAIN, DSTAR_RESTART_SLOW_START };

struct dstar_params {
	u32 min_cwnd, max_cwnd, min_gain_cwnd;
	u32 gain, max_gain, slow_start_gain; /* times 256 */
	u32 drain_rtts, gain_1_rtts, gain_2_rtts;
	u32 timeout;                         /* DSTAR_RESTART_... */
	u32 idle_restart;                    /* 1: after an RTO */
	u32 ignore_app_limited;
	u64 rtt_timeout;                     /* us */
};

/* A test changes it. */
#ifndef DSTAR_GAIN
#define DSTAR_GAIN 512
#endif
#define DSTAR_DEFAULTS { 4, 32767, 4, DSTAR_GAIN, 256, 384, 2, 2, 1, DSTAR_RESTART_WINDOW, 1, 0, 10000000 }

enum { DSTAR_DRAIN, DSTAR_GAIN_1, DSTAR_GAIN_2 };
enum { DSTAR_LOSS, DSTAR_MARK, DSTAR_TIMEOUT };
#define DSTAR_NO_RTT (~0U)
#define DSTAR_MAX_BDP 0x7fffffff

/* What an undo restores. */
struct dstar_model {
	u64 min_rtt_time;
	u32 min_rtt; /* DSTAR_NO_RTT before the first sample */
	u32 bdp, last_bdp, gain_cwnd, cwnd;
	u32 slow_start;
};

struct dstar {
	u64 trans_time;              /* start of the mode, 0 before the first packet */
	u64 start_time;              /* start of the measurement */
	u32 start_delivered, last_rtt;
	u8 mode, limited;
	u8 has_undo, is_open;        /* a saved model; no ACK outside of recovery since the last event */
	struct dstar_model now, before;
};

INLINE void dstar_init(struct dstar *d, const volatile struct dstar_params *p)
{
	__builtin_memset(d, 0, sizeof(*d));
	d->mode = DSTAR_GAIN_1;
	d->now.slow_start = 1;
	d->now.min_rtt = DSTAR_NO_RTT;
	d->now.bdp = d->now.cwnd = p->min_cwnd;
	d->now.gain_cwnd = p->min_gain_cwnd;
}

/* The first packet leaves. */
INLINE void dstar_begin(struct dstar *d, u64 time)
{
	d->trans_time = d->now.min_rtt_time = time;
}

INLINE void dstar_enter(struct dstar *d, const volatile struct dstar_params *p, u8 mode, u64 time, u64 cwnd)
{
	u32 least = p->min_cwnd, most = p->max_cwnd;
	d->mode = mode;
	d->trans_time = time;
	cwnd = cwnd < least ? least : cwnd;
	d->now.cwnd = cwnd > most ? most : cwnd;
}

/* Slow start from scratch (3.3). */
INLINE void dstar_restart(struct dstar *d, const volatile struct dstar_params *p, u64 time)
{
	d->now.slow_start = 1;
	d->now.bdp = p->min_cwnd;
	d->now.last_bdp = 0;
	if (d->last_rtt) {
		d->now.min_rtt = d->last_rtt;
		d->now.min_rtt_time = time;
	}
	dstar_enter(d, p, DSTAR_GAIN_1, time, p->min_cwnd);
}

/* Sends after an idle RTO. Returns whether anything changed: without a sample nothing does. */
INLINE bool dstar_idle(struct dstar *d, const volatile struct dstar_params *p, u64 time)
{
	if (!p->idle_restart || d->now.min_rtt == DSTAR_NO_RTT)
		return false;
	dstar_restart(d, p, time);
	return true;
}

INLINE void dstar_end_slow_start(struct dstar *d, const volatile struct dstar_params *p, u64 time)
{
	d->now.slow_start = 0;
	dstar_enter(d, p, DSTAR_DRAIN, time, p->min_cwnd);
}

INLINE void dstar_take_rtt(struct dstar *d, u64 time, u32 rtt)
{
	d->last_rtt = rtt;
	/* Strictly lower, so that RTTmin becomes old when a queue persists. */
	if (rtt < d->now.min_rtt) {
		d->now.min_rtt = rtt;
		d->now.min_rtt_time = time;
	}
}

/* Reports whether the mode has lasted longer than its round trips. */
INLINE bool dstar_is_over(struct dstar *d, const volatile struct dstar_params *p, u64 time)
{
	u32 rtts = d->mode == DSTAR_DRAIN ? p->drain_rtts
		 : d->mode == DSTAR_GAIN_1 ? p->gain_1_rtts : p->gain_2_rtts;
	return d->last_rtt && d->trans_time && time > d->trans_time + (u64)d->last_rtt * rtts;
}

/* Equations 1 and 2. Without a time that has passed, the old estimate. */
INLINE u32 dstar_measure(struct dstar *d, u64 time, u32 delivered)
{
	u64 interval = time - d->start_time, packets = delivered - d->start_delivered;
	if (!interval || d->now.min_rtt == DSTAR_NO_RTT)
		return d->now.bdp;
	u64 bdp = (packets * d->now.min_rtt + interval - 1) / interval;
	return bdp > DSTAR_MAX_BDP ? DSTAR_MAX_BDP : bdp;
}

/* Section 3.3: continues slow start while bdp grows. */
INLINE void dstar_measured_in_slow_start(struct dstar *d, const volatile struct dstar_params *p, u64 time,
					 u32 bdp, bool limited)
{
	if (limited && bdp <= d->now.last_bdp)
		return dstar_enter(d, p, DSTAR_GAIN_1, time, d->now.cwnd);
	d->now.bdp = bdp;
	if (bdp <= d->now.last_bdp)
		return dstar_end_slow_start(d, p, time);
	d->now.last_bdp = bdp;
	dstar_enter(d, p, DSTAR_GAIN_1, time, (u64)bdp * p->slow_start_gain / 256);
}

/* Sections 3.2.3 and 3.2.4. */
INLINE void dstar_measured(struct dstar *d, const volatile struct dstar_params *p, u64 time, u32 bdp,
			   bool limited)
{
	u32 last = d->now.bdp;
	if (limited && bdp < last)
		bdp = last;
	d->now.last_bdp = last;
	d->now.bdp = bdp;
	u64 change = (u64)(bdp > last ? bdp - last : last - bdp) * p->gain / 256;
	u64 most = (u64)bdp * p->max_gain / 256;
	u64 gain_cwnd = p->min_gain_cwnd + (change < most ? change : most);
	d->now.gain_cwnd = gain_cwnd > DSTAR_MAX_BDP ? DSTAR_MAX_BDP : gain_cwnd;
	if (time > d->now.min_rtt_time + p->rtt_timeout) {
		d->now.min_rtt = d->last_rtt;
		d->now.min_rtt_time = time;
		dstar_enter(d, p, DSTAR_DRAIN, time, p->min_cwnd);
	} else {
		dstar_enter(d, p, DSTAR_GAIN_1, time, (u64)bdp + d->now.gain_cwnd);
	}
}

INLINE void dstar_advance(struct dstar *d, const volatile struct dstar_params *p, u64 time, u32 delivered)
{
	if (d->mode == DSTAR_DRAIN) {
		dstar_enter(d, p, DSTAR_GAIN_1, time, (u64)d->now.bdp + d->now.gain_cwnd);
	} else if (d->mode == DSTAR_GAIN_1) {
		dstar_enter(d, p, DSTAR_GAIN_2, time, d->now.cwnd);
		d->start_delivered = delivered;
		d->start_time = time;
		d->limited = 0;
	} else {
		u32 bdp = dstar_measure(d, time, delivered);
		bool limited = d->limited && p->ignore_app_limited;
		if (d->now.slow_start)
			dstar_measured_in_slow_start(d, p, time, bdp, limited);
		else
			dstar_measured(d, p, time, bdp, limited);
	}
}

/* Processes an ACK. An RTT of 0 or less is no sample. Returns whether a mode ended. */
INLINE bool dstar_ack(struct dstar *d, const volatile struct dstar_params *p, u64 time, s64 rtt, u32 delivered,
		      bool app_limited, bool in_recovery)
{
	d->is_open &= in_recovery;
	if (rtt > 0)
		dstar_take_rtt(d, time, rtt);
	d->limited |= app_limited;
	if (!dstar_is_over(d, p, time))
		return false;
	dstar_advance(d, p, time, delivered);
	return true;
}

INLINE void dstar_timeout(struct dstar *d, const volatile struct dstar_params *p, u64 time)
{
	if (p->timeout == DSTAR_RESTART_SLOW_START)
		dstar_restart(d, p, time);
	else if (p->timeout == DSTAR_RESTART_DRAIN || d->now.slow_start)
		/* In slow start a timeout is treated as a loss. */
		dstar_end_slow_start(d, p, time);
	else
		d->now.cwnd = p->min_cwnd;
}

INLINE void dstar_congestion(struct dstar *d, const volatile struct dstar_params *p, u64 time, u8 cause)
{
	/* A timeout before any ACK outside of recovery belongs to what it follows, as Linux' prior_cwnd. */
	if (!(cause == DSTAR_TIMEOUT && d->is_open && d->has_undo)) {
		d->has_undo = cause != DSTAR_MARK;
		d->before = d->now;
	}
	d->is_open = 1;
	if (cause == DSTAR_TIMEOUT)
		dstar_timeout(d, p, time);
	else if (d->now.slow_start)
		dstar_end_slow_start(d, p, time);
	else
		/* This event changes nothing, so its undo must not either. */
		d->has_undo = d->is_open = 0;
}

/* The last event was spurious. */
INLINE void dstar_undo(struct dstar *d, const volatile struct dstar_params *p, u64 time)
{
	bool had = d->has_undo;
	d->has_undo = d->is_open = 0;
	if (!had)
		return;
	d->now = d->before;
	dstar_enter(d, p, DSTAR_GAIN_1, time, d->now.cwnd);
}
