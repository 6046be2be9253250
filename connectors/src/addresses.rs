//! Rules for the addresses that may be called.
//!
//! A source's address and name are data. Neither may lead to this machine, its link-local neighbours or its metadata.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use url::{Host, Url};

/// Cloud metadata services outside of the link-local range.
const METADATA_IPV4: [Ipv4Addr; 3] = [
    // Alibaba Cloud, Azure, Oracle Cloud.
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];
const METADATA_IPV6: [Ipv6Addr; 4] = [
    // Alibaba Cloud, Google, Oracle, Scaleway.
    Ipv6Addr::new(0xfd00, 0x100, 0, 0, 0, 0, 0x100, 0x200),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
];

/// https anywhere, and http to the hosts of `connectors.allow_http_hosts`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressRules {
    http_hosts: Vec<HttpHost>,
    /// None is any.
    networks: Vec<IpNet>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct HttpHost {
    host: Host<String>,
    port: Option<u16>,
}

/// Text that is neither `host` nor `host:port`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a host or host:port, such as 127.0.0.1, [::1] or intranet:8080")]
pub struct InvalidHost(pub String);

/// Reason of a refusal; follows the address's name in a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressRefusal {
    /// Neither https nor http to a listed host.
    #[error("must be https, or http to a host that connectors.allow_http_hosts lists")]
    Scheme,
    /// User name or password.
    #[error("must not hold a user name or password")]
    UserInfo,
    /// Loopback address whose host is not listed.
    #[error("leads to a loopback address, whose host connectors.allow_http_hosts does not list")]
    Loopback,
    /// Outside of the listed networks.
    #[error("leads out of the networks that connectors.allow_networks lists")]
    Network,
    /// Never callable; holds the kind of address.
    #[error("leads to {0} address, which is never called")]
    Never(&'static str),
}

impl AddressRules {
    /// Allows http to these hosts: `intranet`, or `intranet:8080` for one port.
    ///
    /// # Errors
    /// The first invalid text.
    pub fn new(http_hosts: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, InvalidHost> {
        let hosts = http_hosts.into_iter().map(|text| HttpHost::parse(text.as_ref()));
        Ok(Self { http_hosts: hosts.collect::<Result<_, _>>()?, ..Self::default() })
    }

    /// Allows only addresses in these networks, unless their host is listed; none allows all.
    #[must_use]
    pub fn within(self, networks: &[IpNet]) -> Self {
        Self { networks: networks.to_vec(), ..self }
    }

    /// Allows http to the hosts and ports of these addresses.
    pub fn allowing<'a>(urls: impl IntoIterator<Item = &'a Url>) -> Self {
        let hosts = urls.into_iter().filter_map(|url| {
            Some(HttpHost { host: without_dot(url.host()?.to_owned()), port: url.port_or_known_default() })
        });
        Self { http_hosts: hosts.collect(), ..Self::default() }
    }

    /// Whether its host and port are listed.
    pub fn lists(&self, url: &Url) -> bool {
        let Some(host) = url.host().map(|host| without_dot(host.to_owned())) else { return false };
        let port = url.port_or_known_default();
        self.http_hosts
            .iter()
            .any(|listed| listed.host == host && (listed.port.is_none() || listed.port == port))
    }

    /// Checks a URL's text. The resolver checks its addresses at each connection.
    ///
    /// # Errors
    /// See [`AddressRefusal`].
    pub fn check_url(&self, url: &Url) -> Result<(), AddressRefusal> {
        let is_listed = self.lists(url);
        if !(url.scheme() == "https" && url.has_host() || url.scheme() == "http" && is_listed) {
            return Err(AddressRefusal::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressRefusal::UserInfo);
        }
        match url.host() {
            Some(Host::Ipv4(address)) => self.check_ip(address.into(), is_listed),
            Some(Host::Ipv6(address)) => self.check_ip(address.into(), is_listed),
            _ => Ok(()),
        }
    }

    /// Checks an address whose host is listed, or is not.
    pub(crate) fn check_ip(&self, ip: IpAddr, is_listed: bool) -> Result<(), AddressRefusal> {
        check_ip(ip, is_listed)?;
        let called = match ip {
            IpAddr::V6(ip) => embedded_ipv4(ip).map_or(ip.into(), IpAddr::V4),
            IpAddr::V4(_) => ip,
        };
        let is_within =
            self.networks.is_empty() || self.networks.iter().any(|network| network.contains(&called));
        if is_listed || is_within { Ok(()) } else { Err(AddressRefusal::Network) }
    }
}

impl HttpHost {
    fn parse(text: &str) -> Result<Self, InvalidHost> {
        let invalid = || InvalidHost(text.to_owned());
        // The parser would read more than a host.
        if text.is_empty() || text.contains(['/', '\\', '?', '#', '@']) || text.contains(char::is_whitespace)
        {
            return Err(invalid());
        }
        let url = Url::parse(&format!("http://{text}/")).map_err(|_| invalid())?;
        let host = url.host().ok_or_else(invalid)?.to_owned();
        // The parser drops port 80 and empty ports, which do not stand for any port.
        let port = match text.rsplit_once(':') {
            Some((_, "")) => return Err(invalid()),
            Some((_, port)) if !port.ends_with(']') => url.port_or_known_default(),
            _ => None,
        };
        Ok(Self { host: without_dot(host), port })
    }
}

fn without_dot(host: Host<String>) -> Host<String> {
    match host {
        Host::Domain(name) => Host::Domain(name.strip_suffix('.').map(str::to_owned).unwrap_or(name)),
        address => address,
    }
}

fn check_ip(ip: IpAddr, is_listed: bool) -> Result<(), AddressRefusal> {
    match ip {
        IpAddr::V4(ip) => check_ipv4(ip, is_listed),
        IpAddr::V6(ip) => match embedded_ipv4(ip) {
            Some(embedded) => check_ipv4(embedded, is_listed),
            None if is_local_nat64(ip) => check_local_nat64(ip, is_listed),
            None => check_ipv6(ip, is_listed),
        },
    }
}

fn check_ipv4(ip: Ipv4Addr, is_listed: bool) -> Result<(), AddressRefusal> {
    let [first, ..] = ip.octets();
    if ip.is_loopback() {
        return if is_listed { Ok(()) } else { Err(AddressRefusal::Loopback) };
    }
    if METADATA_IPV4.contains(&ip) {
        Err(AddressRefusal::Never("a metadata"))
    } else if ip.is_link_local() {
        Err(AddressRefusal::Never("a link-local"))
    } else if first == 0 {
        Err(AddressRefusal::Never("an unspecified"))
    } else if ip.is_multicast() {
        Err(AddressRefusal::Never("a multicast"))
    } else if first >= 240 {
        Err(AddressRefusal::Never("a reserved"))
    } else {
        Ok(())
    }
}

fn check_ipv6(ip: Ipv6Addr, is_listed: bool) -> Result<(), AddressRefusal> {
    if ip.is_loopback() {
        return if is_listed { Ok(()) } else { Err(AddressRefusal::Loopback) };
    }
    // fd00:ec2::/32 is Amazon's: metadata, container credentials, DNS and time.
    if METADATA_IPV6.contains(&ip) || matches!(ip.segments(), [0xfd00, 0xec2, ..]) {
        Err(AddressRefusal::Never("a metadata"))
    } else if ip.is_unicast_link_local() {
        Err(AddressRefusal::Never("a link-local"))
    } else if ip.is_unspecified() {
        Err(AddressRefusal::Never("an unspecified"))
    } else if ip.is_multicast() {
        Err(AddressRefusal::Never("a multicast"))
    } else {
        Ok(())
    }
}

fn is_local_nat64(ip: Ipv6Addr) -> bool {
    matches!(ip.segments(), [0x64, 0xff9b, 1, ..])
}

/// Checks the four places of an IPv4 address behind a /48 translator.
///
/// See RFC 6052 and 8215. A wrong place of a good address may look like other refused kinds, so these do not count.
fn check_local_nat64(ip: Ipv6Addr, is_listed: bool) -> Result<(), AddressRefusal> {
    let bytes = ip.octets();
    let places = [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], [12, 13, 14, 15]];
    let candidates = places.map(|place| Ipv4Addr::from(place.map(|byte| bytes[byte])));
    let is_near = |ip: &Ipv4Addr| ip.is_loopback() || ip.is_link_local() || METADATA_IPV4.contains(ip);
    candidates.into_iter().filter(is_near).try_for_each(|candidate| check_ipv4(candidate, is_listed))
}

/// Mapped, compatible, translated (RFC 6052), 6to4 or Teredo address.
fn embedded_ipv4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match ip.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(of(high, low)),
        [0x2001, 0, _, _, _, _, high, low] => Some(of(!high, !low)),
        _ => None,
    }
}
