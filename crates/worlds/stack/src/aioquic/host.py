"""Endpoints of aioquic in virtual time, in a child process of ackclock.

Requests arrive on stdin and replies leave on stdout. Both have a length prefix of 4 bytes, and all numbers are
little-endian. `crates/worlds/stack/src/aioquic/messages.rs` is the other side. Every request has one reply. aioquic itself
is not changed. This script observes calls between its parts.

The same requests give the same replies. os.urandom is seeded for each endpoint, certificates are checked on a fixed
day, and time comes from the requests. OpenSSL draws the TLS keys, but no length depends on them. aioquic reads no
other clock as long as it writes no qlog.
"""

import logging
import os
import random
import struct
import sys

REPLIES, REQUESTS = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
# Output of print must not end up in a reply.
os.dup2(2, 1)


def reply(body):
    REPLIES.write(struct.pack("<I", len(body)) + body)
    REPLIES.flush()


# Generator of the endpoint that is being served.
generator = random.Random(0)
os.urandom = lambda count: generator.randbytes(count)

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

# Offset of the clock from virtual time, in nanoseconds. aioquic takes a time of 0 for "not set" in some places.
BASE = 1000 * 10**9
NEVER = 2**64 - 1
# ID of the client's first unidirectional stream.
STREAM = 2
# Flow control credit, in bytes. The network must be the limit, and not this.
CREDIT = 64 << 20
CLIENT, SERVER = ("10.0.0.1", 4000), ("10.0.0.2", 443)
# Kinds of datagrams, and of controller events.
DATA, HANDSHAKE, BARE = 0, 1, 2
RTT, ACKED, REDUCED, COLLAPSED = 0, 1, 2, 3


def seconds(now):
    return (now + BASE) / 1e9


def nanoseconds(at):
    """Returns the first nanosecond at which a timer set to this time has expired."""
    now = int(at * 1e9) - BASE
    while seconds(now) < at:
        now += 1
    return max(now, 0)


class Builder(quic.QuicPacketBuilder):
    """A packet builder that records which packets are in which datagram."""

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
            current.kinds.append(kind(packets[begin:cut]))
            begin = cut
        self.cuts = []
        return datagrams, packets


def kind(packets):
    """Classifies a datagram by its packets."""
    eliciting = [packet for packet in packets if packet.is_ack_eliciting]
    if any(packet.epoch == tls.Epoch.ONE_RTT and not packet.is_crypto_packet for packet in eliciting):
        return DATA
    return HANDSHAKE if eliciting else BARE


def handle_frame(receiver, frame, plain=QuicStreamReceiver.handle_frame):
    if receiver._stream_id == STREAM:
        current.frames.append((frame.offset, len(frame.data)))
    return plain(receiver, frame)


quic.QuicPacketBuilder = Builder
QuicStreamReceiver.handle_frame = handle_frame


class Endpoint:
    """Common part of clients and servers: connections, and the results of a step."""

    def __init__(self, seed, algorithm, datagram, alpn):
        self.random = random.Random(seed)
        self.settings = {
            "alpn_protocols": [alpn.decode()],
            "congestion_control_algorithm": algorithm.decode(),
            "max_datagram_size": datagram,
            "max_data": CREDIT,
            "max_stream_data": CREDIT,
        }
        self.controller_events, self.frames, self.delivered, self.kinds, self.responses = [], [], [], [], []
        self.lost, self.expired = 0, 0
        self.latest = None

    def connections(self):
        return []

    def on_event(self, connection, event):
        if isinstance(event, events.StreamDataReceived) and event.stream_id == STREAM:
            self.delivered.append(event.data)

    def step(self, now, data, end, datagram):
        self.add_data(data, end)
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
        return self.result(now)

    def result(self, now):
        datagrams = [(HANDSHAKE, response) for response in self.responses]
        due = NEVER
        for connection in self.connections():
            if not connection._network_paths:
                continue
            leaving = [bytes for bytes, _ in connection.datagrams_to_send(now=now)]
            datagrams.extend(zip(self.kinds, leaving, strict=True))
            self.kinds = []
            at = connection.get_timer()
            due = due if at is None else min(due, nanoseconds(at))
        head = (due, *self.sender_state(), self.lost, self.expired, self.buffered())
        sizes = (len(self.controller_events), len(self.frames), len(datagrams), sum(map(len, self.delivered)))
        parts = [struct.pack("<8Q4I", *head, *sizes)]
        parts.extend(struct.pack("<B2Q", *event) for event in self.controller_events)
        parts.extend(struct.pack("<QI", *frame) for frame in self.frames)
        for one, bytes in datagrams:
            parts.append(struct.pack("<BI", one, len(bytes)))
            parts.append(bytes)
        parts.extend(self.delivered)
        self.controller_events, self.frames, self.delivered, self.responses = [], [], [], []
        return b"".join(parts)

    def add_data(self, data, end):
        pass

    def buffered(self):
        return 0

    def sender_state(self):
        """Returns window, bytes in flight, smoothed and latest RTT (in nanoseconds)."""
        return NEVER, NEVER, NEVER, NEVER


class Client(Endpoint):
    """One connection with one stream, which carries the data of the requests."""

    def __init__(self, name, certificate, *common):
        super().__init__(*common)
        pem = x509.load_der_x509_certificate(certificate).public_bytes(Encoding.PEM)
        settings = {**self.settings, "is_client": True, "server_name": name.decode(), "cadata": pem}
        self.connection = quic.QuicConnection(configuration=QuicConfiguration(**settings))
        self.begun, self.ready, self.pending, self.ends = False, False, bytearray(), False
        self.watch(self.connection._loss)

    def connections(self):
        return [self.connection] if self.begun else []

    def watch(self, loss):
        cc = loss._cc
        on_rtt, on_lost = cc.on_rtt_measurement, cc.on_packets_lost
        on_collapse, on_declared = cc.on_persistent_congestion, loss._on_packets_lost

        def rtt_measured(*, now, rtt):
            self.latest = rtt
            self.controller_events.append((RTT, round(rtt * 1e9), 0))
            on_rtt(now=now, rtt=rtt)

        def packets_lost(*, now, packets):
            began = cc._congestion_recovery_start_time
            self.ack_processed()
            on_lost(now=now, packets=packets)
            if cc._congestion_recovery_start_time != began:
                self.controller_events.append((REDUCED, cc.congestion_window, 0))

        def collapsed():
            on_collapse()
            self.controller_events.append((COLLAPSED, cc.congestion_window, 0))

        def declared(*, packets, congestion_event=True, **rest):
            packets = tuple(packets)
            self.lost += len(packets) if congestion_event else 0
            self.expired += 0 if congestion_event else len(packets)
            on_declared(packets=packets, congestion_event=congestion_event, **rest)

        cc.on_rtt_measurement, cc.on_packets_lost = rtt_measured, packets_lost
        cc.on_persistent_congestion, loss._on_packets_lost = collapsed, declared

    def ack_processed(self):
        cc = self.connection._loss._cc
        self.controller_events.append((ACKED, cc.congestion_window, NEVER if cc.ssthresh is None else cc.ssthresh))

    def receive(self, now, datagram):
        self.connection.receive_datagram(datagram, SERVER, now=now)
        self.ack_processed()

    def step(self, now, data, end, datagram):
        if not self.begun:
            self.begun = True
            self.connection.connect(SERVER, now=now)
        return super().step(now, data, end, datagram)

    def on_event(self, connection, event):
        super().on_event(connection, event)
        if isinstance(event, events.HandshakeCompleted):
            self.ready = True
            self.write()

    def add_data(self, data, end):
        self.pending += data
        self.ends = self.ends or end
        self.write()

    def write(self):
        if self.ready and (self.pending or self.ends):
            self.connection.send_stream_data(STREAM, bytes(self.pending), self.ends)
            self.pending, self.ends = bytearray(), False

    def buffered(self):
        stream = self.connection._streams.get(STREAM)
        written = 0 if stream is None else stream.sender._buffer_stop - stream.sender._buffer_start
        return written + len(self.pending)

    def sender_state(self):
        loss = self.connection._loss
        smoothed = round(loss._rtt_smoothed * 1e9) if loss._rtt_initialized else NEVER
        latest = NEVER if self.latest is None else round(self.latest * 1e9)
        return loss.congestion_window, loss.bytes_in_flight, smoothed, latest


class Server(Endpoint):
    """Like aioquic.asyncio.server: finds connections by connection ID."""

    def __init__(self, retry, certificate, key, *common):
        super().__init__(*common)
        settings = QuicConfiguration(**self.settings, is_client=False)
        settings.certificate = x509.load_der_x509_certificate(certificate)
        # The key is PKCS #8 as in RFC 8410. OpenSSL reads only an older version. The 32 key bytes follow these four.
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
            return  # clients here use no other version, so the datagram is damaged
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
                return None  # a damaged token, which a server may ignore
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
        self.responses.append(retry)

    def on_event(self, connection, event):
        super().on_event(connection, event)
        if isinstance(event, events.ConnectionIdIssued):
            self.ids[event.connection_id] = connection
        elif isinstance(event, events.ConnectionIdRetired):
            self.ids.pop(event.connection_id, None)
        elif isinstance(event, events.ConnectionTerminated):
            self.ids = {id: other for id, other in self.ids.items() if other is not connection}


def fields(body, at):
    """Yields byte strings with a length prefix."""
    while at < len(body):
        (length,) = struct.unpack_from("<I", body, at)
        yield body[at + 4 : at + 4 + length]
        at += 4 + length


def make(body):
    """Creates an endpoint."""
    global generator
    _, is_server, retry, seed, datagram = struct.unpack_from("<BBBQI", body)
    alpn, algorithm, name, certificate, key = fields(body, 15)
    generator = random.Random(seed)
    common = (seed, algorithm, datagram, alpn)
    end = Server(retry, certificate, key, *common) if is_server else Client(name, certificate, *common)
    end.random = generator
    endpoints.append(end)
    return b""


def step(body):
    """Passes a datagram to an endpoint, or runs its timers."""
    global generator, current
    _, number, now, last, length = struct.unpack_from("<BIQBI", body)
    current = endpoints[number]
    generator = current.random
    data, datagram = body[18 : 18 + length], body[18 + length :]
    return current.step(seconds(now), data, bool(last), datagram)


endpoints, current = [], None
while len(size := REQUESTS.read(4)) == 4:
    (size,) = struct.unpack("<I", size)
    request = REQUESTS.read(size)
    if len(request) < size:
        break
    reply(make(request) if request[0] == 0 else step(request))
