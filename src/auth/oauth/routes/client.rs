//! Client authentication by secret, or by id if public (RFC 6749 §2.3).

use std::net::IpAddr;

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, header},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use secrecy::SecretString;
use serde::de::DeserializeOwned;

use crate::{
    auth::{
        AuthState,
        oauth::grants::{ClientAuthentication, GrantError},
        secrets::SecretCheckFor,
        throttle::{Throttled, ThrottledAccount},
    },
    error::Error,
    http::{
        client_address::client_address,
        extract::{check_content_type, read_body},
    },
    json,
};

pub(super) struct ClientRequest {
    address: IpAddr,
    headers: HeaderMap,
}

impl ClientRequest {
    pub(super) async fn read<T: DeserializeOwned>(
        auth: &AuthState,
        request: Request,
    ) -> Result<(Self, T), GrantError> {
        check_content_type(request.headers(), "application/x-www-form-urlencoded")
            .map_err(|error| GrantError::InvalidRequest(error.message))?;
        let address = client_address(&request, &auth.trusted_proxies)?;
        let headers = request.headers().clone();
        let body = read_body(request).await?;
        let form = json::read_form(&body).map_err(GrantError::InvalidRequest)?;
        Ok((Self { address, headers }, form))
    }

    /// The turn that a check of the client's secret takes.
    pub(super) fn asks(&self) -> SecretCheckFor {
        SecretCheckFor::address(self.address)
    }

    pub(super) async fn admit<T>(
        &self,
        auth: &AuthState,
        client_id: Option<String>,
        client_secret: Option<SecretString>,
        go_on: impl AsyncFnOnce(ClientAuthentication) -> Result<T, GrantError>,
    ) -> Result<T, GrantError> {
        let client = presented(&self.headers, client_id, client_secret);
        let account = client.as_ref().ok().map(|client| ThrottledAccount::client(&client.client_id));
        auth.throttle.check_client(self.address, account).map_err(|Throttled(wait)| {
            let refusal = "too many failed authentications of a client; try again later";
            GrantError::from(Error::too_many_requests(refusal, wait))
        })?;
        let has_secret = client.as_ref().is_ok_and(|client| client.client_secret.is_some());
        let answer = match client {
            Ok(client) => go_on(client).await,
            Err(error) => Err(error),
        };
        match (&answer, account) {
            (Err(GrantError::InvalidClient), _) => {
                auth.throttle.client_failed(self.address);
                tracing::warn!(target: "trawl::audit", address = %self.address, "a client failed to authenticate");
            }
            (Err(GrantError::Failed(_)), _) => {}
            // Public clients prove nothing.
            (_, Some(account)) if has_secret => auth.throttle.succeeded(self.address, account),
            _ => {}
        }
        answer
    }
}

fn presented(
    headers: &HeaderMap,
    client_id: Option<String>,
    client_secret: Option<SecretString>,
) -> Result<ClientAuthentication, GrantError> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        let client_id = client_id.ok_or(GrantError::InvalidClient)?;
        return Ok(ClientAuthentication { client_id, client_secret });
    };
    if client_secret.is_some() {
        let twice = "the client authenticates in two ways at once";
        return Err(GrantError::InvalidRequest(twice.to_owned()));
    }
    let client = basic(value).ok_or(GrantError::InvalidClient)?;
    // Some clients repeat their id in the form.
    if client_id.is_some_and(|client_id| client_id != client.client_id) {
        let other = "client_id differs from the client that authenticates";
        return Err(GrantError::InvalidRequest(other.to_owned()));
    }
    Ok(client)
}

fn basic(value: &HeaderValue) -> Option<ClientAuthentication> {
    let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(BASE64_STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (client_id, client_secret) = decoded.split_once(':')?;
    // Both parts are form-encoded (RFC 6749 §2.3.1).
    let form_decoded = |text: &str| {
        let pair = format!("v={text}");
        url::form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned())
    };
    Some(ClientAuthentication {
        client_id: form_decoded(client_id)?,
        client_secret: Some(SecretString::from(form_decoded(client_secret)?)),
    })
}
