//! The login page, its languages and security headers.

use std::sync::LazyLock;

use accept_language::parse;
use aws_lc_rs::digest::{SHA256, digest};
use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use minijinja::{Environment, value::Serde};
use serde::Serialize;

use crate::{
    auth::oauth::authorization::{AuthorizationRequest, RequestingApplication, Shown, redirect},
    error::{Error, Result},
};

const TEMPLATE: &str = include_str!("login.html");
const STYLE: &str = include_str!("login.css");

static STYLE_SOURCE: LazyLock<String> =
    LazyLock::new(|| format!("'sha256-{}'", BASE64_STANDARD.encode(digest(&SHA256, STYLE.as_bytes()))));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    English,
    Chinese,
}

impl Language {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let accepted = parse(accepted.unwrap_or_default());
        let known = accepted.iter().find_map(|tag| match tag.split('-').next() {
            Some(language) if language.eq_ignore_ascii_case("zh") => Some(Self::Chinese),
            Some(language) if language.eq_ignore_ascii_case("en") => Some(Self::English),
            _ => None,
        });
        known.unwrap_or(Self::English)
    }

    fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-Hans",
        }
    }

    fn texts(self) -> LoginTexts {
        match self {
            Self::English => LoginTexts {
                title: "Sign in",
                to: "to go on to",
                login: "Login account",
                password: "Password",
                submit: "Sign in",
                code: "Code",
                code_hint: "Six digits of your authenticator app, or one of your recovery codes.",
                proceed: "Go on",
            },
            Self::Chinese => LoginTexts {
                title: "登录",
                to: "登录后将继续访问",
                login: "登录账号",
                password: "密码",
                submit: "登录",
                code: "验证码",
                code_hint: "请输入身份验证器应用中的六位数字，或一个恢复码。",
                proceed: "继续",
            },
        }
    }
}

#[derive(Serialize)]
struct LoginTexts {
    title: &'static str,
    to: &'static str,
    login: &'static str,
    password: &'static str,
    submit: &'static str,
    code: &'static str,
    code_hint: &'static str,
    proceed: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoginMessage {
    Refused(Shown),
    /// Wrong login or password, or the person may not sign in.
    Wrong,
    CodeWrong,
    CodeLocked,
    Expired,
    Foreign,
    Wait(u64),
    Busy(u64),
    Failed,
}

impl LoginMessage {
    fn in_language(self, language: Language) -> String {
        let (english, chinese) = match self {
            Self::Refused(Shown::UnknownApplication) => (
                "The application that sent you here is not known, or is out of use. Tell those who run it.",
                "将您带到此处的应用未注册或已停用，请联系该应用的管理员。",
            ),
            Self::Refused(Shown::UnknownRedirect) => (
                "The application that sent you here wants you sent back to an address that is not registered for it. \
                 Tell those who run it.",
                "将您带到此处的应用请求返回一个未登记的地址，请联系该应用的管理员。",
            ),
            Self::Wrong => (
                "Login account and password do not belong together, or may not sign in.",
                "登录账号与密码不匹配，或该账号不允许登录。",
            ),
            Self::CodeWrong => ("The code is wrong, or was used before.", "验证码错误，或已被使用过。"),
            Self::CodeLocked => (
                "Too many codes were wrong. Give a recovery code, or have an operator reset your second factor.",
                "验证码错误次数过多。请使用恢复码，或请管理员重置您的第二验证因素。",
            ),
            Self::Expired => {
                ("The page was open for too long. Please sign in again.", "页面停留时间过长，请重新登录。")
            }
            Self::Foreign => (
                "This page was not opened in this browser, or the browser keeps no cookies. Go back to the application \
                 and begin anew.",
                "此页面不是在本浏览器中打开的，或浏览器禁用了 Cookie。请返回应用重新开始。",
            ),
            Self::Wait(seconds) => {
                return match language {
                    Language::English => format!("Too many attempts. Try again in {seconds} s."),
                    Language::Chinese => format!("尝试次数过多，请在 {seconds} 秒后重试。"),
                };
            }
            Self::Busy(_) => {
                ("Too many people sign in at once. Please try again.", "当前登录人数过多，请稍后重试。")
            }
            Self::Failed => {
                ("Something failed here. Please try again in a while.", "系统出现故障，请稍后重试。")
            }
        };
        match language {
            Language::English => english,
            Language::Chinese => chinese,
        }
        .to_owned()
    }

    fn status(self) -> StatusCode {
        match self {
            Self::Refused(_) | Self::Expired | Self::Foreign => StatusCode::BAD_REQUEST,
            Self::Wrong | Self::CodeWrong | Self::CodeLocked => StatusCode::FORBIDDEN,
            Self::Wait(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

pub(super) struct Form<'a> {
    pub(super) sealed: &'a str,
    pub(super) request: &'a AuthorizationRequest,
    pub(super) asking: &'a RequestingApplication,
    pub(super) login: &'a str,
    /// Whether it asks for the code of the second factor.
    pub(super) asks_code: bool,
}

#[derive(Serialize)]
struct LoginPage<'a> {
    language: &'static str,
    texts: LoginTexts,
    style: minijinja::Value,
    message: Option<String>,
    form: Option<FormFields<'a>>,
}

#[derive(Serialize)]
struct FormFields<'a> {
    sealed: &'a str,
    application: &'a str,
    goes_to: String,
    login: &'a str,
    asks_code: bool,
}

pub(super) fn render(
    language: Language,
    message: Option<LoginMessage>,
    form: Option<&Form<'_>>,
) -> Result<Response> {
    let goes_to = form.map(|form| redirect::shown(&form.request.redirect_uri).unwrap_or_default());
    let fields = form.zip(goes_to).map(|(form, goes_to)| {
        let name = form.asking.application.name.as_str();
        let application = if name.is_empty() { form.asking.tenant.name.as_str() } else { name };
        let Form { sealed, login, asks_code, .. } = *form;
        FormFields { sealed, application, goes_to, login, asks_code }
    });
    let page = LoginPage {
        language: language.tag(),
        texts: language.texts(),
        style: minijinja::Value::from_safe_string(STYLE.to_owned()),
        message: message.map(|message| message.in_language(language)),
        form: fields,
    };
    let text = fill_in(&page).map_err(Error::internal)?;
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = message.map_or(StatusCode::OK, LoginMessage::status);
    protect(response.headers_mut(), form.map(|form| form.request.redirect_uri.as_str()))?;
    if let Some(LoginMessage::Wait(seconds) | LoginMessage::Busy(seconds)) = message {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    Ok(response)
}

fn fill_in(page: &LoginPage<'_>) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    // The template's extension enables escaping.
    environment.add_template("page.html", TEMPLATE)?;
    environment.get_template("page.html")?.render(Serde(page))
}

/// Forbids loading, scripts, framing, caching and referrers.
fn protect(headers: &mut HeaderMap, redirect_uri: Option<&str>) -> Result<()> {
    // Browsers apply this directive to the form's redirect too.
    let goes_to = redirect_uri.and_then(redirect::policy_source);
    let form_action = goes_to.map_or_else(|| "'none'".to_owned(), |source| format!("'self' {source}"));
    let policy = format!(
        "default-src 'none'; style-src {}; form-action {form_action}; frame-ancestors 'none'; base-uri 'none'",
        *STYLE_SOURCE
    );
    let policy = HeaderValue::try_from(policy).map_err(Error::internal)?;
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_s_best_language_is_taken() {
        let language = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_static(text));
            Language::of(&headers)
        };
        for text in ["zh", "zh-CN,zh;q=0.9,en;q=0.8", "ZH-Hant", "fr,en;q=0.1,zh;q=0.5", "de, zh"] {
            assert_eq!(language(text), Language::Chinese, "{text}");
        }
        for text in ["en", "en-GB,zh;q=0.5", "fr", "", ";;q=,", "zhuang"] {
            assert_eq!(language(text), Language::English, "{text}");
        }
        assert_eq!(Language::of(&HeaderMap::new()), Language::English);
    }
}
