"""Ends of aioquic in virtual time, as a child of ackclock.

Requests come on stdin and answers leave on stdout, both with their length in front (4 bytes, little-endian like all numbers);
`crates/stack/src/aioquic/messages.rs` is the other side. Every request has one answer. aioquic itself is not changed: what it does is
watched where one part of it calls another.

The same requests have the same answers: os.urandom is seeded for each end, certificates are looked at on one day, and time is what the
requests say. Keys of TLS come from OpenSSL, and no length depends on them. aioquic reads no other clock as long as it writes no qlog.
"""

import logging
import os
import random
import struct
import sys

ANSWERS, REQUESTS = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
# Whatever prints, prints into no answer.
os.dup2(2, 1)


def reply(body):
    ANSWERS.write(struct.pack("<I", len(body)) + body)
    ANSWERS.flush()


# Whose random bytes are drawn.
drawing = random.Random(0)
os.urandom = lambda count: drawing.randbytes(count)

try:
    import aioquic
    import aioquic.tls as tls
    from aioquic.buffer import Buffer
    from aioquic.quic import connection as quic
    from aioquic.quic import events
    from aioquic.quic.configuration import SMALLEST_MAX_DATAGRAM_SIZE, QuicConfiguration
    from aioquic.quic.packet import QuicPacketType, encode_quic_retry, pull_quic_header
    from aioquic.quic.retry import QuicRetryTokenHandler
    from aioquic.quic.stream import QuicStreamReceiver
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding
except ImportError as error:
    reply(b"\x00" + str(error).encode())
    sys.exit(0)
reply(b"\x01" + aioquic.__version__.encode())

logging.disable(logging.CRITICAL)
DAY = tls.datetime.datetime(2026, 1, 1, tzinfo=tls.datetime.timezone.utc)
tls.utcnow = lambda: DAY

# A process's clock is never at 0, which aioquic takes for "not yet" here and there: nanoseconds.
BASE = 1000 * 10**9
NEVER = 2**64 - 1
# The stream that a client opens, its first one in one direction.
STREAM = 2
# Credit of flow control, bytes: the network limits, and not this.
CREDIT = 64 << 20
CLIENT, SERVER = ("10.0.0.1", 4000), ("10.0.0.2", 443)
# Kinds of datagrams, and of news.
DATA, HANDSHAKE, BARE = 0, 1, 2
RTT, SETTLED, REDUCED, COLLAPSED = 0, 1, 2, 3


def seconds(now):
    return (now + BASE) / 1e9


def nanoseconds(at):
    """The first nanosecond at which a timer of this time is over."""
    now = int(at * 1e9) - BASE
    while seconds(now) < at:
        now += 1
    return max(now, 0)


class Builder(quic.QuicPacketBuilder):
    """aioquic's, which knows which packets are in which datagram."""

    def __init__(self, **how):
        super().__init__(**how)
        self.cuts = []

    def _flush_current_datagram(self):
        before = len(self._datagrams)
        super()._flush_current_datagram()
        if len(self._datagrams) > before:
            self.cuts.append(len(self._packets))

    def flush(self):
        datagrams, packets = super().flush()
        begin = 0
        for cut in self.cuts:
            turning.kinds.append(kind(packets[begin:cut]))
            begin = cut
        self.cuts = []
        return datagrams, packets


def kind(packets):
    """What a datagram of these packets is counted as."""
    asking = [packet for packet in packets if packet.is_ack_eliciting]
    if any(packet.epoch == tls.Epoch.ONE_RTT and not packet.is_crypto_packet for packet in asking):
        return DATA
    return HANDSHAKE if asking else BARE


def handle_frame(receiver, frame, plain=QuicStreamReceiver.handle_frame):
    if receiver._stream_id == STREAM:
        turning.frames.append((frame.offset, len(frame.data)))
    return plain(receiver, frame)


quic.QuicPacketBuilder = Builder
QuicStreamReceiver.handle_frame = handle_frame


class End:
    """What clients and servers have in common: connections, and what is to be told of a turn."""

    def __init__(self, seed, algorithm, datagram, alpn):
        self.random = random.Random(seed)
        self.settings = {
            "alpn_protocols": [alpn.decode()],
            "congestion_control_algorithm": algorithm.decode(),
            "max_datagram_size": datagram,
            "max_data": CREDIT,
            "max_stream_data": CREDIT,
        }
        self.news, self.frames, self.handed, self.kinds, self.answers = [], [], [], [], []
        self.lost, self.expired = 0, 0
        self.latest = None

    def connections(self):
        return []

    def on_event(self, connection, event):
        if isinstance(event, events.StreamDataReceived) and event.stream_id == STREAM:
            self.handed.append(event.data)

    def turn(self, now, data, end, datagram):
        self.supply(data, end)
        if datagram:
            self.receive(now, datagram)
        else:
            for connection in self.connections():
                due = connection.get_timer()
                if due is not None and due <= now:
                    connection.handle_timer(now=now)
        for connection in self.connections():
            while (event := connection.next_event()) is not None:
                self.on_event(connection, event)
        return self.answer(now)

    def answer(self, now):
        datagrams = [(HANDSHAKE, answer) for answer in self.answers]
        due = NEVER
        for connection in self.connections():
            if not connection._network_paths:
                continue
            leaving = [bytes for bytes, _ in connection.datagrams_to_send(now=now)]
            datagrams.extend(zip(self.kinds, leaving, strict=True))
            self.kinds = []
            at = connection.get_timer()
            due = due if at is None else min(due, nanoseconds(at))
        head = (due, *self.standing(), self.lost, self.expired, self.buffered())
        sizes = (len(self.news), len(self.frames), len(datagrams), sum(map(len, self.handed)))
        parts = [struct.pack("<8Q4I", *head, *sizes)]
        parts.extend(struct.pack("<B2Q", *news) for news in self.news)
        parts.extend(struct.pack("<QI", *frame) for frame in self.frames)
        for one, bytes in datagrams:
            parts.append(struct.pack("<BI", one, len(bytes)))
            parts.append(bytes)
        parts.extend(self.handed)
        self.news, self.frames, self.handed, self.answers = [], [], [], []
        return b"".join(parts)

    def supply(self, data, end):
        pass

    def buffered(self):
        return 0

    def standing(self):
        """Window, bytes in flight, smoothed and newest RTT in nanoseconds."""
        return NEVER, NEVER, NEVER, NEVER


class Client(End):
    """One connection, and one stream of what comes with the requests."""

    def __init__(self, name, certificate, *common):
        super().__init__(*common)
        pem = x509.load_der_x509_certificate(certificate).public_bytes(Encoding.PEM)
        settings = {**self.settings, "is_client": True, "server_name": name.decode(), "cadata": pem}
        self.connection = quic.QuicConnection(configuration=QuicConfiguration(**settings))
        self.begun, self.ready, self.waiting, self.ends = False, False, bytearray(), False
        self.watch(self.connection._loss)

    def connections(self):
        return [self.connection] if self.begun else []

    def watch(self, loss):
        cc = loss._cc
        on_rtt, on_lost = cc.on_rtt_measurement, cc.on_packets_lost
        on_collapse, on_declared = cc.on_persistent_congestion, loss._on_packets_lost

        def rtt_measured(*, now, rtt):
            self.latest = rtt
            self.news.append((RTT, round(rtt * 1e9), 0))
            on_rtt(now=now, rtt=rtt)

        def packets_lost(*, now, packets):
            began = cc._congestion_recovery_start_time
            self.settled()
            on_lost(now=now, packets=packets)
            if cc._congestion_recovery_start_time != began:
                self.news.append((REDUCED, cc.congestion_window, 0))

        def collapsed():
            on_collapse()
            self.news.append((COLLAPSED, cc.congestion_window, 0))

        def declared(*, packets, congestion_event=True, **rest):
            packets = tuple(packets)
            self.lost += len(packets) if congestion_event else 0
            self.expired += 0 if congestion_event else len(packets)
            on_declared(packets=packets, congestion_event=congestion_event, **rest)

        cc.on_rtt_measurement, cc.on_packets_lost = rtt_measured, packets_lost
        cc.on_persistent_congestion, loss._on_packets_lost = collapsed, declared

    def settled(self):
        cc = self.connection._loss._cc
        self.news.append((SETTLED, cc.congestion_window, NEVER if cc.ssthresh is None else cc.ssthresh))

    def receive(self, now, datagram):
        self.connection.receive_datagram(datagram, SERVER, now=now)
        self.settled()

    def turn(self, now, data, end, datagram):
        if not self.begun:
            self.begun = True
            self.connection.connect(SERVER, now=now)
        return super().turn(now, data, end, datagram)

    def on_event(self, connection, event):
        super().on_event(connection, event)
        if isinstance(event, events.HandshakeCompleted):
            self.ready = True
            self.write()

    def supply(self, data, end):
        self.waiting += data
        self.ends = self.ends or end
        self.write()

    def write(self):
        if self.ready and (self.waiting or self.ends):
            self.connection.send_stream_data(STREAM, bytes(self.waiting), self.ends)
            self.waiting, self.ends = bytearray(), False

    def buffered(self):
        stream = self.connection._streams.get(STREAM)
        written = 0 if stream is None else stream.sender._buffer_stop - stream.sender._buffer_start
        return written + len(self.waiting)

    def standing(self):
        loss = self.connection._loss
        smoothed = round(loss._rtt_smoothed * 1e9) if loss._rtt_initialized else NEVER
        latest = NEVER if self.latest is None else round(self.latest * 1e9)
        return loss.congestion_window, loss.bytes_in_flight, smoothed, latest


class Server(End):
    """As aioquic.asyncio.server: connections by their connection IDs."""

    def __init__(self, retry, certificate, key, *common):
        super().__init__(*common)
        settings = QuicConfiguration(**self.settings, is_client=False)
        settings.certificate = x509.load_der_x509_certificate(certificate)
        # PKCS #8 of RFC 8410, of which OpenSSL reads only the older version: the key are the 32 bytes behind these.
        at = key.index(b"\x04\x22\x04\x20") + 4
        settings.private_key = Ed25519PrivateKey.from_private_bytes(key[at : at + 32])
        self.configuration = settings
        self.tokens = QuicRetryTokenHandler() if retry else None
        self.ids = {}

    def connections(self):
        return list(dict.fromkeys(self.ids.values()))

    def receive(self, now, datagram):
        try:
            header = pull_quic_header(Buffer(data=datagram), host_cid_length=self.configuration.connection_id_length)
        except ValueError:
            return
        if header.version not in (None, *self.configuration.supported_versions):
            return  # no client here has another; that of a damaged datagram is
        connection = self.ids.get(header.destination_cid)
        large = len(datagram) >= SMALLEST_MAX_DATAGRAM_SIZE
        if connection is None and large and header.packet_type == QuicPacketType.INITIAL:
            connection = self.accept(now, header)
        if connection is not None:
            connection.receive_datagram(datagram, CLIENT, now=now)

    def accept(self, now, header):
        original, source = header.destination_cid, None
        if self.tokens is not None and not header.token:
            return self.send_retry(now, header)
        if self.tokens is not None:
            source = header.destination_cid
            try:
                original = self.tokens.validate_token(
                    address=CLIENT, destination_cid=source, token=header.token, now=now
                )
            except ValueError:
                return None  # a damaged one, which a server may ignore
        connection = quic.QuicConnection(
            configuration=self.configuration,
            original_destination_connection_id=original,
            retry_source_connection_id=source,
        )
        self.ids[header.destination_cid] = self.ids[connection.host_cid] = connection
        return connection

    def send_retry(self, now, header):
        source = os.urandom(8)
        token = self.tokens.create_token(
            address=CLIENT,
            original_destination_connection_id=header.destination_cid,
            retry_source_connection_id=source,
            now=now,
        )
        retry = encode_quic_retry(
            version=header.version,
            source_cid=source,
            destination_cid=header.source_cid,
            original_destination_cid=header.destination_cid,
            retry_token=token,
        )
        self.answers.append(retry)

    def on_event(self, connection, event):
        super().on_event(connection, event)
        if isinstance(event, events.ConnectionIdIssued):
            self.ids[event.connection_id] = connection
        elif isinstance(event, events.ConnectionIdRetired):
            self.ids.pop(event.connection_id, None)
        elif isinstance(event, events.ConnectionTerminated):
            self.ids = {id: other for id, other in self.ids.items() if other is not connection}


def fields(body, at):
    """Byte strings, each with its length in front."""
    while at < len(body):
        (length,) = struct.unpack_from("<I", body, at)
        yield body[at + 4 : at + 4 + length]
        at += 4 + length


def make(body):
    """A new end."""
    global drawing
    _, is_server, retry, seed, datagram = struct.unpack_from("<BBBQI", body)
    alpn, algorithm, name, certificate, key = fields(body, 15)
    drawing = random.Random(seed)
    common = (seed, algorithm, datagram, alpn)
    end = Server(retry, certificate, key, *common) if is_server else Client(name, certificate, *common)
    end.random = drawing
    ends.append(end)
    return b""


def turn(body):
    """Time has come for an end: to take a datagram, or for its timer."""
    global drawing, turning
    _, number, now, last, length = struct.unpack_from("<BIQBI", body)
    turning = ends[number]
    drawing = turning.random
    data, datagram = body[18 : 18 + length], body[18 + length :]
    return turning.turn(seconds(now), data, bool(last), datagram)


ends, turning = [], None
while len(size := REQUESTS.read(4)) == 4:
    (size,) = struct.unpack("<I", size)
    request = REQUESTS.read(size)
    if len(request) < size:
        break
    reply(make(request) if request[0] == 0 else turn(request))
