/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The rules of the native programs, and PRR of the agent's, as a filter for tests against the
 * controllers in Rust and the RFC. Any C compiler builds it. It reads signals and writes the state
 * after each.
 *
 * What the kernel does for Reno is done here at once: the reduction to ssthresh, one packet after a
 * timeout, ssthresh kept on a repeated one, the window that an undo restores.
 */
#include <stdio.h>

typedef signed long long s64;
typedef unsigned char u8;
typedef int s32;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef _Bool bool;
#define true 1
#define false 0
#define INLINE static inline __attribute__((unused))
#include "dstar.h"
#include "reno.h"
#include "prr.h"

enum { OPEN_DSTAR, OPEN_RENO, BEGIN, ACK, CONGESTION, UNDO, IDLE, PRR };

struct signal {
	u64 time;        /* us */
	s64 rtt;         /* us, 0 or less for none */
	u32 kind, cause; /* DSTAR_... */
	u32 delivered, acked, flight;
	u8 app_limited, in_recovery, unused[2];
};

/* Follow OPEN_..., in the order of the struct of parameters. All zero: the defaults. */
typedef u64 parameters[13];

struct state {
	u32 cwnd, ssthresh, mode, slow_start, bdp, gain_cwnd, min_rtt, unused;
};

static struct dstar d;
static struct dstar_params dp;
static struct reno r;
static struct reno_params rp;

/* Reno's window, which is the kernel's, and what the kernel remembers of its last reduction. */
static struct {
	u32 cwnd, ssthresh, prior_cwnd, prior_ssthresh;
	bool has_undo, is_open, timed_out;
} k;

static void open_dstar(const u64 *v)
{
	struct dstar_params usual = DSTAR_DEFAULTS;
	struct dstar_params given = { v[0], v[1], v[2], v[3], v[4], v[5], v[6],
				      v[7], v[8], v[9], v[10], v[11], v[12] };
	dp = v[0] ? given : usual;
	dstar_init(&d, &dp);
}

static void open_reno(const u64 *v)
{
	struct reno_params usual = RENO_DEFAULTS;
	struct reno_params given = { v[0], v[1], v[2], v[3], v[4], v[5] };
	rp = v[0] ? given : usual;
	__builtin_memset(&r, 0, sizeof(r));
	__builtin_memset(&k, 0, sizeof(k));
	k.cwnd = rp.initial_window;
	k.ssthresh = ~0U;
}

static void dstar_signal(const struct signal *s)
{
	if (s->kind == BEGIN)
		dstar_begin(&d, s->time);
	else if (s->kind == ACK)
		dstar_ack(&d, &dp, s->time, s->rtt, s->delivered, s->app_limited, s->in_recovery);
	else if (s->kind == CONGESTION)
		dstar_congestion(&d, &dp, s->time, s->cause);
	else if (s->kind == UNDO)
		dstar_undo(&d, &dp, s->time);
	else if (s->kind == IDLE)
		dstar_idle(&d, &dp, s->time);
}

/* tcp_enter_loss(), tcp_init_cwnd_reduction() with the reduction at once. */
static void reno_congestion(const struct signal *s)
{
	bool timeout = s->cause == DSTAR_TIMEOUT, repeated = timeout && k.timed_out;
	bool follows = timeout && k.is_open && k.has_undo;
	struct reno_progress before = r.before;
	u32 ssthresh = reno_reduce(&r, &rp, k.cwnd, s->flight), cwnd = timeout ? 1 : ssthresh;
	if (follows) {
		r.before = before;
	} else {
		k.has_undo = s->cause != DSTAR_MARK;
		k.prior_cwnd = k.cwnd;
		k.prior_ssthresh = k.ssthresh;
	}
	k.is_open = true;
	k.timed_out = timeout;
	if (timeout)
		reno_timeout(&r);
	k.cwnd = cwnd < k.cwnd ? cwnd : k.cwnd;
	if (!repeated)
		k.ssthresh = ssthresh;
}

static void reno_spurious(void)
{
	if (k.has_undo) {
		if (k.prior_cwnd > k.cwnd)
			k.ssthresh = k.prior_ssthresh;
		k.cwnd = reno_undo(&r, k.cwnd, k.prior_cwnd);
	}
	k.has_undo = k.is_open = k.timed_out = false;
}

/* tcp_cwnd_restart() after one RTO, which leaves the window. */
static void reno_idle(void)
{
	u32 kept = (u64)k.cwnd * 3 / 4;
	k.ssthresh = kept > k.ssthresh ? kept : k.ssthresh;
	reno_restarted(&r);
}

static void reno_signal(const struct signal *s)
{
	if (s->kind == ACK) {
		k.timed_out = false;
		k.is_open &= s->in_recovery;
		k.cwnd = reno_ack(&r, &rp, k.cwnd, k.ssthresh, s->acked);
	} else if (s->kind == CONGESTION) {
		reno_congestion(s);
	} else if (s->kind == UNDO) {
		reno_spurious();
	} else if (s->kind == IDLE) {
		reno_idle();
	}
}

static void answer_dstar(const struct signal *s, struct state *out)
{
	dstar_signal(s);
	out->cwnd = d.now.cwnd;
	out->mode = d.mode;
	out->slow_start = d.now.slow_start;
	out->bdp = d.now.bdp;
	out->gain_cwnd = d.now.gain_cwnd;
	out->min_rtt = d.now.min_rtt;
}

static void answer_reno(const struct signal *s, struct state *out)
{
	reno_signal(s);
	out->cwnd = k.cwnd;
	out->ssthresh = k.ssthresh;
}

/* A reduction has no state here: its numbers stand in the places of others. */
static void answer_prr(const struct signal *s, struct state *out)
{
	struct prr p = { s->time, s->rtt, s->delivered, s->cause };
	out->cwnd = prr_window(&p, s->flight, s->acked, s->in_recovery);
}

int main(void)
{
	struct signal s;
	bool is_reno = false;
	while (fread(&s, sizeof(s), 1, stdin) == 1) {
		struct state out = { 0 };
		parameters v;
		if (s.kind == OPEN_DSTAR || s.kind == OPEN_RENO) {
			is_reno = s.kind == OPEN_RENO;
			if (fread(v, sizeof(v), 1, stdin) != 1)
				return 1;
			(is_reno ? open_reno : open_dstar)(v);
		}
		if (s.kind == PRR)
			answer_prr(&s, &out);
		else
			(is_reno ? answer_reno : answer_dstar)(&s, &out);
		fwrite(&out, sizeof(out), 1, stdout);
		/* The next signal depends on this answer. */
		if (s.kind == PRR)
			fflush(stdout);
	}
	return 0;
}
