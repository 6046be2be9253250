//! Freshness of everyday objects: from acknowledged to found by their owner.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use futures::future::join_all;
use serde_json::{Value, json};

use crate::{
    Scale,
    common::{
        load::{Connection, Samples, Target, block_on},
        report::{Report, millis},
        server::Server,
    },
    corpus,
};

const WRITERS: usize = 8;
const LOOK_EVERY: Duration = Duration::from_millis(1);
const PERSON: &str = "mei.chen";

struct Object {
    name: &'static str,
    module: &'static str,
    path: &'static str,
    /// With the person's token, not the application's.
    is_personal: bool,
    /// Of object `number`; the word finds it.
    body: fn(usize, &str) -> Value,
}

pub(crate) fn run(scale: &Scale, report: &mut Report) {
    let documents = scale.documents[0];
    let prepared = corpus::prepare(documents);
    let settings = [("LOG__FILTER", "warn"), ("LIMITS__ROBOT_MESSAGES_PER_MINUTE", "1000000000")];
    let trawl = Server::trawl(prepared.directory.path(), &settings);
    let application = trawl.token(&prepared);
    let person = json!([{ "userId": "mei", "loginId": PERSON, "name": "Mei Chen", "sex": 2 }]);
    let caller = |token: &str| Caller { trawl: &trawl, token: token.to_owned() };
    block_on(async {
        let mut connection = Connection::open(trawl.address).await;
        let sync =
            caller(&application).target("PUT", "/v1/users/sync".to_owned(), Some(&person), "\"total\":0");
        connection.call(&sync).await;
    });
    let personal = trawl.grant(
        &prepared.registered,
        &[
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("subject_token_type", "urn:trawl:params:oauth:token-type:login-id"),
            ("subject_token", PERSON),
        ],
    );
    let hook = block_on(make_robot(&caller(&personal)));
    let hook: &'static str = Box::leak(hook.into_boxed_str());

    writeln!(report, "\n## From acknowledged to found, by kind of object\n");
    writeln!(
        report,
        "{} writes of each kind by {WRITERS} connections: write, search every {} ms until found, write the next. Beside {documents} documents. \
         Milliseconds. Bar: ≤ 50 ms p99.\n",
        scale.objects,
        LOOK_EVERY.as_millis(),
    );
    writeln!(report, "| object | acknowledged, median | p99 | then found, median | p99 | max |");
    writeln!(report, "|---|---|---|---|---|---|");
    let objects = [
        Object {
            name: "to-do",
            module: "todo",
            path: "/api/todo/create",
            is_personal: false,
            body: |number, word| json!({ "appTaskId": format!("to-do {number}"), "title": word, "assigneeLoginId": PERSON }),
        },
        Object {
            name: "done item",
            module: "done",
            path: "/api/done/create",
            is_personal: false,
            body: |number, word| json!({ "appTaskId": format!("done {number}"), "title": word, "assigneeLoginId": PERSON }),
        },
        Object {
            name: "favorite",
            module: "favorite",
            path: "/v1/favorites",
            is_personal: true,
            body: |number, word| json!({ "itemId": number.to_string(), "contentType": 1, "content": word }),
        },
        Object {
            name: "group",
            module: "group",
            path: "/v1/groups",
            is_personal: true,
            body: |_, word| json!({ "name": word, "type": 1 }),
        },
        Object {
            name: "message",
            module: "message",
            path: hook,
            is_personal: false,
            body: |_, word| json!({ "msgType": "text", "content": { "text": word } }),
        },
    ];
    for (place, object) in objects.iter().enumerate() {
        let writing = caller(if object.is_personal { &personal } else { &application });
        let looking = caller(&personal);
        let (acknowledged, found) = block_on(measure(object, place, scale.objects, &writing, &looking));
        let cell = |samples: &Samples, share: f64| millis(samples.quantile(share));
        writeln!(
            report,
            "| {} | {} | {} | {} | {} | {} |",
            object.name,
            cell(&acknowledged, 0.5),
            cell(&acknowledged, 0.99),
            cell(&found, 0.5),
            cell(&found, 0.99),
            cell(&found, 1.0)
        );
    }
}

struct Caller<'a> {
    trawl: &'a Server,
    token: String,
}

impl Caller<'_> {
    fn target(&self, method: &'static str, path: String, body: Option<&Value>, expected: &str) -> Target {
        Target {
            address: self.trawl.address,
            method,
            path,
            token: Some(self.token.clone()),
            body: body.map(Value::to_string),
            expected: expected.to_owned(),
        }
    }
}

/// Returns the webhook's path.
async fn make_robot(person: &Caller<'_>) -> String {
    let mut connection = Connection::open(person.trawl.address).await;
    let mut make = async |path: String, body: Value| {
        let answer = connection.call(&person.target("POST", path, Some(&body), "\"code\":200")).await;
        serde_json::from_slice::<Value>(&answer).unwrap()["data"].take()
    };
    let group = make("/v1/groups".to_owned(), json!({ "name": "bench", "type": 1 })).await;
    let path = format!("/v1/groups/{}/robots", group.as_str().unwrap());
    let robot = make(path, json!({ "name": "bench" })).await;
    format!("/notificationapi/hook/send?token={}", robot["token"].as_str().unwrap())
}

async fn measure(
    object: &Object,
    place: usize,
    writes: usize,
    writing: &Caller<'_>,
    looking: &Caller<'_>,
) -> (Samples, Samples) {
    let (acknowledged, found) = (RefCell::<Vec<Duration>>::default(), RefCell::<Vec<Duration>>::default());
    let started = Instant::now();
    join_all((0..WRITERS).map(|writer| {
        let (acknowledged, found) = (&acknowledged, &found);
        async move {
            let mut connection = Connection::open(writing.trawl.address).await;
            for number in (writer..writes).step_by(WRITERS) {
                let word = word(place * writes + number);
                let write = writing.target(
                    "POST",
                    object.path.to_owned(),
                    Some(&(object.body)(number, &word)),
                    "\"code\":200",
                );
                let path = format!("/contents/search?moduleId={}&keyword={word}+&limit=1", object.module);
                let search = looking.target("POST", path, None, "\"total\":");
                let began = Instant::now();
                connection.call(&write).await;
                acknowledged.borrow_mut().push(began.elapsed());
                let began = Instant::now();
                while !std::str::from_utf8(&connection.call(&search).await).unwrap().contains("\"total\":1,")
                {
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                found.borrow_mut().push(began.elapsed());
            }
        }
    }))
    .await;
    let took = started.elapsed();
    (Samples::new(acknowledged.take(), took), Samples::new(found.take(), took))
}

fn word(number: usize) -> String {
    format!("object{:08x}", number.wrapping_mul(0x9e37_79b1) & 0xffff_ffff)
}
