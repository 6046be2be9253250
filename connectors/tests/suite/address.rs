use axum::response::IntoResponse;
use trawl_connectors::{
    AddressRefusal, AddressRules, Authentication, ClientCredentials, Method, SettingsError, SourceClient,
    SourceError, SourceSettings,
};
use url::Url;

use crate::support::{QUESTION, Server, good_answer};

fn set_up(settings: SourceSettings, listed: &[&str]) -> Result<SourceClient, SettingsError> {
    SourceClient::new(settings, &AddressRules::new(listed).unwrap())
}

/// Uses an address for the source and for its token endpoint.
///
/// 127.0.0.1:9 is listed.
async fn refusals(url: &str) -> [(&'static str, AddressRefusal); 2] {
    let server = Server::start(|_| async { good_answer() }).await;
    let url = Url::parse(url).unwrap();
    let source = SourceSettings { url: url.clone(), ..server.settings(Method::Get) };
    let credentials = ClientCredentials { token_url: url, ..server.credentials() };
    let token = SourceSettings {
        authentication: Authentication::OAuth2Client(credentials),
        url: Url::parse("https://search.example/").unwrap(),
        ..server.settings(Method::Get)
    };
    [source, token].map(|settings| match set_up(settings, &["127.0.0.1:9"]) {
        Err(SettingsError::Address { setting, refusal }) => (setting, refusal),
        other => panic!("{other:?}"),
    })
}

#[tokio::test]
async fn refused_address_cannot_be_set_up_in_any_spelling() {
    for (url, expected) in [
        ("http://search.example/", AddressRefusal::Scheme),
        ("http://127.0.0.1:10/", AddressRefusal::Scheme),
        ("http://2130706433/", AddressRefusal::Scheme),
        ("http://127.0.0.1.:8080/", AddressRefusal::Scheme),
        ("file:///etc/passwd", AddressRefusal::Scheme),
        ("https://name:word@search.example/", AddressRefusal::UserInfo),
        ("https://127.0.0.1/", AddressRefusal::Loopback),
        ("https://2130706433/", AddressRefusal::Loopback),
        ("https://0x7f.1/", AddressRefusal::Loopback),
        ("https://017700000001/", AddressRefusal::Loopback),
        ("https://127.0.0.1./", AddressRefusal::Loopback),
        ("https://[::1]/", AddressRefusal::Loopback),
        ("https://[::ffff:127.0.0.1]/", AddressRefusal::Loopback),
        ("https://169.254.169.254/", AddressRefusal::Never("a link-local")),
        ("https://[fe80::1]/", AddressRefusal::Never("a link-local")),
        ("https://[::ffff:169.254.169.254]/", AddressRefusal::Never("a link-local")),
        ("https://[fd00:ec2::254]/", AddressRefusal::Never("a metadata")),
        ("https://0.0.0.0/", AddressRefusal::Never("an unspecified")),
    ] {
        assert_eq!(refusals(url).await, [("url", expected), ("tokenUrl", expected)], "{url}");
    }
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
