/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Layouts shared by agent.bpf.c and src/record.rs. */
#pragma once

enum { AGENT_OPEN, AGENT_CLOSE, AGENT_ACK, AGENT_STATE, AGENT_UNDO, AGENT_IDLE };

/* An event of a connection. Counts are in packets since its start, unless said otherwise. */
struct agent_record {
	u64 seq;            /* generation of the connection in the upper half, count below */
	u64 ktime_ns;       /* time of the record */
	u64 time_us;        /* time of the event: tcp_mstamp */
	u64 answered;       /* record that the window in force answers */
	u32 slot;
	u8 kind, state, app_limited, cwnd_limited;
	u8 stale, usec_timestamps, unused[2];
	u32 mss;            /* bytes */
	u32 cwnd, in_flight, prior_in_flight;
	u32 acked, losses;  /* by this ACK */
	u32 delivered, prior_delivered, sample_delivered, lost, delivered_ce, data_segs_out;
	s32 rtt_us;         /* sample of this ACK, or -1 */
	s32 interval_us;    /* of the rate sample */
	u32 srtt_us, min_rtt_us, rto_us, idle_us;
	u32 tsval;          /* of the newest segment received */
};

/* The answer to a record. The kernel reads it at the next ACK or transmission. */
struct agent_slot {
	u32 cwnd, ssthresh; /* packets */
	u64 pacing_rate;    /* bytes per second, all ones: none */
	u64 answered;       /* seq of the record; written last */
	u32 shapes_recovery;
	u32 unused[9];
};

_Static_assert(sizeof(struct agent_record) == 120, "src/record.rs");
_Static_assert(sizeof(struct agent_slot) == 64, "src/record.rs");

#define AGENT_SLOTS 1024
