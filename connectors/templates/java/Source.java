import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;

/** A source of trawl: answers searches by the contract. Put your own system's search into {@code find}. */
public class Source {
    static final String KEY = System.getenv().getOrDefault("SOURCE_API_KEY", "change-me");
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
        return new Item("report-%02d".formatted(number), "Report " + number + " of the harbour", "Cranes, quays and customs.",
            NEW_YEAR - number / 2 * 3_600_000L, "https://intranet.example/reports/" + number);
    }

    /** The cursor names the last item, not an offset: added and removed items shift no page. */
    static Page find(String keyword, int limit, String cursor) {
        String[] words = keyword.toLowerCase().strip().split("\\s+");
        List<Item> matches = ITEMS.stream().filter(item -> item.matches(words)).toList();
        List<Item> left = matches;
        if (cursor != null) {
            String[] last = cursor.split("/", 2);
            Item end = new Item(last[1], "", "", Long.parseLong(last[0]), "");
            left = matches.stream().filter(item -> ORDER.compare(item, end) > 0).toList();
        }
        List<Item> page = left.subList(0, Math.min(limit, left.size()));
        Item end = left.size() > page.size() ? page.get(page.size() - 1) : null;
        return new Page(page, matches.size(), end == null ? null : end.displayTime + "/" + end.id);
    }

    static void answer(HttpExchange exchange) throws IOException {
        Map<String, String> query = new HashMap<>();
        String raw = exchange.getRequestURI().getRawQuery();
        for (String pair : raw == null ? new String[0] : raw.split("&")) {
            String[] parts = pair.split("=", 2);
            query.put(parts[0], URLDecoder.decode(parts.length > 1 ? parts[1] : "", StandardCharsets.UTF_8));
        }
        String keyword = query.getOrDefault("keyword", "");
        if (!KEY.equals(exchange.getRequestHeaders().getFirst("X-API-Key"))) {
            refuse(exchange, 401, "the key is missing or wrong");
        } else if (keyword.isBlank()) {
            refuse(exchange, 400, "keyword: is required");
        } else {
            try {
                int limit = Math.min(Math.max(Integer.parseInt(query.getOrDefault("limit", "10")), 1), 100);
                Page page = find(keyword, limit, query.get("cursor"));
                String data = String.join(",", page.items.stream().map(Item::json).toList());
                send(exchange, 200, "{\"code\":200,\"message\":null,\"data\":[%s],\"count\":%d,\"total\":%d,\"cursor\":%s}"
                    .formatted(data, page.items.size(), page.total, page.cursor == null ? "null" : quote(page.cursor)));
            } catch (IllegalArgumentException | ArrayIndexOutOfBoundsException wrong) {
                refuse(exchange, 400, "limit or cursor: is not one of this source");
            }
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

    static String quote(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
    }

    public static void main(String[] arguments) throws IOException {
        System.setProperty("sun.net.httpserver.nodelay", "true");
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8090"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", Source::answer);
        server.start();
        System.out.println("http://127.0.0.1:" + server.getAddress().getPort() + "/search");
    }
}
