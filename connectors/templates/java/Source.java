import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;

/** A source of trawl: answers searches by the contract. Put your own system's search into {@code find}. */
public class Source {
    static final String KEY = System.getenv().getOrDefault("SOURCE_API_KEY", "");
    static final long NEW_YEAR = 1_704_067_200_000L;
    /** The newest first; of equal times by id, so that every page has its place. */
    static final Comparator<Item> ORDER = Comparator.comparingLong((Item item) -> -item.displayTime).thenComparing(item -> item.id);
    static final List<Item> ITEMS = IntStream.range(0, 45).mapToObj(Source::item).sorted(ORDER).toList();

    record Item(String id, String title, String brief, long displayTime, String url) {
        String json() {
            String action = "{\"web\":" + quote("[OpenUrl]\nurl=" + url) + "}";
            return "{\"id\":%s,\"title\":%s,\"brief\":%s,\"author\":\"Mei Chen\",\"displayTime\":%d,\"action\":%s}"
                .formatted(quote(id), quote(title), quote(brief), displayTime, quote(action));
        }

        boolean matches(String[] words) {
            String text = (title + " " + brief).toLowerCase();
            return List.of(words).stream().allMatch(text::contains);
        }
    }

    record Page(List<Item> items, int total, String cursor) {}

    static Item item(int number) {
        return new Item("reports/%02d".formatted(number), "Report " + number + " of the harbour", "Cranes, quays and customs.",
            NEW_YEAR - number / 2 * 3_600_000L, "https://intranet.example/reports/" + number);
    }

    /** A cursor of this source: time and id of the last item. An id may hold slashes. */
    static Item readCursor(String cursor) {
        String[] last = cursor.split("/", 2);
        if (last.length < 2 || last[1].isEmpty()) {
            throw new IllegalArgumentException("cursor");
        }
        return new Item(last[1], "", "", Long.parseLong(last[0]), "");
    }

    /** The cursor names the last item, not an offset: added and removed items shift no page. {@code last} is null on the first page. */
    static Page find(String keyword, int limit, Item last) {
        String[] words = keyword.toLowerCase().strip().split("\\s+");
        List<Item> matches = ITEMS.stream().filter(item -> item.matches(words)).toList();
        List<Item> left = matches;
        if (last != null) {
            left = matches.stream().filter(item -> ORDER.compare(item, last) > 0).toList();
        }
        List<Item> page = left.subList(0, Math.min(limit, left.size()));
        Item end = left.size() > page.size() ? page.get(page.size() - 1) : null;
        return new Page(page, matches.size(), end == null ? null : end.displayTime + "/" + end.id);
    }

    static boolean isKey(String given) {
        return given != null && !KEY.isEmpty() && MessageDigest.isEqual(given.getBytes(StandardCharsets.UTF_8), KEY.getBytes(StandardCharsets.UTF_8));
    }

    static void answer(HttpExchange exchange) throws IOException {
        Map<String, String> query = new HashMap<>();
        String raw = exchange.getRequestURI().getRawQuery();
        for (String pair : raw == null ? new String[0] : raw.split("&")) {
            String[] parts = pair.split("=", 2);
            try {
                query.put(parts[0], URLDecoder.decode(parts.length > 1 ? parts[1] : "", StandardCharsets.UTF_8));
            } catch (IllegalArgumentException wrong) {
                refuse(exchange, 400, "the query is not escaped as it should be");
                return;
            }
        }
        String keyword = query.getOrDefault("keyword", "");
        if (!isKey(exchange.getRequestHeaders().getFirst("X-API-Key"))) {
            refuse(exchange, 401, "the key is missing or wrong");
        } else if (keyword.isBlank()) {
            refuse(exchange, 400, "keyword: is required");
        } else {
            int limit;
            Item last;
            try {
                limit = Math.min(Math.max(Integer.parseInt(query.getOrDefault("limit", "10")), 1), 100);
                last = query.containsKey("cursor") ? readCursor(query.get("cursor")) : null;
            } catch (IllegalArgumentException wrong) {
                refuse(exchange, 400, "limit or cursor: is not one of this source");
                return;
            }
            String json;
            try {
                Page page = find(keyword, limit, last);
                String data = String.join(",", page.items.stream().map(Item::json).toList());
                json = "{\"code\":200,\"message\":null,\"data\":[%s],\"count\":%d,\"total\":%d,\"cursor\":%s}"
                    .formatted(data, page.items.size(), page.total, page.cursor == null ? "null" : quote(page.cursor));
            } catch (RuntimeException failure) {
                failure.printStackTrace();
                refuse(exchange, 500, "the search failed");
                return;
            }
            send(exchange, 200, json);
        }
    }

    static void refuse(HttpExchange exchange, int code, String message) throws IOException {
        send(exchange, code, "{\"code\":%d,\"message\":%s}".formatted(code, quote(message)));
    }

    static void send(HttpExchange exchange, int status, String json) throws IOException {
        byte[] body = json.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json;charset=UTF-8");
        exchange.sendResponseHeaders(status, body.length);
        try (exchange; var out = exchange.getResponseBody()) {
            out.write(body);
        }
    }

    /** A JSON text. Control characters must be escaped, and half a character must not be sent. */
    static String quote(String text) {
        StringBuilder json = new StringBuilder("\"");
        text.codePoints().forEach(code -> {
            if (code == '"' || code == '\\') {
                json.append('\\').appendCodePoint(code);
            } else if (code < 0x20) {
                json.append("\\u%04x".formatted(code));
            } else {
                json.appendCodePoint(Character.MIN_SURROGATE <= code && code <= Character.MAX_SURROGATE ? 0xfffd : code);
            }
        });
        return json.append('"').toString();
    }

    public static void main(String[] arguments) throws IOException {
        if (KEY.isEmpty()) {
            System.err.println("SOURCE_API_KEY: is required");
            System.exit(1);
        }
        System.setProperty("sun.net.httpserver.nodelay", "true");
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8090"));
        String host = System.getenv().getOrDefault("HOST", "127.0.0.1");
        HttpServer server = HttpServer.create(new InetSocketAddress(host, port), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", Source::answer);
        server.start();
        System.out.println("http://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + server.getAddress().getPort() + "/search");
    }
}
