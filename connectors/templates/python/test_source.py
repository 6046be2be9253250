import unittest

import threading
import urllib.error
import urllib.request
from unittest import mock

import source
from source import ITEMS, find, read_cursor


class FindTest(unittest.TestCase):
    def test_pages_hold_every_match_once(self):
        ids, cursor = [], None
        while True:
            page, total, cursor = find("report", 7, cursor and read_cursor(cursor))
            ids += [item["id"] for item in page]
            self.assertEqual(total, len(ITEMS))
            if cursor is None:
                break
        self.assertEqual(ids, [item["id"] for item in ITEMS])

    def test_unknown_word_finds_nothing(self):
        self.assertEqual(find("nowhere", 10, None), ([], 0, None))

    def test_failure_of_the_search_is_a_500(self):
        server = source.serve("127.0.0.1", 0)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        request = urllib.request.Request(f"http://127.0.0.1:{server.server_port}//?keyword=a", headers={"X-API-Key": "key"})
        broken = mock.patch.object(source, "find", side_effect=ValueError("down"))
        with mock.patch.object(source, "KEY", "key"), broken, mock.patch("traceback.print_exc"):
            with mock.patch.object(source.Source, "log_message"), self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request)
        self.assertEqual(refused.exception.code, 500)
        refused.exception.close()


if __name__ == "__main__":
    unittest.main()
