//! Steps on the search page that cross each other, or that fail on the way: what one has typed and found stays.

use serde_json::{Value, json};

use crate::{
    util::{
        app::{TestApp, never_suspend},
        external::{ExternalSystem, Mood},
        gate::Gate,
        items::{item, many},
        web::Page,
    },
    web_search::Landscape,
};

/// Has lists of a module answered by `answer(parameters)`: a status and a body.
pub(crate) const ANSWER: &str = "const ask = window.fetch; window.fetch = async (...given) => { \
    const [path, query] = String(given[0]).split('?'); \
    const answer = path === 'contents/search' && window.answer?.(new URLSearchParams(query)); \
    if (!answer) { return ask(...given); } \
    const [status, body] = await answer; \
    return new Response(JSON.stringify({code: status, message: 'no', ...body}), {status}); }; \
    window.named = (from, count) => Array.from({length: count}, (_, place) => ({id: `i${from + place}`, title: `Row ${from + place}`}));";

/// Counts what is waited for as long as a server asks to that has no time.
const COUNT_TIMERS: &str = "window.timers = new Set(); const [begin, end] = [window.setTimeout, window.clearTimeout]; \
    window.setTimeout = (act, wait, ...given) => { const timer = begin(act, wait, ...given); if (wait === 300_000) { timers.add(timer); } return timer; }; \
    window.clearTimeout = (timer) => { timers.delete(timer); end(timer); };";

/// Has the modules fail so many times.
fn modules_fail(times: usize) -> String {
    format!(
        "window.failing = {times}; const ask = window.fetch; window.fetch = async (...given) => {{ \
        if (given[0] !== 'modules' || !failing) {{ return ask(...given); }} \
        failing -= 1; \
        return new Response(JSON.stringify({{code: 503}}), {{status: 503, headers: {{'retry-after': '300'}}}}); }}"
    )
}

pub(crate) async fn with_articles() -> Landscape {
    let all = Landscape::of(TestApp::start_with(never_suspend).await).await;
    all.app.keep(&all.acme.caller, "article", &[item("a", "harbour", 1), item("b", "quay", 2)]).await;
    all
}

/// The same, and a module of a system that cannot be reached; the page, where it has said so.
pub(crate) async fn with_beta_away() -> (Landscape, ExternalSystem, Page) {
    let all = with_articles().await;
    let system = ExternalSystem::start(many("y", "harbour", 3, 1)).await;
    system.set_mood(Mood::Status(503));
    all.show(&system.registration("beta"), "Beta", 51).await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.until("!document.querySelector('.overview').ariaBusy && document.querySelector('[data-module=beta] .note button')")
        .await;
    (all, system, page)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_section_that_is_asked_again_outlives_the_end_of_the_search() {
    let all = with_articles().await;
    let slow = Gate::start(&[item("x", "late", 1)]).await;
    all.show(&slow.registration("slow"), "Contracts", 50).await;
    let system = ExternalSystem::start(many("y", "harbour", 3, 1)).await;
    system.set_mood(Mood::Status(503));
    all.show(&system.registration("beta"), "Beta", 51).await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.find("[data-module=beta] .note button").await;
    system.set_mood(Mood::Good);
    let hold = "const held = new Promise((go) => { window.go = go; }); const ask = window.fetch; \
        window.fetch = async (...given) => { await (String(given[0]).startsWith('contents/search?') && held); return ask(...given); }";
    page.run(hold, &[]).await;
    page.click("[data-module=beta] .note button").await;
    slow.open();
    page.until("!document.querySelector('.overview').ariaBusy").await;
    assert_eq!(page.texts("[data-module=contracts] h3").await, ["late"]);
    assert_eq!(page.run("return document.querySelectorAll('[data-module=beta]').length", &[]).await, 1);
    page.run("go()", &[]).await;
    page.until("document.querySelectorAll('[data-module=beta] .row').length === 3").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_section_is_asked_again_after_one_came_back_from_a_module() {
    let (_all, system, page) = with_beta_away().await;
    page.click("[data-module=article] h2 a").await;
    page.until("document.querySelectorAll('.list .row').length === 1").await;
    page.browser.client.back().await.unwrap();
    page.until("document.querySelector('[data-module=beta] .note button')?.checkVisibility()").await;
    system.set_mood(Mood::Good);
    page.click("[data-module=beta] .note button").await;
    page.until("document.querySelectorAll('[data-module=beta] .row').length === 3").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn modules_that_failed_are_asked_for_when_one_is_opened() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, "/healthz").await;
    page.begin_with(COUNT_TIMERS).await;
    page.begin_with(&modules_fail(2)).await;
    page.go("/?q=harbour").await;
    page.until("!document.querySelector('.overview').ariaBusy && document.querySelector('[data-module=article] .row')").await;
    page.click("[data-module=article] h2 a").await;
    page.says("The server is busy.").await;
    assert_eq!(page.run("return [failing, timers.size]", &[]).await, json!([0, 1]));
    page.click(".notice button").await;
    page.until("document.querySelectorAll('.list .row').length === 1").await;
    assert_eq!(page.run("return timers.size", &[]).await, 0);
    assert!(!page.says_now("The server is busy.").await);
    assert_eq!(page.texts(".modules [aria-current]").await, ["Articles"]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_module_has_its_place_from_the_first_load_on_and_is_given_up_when_another_is_opened() {
    let all = with_articles().await;
    let slow = Gate::start(&[item("x", "late", 1)]).await;
    all.show(&slow.registration("slow"), "Contracts", 50).await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.find("[data-module=contracts] .skeleton").await;
    slow.wait_for(1).await;
    page.click("[data-module=article] h2 a").await;
    page.until("document.querySelectorAll('.list .row').length === 1").await;
    slow.wait_for(0).await;
    // Back there, it is asked again.
    page.browser.client.back().await.unwrap();
    slow.wait_for(1).await;
    slow.open();
    page.until("document.querySelector('[data-module=contracts] h3')?.textContent === 'late'").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_typed_a_moment_ago_comes_along() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, "/?q=harbour").await;
    page.until(
        "document.querySelector('.modules li') && document.querySelector('[data-module=article] .row')",
    )
    .await;
    let type_into = "window.enter = (selector, text) => { const input = document.querySelector(selector); \
        input.focus(); input.value = text; input.dispatchEvent(new InputEvent('input', {bubbles: true})); }; \
        window.link = () => [...document.querySelectorAll('.modules a')].find((one) => one.textContent === 'Articles');";
    page.run(type_into, &[]).await;
    page.run("enter('#box', 'quay'); link().click()", &[]).await;
    page.until("location.search === '?q=quay&module=article' && document.querySelector('.list h3')?.textContent === 'quay'")
        .await;
    page.browser.client.back().await.unwrap();
    page.until("location.search === '?q=quay' && document.querySelector('#box').value === 'quay'").await;
    page.run(
        "enter('[name=author]', 'Mei'); document.querySelector('[name=sort][value=relevance]').click()",
        &[],
    )
    .await;
    page.until("location.search === '?q=quay&sort=relevance&author=Mei'").await;
    // Neither of two texts replaces the other.
    page.run("enter('[name=author]', 'Omar'); enter('#box', 'harbour');", &[]).await;
    page.until("location.search === '?q=harbour&sort=relevance&author=Omar'").await;
    assert_eq!(page.run("return document.querySelector('#box').value", &[]).await, "harbour");
    // Nobody writes into a composition.
    page.run("document.querySelector('#box').focus(); document.querySelector('#box').select()", &[]).await;
    page.tell("Input.imeSetComposition", json!({"text": "gang", "selectionStart": 4, "selectionEnd": 4}))
        .await;
    page.run("document.querySelector('[name=sort][value=time]').click()", &[]).await;
    page.until("location.search === '?q=harbour&author=Omar'").await;
    assert_eq!(page.run("return document.querySelector('#box').value", &[]).await, "gang");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_says_how_it_ended_and_keeps_what_was_found() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, "/healthz").await;
    page.begin_with(ANSWER).await;
    page.go("/?q=harbour").await;
    page.until("document.querySelectorAll('.modules a').length > 3").await;
    // A part is missing, and there are things that are no items.
    let partial = "window.answer = (given) => [200, given.get('cursor') \
        ? {data: named(3, 2), total: 5, cursor: null, sources: []} \
        : {data: [null, ...named(0, 3), 7, 'x'], total: 5, cursor: 'c', partial: true, sources: []}];";
    page.run(partial, &[]).await;
    page.run("document.querySelectorAll('.modules a')[1].click()", &[]).await;
    page.click(".tail button").await;
    page.until("document.querySelectorAll('.list .row').length === 5").await;
    page.says("5 were found; the list is not complete.").await;
    assert!(!page.says_now("That is all").await);

    // A cursor that does not hold any more.
    let refused = "window.answer = (given) => given.get('cursor') ? [400, {}] \
        : [200, {data: named(0, 20), total: 40, cursor: 'c', sources: []}];";
    page.run(refused, &[]).await;
    page.run("document.querySelectorAll('.modules a')[2].click()", &[]).await;
    page.until("document.querySelectorAll('.list .row').length === 20").await;
    page.run("scrollTo(0, document.documentElement.scrollHeight)", &[]).await;
    page.says("What follows cannot be asked for any more.").await;
    assert_eq!(page.texts(".tail button").await, ["Begin again"]);
    page.run("window.answer = () => [200, {data: named(50, 2), total: 2, cursor: null, sources: []}]", &[])
        .await;
    page.click(".tail button").await;
    page.says("That is all 2.").await;

    // A search that the server has no time for leaves what there is.
    page.run("window.answer = () => [429, {}]", &[]).await;
    page.run("document.querySelector('[name=sort][value=relevance]').click()", &[]).await;
    page.says("The server is busy.").await;
    assert_eq!(page.texts(".list h3").await, ["Row 50", "Row 51"]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_module_has_its_own_sources_to_choose_among() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, "/healthz").await;
    page.begin_with(ANSWER).await;
    page.go("/?q=harbour").await;
    page.until("document.querySelectorAll('.modules a').length > 3").await;
    let answer = "window.answer = (given) => { const id = given.get('moduleId'); \
        const sources = ['a', 'b', 'c'].map((one) => ({id: id + one, name: id + one, status: 'ok'})); \
        return [200, {data: named(0, 1), total: 1, cursor: null, \
            sources: sources.filter((one) => !given.get('source') || one.id === given.get('source'))}]; };";
    page.run(answer, &[]).await;
    let shown = "return [...document.querySelectorAll('[name=source] option')].map((one) => one.value)";
    let open = async |place: usize| -> Value {
        page.run("document.querySelectorAll('.modules a')[arguments[0]].click()", &[json!(place)]).await;
        page.until("document.querySelectorAll('.list .row').length === 1 && !document.querySelector('.rows[aria-busy]')").await;
        page.run(shown, &[]).await
    };
    let first = open(1).await;
    assert_eq!(first.as_array().unwrap().len(), 4);
    let choose = "const select = document.querySelector('[name=source]'); select.value = arguments[0]; \
        select.dispatchEvent(new Event('change', {bubbles: true}))";
    page.run(choose, &[first[1].clone()]).await;
    page.until("location.search.includes('&source=')").await;
    let second = open(2).await;
    assert_ne!(first, second);
    page.browser.client.back().await.unwrap();
    page.until("location.search.includes('&source=') && !document.querySelector('.rows[aria-busy]')").await;
    assert_eq!(page.run(shown, &[]).await, first);
    assert_eq!(page.run("return document.querySelector('[name=source]').value", &[]).await, first[1]);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_long_or_not_typed_to_its_end_is_not_asked() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, &format!("/?q={}%F0%9F%98%80", "x".repeat(255))).await;
    page.says("Nothing found for").await;
    assert_eq!(page.run("return document.querySelector('#box').value.length", &[]).await, 255);
    assert_eq!(page.run("return document.querySelector('#box').maxLength", &[]).await, 256);
    assert_eq!(page.run("return document.querySelector('.notice').hidden", &[]).await, true);
    // The year 2 is one that is being typed.
    page.go("/?q=harbour&module=article").await;
    page.until("document.querySelector('.list .row')").await;
    let set = "const input = document.querySelector('[name=from]'); input.focus(); input.value = arguments[0]; \
        input.dispatchEvent(new Event('change', {bubbles: true})); return location.search";
    assert_eq!(page.run(set, &[json!("0002-01-15")]).await, "?q=harbour&module=article");
    assert_eq!(page.run(set, &[json!("1970-01-01")]).await, "?q=harbour&module=article&from=1970-01-01");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_few_colours_only_the_module_that_is_open_has_the_line() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, "/?q=harbour&module=article").await;
    page.tell(
        "Emulation.setEmulatedMedia",
        json!({"features": [{"name": "forced-colors", "value": "active"}]}),
    )
    .await;
    page.until("document.querySelectorAll('.modules a').length > 3 && document.querySelector('.modules [aria-current]')").await;
    for width in [700, 1_600] {
        page.set_size(width, 900).await;
        page.painted().await;
        let lines = "const behind = getComputedStyle(document.body).backgroundColor; \
            return [...document.querySelectorAll('.modules a')].filter((one) => { \
                const {borderBlockEndWidth, borderBlockEndColor} = getComputedStyle(one); \
                return borderBlockEndWidth !== '0px' && borderBlockEndColor !== behind; }).map((one) => one.textContent)";
        assert_eq!(page.run(lines, &[]).await, json!(["Articles"]), "{width}");
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_stand_in_chinese_sentences_in_quotes_and_without_spaces() {
    let all = with_articles().await;
    let page = Page::open(&all.mei, "/").await;
    let texts = "const done = arguments[arguments.length - 1]; \
        import(new URL('../texts/search.js', document.querySelector('script[type=module]').src)).then(({default: texts}) => \
            done(Object.entries(texts).filter(([key, pair]) => key.startsWith('state.') && /(?<!“)\\{name\\}/.test(pair[1])).map(([key]) => key)))";
    assert_eq!(page.run_later(texts, &[]).await, json!([]));
    page.close().await;
}
