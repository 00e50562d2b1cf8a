/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reports TCP connections at the kernel's tracepoints: each segment that arrives while data is in
 * flight, each retransmission, each change of loss recovery, each reduction step, and the states of
 * the socket. tcp_probe runs before the segment is processed, so its values are what the record
 * before has left.
 */
#include "kernel.h"
#include "trace.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum { AF_INET = 2 };
enum { BPF_MAP_TYPE_HASH = 1 };

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} records SEC(".maps");

/* Cookies of listed sockets. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, u8);
} listed SEC(".maps");

/* Records that found the ring buffer full. */
u64 lost_records;

const volatile struct trace_filter filter = {};

INLINE void addresses(struct trace_record *r, struct sock_common *c)
{
	if (c->skc_family == AF_INET) {
		u32 prefix[3] = {0, 0, __builtin_bswap32(0xffff)};
		__builtin_memcpy(r->local, prefix, 12);
		__builtin_memcpy(r->peer, prefix, 12);
		*(u32 *)&r->local[12] = c->skc_rcv_saddr;
		*(u32 *)&r->peer[12] = c->skc_daddr;
	} else if (bpf_core_field_exists(c->skc_v6_daddr)) {
		bpf_core_read(r->local, 16, &c->skc_v6_rcv_saddr);
		bpf_core_read(r->peer, 16, &c->skc_v6_daddr);
	}
}

INLINE int put(const struct sock *traced, u8 kind, u8 state)
{
	struct sock *sk = (struct sock *)traced;
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	if (!tp || (kind == TRACE_PROBE && !tp->packets_out))
		return 0;
	/* A socket that closes has given back skc_num already. */
	u16 port = __builtin_bswap16(tp->inet_conn.icsk_inet.inet_sport);
	u16 peer = __builtin_bswap16(sk->__sk_common.skc_dport);
	if (filter.port && filter.port != port && filter.port != peer)
		return 0;
	u64 cookie = bpf_get_socket_cookie(sk);
	if (filter.listed && !bpf_map_lookup_elem(&listed, &cookie))
		return 0;
	struct trace_record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&lost_records, 1);
		return 0;
	}
	struct inet_connection_sock *icsk = &tp->inet_conn;
	r->time_ns = bpf_ktime_get_ns();
	r->cookie = cookie;
	r->pacing_rate = sk->sk_pacing_rate;
	r->bytes_acked = tp->bytes_acked;
	addresses(r, &sk->__sk_common);
	bpf_core_read(r->algorithm, 16, &icsk->icsk_ca_ops->name);
	r->netns = sk->__sk_common.skc_net.net->ns.inum;
	r->cwnd = tp->snd_cwnd;
	r->ssthresh = tp->snd_ssthresh;
	r->packets_out = tp->packets_out;
	r->sacked_out = tp->sacked_out;
	r->lost_out = tp->lost_out;
	r->retrans_out = tp->retrans_out;
	/* Units of TCP_INFO. */
	r->srtt_us = tp->srtt_us >> 3;
	r->rttvar_us = tp->mdev_us >> 2;
	r->min_rtt_us = tp->rtt_min.s[0].v;
	r->delivered = tp->delivered;
	r->delivered_ce = tp->delivered_ce;
	r->lost = tp->lost;
	r->total_retrans = tp->total_retrans;
	r->mss = tp->mss_cache;
	r->tlp_high_seq = tp->tlp_high_seq;
	r->local_port = port;
	r->peer_port = peer;
	r->kind = kind;
	r->state = state;
	r->ca_state = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
	r->flags = (BPF_CORE_READ_BITFIELD(tp, rx_opt.sack_ok) ? TRACE_SACK : 0) |
		   (tp->app_limited ? TRACE_APP_LIMITED : 0) |
		   (BPF_CORE_READ_BITFIELD(tp, tlp_retrans) ? TRACE_TLP : 0);
	/* The reader looks by itself: a wake-up for each record would cost more than the rest. */
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(trace_probe, struct sock *sk)
{
	return put(sk, TRACE_PROBE, 0);
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(trace_retransmit, struct sock *sk)
{
	return put(sk, TRACE_RETRANSMIT, 0);
}

SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(trace_state, struct sock *sk, u8 state)
{
	return put(sk, TRACE_STATE, state);
}

/* Since Linux 6.15; the loader leaves it out before. */
SEC("tp_btf/tcp_cwnd_reduction_tp")
int BPF_PROG(trace_reduction, struct sock *sk)
{
	return put(sk, TRACE_REDUCTION, 0);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(trace_socket, struct sock *sk, int before, int after)
{
	return put(sk, TRACE_SOCKET, after);
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(trace_closed, struct sock *sk)
{
	return put(sk, TRACE_CLOSED, 0);
}
