/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Layouts shared by trace.bpf.c and src/trace/record.rs. */
#pragma once

enum { TRACE_PROBE, TRACE_RETRANSMIT, TRACE_STATE, TRACE_REDUCTION, TRACE_SOCKET, TRACE_CLOSED };
enum { TRACE_SACK = 1, TRACE_APP_LIMITED = 2, TRACE_TLP = 4 };

/* A connection at an event. Counts are in packets since its start, unless said otherwise. */
struct trace_record {
	u64 time_ns;              /* monotonic clock */
	u64 cookie;               /* of the socket */
	u64 pacing_rate;          /* bytes per second, all ones: none */
	u64 bytes_acked;          /* payload since the start */
	u8 local[16], peer[16];   /* IPv6, or IPv4 mapped to it */
	u8 algorithm[16];
	u32 netns;                /* inode of the network namespace */
	u32 cwnd, ssthresh;
	u32 packets_out, sacked_out, lost_out, retrans_out;
	u32 srtt_us, rttvar_us, min_rtt_us;
	u32 delivered, delivered_ce, lost, total_retrans;
	u32 mss;                  /* bytes */
	u32 tlp_high_seq;         /* 0: no tail loss probe is under way */
	u16 local_port, peer_port;
	u8 kind;
	u8 state;                 /* new state: of recovery, or of the socket */
	u8 ca_state;              /* state of recovery before */
	u8 flags;
};

/* The connections to trace. */
struct trace_filter {
	u32 port;                 /* of either end, 0: any */
	u32 listed;               /* 1: only sockets whose cookies are listed */
};

_Static_assert(sizeof(struct trace_record) == 152, "src/trace/record.rs");
