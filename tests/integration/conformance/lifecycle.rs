//! The life of every searchable object over HTTP.
//!
//! A new module is a new row of [`OBJECTS`].

use std::{collections::BTreeMap, time::Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    caller::{Caller, send},
    eventually,
    items::{department, user, word_of_case},
};

/// Mei is in department `d1`, Omar in `d2`, Lin in none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Application,
    Mei,
    Omar,
    Lin,
    Stranger,
    Operator,
    Nobody,
}
use Who::{Application, Lin, Mei, Nobody, Omar, Operator, Stranger};

const SEARCHERS: [Who; 5] = [Application, Mei, Omar, Lin, Stranger];

const WHOLE_TENANT: &[Who] = &[Application, Mei, Omar, Lin];

/// A request to the server.
///
/// `$word` is the word to search for, `$NAME` a kept value; a full URL as path takes raw bytes.
#[derive(Clone, Copy, Debug)]
struct Call {
    by: Who,
    method: &'static str,
    path: &'static str,
    body: &'static str,
    /// Name and JSON pointer within `data` of each value to keep.
    keeps: &'static [(&'static str, &'static str)],
}

const fn call(by: Who, method: &'static str, path: &'static str, body: &'static str) -> Call {
    Call { by, method, path, body, keeps: &[] }
}

impl Call {
    const fn keeping(self, keeps: &'static [(&'static str, &'static str)]) -> Self {
        Self { keeps, ..self }
    }
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Word(&'static [Call]),
    /// The first call hides the object, the second shows it.
    Sight(Call, Call),
    Nothing,
}

struct Object {
    name: &'static str,
    module: &'static str,
    given: &'static [Call],
    /// Must keep `id`, unless the object's id is `object`.
    write: &'static [Call],
    change: Change,
    remove: &'static [Call],
    seen_by: &'static [Who],
}

/// Built-in content, visible to the whole tenant; a change is another write.
const fn content(module: &'static str, write: &'static [Call], remove: &'static [Call]) -> Object {
    Object {
        name: module,
        module,
        given: &[],
        write,
        change: Change::Word(write),
        remove,
        seen_by: WHOLE_TENANT,
    }
}

const SAY: &[Call] = &[
    call(Mei, "POST", "/v1/stream/upload", "{}").keeping(&[("url", "/url"), ("upload", "/uploadId")]),
    call(Nobody, "PUT", "$url", "$word"),
    call(
        Mei,
        "POST",
        "/v1/stream/upload/commit",
        r#"{"uploadId": "$upload", "dirId": "root", "fileName": "tide.txt", "fileSize": 9, "ondup": true}"#,
    )
    .keeping(&[("id", "/id")]),
];

#[rustfmt::skip]
const OBJECTS: &[Object] = &[

    Object {
        name: "article for some",
        seen_by: &[Mei, Omar],
        ..content(
            "article",
            &[call(Application, "PUT", "/v1/contents/article",
                r#"[{"id": "object", "title": "$word", "visibility": {"users": ["mei"], "departments": ["d2"]}}]"#)],
            &[call(Application, "POST", "/v1/contents/article/delete", r#"["object"]"#)],
        )
    },
    content(
        "news",
        &[call(Application, "PUT", "/v1/contents/news", r#"[{"id": "object", "title": "$word"}]"#)],
        &[call(Application, "POST", "/v1/contents/news/delete", r#"["object"]"#)],
    ),
    content(
        "feed",
        &[call(Application, "PUT", "/v1/contents/feed", r#"[{"id": "object", "brief": "about $word"}]"#)],
        &[call(Application, "POST", "/v1/contents/feed/delete", r#"["object"]"#)],
    ),
    content(
        "people",
        &[call(Application, "PUT", "/v1/users/sync", r#"[{"userId": "object", "loginId": "object", "name": "$word", "sex": 1}]"#)],
        &[call(Application, "PUT", "/v1/users/sync", r#"[{"userId": "object", "isDeleted": true}]"#)],
    ),
    content(
        "department",
        &[call(Application, "PUT", "/v1/organizations/sync", r#"[{"orgId": "object", "name": "$word"}]"#)],
        &[call(Application, "PUT", "/v1/organizations/sync", r#"[{"orgId": "object", "isDeleted": true}]"#)],
    ),
    Object {
        name: "to-do", module: "todo", given: &[], seen_by: &[Mei, Omar],
        write: &[call(Application, "POST", "/api/todo/create",
            r#"{"appTaskId": "to-do", "title": "$word", "assigneeLoginId": "mei", "creatorId": "omar"}"#).keeping(&[("id", "/id")])],
        change: Change::Sight(
            call(Application, "POST", "/api/todo/parse?todoTaskId=$id", ""),
            call(Application, "POST", "/api/todo/resume?todoTaskId=$id", ""),
        ),
        remove: &[call(Mei, "POST", "/api/todo/complete", r#"{"todoTaskId": "$id"}"#)],
    },
    Object {
        name: "to-do that was completed", module: "done", seen_by: &[Mei, Omar],
        given: &[call(Application, "POST", "/api/todo/create",
            r#"{"appTaskId": "completed", "title": "$word", "assigneeLoginId": "mei", "creatorId": "omar"}"#).keeping(&[("id", "/id")])],
        write: &[call(Mei, "POST", "/api/todo/complete", r#"{"todoTaskId": "$id"}"#)],
        change: Change::Nothing,
        remove: &[call(Application, "POST", "/api/done/remove?todoTaskId=$id", "")],
    },
    Object {
        name: "withdrawn item", module: "done", given: &[], seen_by: &[Mei, Lin],
        write: &[call(Application, "POST", "/api/done/create",
            r#"{"appTaskId": "withdrawn", "title": "$word", "assigneeLoginId": "lin", "creatorId": "mei", "status": 5}"#).keeping(&[("id", "/id")])],
        change: Change::Nothing,
        remove: &[call(Application, "POST", "/api/done/remove?todoTaskId=$id", "")],
    },
    Object {
        name: "favorite", module: "favorite", given: &[], seen_by: &[Mei],
        write: &[call(Mei, "POST", "/v1/favorites", r#"{"itemId": "object", "contentType": 1, "content": "$word"}"#)],
        change: Change::Nothing,
        remove: &[call(Mei, "DELETE", "/v1/favorites/object", "")],
    },
    Object {
        name: "closed group", module: "group", given: &[], seen_by: &[Mei, Omar],
        write: &[call(Mei, "POST", "/v1/groups", r#"{"name": "$word", "type": 1, "users": ["omar"]}"#).keeping(&[("id", "")])],
        change: Change::Word(&[call(Mei, "PUT", "/v1/groups/$id", r#"{"name": "$word"}"#)]),
        remove: &[call(Mei, "DELETE", "/v1/groups/$id", "")],
    },
    Object {
        name: "open group", module: "group", given: &[], seen_by: WHOLE_TENANT,
        write: &[call(Mei, "POST", "/v1/groups", r#"{"name": "$word", "type": 1, "isPublic": true}"#).keeping(&[("id", "")])],
        change: Change::Word(&[call(Mei, "PUT", "/v1/groups/$id", r#"{"name": "$word"}"#)]),
        remove: &[call(Mei, "DELETE", "/v1/groups/$id", "")],
    },
    Object {
        name: "group with an outer member", module: "group", seen_by: &[Mei, Stranger],
        given: &[call(Operator, "PUT", "/admin/v1/tenants/other", r#"{"allowOuterMembers": true}"#)],
        write: &[
            call(Mei, "POST", "/v1/groups", r#"{"name": "$word", "type": 2}"#).keeping(&[("id", "")]),
            call(Mei, "POST", "/v1/groups/$id/members/outer?loginIds=mei@other", ""),
        ],
        change: Change::Word(&[call(Mei, "PUT", "/v1/groups/$id", r#"{"name": "$word"}"#)]),
        remove: &[call(Mei, "DELETE", "/v1/groups/$id", "")],
    },
    Object {
        name: "message", module: "message", seen_by: &[Mei, Omar],
        given: &[
            call(Mei, "POST", "/v1/groups", r#"{"name": "Harbour", "type": 1, "users": ["omar"], "isPublic": true}"#).keeping(&[("group", "")]),
            call(Mei, "POST", "/v1/groups/$group/robots", r#"{"name": "Tide"}"#).keeping(&[("token", "/token")]),
        ],
        write: &[call(Nobody, "POST", "/notificationapi/hook/send?token=$token",
            r#"{"msgType": "text", "content": {"text": "high water and $word"}}"#).keeping(&[("id", "/id")])],
        change: Change::Nothing,
        remove: &[call(Mei, "DELETE", "/v1/groups/$group", "")],
    },
    Object {
        name: "file", module: "file", seen_by: &[Mei, Omar],
        given: &[
            call(Mei, "POST", "/v1/directories/create", r#"{"name": "Harbour"}"#).keeping(&[("folder", "/id")]),
            call(Mei, "POST", "/v1/directories/authorize",
                r#"{"dirId": "$folder", "roleIds": ["viewer"], "authTarget": ["omar"], "targetType": 1}"#),
            call(Mei, "POST", "/v1/stream/upload", "{}").keeping(&[("url", "/url"), ("upload", "/uploadId")]),
        ],
        write: &[
            call(Nobody, "PUT", "$url", "high"),
            call(Mei, "POST", "/v1/stream/upload/commit",
                r#"{"uploadId": "$upload", "dirId": "$folder", "fileName": "$word.txt", "fileSize": 4}"#).keeping(&[("id", "/id")]),
        ],
        change: Change::Nothing,
        remove: &[call(Mei, "POST", "/v1/files/delete", r#"["$id"]"#)],
    },
    Object {
        name: "what a file says", module: "file", seen_by: &[Mei],
        given: &[],
        write: SAY,
        change: Change::Word(SAY),
        remove: &[call(Mei, "POST", "/v1/files/delete", r#"["$id"]"#)],
    },
];

struct World {
    app: TestApp,
    callers: BTreeMap<Who, Caller>,
}

impl World {
    async fn start() -> Self {
        let app = TestApp::start().await;
        let (acme, other) = (app.tenant("acme").await, app.tenant("other").await);
        app.sync(&acme.caller, "organizations", &json!([department("d1", ""), department("d2", "")])).await;
        app.sync(&acme.caller, "users", &json!([user("mei", "d1"), user("omar", "d2"), user("lin", "")]))
            .await;
        app.sync(&other.caller, "users", &json!([user("mei", "")])).await;
        let callers = BTreeMap::from([
            (Application, acme.caller.clone()),
            (Mei, app.user(&acme, "mei").await),
            (Omar, app.user(&acme, "omar").await),
            (Lin, app.user(&acme, "lin").await),
            (Stranger, app.user(&other, "mei").await),
            (Operator, app.operator().await.caller),
            (Nobody, app.caller("")),
        ]);
        Self { app, callers }
    }

    async fn make(&self, calls: &[Call], kept: &mut BTreeMap<&'static str, String>) {
        for call in calls {
            let fill = |text: &str| {
                let mut text = text.to_owned();
                for (name, value) in &*kept {
                    text = text.replace(&format!("${name}"), value);
                }
                text
            };
            let method: Method = call.method.parse().unwrap();
            let caller = &self.callers[&call.by];
            let path = fill(call.path);
            if path.starts_with("http") {
                let sending = caller.http.request(method, path).body(fill(call.body)).send();
                assert_eq!(sending.await.unwrap().status(), 200, "{call:?}");
                continue;
            }
            let mut request = match call.by {
                Nobody => caller.http.request(method, format!("{}{path}", caller.base)),
                _ => caller.request(method, &path),
            };
            if !call.body.is_empty() {
                request = request.json(&serde_json::from_str::<Value>(&fill(call.body)).unwrap());
            }
            let answer = send(request).await.ok();
            for (name, place) in call.keeps {
                let value = answer.data().pointer(place).and_then(Value::as_str);
                kept.insert(name, value.unwrap_or_else(|| panic!("{call:?}: {}", answer.text)).to_owned());
            }
        }
    }

    /// Waits until every permitted caller finds the object, then checks everybody; returns the wait in ms.
    async fn check(&self, object: &Object, id: &str, word: &str) -> u128 {
        let started = Instant::now();
        // A group and its outer member are two writes.
        for who in object.seen_by {
            eventually(object.name, async || {
                let found = self.callers[who].search(&[("moduleId", object.module), ("keyword", word)]).await;
                // A busy node of OpenSearch may be late.
                (found.status == 200 && found.ids().contains(&id)).then_some(())
            })
            .await;
        }
        let took = started.elapsed().as_millis();
        for who in SEARCHERS {
            let expected: &[&str] = if object.seen_by.contains(&who) { &[id] } else { &[] };
            for sort in ["time", "relevance"] {
                let parameters = [("moduleId", object.module), ("keyword", word), ("sort", sort)];
                let answer = self.callers[&who].search(&parameters).await.ok();
                assert_eq!(answer.ids(), expected, "{}, {who:?}, by {sort}", object.name);
                assert_eq!(answer.total(), expected.len() as u64, "{}, {who:?}, by {sort}", object.name);
            }
        }
        took
    }

    async fn check_gone(&self, object: &Object, word: &str) {
        self.app.wait_for_index().await;
        for who in SEARCHERS {
            assert_eq!(
                self.callers[&who].find(object.module, word).await,
                [] as [&str; 0],
                "{}, {who:?}",
                object.name
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_object_is_found_by_permitted_people_until_deleted() {
    let world = World::start().await;
    for (number, object) in OBJECTS.iter().enumerate() {
        let [first, second] = [2 * number, 2 * number + 1].map(word_of_case);
        let mut kept = BTreeMap::from([("id", "object".to_owned()), ("word", first.clone())]);
        world.make(object.given, &mut kept).await;
        world.make(object.write, &mut kept).await;
        let id = kept["id"].clone();
        let written = world.check(object, &id, &first).await;
        let mut last = first.clone();
        match object.change {
            Change::Word(calls) => {
                kept.insert("word", second.clone());
                world.make(calls, &mut kept).await;
                world.check(object, &id, &second).await;
                world.check_gone(object, &first).await;
                last = second;
            }
            Change::Sight(away, back) => {
                world.make(&[away], &mut kept).await;
                world.check_gone(object, &first).await;
                world.make(&[back], &mut kept).await;
                world.check(object, &id, &first).await;
            }
            Change::Nothing => {}
        }
        world.make(object.remove, &mut kept).await;
        world.check_gone(object, &last).await;
        println!("{}: found {written} ms after it was acknowledged", object.name);
    }
}
