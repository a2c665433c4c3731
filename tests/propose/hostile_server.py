#!/usr/bin/env python3
"""A server that misbehaves like the ones that models are served by, and worse: one behaviour a path.

    CHAT_KEY=... [CHAT_ANSWER=...] hostile_server.py      prints two ports and serves until it is killed

POST /BEHAVIOUR[.ANYTHING]/... answers as the function of that name below says; what is behind the dot only
keeps the counts of tests apart. GET /requests/BEHAVIOUR[.ANYTHING] gives what was asked there, as a JSON list
of bodies. The second port is somewhere else: GET /seen there gives the headers of all requests that it got.
"""
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = os.environ["CHAT_KEY"]
ANSWER = os.environ.get("CHAT_ANSWER") or '{"configurations": [{"settings": {"threads": "4"}, "reason": "\u00fc"}]}'
LONGEST_S = 1800  # whoever started this may have died
requests = {}
elsewhere = []
lock = threading.Lock()


def openai(text, usage=(120, 30), finish="stop"):
    """The events of a good reply, as the API's reference shows them."""
    yield {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}
    for i in range(0, len(text), 7):
        yield {"choices": [{"index": 0, "delta": {"content": text[i:i + 7]}, "finish_reason": None}]}
    if finish:
        yield {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    if usage:
        yield {"choices": [], "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}}
    if finish:
        yield "[DONE]"


def anthropic(text, usage=(120, 30), finish="tool_use"):
    tokens_in, tokens_out = usage or (None, None)
    message = {"id": "m", "role": "assistant", "content": []}
    if usage:
        message["usage"] = {"input_tokens": tokens_in, "output_tokens": 1}
    yield {"type": "message_start", "message": message}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "name": "answer", "input": {}}}
    for i in range(0, len(text), 7):
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text[i:i + 7]}}
    if not finish:
        return
    yield {"type": "content_block_stop", "index": 0}
    yield dict({"type": "message_delta", "delta": {"stop_reason": finish}}, **({"usage": {"output_tokens": tokens_out}} if usage else {}))
    yield {"type": "message_stop"}


def lines(events):
    for event in events:
        kind = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
        yield (kind + "data: " + (event if isinstance(event, str) else json.dumps(event)) + "\n\n").encode()


class Reply(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        name = self.path.rsplit("/", 1)[-1]
        with lock:
            found = requests.get(name, [])
        self.document(200, found)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = self.path.split("/")[1]
        with lock:
            asked = requests.setdefault(name, [])
            asked.append(body)
            self.turn = len(asked)
        self.events = anthropic if self.path.endswith("/v1/messages") else openai
        self.body = body
        given = self.headers.get("x-api-key") or self.headers.get("Authorization", "").removeprefix("Bearer ")
        if given not in ("", KEY):
            return self.error(401, "this is not the key")
        try:
            getattr(self, name.split(".")[0])()
        except (BrokenPipeError, ConnectionResetError):
            pass

    # How replies are sent.

    def begin(self, status=200, kind="text/event-stream", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for header, value in headers.items():
            self.send_header(header.replace("_", "-"), value)
        self.end_headers()

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def stream(self, events, end=True):
        self.begin(Transfer_Encoding="chunked")
        for line in lines(events):
            self.chunk(line)
        if end:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def until_closed(self, events):
        """No length and no chunks: only the end of the connection says that the reply has ended."""
        self.begin(Connection="close")
        for line in lines(events):
            self.wfile.write(line)
        self.close_connection = True

    def document(self, status, content, kind="application/json", **headers):
        data = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.begin(status, kind, Content_Length=str(len(data)), **headers)
        self.wfile.write(data)

    def error(self, status, message, **headers):
        self.document(status, {"type": "error", "error": {"type": "some_error", "message": message}}, **headers)

    # Behaviours.

    def good(self):
        self.stream(self.events(ANSWER))

    def prose(self):
        self.stream(self.events("Here it is:\n```json\n" + ANSWER + "\n```\n"))

    def whole(self):
        if self.events is anthropic:
            return self.document(200, {"type": "message", "content": [{"type": "tool_use", "name": "answer", "input": json.loads(ANSWER)}],
                                       "stop_reason": "tool_use", "usage": {"input_tokens": 120, "output_tokens": 30}})
        return self.document(200, {"choices": [{"message": {"content": ANSWER}, "finish_reason": "stop"}],
                                   "usage": {"prompt_tokens": 120, "completion_tokens": 30}})

    def single_bytes(self):
        self.begin(Transfer_Encoding="chunked")
        for line in lines(self.events(ANSWER)):
            for i in range(len(line)):
                self.chunk(line[i:i + 1])
        self.wfile.write(b"0\r\n\r\n")

    def cut_off(self):
        self.stream(self.events(ANSWER[:20], None, None), end=False)

    def long_then_cut(self):
        """The only count that comes is that of the beginning."""
        self.stream(anthropic("x" * 4000, (120, 30), None), end=False)

    def early_hints(self):
        """Says that it goes on, and does not."""
        self.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        self.wfile.flush()
        time.sleep(LONGEST_S)

    def cut_off_late(self):
        """After the last word, before the end of the transfer."""
        events = list(self.events(ANSWER))
        self.stream(events[:-1], end=False)

    def ends_early(self):
        self.until_closed(self.events(ANSWER[:20], None, None))

    def ends_without_saying(self):
        self.until_closed(self.events(ANSWER, None, None))

    def output_limit(self):
        self.until_limit(20)

    def late_output_limit(self):
        """In the middle of the second configuration."""
        self.until_limit(ANSWER.index("slow"))

    def until_limit(self, n):
        self.stream(self.events(ANSWER[:n], finish="max_tokens" if self.events is anthropic else "length"))

    def huge(self):
        self.begin(Transfer_Encoding="chunked")
        for line in lines(self.events("x" * 7 * 100000, None, None)):
            self.chunk(line * 10)

    def one_long_line(self):
        self.begin(Connection="close")
        self.wfile.write(b"data: ")
        for _ in range(100):
            self.wfile.write(b"x" * 100000)

    def drip(self):
        self.begin(Connection="close")
        for line in lines(self.events(ANSWER * 1000)):
            for i in range(len(line)):
                self.wfile.write(line[i:i + 1])
                self.wfile.flush()
                time.sleep(0.02)

    def keep_alive_only(self):
        self.begin(Connection="close")
        while True:
            self.wfile.write(b": keep-alive\n\n")
            self.wfile.flush()
            time.sleep(0.02)

    def never(self):
        time.sleep(LONGEST_S)

    def close_at_once(self):
        self.close_connection = True

    def no_http(self):
        self.wfile.write(b"\x1b[31m220 mail.example.org ESMTP\r\n")
        self.close_connection = True

    def many_headers(self):
        self.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %s\r\n" % (i, b"y" * 1000) for i in range(1000)) + b"\r\n")
        self.close_connection = True

    def html(self):
        self.document(200, "<html><body>\x1b[31mPlease log in</body></html>", "text/html; charset=utf-8")

    def bad_utf8(self):
        self.begin(Connection="close")
        for i, line in enumerate(lines(self.events(ANSWER))):
            self.wfile.write(line.replace(b'": "', b'": "\xff', 1) if i == 3 else line)
        self.close_connection = True

    def tools(self):
        call = {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"name": "rm", "arguments": "-rf"}}]}}]}
        self.stream([call] * 200 + [{"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}, "[DONE]"])

    def busy(self):
        if self.turn == 1:
            return self.error(429, "slow down", Retry_After="1")
        return self.good()

    def storm(self):
        if self.turn <= 2:
            return self.error((500, 503)[self.turn - 1], "out of order")
        return self.good()

    def broken(self):
        self.error(500, "out of order")

    def redirect(self):
        self.document(307, "", Location=f"http://127.0.0.1:{ports[1]}{self.path}")

    def refuses(self):
        """The key comes back in the error, as some servers have it."""
        self.error(401, f"\x1b[31mIncorrect API key provided: {KEY}.")

    def refuses_at_length(self):
        """The key lies where a message is cut, wherever that is."""
        offset = 200 + self.turn * 5
        self.error(401, "x" * offset + KEY + "y" * 400)

    def html_with_key(self):
        self.document(200, "z" * (185 + self.turn) + KEY, "text/html")

    def text_with_key(self):
        self.stream(self.events(ANSWER.replace("\u00fc", "your key is " + KEY)))

    def reports_error(self):
        self.stream(list(self.events(ANSWER[:20], None, None)) + [{"type": "error", "error": {"type": "overloaded_error", "message": f"overloaded, {KEY}"}}])

    def no_schema(self):
        if "response_format" in self.body or "tools" in self.body:
            return self.error(400, "response_format is not supported")
        return self.good()

    def new_limit(self):
        if "max_completion_tokens" not in self.body:
            return self.error(400, "Unsupported parameter: 'max_tokens' is not supported with this model. "
                                   "Use 'max_completion_tokens' instead.")
        return self.good()

    def escaped_key(self):
        """The key as JSON may spell it, in the answer's own text."""
        spelled = "".join("\\u%04x" % ord(c) for c in KEY)
        self.stream(self.events(ANSWER.replace("\u00fc", spelled)))

    def no_usage(self):
        self.stream(self.events(ANSWER, None))

    def negative_usage(self):
        self.stream(self.events(ANSWER, (-1000000, -5)))

    def absurd_usage(self):
        self.stream(self.events(ANSWER, (1e300, 1e300)))

    def usage_of_texts(self):
        self.stream(self.events(ANSWER, ("12", None)))


class Elsewhere(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self):
        if self.path != "/seen":
            with lock:
                elsewhere.append([self.command, self.path, dict(self.headers)])
        data = json.dumps(elsewhere).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_CONNECT = answer


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):  # a client that has gone is no news
        pass


servers = [Server(("127.0.0.1", 0), Reply), Server(("127.0.0.1", 0), Elsewhere)]
ports = [server.server_address[1] for server in servers]
for server in servers:
    threading.Thread(target=server.serve_forever, daemon=True).start()
print(*ports, flush=True)
time.sleep(LONGEST_S)
