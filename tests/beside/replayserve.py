"""Serves recorded exchanges to a real HTTP client, in order: replayserve.py CAPTURE LISTS WATCHES

LISTS and WATCHES are ids of requests of the capture: `pods-rollout.jsonl.gz 1+2 3,4`, where 1+2 is a list of two pages.
The first line printed is the server's address, on a free port of the loopback interface. A watch that was recorded
without a proper end is cut off the same way. A request for a watch-list is refused, as older servers do. When all
watches were given, the next one is told nothing, and `silent` is printed. The server ends with its standard input.
"""

import base64
import contextlib
import gzip
import json
import os
import socket
import sys
import threading
from urllib.parse import parse_qs, urlsplit

UNSUPPORTED = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"sendInitialEvents is forbidden for watch","reason":"Invalid","code":422}'
)
NOT_FOUND = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"NotFound","code":404}'


class Exchange:
    """A request of the capture, and its answer."""

    def __init__(self, request):
        target = urlsplit(request["path"])
        self.path, self.query = target.path, parse_qs(target.query)
        self.status, self.pieces, self.end = 200, [], None

    def note(self, record):
        if "response" in record:
            self.status = record["response"]["status"]
        elif "data" in record:
            self.pieces.append(record["data"].encode())
        elif "base64" in record:
            self.pieces.append(base64.b64decode(record["base64"]))
        elif "end" in record:
            self.end = record["end"]


def read(capture):
    """The exchanges of a capture, by id."""
    exchanges = {}
    with gzip.open(capture, "rt", encoding="utf-8", newline="\n") as lines:
        for record in map(json.loads, lines):
            if "request" in record:
                exchanges[record["id"]] = Exchange(record["request"])
            elif "id" in record:
                exchanges[record["id"]].note(record)
    return exchanges


class Recorded:
    """What is still to be given."""

    def __init__(self, exchanges, lists, watches):
        self.exchanges, self.lists, self.watches = exchanges, lists, watches
        self.pages, self.lock = [], threading.Lock()

    def page(self, token):
        """The page behind a continue token; without one, the first of the next list, and again of the last."""
        with self.lock:
            if token is None and self.lists:
                self.pages = self.lists.pop(0)
            pages = [self.exchanges[page] for page in self.pages]
        return next((page for page in pages if page.query.get("continue") == token), None)

    def watch(self):
        with self.lock:
            return self.exchanges[self.watches.pop(0)] if self.watches else None

    def has(self, path):
        return any(path == exchange.path for exchange in self.exchanges.values())


def head(status, framing):
    return f"HTTP/1.1 {status} Recorded\r\nContent-Type: application/json\r\n{framing}\r\n\r\n".encode()


def whole(connection, status, body):
    connection.sendall(head(status, f"Content-Length: {len(body)}") + body)


def stream(connection, watch):
    """Gives a watch; whether the connection is still good."""
    connection.sendall(head(200, "Transfer-Encoding: chunked"))
    if watch is None:
        print("silent", flush=True)
        connection.recv(1)  # which comes to nothing when the client goes away
        return False
    for piece in watch.pieces:
        connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
    if watch.end == "eof":
        connection.sendall(b"0\r\n\r\n")
    return watch.end == "eof"


def answer(connection, recorded, target):
    query = parse_qs(target.query)
    if not recorded.has(target.path):
        whole(connection, 404, NOT_FOUND)
    elif "sendInitialEvents" in query:
        whole(connection, 422, UNSUPPORTED)
    elif "watch" in query:
        return stream(connection, recorded.watch())
    else:
        page = recorded.page(query.get("continue"))
        if page is None:
            whole(connection, 404, NOT_FOUND)
        else:
            whole(connection, page.status, b"".join(page.pieces))
    return True


def serve(connection, recorded):
    """Answers a client until one of the two has enough."""
    with connection, contextlib.suppress(ConnectionError):
        converse(connection, recorded)


def converse(connection, recorded):
    """Answers the requests of one connection, one after the other."""
    received, good = b"", True
    while good:
        while b"\r\n\r\n" not in received:
            piece = connection.recv(65536)
            if not piece:
                return
            received += piece
        request, received = received.split(b"\r\n\r\n", 1)
        good = answer(connection, recorded, urlsplit(request.split(b" ", 2)[1].decode()))


def accept(listener, recorded):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, recorded), daemon=True).start()


def main(capture, lists, watches):
    lists = [[int(page) for page in pages.split("+")] for pages in lists.split(",")]
    recorded = Recorded(read(capture), lists, [int(watch) for watch in watches.split(",")])
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    threading.Thread(target=accept, args=(listener, recorded), daemon=True).start()
    sys.stdin.read()
    # Threads that still wait for a client would keep the interpreter from ending in order.
    os._exit(0)


main(*sys.argv[1:])
