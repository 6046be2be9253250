//! The client's address behind trusted proxies.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::{ConnectInfo, Request},
    http::HeaderMap,
};
use ipnet::IpNet;

use crate::error::{Error, Result};

/// The client's address.
///
/// # Errors
/// 500 without the peer's.
pub fn client_address(request: &Request, trusted: &[IpNet]) -> Result<IpAddr> {
    let peer = request
        .extensions()
        .get::<ConnectInfo<SocketAddr>>()
        .ok_or_else(|| Error::internal("a request has no peer address"))?;
    Ok(behind_proxies(peer.ip().to_canonical(), request.headers(), trusted))
}

/// The network of an address: an IPv4 /24 or an IPv6 /48.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4((address.to_bits() & !0xff).into()),
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() & !((1 << 80) - 1)).into()),
    }
}

/// The rightmost untrusted address; clients can forge the rest.
fn behind_proxies(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut address = peer;
    let lines: Vec<&str> =
        headers.get_all("x-forwarded-for").iter().map(|line| line.to_str().unwrap_or_default()).collect();
    for hop in lines.iter().rev().flat_map(|line| line.rsplit(',')) {
        if !is_trusted(&address) {
            break;
        }
        // An unreadable hop hides those left of it.
        let Some(next) = read_hop(hop.trim()) else { break };
        address = next;
    }
    address
}

fn read_hop(text: &str) -> Option<IpAddr> {
    let address = text.parse::<IpAddr>().ok().or_else(|| Some(text.parse::<SocketAddr>().ok()?.ip()));
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    address.or_else(bracketed).map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn address(peer: &str, lines: &[&str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("x-forwarded-for", HeaderValue::from_str(line).unwrap());
        }
        let trusted: Vec<IpNet> = trusted.iter().map(|network| network.parse().unwrap()).collect();
        behind_proxies(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let own = ["10.0.0.0/8"];
        assert_eq!(address("192.0.2.1", &["203.0.113.9"], &[]), "192.0.2.1");
        assert_eq!(address("192.0.2.1", &["203.0.113.9"], &own), "192.0.2.1");
        assert_eq!(address("10.0.0.1", &["203.0.113.9"], &own), "203.0.113.9");
        assert_eq!(address("10.0.0.1", &[], &own), "10.0.0.1");
        assert_eq!(address("10.0.0.1", &["198.51.100.1, 203.0.113.9"], &own), "203.0.113.9");
        assert_eq!(address("10.0.0.1", &["198.51.100.1", "203.0.113.9, 10.2.3.4"], &own), "203.0.113.9");
        assert_eq!(address("10.0.0.1", &["203.0.113.9, unknown"], &own), "10.0.0.1");
        assert_eq!(address("10.0.0.1", &["10.0.0.9"], &own), "10.0.0.9");
    }

    #[test]
    fn an_address_is_read_with_a_port_and_in_either_family() {
        let own = ["10.0.0.0/8"];
        assert_eq!(address("10.0.0.1", &["203.0.113.9:4711"], &own), "203.0.113.9");
        assert_eq!(address("10.0.0.1", &["[2001:db8::1]:4711"], &own), "2001:db8::1");
        assert_eq!(address("10.0.0.1", &["[2001:db8::1]"], &own), "2001:db8::1");
        assert_eq!(address("10.0.0.1", &["::ffff:203.0.113.9"], &own), "203.0.113.9");
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(200))]

        #[test]
        fn forwarded_header_of_an_untrusted_client_is_ignored(line in "[ -~]{0,60}") {
            let seen = format!("{line}, 203.0.113.9");
            prop_assert_eq!(address("10.0.0.1", &[&seen], &["10.0.0.0/8"]), "203.0.113.9");
            prop_assert_eq!(address("192.0.2.1", &[&line], &["10.0.0.0/8"]), "192.0.2.1");
        }
    }
}
