// A source of trawl: answers searches by the contract. Put your own system's search into find.
package main

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
)

const newYear = 1_704_067_200_000

// Item is a row of an answer.
type Item struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Brief       string `json:"brief"`
	Author      string `json:"author"`
	DisplayTime int64  `json:"displayTime"`
	Action      string `json:"action"`
}

// Answer is the envelope.
type Answer struct {
	Code    int     `json:"code"`
	Message *string `json:"message"`
	Data    []Item  `json:"data"`
	Count   int     `json:"count"`
	Total   int     `json:"total"`
	Cursor  *string `json:"cursor"`
}

var items = load()

// The newest first; of equal times by id, so that every page has its place.
func before(one, other Item) bool {
	if one.DisplayTime != other.DisplayTime {
		return one.DisplayTime > other.DisplayTime
	}
	return one.ID < other.ID
}

func load() []Item {
	var loaded []Item
	for number := int64(0); number < 45; number++ {
		web := fmt.Sprintf("[OpenUrl]\nurl=https://intranet.example/reports/%d", number)
		action, _ := json.Marshal(map[string]string{"web": web})
		loaded = append(loaded, Item{
			fmt.Sprintf("reports/%02d", number), fmt.Sprintf("Report %d of the harbour", number), "Cranes, quays and customs.",
			"Mei Chen", newYear - number/2*3_600_000, string(action),
		})
	}
	sort.Slice(loaded, func(one, other int) bool { return before(loaded[one], loaded[other]) })
	return loaded
}

func matches(item Item, words []string) bool {
	text := strings.ToLower(item.Title + " " + item.Brief)
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// The cursor names the last item, not an offset: added and removed items shift no page. An error is answered by 500.
func find(keyword string, limit int, last *Item) (Answer, error) {
	answer := Answer{Code: 200, Data: []Item{}}
	for _, item := range items {
		if !matches(item, strings.Fields(strings.ToLower(keyword))) {
			continue
		}
		answer.Total++
		if last != nil && !before(*last, item) {
			continue
		}
		if len(answer.Data) < limit {
			answer.Data = append(answer.Data, item)
		} else if answer.Cursor == nil {
			end := answer.Data[limit-1]
			cursor := fmt.Sprintf("%d/%s", end.DisplayTime, end.ID)
			answer.Cursor = &cursor
		}
	}
	answer.Count = len(answer.Data)
	return answer, nil
}

func readCursor(text string) (*Item, error) {
	if text == "" {
		return nil, nil
	}
	time, id, found := strings.Cut(text, "/")
	if !found || id == "" {
		return nil, errors.New("not a cursor of this source")
	}
	displayTime, err := strconv.ParseInt(time, 10, 64)
	return &Item{ID: id, DisplayTime: displayTime}, err
}

func refuse(code int, message string) Answer {
	return Answer{Code: code, Message: &message}
}

func answerTo(request *http.Request) Answer {
	query := request.URL.Query()
	limit := 10
	var err error
	if text := query.Get("limit"); text != "" {
		limit, err = strconv.Atoi(text)
	}
	last, wrongCursor := readCursor(query.Get("cursor"))
	switch {
	case subtle.ConstantTimeCompare([]byte(request.Header.Get("X-API-Key")), []byte(os.Getenv("SOURCE_API_KEY"))) != 1:
		return refuse(401, "the key is missing or wrong")
	case strings.TrimSpace(query.Get("keyword")) == "":
		return refuse(400, "keyword: is required")
	case err != nil || wrongCursor != nil:
		return refuse(400, "limit or cursor: is not one of this source")
	}
	answer, failure := find(query.Get("keyword"), min(max(limit, 1), 100), last)
	if failure != nil {
		log.Print(failure)
		return refuse(500, "the search failed")
	}
	return answer
}

func search(response http.ResponseWriter, request *http.Request) {
	defer func() {
		if failure := recover(); failure != nil {
			log.Print(failure)
			send(response, refuse(500, "the search failed"))
		}
	}()
	send(response, answerTo(request))
}

func send(response http.ResponseWriter, answer Answer) {
	response.Header().Set("Content-Type", "application/json;charset=UTF-8")
	response.WriteHeader(answer.Code)
	json.NewEncoder(response).Encode(answer)
}

func main() {
	if os.Getenv("SOURCE_API_KEY") == "" {
		fmt.Fprintln(os.Stderr, "SOURCE_API_KEY: is required")
		os.Exit(1)
	}
	host := os.Getenv("HOST")
	if host == "" {
		host = "127.0.0.1"
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "8090"
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("http://%s/search\n", listener.Addr())
	// The default mux would redirect a path of two slashes.
	log.Fatal(http.Serve(listener, http.HandlerFunc(search)))
}
