use serde_json::{Value, json};

use crate::util::{
    console::Operated,
    feed_server::{FeedReply, FeedServer},
    subscriptions::SUBSCRIPTIONS,
    web::Page,
};

async fn only(all: &Operated) -> Value {
    all.mei.get(SUBSCRIPTIONS).await.ok().items()[0].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn feed_is_subscribed_to_run_changed_and_removed() {
    let all = Operated::start().await;
    let feeds = FeedServer::start().await;
    feeds.set_entries("/tides", &[("1", "harbour one"), ("2", "harbour two")]);
    let page = Page::open(&all.mei, "/console?view=subscriptions").await;
    page.wait_for_text("There is no subscription yet.").await;
    page.click_text("Add a subscription").await;
    page.fill("name", "Tides").await;
    page.fill("feed.url", "http://example.org/").await;
    page.submit().await;
    page.wait_until("document.querySelector('[name=\"feed.url\"]').ariaInvalid === 'true'").await;
    page.fill("feed.url", &feeds.url("127.0.0.1", "/tides")).await;
    page.fill("keepDays", "30").await;
    page.submit().await;
    page.wait_for_text("Saved.").await;
    page.wait_for_text("Last run\n\nread").await;
    let made = only(&all).await;
    assert_eq!(
        (&made["keepDays"], &made["intervalMinutes"], &made["items"]),
        (&json!(30), &json!(60), &json!(2))
    );

    feeds.reply_once("/tides", FeedReply::Status(500));
    page.click_text("Run now").await;
    page.wait_for_text("the feed answered with HTTP 500").await;
    page.click_text("Edit").await;
    page.fill("intervalMinutes", "5").await;
    page.submit().await;
    page.wait_for_text("Saved.").await;
    page.wait_for_text("5 min").await;
    let changed = only(&all).await;
    assert_eq!((&changed["keepDays"], &changed["intervalMinutes"]), (&json!(30), &json!(5)));

    page.click_text("Edit").await;
    page.choose("viewers", "some").await;
    page.fill("visibility.users", "mei\ntom").await;
    page.submit().await;
    page.wait_for_text("Saved.").await;
    page.wait_for_text("People: mei, tom").await;
    let visibility = json!({"users": ["mei", "tom"], "departments": [], "groups": []});
    assert_eq!(only(&all).await["visibility"], visibility);
    page.click_text("Edit").await;
    page.choose("viewers", "everyone").await;
    page.submit().await;
    page.wait_for_text("Saved.").await;
    page.wait_for_text("everyone in the enterprise").await;
    assert_eq!(only(&all).await["visibility"], json!(null));

    page.click_text("Remove").await;
    page.click_text("Remove").await;
    page.wait_for_text("Tides is removed.").await;
    page.wait_for_text("There is no subscription yet.").await;
    assert_eq!(all.mei.get(SUBSCRIPTIONS).await.ok().items(), [] as [Value; 0]);
    page.close().await;
}
