/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * TCP D* in the kernel: the rules of dstar.h at the hooks of tcp_congestion_ops.
 *
 *   packet after nothing in flight   the first one starts the clock; after an idle RTO, slow start
 *   ACK                              cong_control: the kernel then changes no window itself
 *   Recovery, CWR from below         a loss, a mark; not again from within a reduction or a timeout
 *   Loss                             a timeout
 *
 * Nothing is paced, beyond what the socket's own limit asks for (SO_MAX_PACING_RATE). Idle time
 * counts whatever net.ipv4.tcp_slow_start_after_idle says, which programs cannot read.
 */
#include "kernel.h"
#include "dstar.h"
#include "event.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile struct dstar_params params = DSTAR_DEFAULTS;

struct dstar_flow {
	u32 number;
	u8 ready, state;
	struct dstar rules;
};
_Static_assert(sizeof(struct dstar_flow) <= 104, "the kernel gives a controller 104 bytes");

INLINE struct event *dstar_event_begin(struct sock *sk, struct dstar_flow *flow, u8 kind)
{
	struct event *e = event_begin(sk, flow->number, kind);
	if (!e)
		return NULL;
	e->state = flow->state;
	e->mode = flow->rules.mode;
	e->slow_start = flow->rules.now.slow_start;
	e->bdp = flow->rules.now.bdp;
	e->gain_cwnd = flow->rules.now.gain_cwnd;
	e->min_rtt_us = flow->rules.now.min_rtt;
	return e;
}

INLINE void dstar_event(struct sock *sk, struct dstar_flow *flow, u8 kind)
{
	struct event *e = dstar_event_begin(sk, flow, kind);
	if (e)
		event_end(e);
}

INLINE u32 dstar_cwnd(struct tcp_sock *tp, struct dstar_flow *flow)
{
	u32 cwnd = flow->rules.now.cwnd, most = tp->snd_cwnd_clamp;
	cwnd = cwnd < most ? cwnd : most;
	return cwnd ? cwnd : 1;
}

INLINE u32 dstar_threshold(struct dstar_flow *flow)
{
	return flow->rules.now.slow_start ? TCP_INFINITE_SSTHRESH : params.min_cwnd;
}

INLINE void apply(struct sock *sk, struct dstar_flow *flow)
{
	struct tcp_sock *tp = tcp_sk(sk);
	tp->snd_cwnd = dstar_cwnd(tp, flow);
	tp->snd_ssthresh = dstar_threshold(flow);
}

INLINE void begin(struct sock *sk, struct dstar_flow *flow)
{
	dstar_begin(&flow->rules, tcp_sk(sk)->tcp_mstamp);
	dstar_event(sk, flow, EVENT_BEGIN);
}

SEC("struct_ops")
void BPF_PROG(dstar_init_hook, struct sock *sk)
{
	struct dstar_flow *flow = ca_priv(sk);
	flow->number = event_flow();
	flow->ready = 1;
	flow->state = TCP_CA_Open;
	dstar_init(&flow->rules, &params);
	/* Another controller may have left a rate. */
	sk->sk_pacing_rate = sk->sk_max_pacing_rate;
	apply(sk, flow);
	dstar_event(sk, flow, EVENT_OPEN);
	/* A connection that changes its controller is under way. */
	if (tcp_sk(sk)->packets_out)
		begin(sk, flow);
}

SEC("struct_ops")
void BPF_PROG(dstar_release, struct sock *sk)
{
	struct dstar_flow *flow = ca_priv(sk);
	if (flow->ready)
		dstar_event(sk, flow, EVENT_CLOSE);
	flow->ready = 0;
}

SEC("struct_ops")
void BPF_PROG(dstar_cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct dstar_flow *flow = ca_priv(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	/* The ACK of a client's SYN comes before init. */
	if (!flow->ready)
		return;
	bool ended = dstar_ack(&flow->rules, &params, tp->tcp_mstamp, rs->rtt_us, tp->delivered,
			       rs->is_app_limited, flow->state >= TCP_CA_CWR);
	apply(sk, flow);
	if (!ended && !every_ack)
		return;
	struct event *e = dstar_event_begin(sk, flow, ended ? EVENT_MODE : EVENT_ACK);
	if (!e)
		return;
	e->rtt_us = rs->rtt_us;
	e->app_limited = rs->is_app_limited;
	event_end(e);
}

SEC("struct_ops")
void BPF_PROG(dstar_set_state, struct sock *sk, u8 state)
{
	struct dstar_flow *flow = ca_priv(sk);
	if (!flow->ready)
		return;
	bool reduces = state == TCP_CA_Loss || (state >= TCP_CA_CWR && flow->state < TCP_CA_CWR);
	flow->state = state;
	if (!reduces)
		return;
	u8 cause = state == TCP_CA_Loss ? DSTAR_TIMEOUT : state == TCP_CA_CWR ? DSTAR_MARK : DSTAR_LOSS;
	dstar_congestion(&flow->rules, &params, tcp_sk(sk)->tcp_mstamp, cause);
	apply(sk, flow);
	dstar_event(sk, flow, EVENT_CONGESTION);
}

SEC("struct_ops")
void BPF_PROG(dstar_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct dstar_flow *flow = ca_priv(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	/* Nothing in flight is also reported when everything has been declared lost. */
	if (event != CA_EVENT_TX_START || !flow->ready || tp->packets_out)
		return;
	if (!flow->rules.trans_time)
		return begin(sk, flow);
	s32 idle = (u32)bpf_jiffies64() - tp->lsndtime;
	if (idle <= (s32)tp->inet_conn.icsk_rto || !dstar_idle(&flow->rules, &params, tp->tcp_mstamp))
		return;
	apply(sk, flow);
	dstar_event(sk, flow, EVENT_IDLE);
}

SEC("struct_ops")
u32 BPF_PROG(dstar_ssthresh, struct sock *sk)
{
	struct dstar_flow *flow = ca_priv(sk);
	return flow->ready ? dstar_threshold(flow) : tcp_sk(sk)->snd_ssthresh;
}

SEC("struct_ops")
u32 BPF_PROG(dstar_undo_cwnd, struct sock *sk)
{
	struct dstar_flow *flow = ca_priv(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	if (!flow->ready)
		return tp->snd_cwnd;
	dstar_undo(&flow->rules, &params, tp->tcp_mstamp);
	/* The kernel keeps the larger ssthresh after this. The next ACK sets ours. */
	apply(sk, flow);
	dstar_event(sk, flow, EVENT_UNDO);
	return dstar_cwnd(tp, flow);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops ackclock_dstar = {
	.init = (void *)dstar_init_hook,
	.release = (void *)dstar_release,
	.cong_control = (void *)dstar_cong_control,
	.set_state = (void *)dstar_set_state,
	.cwnd_event = (void *)dstar_cwnd_event,
	.ssthresh = (void *)dstar_ssthresh,
	.undo_cwnd = (void *)dstar_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "dstar",
};
