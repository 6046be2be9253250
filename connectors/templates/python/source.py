"""A source of trawl: answers searches by the contract. Put your own system's search into `find`."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

KEY = os.environ.get("SOURCE_API_KEY", "change-me")
NEW_YEAR = 1_704_067_200_000

# The newest first; of equal times by id, so that every page has its place.
ITEMS = sorted(
    (
        {
            "id": f"report-{number:02}",
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


def find(keyword, limit, cursor):
    """Returns a page of matches, the number of all, and the cursor of the next page or None."""
    words = keyword.lower().split()
    matches = [item for item in ITEMS if all(word in (item["title"] + item["brief"]).lower() for word in words)]
    # The cursor names the last item, not an offset: added and removed items shift no page.
    start = 0
    if cursor:
        time, _, last = cursor.partition("/")
        start = sum((-item["displayTime"], item["id"]) <= (-int(time), last) for item in matches)
    page = matches[start : start + limit]
    more = start + len(page) < len(matches)
    return page, len(matches), f"{page[-1]['displayTime']}/{page[-1]['id']}" if page and more else None


class Source(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        query = {name: values[-1] for name, values in parse_qs(urlsplit(self.path).query).items()}
        keyword = query.get("keyword", "")
        if self.headers.get("X-API-Key") != KEY:
            return self.answer(401, "the key is missing or wrong")
        if not keyword.strip():
            return self.answer(400, "keyword: is required")
        try:
            limit = min(max(int(query.get("limit", 10)), 1), 100)
            data, total, cursor = find(keyword, limit, query.get("cursor"))
        except ValueError:
            return self.answer(400, "limit or cursor: is not one of this source")
        self.answer(200, None, data=data, count=len(data), total=total, cursor=cursor)

    def answer(self, code, message, **fields):
        body = json.dumps({"code": code, "message": message, **fields}).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json;charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def serve(port):
    return ThreadingHTTPServer(("127.0.0.1", port), Source)


if __name__ == "__main__":
    server = serve(int(os.environ.get("PORT", "8090")))
    print(f"http://127.0.0.1:{server.server_port}/search", flush=True)
    server.serve_forever()
