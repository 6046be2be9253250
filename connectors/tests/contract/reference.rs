use std::cmp::Reverse;

use reqwest::StatusCode;
use serde_json::{Value, json};
use trawl_connectors::{Method, Question};

use crate::support::{HttpCaller, client, settings_of};
use crate::zoo::{self, KEYWORD};

#[tokio::test]
async fn page_chain_equals_one_large_page() {
    let running = zoo::start_healthy().await;
    for method in [Method::Get, Method::Post] {
        let client = client(&running, settings_of(&running, method));
        let page = async |limit, cursor: Option<&str>| {
            let answer =
                client.search(&Question { keyword: KEYWORD, limit, cursor, person: None }).await.unwrap();
            assert_eq!((&answer.notes, &answer.broken, answer.total), (&Vec::new(), &None, Some(57)));
            answer
        };
        let whole = page(100, None).await;
        assert_eq!((whole.items.len(), &whole.cursor), (57, &None));
        assert!(whole.items.is_sorted_by_key(|item| (Reverse(item.display_time), item.id.clone())));
        for limit in [1, 10, 19, 57] {
            let (mut items, mut cursor) = (Vec::new(), None);
            loop {
                let answer = page(limit, cursor.as_deref()).await;
                assert!(answer.items.len() <= limit);
                assert_eq!(answer, page(limit, cursor.as_deref()).await, "a cursor asked twice");
                items.extend(answer.items);
                cursor = answer.cursor;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(items, whole.items, "pages of {limit}");
        }
    }
}

#[tokio::test]
async fn cursor_outlives_its_item() {
    // Simulates the removal of the cursor's item.
    let source = HttpCaller::start().await;
    let page = source.page(&[("keyword", KEYWORD), ("limit", "3")]).await;
    let cursor = page["cursor"].as_str().unwrap();
    let (time, id) = cursor.split_once('/').unwrap();
    let between = format!("{time}/{id}-that-was-removed");
    let after =
        async |cursor: &str| source.page(&[("keyword", KEYWORD), ("cursor", cursor)]).await["data"].take();
    assert_eq!(after(&between).await, after(cursor).await);
    assert_eq!(
        source.search(&[("keyword", KEYWORD), ("cursor", "3")]).await.status(),
        StatusCode::BAD_REQUEST
    );
}

#[tokio::test]
async fn limits_default_to_ten_and_end_at_a_hundred() {
    let source = HttpCaller::start().await;
    assert_eq!(source.page(&[("keyword", KEYWORD)]).await["count"], 10);
    assert_eq!(source.page(&[("keyword", KEYWORD), ("limit", "100000")]).await["count"], 57);
    for limit in ["0", "-1", "ten"] {
        let answer = source.search(&[("keyword", KEYWORD), ("limit", limit)]).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{limit}");
    }
}

#[tokio::test]
async fn keywords_are_words_in_any_script_and_case() {
    let source = HttpCaller::start().await;
    let found =
        async |keyword: &str| source.page(&[("keyword", keyword), ("limit", "100")]).await["total"].take();
    for (keyword, total) in [
        ("港口", 7),
        ("BUDGET harbour", 8),
        ("🏗️", 7),
        ("100% + \"surcharge\"", 7),
        ("Customs\\import /", 7),
        ("LIEGEPLÄTZE", 7),
        ("harbour zyzzyva", 0),
        ("&", 8),
    ] {
        assert_eq!(found(keyword).await, total, "{keyword}");
    }
    assert_eq!(found(&"long ".repeat(60)).await, 0);
    for nothing in [&[][..], &[("keyword", "")], &[("keyword", " \u{3000}")]] {
        let answer = source.search(nothing).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
        let envelope: Value = answer.json().await.unwrap();
        assert_eq!(envelope, json!({"code": 400, "message": "keyword: is required", "data": null}));
    }
}

#[tokio::test]
async fn tokens_are_required_and_told_apart() {
    let source = HttpCaller::start().await;
    let profile = source.token(&[("scope", "profile")]).await.unwrap();
    let search = source.token(&[("scope", "search")]).await.unwrap();
    let all = source.token(&[]).await.unwrap();
    assert_eq!((&profile["scope"], &all["scope"]), (&json!("profile"), &json!("search profile")));
    assert_eq!((&search["token_type"], &search["expires_in"]), (&json!("Bearer"), &json!(3600)));
    for (token, status, challenge) in [
        (None, 401, "Bearer"),
        (Some("wrong"), 401, r#"Bearer error="invalid_token""#),
        (profile["access_token"].as_str(), 403, r#"Bearer error="insufficient_scope""#),
        (search["access_token"].as_str(), 200, ""),
        (all["access_token"].as_str(), 200, ""),
    ] {
        let answer = source.search_with(token, &[("keyword", KEYWORD)]).await;
        assert_eq!(answer.status(), status);
        let given = answer.headers().get("www-authenticate").map_or("", |value| value.to_str().unwrap());
        assert_eq!(given, challenge);
        assert_eq!(answer.headers()["content-type"], "application/json;charset=UTF-8");
        let envelope: Value = answer.json().await.unwrap();
        assert_eq!((&envelope["code"], envelope["data"].is_null()), (&json!(status), status != 200));
    }
}

#[tokio::test]
async fn token_endpoint_accepts_its_client_only() {
    let source = HttpCaller::start().await;
    let by_basic = async |id, secret| source.token_by_basic(id, secret).await.status().as_u16();
    assert_eq!(by_basic("reference", "demo-secret-known-to-everyone").await, 200);
    assert_eq!(by_basic("reference", "wrong").await, 401);
    assert_eq!(by_basic("stranger", "demo-secret-known-to-everyone").await, 401);
    for (form, status, error) in [
        ([("client_secret", "wrong")], 401, "invalid_client"),
        ([("client_id", "stranger")], 401, "invalid_client"),
        ([("grant_type", "password")], 400, "unsupported_grant_type"),
        ([("scope", "search admin")], 400, "invalid_scope"),
    ] {
        assert_eq!(source.token(&form).await.unwrap_err(), (status, json!({"error": error})));
    }
}
