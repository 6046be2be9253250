"""A source of trawl: answers searches by the contract. Put your own system's search into `find`."""

import hmac
import json
import os
import socket
import sys
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

KEY = os.environ.get("SOURCE_API_KEY", "")
NEW_YEAR = 1_704_067_200_000

# The newest first; of equal times by id, so that every page has its place.
ITEMS = sorted(
    (
        {
            "id": f"reports/{number:02}",
            "title": f"Report {number} of the harbour",
            "brief": "Cranes, quays and customs.",
            "author": "Mei Chen",
            "displayTime": NEW_YEAR - number // 2 * 3_600_000,
            "action": json.dumps({"web": f"[OpenUrl]\nurl=https://intranet.example/reports/{number}"}),
        }
        for number in range(45)
    ),
    key=lambda item: (-item["displayTime"], item["id"]),
)


def read_cursor(text):
    """Returns time and id of a cursor; raises ValueError for another's."""
    time, slash, last = text.partition("/")
    if not slash or not last:
        raise ValueError(text)
    return int(time), last


def find(keyword, limit, after):
    """Returns a page of matches behind `after` (time and id, or None), the number of all, and the cursor of the next page or None."""
    words = keyword.lower().split()
    matches = [item for item in ITEMS if all(word in f"{item['title']} {item['brief']}".lower() for word in words)]
    # The cursor names the last item, not an offset: added and removed items shift no page.
    start = 0
    if after:
        time, last = after
        start = sum((-item["displayTime"], item["id"]) <= (-time, last) for item in matches)
    page = matches[start : start + limit]
    more = start + len(page) < len(matches)
    return page, len(matches), f"{page[-1]['displayTime']}/{page[-1]['id']}" if page and more else None


class Source(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        query = {name: values[-1] for name, values in parse_qs(self.path.partition("?")[2]).items()}
        keyword = query.get("keyword", "")
        if not KEY or not hmac.compare_digest(self.headers.get("X-API-Key", "").encode(), KEY.encode()):
            return self.answer(401, "the key is missing or wrong")
        if not keyword.strip():
            return self.answer(400, "keyword: is required")
        try:
            limit = min(max(int(query.get("limit", 10)), 1), 100)
            after = read_cursor(query["cursor"]) if query.get("cursor") else None
        except ValueError:
            return self.answer(400, "limit or cursor: is not one of this source")
        try:
            data, total, cursor = find(keyword, limit, after)
        except Exception:
            traceback.print_exc()
            return self.answer(500, "the search failed")
        self.answer(200, None, data=data, count=len(data), total=total, cursor=cursor)

    def answer(self, code, message, **fields):
        body = json.dumps({"code": code, "message": message, **fields}).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json;charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True


def serve(host, port):
    Server.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return Server((host, port), Source)


if __name__ == "__main__":
    if not KEY:
        sys.exit("SOURCE_API_KEY: is required")
    host = os.environ.get("HOST", "127.0.0.1")
    server = serve(host, int(os.environ.get("PORT", "8090")))
    print(f"http://{f'[{host}]' if ':' in host else host}:{server.server_port}/search", flush=True)
    server.serve_forever()
