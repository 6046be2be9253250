use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::HttpCaller;
use crate::zoo::KEYWORD;

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
