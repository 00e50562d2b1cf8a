/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Events of the native controllers. The layout is that of src/event.rs. */
#pragma once

enum { EVENT_OPEN, EVENT_CLOSE, EVENT_BEGIN, EVENT_ACK, EVENT_MODE, EVENT_CONGESTION, EVENT_UNDO, EVENT_IDLE };

/* Windows and counts are in packets. */
struct event {
	u64 time_us;   /* tcp_mstamp */
	u32 flow;      /* number of the connection */
	u32 cwnd, ssthresh, in_flight;
	u32 delivered, lost; /* since the start */
	s32 rtt_us;    /* sample of this ACK, or -1 */
	u32 srtt_us;
	u16 port, peer_port;
	u8 kind;
	u8 state;      /* of loss recovery: tcp_ca_state */
	u8 app_limited;
	u8 mode, slow_start;
	u8 unused[3];
	/* D* only. */
	u32 bdp, gain_cwnd, min_rtt_us;
};
_Static_assert(sizeof(struct event) == 64, "src/event.rs");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

/* Events that found the ring buffer full. */
u64 lost_events;
u32 flows;
/* 1: every ACK is an event. */
const volatile u32 every_ack = 0;

INLINE u32 event_flow(void)
{
	return __sync_fetch_and_add(&flows, 1);
}

INLINE struct event *event_begin(struct sock *sk, u32 flow, u8 kind)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		__sync_fetch_and_add(&lost_events, 1);
		return NULL;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->time_us = tp->tcp_mstamp;
	e->flow = flow;
	e->cwnd = tp->snd_cwnd;
	e->ssthresh = tp->snd_ssthresh;
	e->in_flight = tcp_packets_in_flight(tp);
	e->delivered = tp->delivered;
	e->lost = tp->lost;
	e->rtt_us = -1;
	e->srtt_us = tp->srtt_us >> 3;
	e->port = sk->__sk_common.skc_num;
	e->peer_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	e->kind = kind;
	e->state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
	return e;
}

INLINE void event_end(struct event *e)
{
	/* The reader looks by itself: a wake-up for each event would cost more than the rest. */
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}
