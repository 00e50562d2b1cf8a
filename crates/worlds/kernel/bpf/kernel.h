/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Types and values of the kernel that the programs use.
 *
 * Only the fields that are read or written are declared. The loader finds their offsets in the
 * running kernel (CO-RE), so neither vmlinux.h nor the headers of one kernel version are needed.
 */
#pragma once

typedef signed char s8;
typedef unsigned char u8;
typedef unsigned short u16;
typedef int s32;
typedef unsigned int u32;
typedef long long s64;
typedef unsigned long long u64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u64 __be64;
typedef u16 __sum16;
typedef u32 __wsum;
typedef _Bool bool;
#define NULL ((void *)0)
#define true 1
#define false 0

enum { BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_QUEUE = 22, BPF_MAP_TYPE_RINGBUF = 27 };
enum { BPF_F_MMAPABLE = 1024 };
enum { BPF_RB_NO_WAKEUP = 1 };
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct in6_addr {
	union {
		u8 u6_addr8[16];
	} in6_u;
};
struct ns_common {
	unsigned int inum;
};
struct net {
	struct ns_common ns;
};
typedef struct {
	struct net *net;
} possible_net_t;
struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
	possible_net_t skc_net;
};
struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate, sk_max_pacing_rate;
	u32 sk_pacing_status;
};
struct inet_sock {
	struct sock sk;
	__be16 inet_sport;
};
struct tcp_congestion_ops;
struct inet_connection_sock {
	struct inet_sock icsk_inet;
	const struct tcp_congestion_ops *icsk_ca_ops;
	u32 icsk_rto;
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[13];
};
struct minmax_sample {
	u32 t, v;
};
struct minmax {
	struct minmax_sample s[3];
};
struct tcp_options_received {
	u32 rcv_tsval, rcv_tsecr;
	u16 sack_ok : 3;
};
struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_cwnd, snd_ssthresh, snd_cwnd_cnt, snd_cwnd_clamp, prior_cwnd;
	u32 packets_out, sacked_out, lost_out, retrans_out, max_packets_out;
	u32 snd_una, snd_nxt;
	u32 srtt_us, mdev_us, rttvar_us;
	u32 mss_cache, delivered, delivered_ce, lost, app_limited, lsndtime, total_retrans;
	u32 tlp_high_seq;
	u64 bytes_acked;
	u8 tlp_retrans : 1;
	u64 tcp_mstamp;
	u32 data_segs_out, prr_out;
	struct minmax rtt_min;
	struct tcp_options_received rx_opt;
	u8 is_cwnd_limited : 1, tcp_usec_ts : 1;
};
struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered;
	s32 delivered;
	long interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked, prior_in_flight;
	bool is_app_limited;
};
enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE
};
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *);
	void (*cong_avoid)(struct sock *, u32, u32);
	void (*set_state)(struct sock *, u8);
	void (*cwnd_event)(struct sock *, enum tcp_ca_event);
	u32 (*min_tso_segs)(struct sock *);
	void (*cong_control)(struct sock *, u32, int, const struct rate_sample *);
	u32 (*undo_cwnd)(struct sock *);
	char name[16];
	u32 flags;
	void (*init)(struct sock *);
	void (*release)(struct sock *);
};
#pragma clang attribute pop

enum { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
/* Flag of a controller that sockets without privileges may use. */
enum { TCP_CONG_NON_RESTRICTED = 1 };
/* Pacing by TCP itself, without a queueing discipline. */
enum { SK_PACING_NONE, SK_PACING_NEEDED };
#define TCP_INFINITE_SSTHRESH 0x7fffffff

#define INLINE static __attribute__((always_inline))

INLINE struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

/* Returns the 104 bytes of a connection that belong to its controller. */
INLINE void *ca_priv(struct sock *sk)
{
	return ((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

INLINE u32 tcp_packets_in_flight(struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}
