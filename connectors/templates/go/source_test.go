package main

import "testing"

func TestPagesHoldEveryMatchOnce(t *testing.T) {
	var ids []string
	var last *Item
	for {
		page, err := find("report", 7, last)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Data {
			ids = append(ids, item.ID)
		}
		if page.Total != len(items) {
			t.Fatalf("total is %d", page.Total)
		}
		if page.Cursor == nil {
			break
		}
		last, _ = readCursor(*page.Cursor)
	}
	for place, item := range items {
		if place >= len(ids) || ids[place] != item.ID {
			t.Fatalf("%v is not in its place", item.ID)
		}
	}
}

func TestUnknownWordFindsNothing(t *testing.T) {
	if page, _ := find("nowhere", 10, nil); page.Total != 0 || len(page.Data) != 0 || page.Cursor != nil {
		t.Fatalf("%+v", page)
	}
}
