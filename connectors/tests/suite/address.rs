use axum::response::IntoResponse;
use trawl_connectors::{
    AddressRules, Authentication, ClientCredentials, Method, SettingsError, SourceClient, SourceError,
    SourceSettings,
};
use url::Url;

use crate::support::{QUESTION, Server, good_answer};

fn set_up(settings: SourceSettings, listed: &[&str]) -> Result<SourceClient, SettingsError> {
    SourceClient::new(settings, &AddressRules::new(listed).unwrap())
}

fn by_name(server: &Server, scheme: &str) -> Url {
    let port = server.base.port().unwrap();
    Url::parse(&format!("{scheme}://localhost:{port}/search")).unwrap()
}

#[tokio::test]
async fn name_of_this_machine_needs_listing() {
    let server = Server::start(|_| async { good_answer() }).await;
    let https = SourceSettings { url: by_name(&server, "https"), ..server.settings(Method::Get) };
    let error = set_up(https, &[]).unwrap().search(&QUESTION).await.unwrap_err();
    let text = "the address of the source leads to a loopback address, whose host connectors.allow_http_hosts \
                does not list";
    assert_eq!(error, SourceError::Forbidden(text.to_owned()));
    assert_eq!(server.connections(), 0);

    let http = SourceSettings { url: by_name(&server, "http"), ..server.settings(Method::Get) };
    set_up(http, &["localhost"]).unwrap().search(&QUESTION).await.unwrap();
}

#[tokio::test]
async fn listing_the_source_does_not_list_the_token_endpoint() {
    let server = Server::start(|_| async { "no token".into_response() }).await;
    let credentials = ClientCredentials { token_url: by_name(&server, "https"), ..server.credentials() };
    let authentication = Authentication::OAuth2Client(credentials);
    let settings = SourceSettings { authentication, ..server.settings(Method::Get) };

    let error = set_up(settings, &["127.0.0.1"]).unwrap().search(&QUESTION).await.unwrap_err();

    assert!(
        matches!(&error, SourceError::Forbidden(text) if text.starts_with("the address of the token endpoint")),
        "{error:?}"
    );
    assert_eq!(server.connections(), 0);
}
