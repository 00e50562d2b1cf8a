/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reno in the kernel: the rules of reno.h at the hooks of tcp_congestion_ops. With cong_avoid, the
 * kernel spreads reductions over a round trip itself.
 */
#include "kernel.h"
#include "reno.h"
#include "event.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile struct reno_params params = RENO_DEFAULTS;

struct reno_flow {
	u32 number;
	u8 ready, state;
	struct reno rules;
};
_Static_assert(sizeof(struct reno_flow) <= 104, "the kernel gives a controller 104 bytes");

INLINE void reno_event(struct sock *sk, struct reno_flow *flow, u8 kind)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct event *e = event_begin(sk, flow->number, kind);
	if (!e)
		return;
	e->state = flow->state;
	e->slow_start = tp->snd_cwnd < tp->snd_ssthresh;
	event_end(e);
}

INLINE void set_cwnd(struct tcp_sock *tp, u32 cwnd)
{
	u32 most = tp->snd_cwnd_clamp;
	cwnd = cwnd < most ? cwnd : most;
	tp->snd_cwnd = cwnd ? cwnd : 1;
}

SEC("struct_ops")
void BPF_PROG(reno_init, struct sock *sk)
{
	struct reno_flow *flow = ca_priv(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	__builtin_memset(flow, 0, sizeof(*flow));
	flow->number = event_flow();
	flow->ready = 1;
	/* A connection that changes its controller keeps its window. */
	if (!tp->data_segs_out)
		set_cwnd(tp, params.initial_window);
	reno_event(sk, flow, EVENT_OPEN);
}

SEC("struct_ops")
void BPF_PROG(reno_release, struct sock *sk)
{
	struct reno_flow *flow = ca_priv(sk);
	if (flow->ready)
		reno_event(sk, flow, EVENT_CLOSE);
	flow->ready = 0;
}

/* tcp_is_cwnd_limited() */
INLINE bool is_cwnd_limited(struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited) ||
	       (tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out);
}

/* The kernel calls it outside of recovery only. */
SEC("struct_ops")
void BPF_PROG(reno_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct reno_flow *flow = ca_priv(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	/* The ACK of a client's SYN comes before init. */
	if (!flow->ready)
		return;
	bool slow_start = tp->snd_cwnd < tp->snd_ssthresh;
	if (is_cwnd_limited(tp))
		set_cwnd(tp, reno_ack(&flow->rules, &params, tp->snd_cwnd, tp->snd_ssthresh, acked));
	if (slow_start && tp->snd_cwnd >= tp->snd_ssthresh)
		reno_event(sk, flow, EVENT_MODE);
	else if (every_ack)
		reno_event(sk, flow, EVENT_ACK);
}

SEC("struct_ops")
void BPF_PROG(reno_set_state, struct sock *sk, u8 state)
{
	struct reno_flow *flow = ca_priv(sk);
	if (!flow->ready)
		return;
	bool reduces = state == TCP_CA_Loss || (state >= TCP_CA_CWR && flow->state < TCP_CA_CWR);
	flow->state = state;
	if (state == TCP_CA_Loss)
		reno_timeout(&flow->rules);
	if (reduces)
		reno_event(sk, flow, EVENT_CONGESTION);
}

SEC("struct_ops")
void BPF_PROG(reno_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct reno_flow *flow = ca_priv(sk);
	if (event != CA_EVENT_CWND_RESTART || !flow->ready)
		return;
	reno_restarted(&flow->rules);
	reno_event(sk, flow, EVENT_IDLE);
}

/* The kernel asks at the beginning of each reduction, and at no other time. */
SEC("struct_ops")
u32 BPF_PROG(reno_ssthresh, struct sock *sk)
{
	struct reno_flow *flow = ca_priv(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	if (!flow->ready)
		return tp->snd_ssthresh;
	/*
	 * What was in flight before losses were marked. A packet that duplicate ACKs released is as
	 * much more as the SACKed one is less: RFC 5681 section 3.2 step 2 does not count it.
	 */
	u32 flight = tp->packets_out - tp->sacked_out;
	return reno_reduce(&flow->rules, &params, tp->snd_cwnd, flight);
}

SEC("struct_ops")
u32 BPF_PROG(reno_undo_cwnd, struct sock *sk)
{
	struct reno_flow *flow = ca_priv(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	if (!flow->ready)
		return tp->snd_cwnd;
	u32 cwnd = reno_undo(&flow->rules, tp->snd_cwnd, tp->prior_cwnd);
	reno_event(sk, flow, EVENT_UNDO);
	return cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops ackclock_reno = {
	.init = (void *)reno_init,
	.release = (void *)reno_release,
	.cong_avoid = (void *)reno_cong_avoid,
	.set_state = (void *)reno_set_state,
	.cwnd_event = (void *)reno_cwnd_event,
	.ssthresh = (void *)reno_ssthresh,
	.undo_cwnd = (void *)reno_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "reno_rules",
};
