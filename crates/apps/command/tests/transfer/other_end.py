"""HTTP/3 and hq-interop by aioquic, as a client and as a server, for aioquic.rs.

client PORT PROTOCOL PATH...   a line for each: path, status or error code, SHA-256 of the body
server FOLDER CERT KEY         prints its port, serves until its standard input ends
"""

import asyncio
import hashlib
import os
import ssl
import sys

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, ProtocolNegotiated, StreamDataReceived, StreamReset


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = None
        self.answers = {}

    def over(self, stream, status):
        answer = self.answers[stream]
        answer["status"] = status if answer["status"] is None else answer["status"]
        if not answer["over"].done():
            answer["over"].set_result(None)

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated) and event.alpn_protocol == "h3":
            self.http = H3Connection(self._quic)
        if isinstance(event, StreamReset) and event.stream_id in self.answers:
            self.over(event.stream_id, f"reset-{event.error_code}")
        if isinstance(event, ConnectionTerminated):
            for stream in self.answers:
                self.over(stream, f"closed-{event.error_code}")
        if self.http is None:
            if isinstance(event, StreamDataReceived):
                self.answers[event.stream_id]["body"] += event.data
                if event.end_stream:
                    self.over(event.stream_id, "whole")
            return
        for part in self.http.handle_event(event):
            answer = self.answers.get(part.stream_id)
            if answer is None:
                continue
            if isinstance(part, HeadersReceived):
                answer["status"] = dict(part.headers)[b":status"].decode()
            if isinstance(part, DataReceived):
                answer["body"] += part.data
            if part.stream_ended:
                self.over(part.stream_id, "none")

    async def get(self, path):
        stream = self._quic.get_next_available_stream_id()
        over = asyncio.get_running_loop().create_future()
        answer = {"status": None, "body": b"", "over": over}
        self.answers[stream] = answer
        if self.http is None:
            self._quic.send_stream_data(stream, f"GET {path}\r\n".encode(), True)
        else:
            fields = {b":method": b"GET", b":scheme": b"https", b":authority": b"localhost", b":path": path.encode()}
            self.http.send_headers(stream, list(fields.items()), end_stream=True)
        self.transmit()
        await asyncio.wait_for(over, 30)
        return f"{path} {answer['status']} {hashlib.sha256(answer['body']).hexdigest()}"


class Server(QuicConnectionProtocol):
    folder = ""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = None

    def read(self, path):
        file = self.folder + path
        return open(file, "rb").read() if os.path.isfile(file) else None

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated) and event.alpn_protocol == "h3":
            self.http = H3Connection(self._quic)
        if self.http is None:
            if isinstance(event, StreamDataReceived) and event.data:
                body = self.read(event.data.decode().split()[1])
                if body is None:
                    self._quic.reset_stream(event.stream_id, 404)
                else:
                    self._quic.send_stream_data(event.stream_id, body, True)
                self.transmit()
            return
        for part in self.http.handle_event(event):
            if isinstance(part, HeadersReceived):
                body = self.read(dict(part.headers)[b":path"].decode())
                status = b"404" if body is None else b"200"
                fields = [(b":status", status), (b"content-length", str(len(body or b"")).encode())]
                self.http.send_headers(part.stream_id, fields, end_stream=body is None)
                if body is not None:
                    self.http.send_data(part.stream_id, body, True)
                self.transmit()


async def client(port, protocol, paths):
    configuration = QuicConfiguration(is_client=True, alpn_protocols=[protocol])
    configuration.verify_mode = ssl.CERT_NONE
    async with connect("127.0.0.1", int(port), configuration=configuration, create_protocol=Client) as connection:
        await connection.wait_connected()
        for line in await asyncio.gather(*[connection.get(path) for path in paths]):
            print(line)


async def server(folder, cert, key):
    Server.folder = folder
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3", "hq-interop"])
    configuration.load_cert_chain(cert, key)
    serving = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=Server)
    print(serving._transport.get_extra_info("sockname")[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if sys.argv[1] == "client":
    asyncio.run(client(sys.argv[2], sys.argv[3], sys.argv[4:]))
else:
    asyncio.run(server(*sys.argv[2:5]))
