"""Adds receive times in ACK frames (draft-ietf-quic-receive-ts-02) to aioquic, written from the draft and independent of
our code.

Python runs this file at its start if its folder is in PYTHONPATH. aioquic's files are not changed. Decoded times go to
the file that STAMPS names, one line per packet: number, sending time and receive time, both in microseconds.
"""

import os

from aioquic.quic import connection as quic
from aioquic.quic import packet, packet_builder, recovery
from aioquic.quic.rangeset import RangeSet
from aioquic import tls

ACK_STAMPED, ACK_STAMPED_ECN = 0x03178307, 0x03178308
MAX_PARAMETER, EXPONENT_PARAMETER = 0x4AC07, 0x4AC26
# Number of times that this endpoint requests, their exponent, and the most that it writes.
ASKED, EXPONENT, WRITTEN = 40, 2, 40
STAMPED = frozenset([ACK_STAMPED, ACK_STAMPED_ECN])

packet.PARAMS[MAX_PARAMETER] = ("max_receive_timestamps", int)
packet.PARAMS[EXPONENT_PARAMETER] = ("receive_timestamps_exponent", int)
packet.QuicTransportParameters.max_receive_timestamps = ASKED
packet.QuicTransportParameters.receive_timestamps_exponent = EXPONENT
quic.NON_ACK_ELICITING_FRAME_TYPES |= STAMPED
packet_builder.NON_ACK_ELICITING_FRAME_TYPES |= STAMPED
packet_builder.NON_IN_FLIGHT_FRAME_TYPES |= STAMPED

now = 0.0
decoded = open(os.environ["STAMPS"], "a", buffering=1)


class Queue(RangeSet):
    """Packet numbers to acknowledge, with their receive times."""

    def __init__(self):
        super().__init__()
        self.came = {}

    def add(self, start, stop=None):
        for number in range(start, start + 1 if stop is None else stop):
            self.came.setdefault(number, now)
        super().add(start, start + 1 if stop is None else stop)


class Space(recovery.QuicPacketSpace):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ack_queue = Queue()


class Connection(quic.QuicConnection):
    peer_asked, peer_exponent = 0, 0

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        handlers = self._QuicConnection__frame_handlers
        for kind in STAMPED:
            handlers[kind] = (self._handle_stamped, quic.EPOCHS("1"))

    def receive_datagram(self, data, addr, now):
        globals()["now"] = now
        super().receive_datagram(data, addr, now)

    def _parse_transport_parameters(self, data, from_session_ticket=False):
        super()._parse_transport_parameters(data, from_session_ticket)
        given = vars(packet.pull_quic_transport_parameters(quic.Buffer(data=data)))
        self.peer_asked = given.get("max_receive_timestamps", 0)
        self.peer_exponent = given.get("receive_timestamps_exponent", 0)

    def _handle_stamped(self, context, frame_type, buf):
        sent = {number: one.sent_time for number, one in self._spaces[context.epoch].sent_packets.items()}
        begin = buf.tell()
        largest = buf.pull_uint_var()
        buf.seek(begin)
        plain = packet.QuicFrameType.ACK if frame_type == ACK_STAMPED else packet.QuicFrameType.ACK_ECN
        self._handle_ack_frame(context, plain, buf)
        time, count = None, 0
        for _ in range(buf.pull_uint_var()):
            number = largest - buf.pull_uint_var()
            for _ in range(buf.pull_uint_var()):
                delta = buf.pull_uint_var()
                time = delta if time is None else time - delta
                assert time >= 0 and number >= 0
                if number in sent:
                    decoded.write(f"{number} {sent[number] * 1e6:.3f} {time << EXPONENT}\n")
                number, count = number - 1, count + 1
        assert count <= ASKED

    def _write_ack_frame(self, builder, space, now):
        if self.peer_asked == 0 or space is not self._spaces[tls.Epoch.ONE_RTT]:
            return super()._write_ack_frame(builder, space, now)
        delay = int((now - space.largest_received_time) * 1000000) >> self._local_ack_delay_exponent
        buf = builder.start_frame(
            ACK_STAMPED,
            capacity=quic.ACK_FRAME_CAPACITY,
            handler=self._on_ack_delivery,
            handler_args=(space, space.largest_received_packet),
        )
        largest = space.ack_queue[len(space.ack_queue) - 1].stop - 1
        room = min(WRITTEN, self.peer_asked) * 8
        ranges = packet.push_ack_frame(buf, space.ack_queue, delay, builder.remaining_buffer_space - room - 8)
        space.ack_at = None
        unit = 2**self.peer_exponent
        came = [(int(at * 1e6) // unit, number) for number, at in space.ack_queue.came.items() if number <= largest]
        came = sorted(came, reverse=True)[: room // 8]
        runs = []
        for stamp in came:
            if runs and runs[-1][-1][1] == stamp[1] + 1:
                runs[-1].append(stamp)
            else:
                runs.append([stamp])
        before = None
        buf.push_uint_var(len(runs))
        for run in runs:
            buf.push_uint_var(largest - run[0][1])
            buf.push_uint_var(len(run))
            for time, _ in run:
                buf.push_uint_var(time if before is None else before - time)
                before = time
        if ranges > 1 and builder.packet_number % 8 == 0:
            self._write_ping_frame(builder, comment="ACK-of-ACK trigger")


quic.QuicPacketSpace = Space
quic.QuicConnection = Connection
