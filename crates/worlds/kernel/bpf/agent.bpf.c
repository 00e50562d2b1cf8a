/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Congestion control of TCP by a controller in user space.
 *
 * Each ACK, change of state, undo and idle period becomes a record in a ring buffer. The agent
 * answers in an array of slots: window, ssthresh, pacing rate. The kernel takes the answer at the
 * next ACK, or when the socket may send (min_tso_segs).
 *
 * - From a change of state until its answer, the window is what is in flight. Otherwise packets
 *   would leave with the old window and be lost behind the recovery period, which reduces twice.
 * - Without cong_avoid the kernel reduces no window itself. PRR (RFC 9937) spreads the reduction of
 *   controllers that do not shape it.
 * - If no record is answered for stale_ns, the connection continues as Reno.
 */
#include "kernel.h"
#include "agent.h"
#include "prr.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The ACK moved the left edge (net/ipv4/tcp_input.c). */
#define FLAG_SND_UNA_ADVANCED 0x400

extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;

/* State of a connection. */
struct agent_flow {
	u64 seq;              /* of its newest record */
	u64 hold;             /* record of the newest reduction */
	u64 seen;             /* newest answer */
	u64 unanswered_since; /* ns, 0: everything is answered */
	u32 slot;
	u32 prr_delivered, prior_cwnd;
	u8 ready, stale, in_prr;
};
_Static_assert(sizeof(struct agent_flow) <= 104, "the kernel gives a controller 104 bytes");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, AGENT_SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct agent_slot);
} slots SEC(".maps");

/* Numbers of free slots. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, AGENT_SLOTS);
	__uint(key_size, 0);
	__uint(value_size, 4);
} vacant SEC(".maps");

/* Records that found the ring buffer full, connections that found no slot, changes to Reno. */
u64 lost_records, refused_flows, fallbacks;
u32 generations;

/* Jiffies per second. Not every kernel publishes its configuration. */
extern u32 CONFIG_HZ __kconfig __weak;
const volatile u32 initial_cwnd = 10, paced = 0;
const volatile u64 stale_ns = 200000000;

INLINE struct agent_slot *slot_of(struct agent_flow *flow)
{
	u32 key = flow->slot;
	return bpf_map_lookup_elem(&slots, &key);
}

INLINE bool is_held(struct agent_flow *flow, struct agent_slot *slot)
{
	return flow->hold && slot->answered < flow->hold;
}

INLINE void take(struct sock *sk, struct agent_flow *flow, struct agent_slot *slot)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = slot->cwnd;
	if (is_held(flow, slot)) {
		u32 in_flight = tcp_packets_in_flight(tp);
		if (in_flight < cwnd)
			cwnd = in_flight;
	}
	tp->snd_cwnd = cwnd ? cwnd : 1;
	tp->snd_ssthresh = slot->ssthresh;
	sk->sk_pacing_rate = slot->pacing_rate;
}

INLINE void take_by_prr(struct sock *sk, struct agent_flow *flow, struct agent_slot *slot, int flag,
			const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 delivered = rs->acked_sacked;
	bool safe = (flag & FLAG_SND_UNA_ADVANCED) && !rs->losses;
	flow->prr_delivered += delivered;
	struct prr prr = { slot->cwnd, flow->prior_cwnd, flow->prr_delivered, tp->prr_out };
	tp->snd_cwnd = prr_window(&prr, tcp_packets_in_flight(tp), delivered, safe);
	tp->snd_ssthresh = slot->ssthresh;
	sk->sk_pacing_rate = slot->pacing_rate;
}

INLINE struct agent_record *begin(struct sock *sk, struct agent_flow *flow, u8 kind)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct agent_slot *slot = slot_of(flow);
	struct agent_record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&lost_records, 1);
		return NULL;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->seq = ++flow->seq;
	r->answered = slot ? slot->answered : 0;
	r->ktime_ns = bpf_ktime_get_ns();
	r->time_us = tp->tcp_mstamp;
	r->slot = flow->slot;
	r->kind = kind;
	r->stale = flow->stale;
	r->mss = tp->mss_cache;
	r->cwnd = tp->snd_cwnd;
	r->in_flight = tcp_packets_in_flight(tp);
	r->delivered = tp->delivered;
	r->lost = tp->lost;
	r->delivered_ce = tp->delivered_ce;
	r->data_segs_out = tp->data_segs_out;
	r->srtt_us = tp->srtt_us >> 3;
	r->min_rtt_us = tp->rtt_min.s[0].v;
	r->app_limited = tp->app_limited != 0;
	/* tcp_is_cwnd_limited() */
	r->cwnd_limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited) ||
			  (tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out);
	r->usec_timestamps = BPF_CORE_READ_BITFIELD(tp, tcp_usec_ts);
	r->tsval = tp->rx_opt.rcv_tsval;
	r->rtt_us = -1;
	return r;
}

INLINE void end(struct agent_record *r)
{
	/* The agent looks by itself: a wake-up for each record would cost more than the rest. */
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

SEC("struct_ops")
void BPF_PROG(agent_init, struct sock *sk)
{
	struct agent_flow *flow = ca_priv(sk);
	u32 key = 0;
	__builtin_memset(flow, 0, sizeof(*flow));
	if (bpf_map_pop_elem(&vacant, &key)) {
		__sync_fetch_and_add(&refused_flows, 1);
		flow->stale = 1;
		return;
	}
	flow->slot = key;
	struct agent_slot *slot = slot_of(flow);
	if (!slot)
		return;
	flow->seq = flow->seen = (u64)__sync_fetch_and_add(&generations, 1) << 32;
	slot->cwnd = initial_cwnd;
	slot->ssthresh = TCP_INFINITE_SSTHRESH;
	slot->pacing_rate = ~0ULL;
	slot->shapes_recovery = 1;
	slot->answered = flow->seq;
	flow->ready = 1;
	take(sk, flow, slot);
	if (paced && sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	struct agent_record *r = begin(sk, flow, AGENT_OPEN);
	if (r)
		end(r);
}

SEC("struct_ops")
void BPF_PROG(agent_release, struct sock *sk)
{
	struct agent_flow *flow = ca_priv(sk);
	if (!flow->ready)
		return;
	struct agent_record *r = begin(sk, flow, AGENT_CLOSE);
	if (r)
		end(r);
	u32 key = flow->slot;
	bpf_map_push_elem(&vacant, &key, 0);
	flow->ready = 0;
}

/* Reports whether a record has been waiting too long. */
INLINE bool is_stale(struct agent_flow *flow, struct agent_slot *slot)
{
	u64 now = bpf_ktime_get_ns(), answered = slot->answered;
	if (answered >= flow->seq) {
		flow->unanswered_since = 0;
		return false;
	}
	if (!flow->unanswered_since || answered != flow->seen) {
		flow->seen = answered;
		flow->unanswered_since = now;
	}
	return now - flow->unanswered_since > stale_ns;
}

SEC("struct_ops")
void BPF_PROG(agent_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct agent_flow *flow = ca_priv(sk);
	struct agent_slot *slot = slot_of(flow);
	/* The ACK of a client's SYN comes before init. */
	if (!slot || !(flow->ready || flow->stale))
		return;
	bool stale = !flow->ready || is_stale(flow, slot);
	if (stale && !flow->stale)
		__sync_fetch_and_add(&fallbacks, 1);
	flow->stale = stale;
	if (stale) {
		sk->sk_pacing_rate = ~0UL;
		if (rs->acked_sacked)
			tcp_reno_cong_avoid(sk, ack, rs->acked_sacked);
	} else if (flow->in_prr && !slot->shapes_recovery && !is_held(flow, slot)) {
		take_by_prr(sk, flow, slot, flag, rs);
	} else {
		take(sk, flow, slot);
	}
	if (!flow->ready)
		return;
	struct agent_record *r = begin(sk, flow, AGENT_ACK);
	if (!r)
		return;
	r->prior_in_flight = rs->prior_in_flight;
	r->acked = rs->acked_sacked;
	r->losses = rs->losses;
	r->prior_delivered = rs->prior_delivered;
	r->sample_delivered = rs->delivered > 0 ? rs->delivered : 0;
	r->interval_us = rs->interval_us;
	r->rtt_us = rs->rtt_us;
	r->app_limited = rs->is_app_limited;
	end(r);
}

SEC("struct_ops")
void BPF_PROG(agent_set_state, struct sock *sk, u8 state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct agent_flow *flow = ca_priv(sk);
	bool reduces = state == TCP_CA_CWR || state == TCP_CA_Recovery;
	if (flow->stale && reduces)
		tp->snd_cwnd = tp->snd_ssthresh;
	if (!flow->ready)
		return;
	if (reduces && !flow->in_prr) {
		flow->prr_delivered = 0;
		flow->prior_cwnd = tp->snd_cwnd;
	}
	flow->in_prr = reduces;
	struct agent_record *r = begin(sk, flow, AGENT_STATE);
	if (!r)
		return;
	r->state = state;
	if (state >= TCP_CA_CWR)
		flow->hold = r->seq;
	end(r);
}

SEC("struct_ops")
void BPF_PROG(agent_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct agent_flow *flow = ca_priv(sk);
	/* Nothing in flight is also reported when everything has been declared lost. */
	if (event != CA_EVENT_TX_START || !flow->ready || tp->packets_out)
		return;
	struct agent_record *r = begin(sk, flow, AGENT_IDLE);
	if (!r)
		return;
	s32 idle = (u32)bpf_jiffies64() - tp->lsndtime;
	u32 tick_us = 1000000 / (CONFIG_HZ ? CONFIG_HZ : 250);
	r->idle_us = idle > 0 ? (u32)idle * tick_us : 0;
	r->rto_us = tp->inet_conn.icsk_rto * tick_us;
	end(r);
}

SEC("struct_ops")
u32 BPF_PROG(agent_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct agent_flow *flow = ca_priv(sk);
	u32 half = tp->snd_cwnd >> 1;
	if (flow->stale)
		return half < 2 ? 2 : half;
	return tp->snd_ssthresh;
}

SEC("struct_ops")
u32 BPF_PROG(agent_undo_cwnd, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct agent_flow *flow = ca_priv(sk);
	if (flow->ready) {
		struct agent_record *r = begin(sk, flow, AGENT_UNDO);
		if (r)
			end(r);
	}
	return tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
}

/* The kernel calls it whenever the socket may send, before it looks at the window. */
SEC("struct_ops")
u32 BPF_PROG(agent_min_tso_segs, struct sock *sk)
{
	struct agent_flow *flow = ca_priv(sk);
	if (flow->ready && !flow->stale) {
		struct agent_slot *slot = slot_of(flow);
		if (slot && (slot->shapes_recovery || !flow->in_prr))
			take(sk, flow, slot);
	}
	return 2;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops ackclock_agent = {
	.init = (void *)agent_init,
	.release = (void *)agent_release,
	.cong_control = (void *)agent_control,
	.set_state = (void *)agent_set_state,
	.cwnd_event = (void *)agent_cwnd_event,
	.ssthresh = (void *)agent_ssthresh,
	.undo_cwnd = (void *)agent_undo_cwnd,
	.min_tso_segs = (void *)agent_min_tso_segs,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "agent",
};
