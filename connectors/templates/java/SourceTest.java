import java.util.ArrayList;
import java.util.List;

/** Run with {@code java -ea SourceTest}. */
public class SourceTest {
    public static void main(String[] arguments) {
        List<Source.Item> found = new ArrayList<>();
        String cursor = null;
        do {
            Source.Page page = Source.find("report", 7, cursor == null ? null : Source.readCursor(cursor));
            assert page.total() == Source.ITEMS.size() : page.total();
            found.addAll(page.items());
            cursor = page.cursor();
        } while (cursor != null);
        assert found.equals(Source.ITEMS) : "pages hold every match once, in order";

        Source.Page none = Source.find("nowhere", 10, null);
        assert none.items().isEmpty() && none.total() == 0 && none.cursor() == null : none;
        String quoted = Source.quote("a\tb\n\"c\" \ud83d");
        assert quoted.equals("\"a\\u0009b\\u000a\\\"c\\\" \ufffd\"") : quoted;
        System.out.println("ok");
    }
}
