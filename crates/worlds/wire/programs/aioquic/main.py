"""Transfers a file over aioquic with `hq-interop`. Has the command line of Ackclock's other programs.

    python aioquic.py client|server --name value ...
"""

import asyncio
import os
import sys

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamDataReceived
from aioquic.quic.logger import QuicFileLogger
from aioquic.quic.packet import QuicProtocolVersion

ALPN = "hq-interop"
# Flow control credit in bytes, large enough that only the network limits a transfer.
CREDIT = 64 << 20
CONTROLLERS = {"new-reno": "reno", "cubic": "cubic"}


def configuration(arguments, is_client):
    if arguments["controller"] not in CONTROLLERS:
        sys.exit("aioquic has no " + arguments["controller"])
    keys, qlog = os.environ.get("SSLKEYLOGFILE"), os.environ.get("QLOGDIR")
    return QuicConfiguration(
        alpn_protocols=[ALPN],
        congestion_control_algorithm=CONTROLLERS[arguments["controller"]],
        is_client=is_client,
        max_data=CREDIT,
        max_stream_data=CREDIT,
        max_datagram_size=int(arguments["datagram"]),
        quic_logger=QuicFileLogger(qlog) if qlog else None,
        secrets_log_file=open(keys, "a", buffering=1) if keys else None,
        supported_versions=[QuicProtocolVersion.VERSION_1],
    )


class Server(QuicConnectionProtocol):
    """Answers the first request of each stream."""

    root = ""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.requests = {}

    def quic_event_received(self, event):
        if not isinstance(event, StreamDataReceived):
            return
        request = self.requests.setdefault(event.stream_id, bytearray())
        request += event.data
        if len(request) > 4096:
            self._quic.close()
        elif event.end_stream:
            with open(self.file(bytes(request)), "rb") as file:
                self._quic.send_stream_data(event.stream_id, file.read(), end_stream=True)
            self.transmit()

    def file(self, request):
        path = request.decode().strip()
        if not path.startswith("GET /"):
            raise ValueError("not an HTTP/0.9 request")
        root = os.path.realpath(self.root)
        path = os.path.realpath(os.path.join(root, path[len("GET /") :]))
        # Serves only files below the root.
        if os.path.commonpath([root, path]) != root:
            raise ValueError("the path is outside of the root")
        return path


class Client(QuicConnectionProtocol):
    """Writes the received data to a file."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.out, self.done = None, None

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived):
            self.out.write(event.data)
            if event.end_stream:
                self.done.set_result(None)

    def connection_lost(self, error):
        super().connection_lost(error)
        if self.done is not None and not self.done.done():
            self.done.set_exception(error or ConnectionError("the connection ended before the file was complete"))

    async def fetch(self, path, out):
        self.out, self.done = out, asyncio.get_running_loop().create_future()
        stream = self._quic.get_next_available_stream_id()
        self._quic.send_stream_data(stream, f"GET {path}\r\n".encode(), end_stream=True)
        self.transmit()
        await self.done


async def run_server(arguments):
    config = configuration(arguments, is_client=False)
    config.load_cert_chain(arguments["cert"], arguments["key"])
    Server.root = arguments["root"]
    address, port = arguments["address"], int(arguments["port"])
    await serve(address, port, configuration=config, create_protocol=Server)
    await asyncio.Future()


async def run_client(arguments):
    config = configuration(arguments, is_client=True)
    config.load_verify_locations(arguments["ca"])
    config.server_name = arguments["name"]
    with open(arguments["out"], "wb", buffering=0) as out:
        # Waits for the start signal. The end of input means that nobody needs this process any
        # more.
        if not sys.stdin.readline():
            sys.exit("standard input ended before the start signal")
        address, port = arguments["address"], int(arguments["port"])
        async with connect(address, port, configuration=config, create_protocol=Client, local_port=0) as client:
            await client.fetch(arguments["path"], out)


def main():
    role, given = sys.argv[1], sys.argv[2:]
    arguments = {name.removeprefix("--"): value for name, value in zip(given[::2], given[1::2])}
    asyncio.run(run_server(arguments) if role == "server" else run_client(arguments))


main()
