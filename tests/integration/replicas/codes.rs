//! Authorization codes that two replicas are asked for.

use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    caller::send,
    cluster::Cluster,
    items::user,
    login::{Browser, code_form, location, login_parameters, parameter, set_password},
    postgres,
    program::Server,
};

const ROUNDS: usize = 20;

async fn spend(server: &Server, portal: &Value, code: &str) -> Answer {
    let request = reqwest::Client::new().post(format!("{}/oauth2/token", server.base));
    let request = request.basic_auth(portal["clientId"].as_str().unwrap(), portal["clientSecret"].as_str());
    send(request.form(&code_form(code))).await
}

/// One replica shows the login page, and the other checks the password.
#[tokio::test]
async fn code_spent_at_two_replicas_at_once_is_good_at_one() {
    let mut cluster = Cluster::new("codes");
    let servers = [cluster.add().await, cluster.add().await];
    let application = cluster.application_with("acme", "application", &["directory:write"]).await;
    servers[0].caller(&application).await.put("/v1/users/sync", &json!([user("mei", "")])).await.ok();
    set_password(&postgres::open(&cluster.url).await, "mei", "correct horse").await;
    let portal = cluster.portal("acme").await;
    for round in 0..ROUNDS {
        let (mut shown, mut checked) =
            (Browser::new(&servers[round % 2].base), Browser::new(&servers[1 - round % 2].base));
        let page = shown.open(&login_parameters(portal["clientId"].as_str().unwrap())).await;
        checked.cookie.clone_from(&shown.cookie);
        let answer = checked.submit(&page, "mei", "correct horse").await;
        let code = parameter(&location(&answer), "code");
        let answers = tokio::join!(spend(&servers[0], &portal, &code), spend(&servers[1], &portal, &code));
        let mut statuses = [answers.0.status, answers.1.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 400], "{} {}", answers.0.text, answers.1.text);
    }
}
