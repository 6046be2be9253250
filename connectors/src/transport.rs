//! Guarded connections, redirects, bounded bodies, failures as data.

mod body;
mod endpoint;
mod failure;
mod http;
mod rate_limit;
mod resolver;
#[cfg(test)]
mod tests;
mod tls;
mod unpooled_http;

pub(crate) use body::{ResponseBody, inflate_file, read_body, receive_body};
pub(crate) use endpoint::{Endpoint, SOURCE, TOKEN_ENDPOINT, read_content_type};
pub(crate) use failure::TransportError;
pub(crate) use http::Http;
pub(crate) use rate_limit::read_pause;
pub(crate) use resolver::NameLookups;
pub(crate) use unpooled_http::UnpooledHttp;
