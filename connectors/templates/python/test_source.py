import unittest

from source import ITEMS, find


class FindTest(unittest.TestCase):
    def test_pages_hold_every_match_once(self):
        ids, cursor = [], None
        while True:
            page, total, cursor = find("report", 7, cursor)
            ids += [item["id"] for item in page]
            self.assertEqual(total, len(ITEMS))
            if cursor is None:
                break
        self.assertEqual(ids, [item["id"] for item in ITEMS])

    def test_unknown_word_finds_nothing(self):
        self.assertEqual(find("nowhere", 10, None), ([], 0, None))


if __name__ == "__main__":
    unittest.main()
