use super::*;

fn check(rules: &AddressRules, url: &str) -> Result<(), AddressRefusal> {
    rules.check_url(&Url::parse(url).unwrap())
}

fn listing(hosts: &[&str]) -> AddressRules {
    AddressRules::new(hosts).unwrap()
}

#[test]
fn https_is_allowed_to_public_and_private_addresses() {
    let none = AddressRules::default();
    for url in [
        "https://search.example/x?y=z",
        "https://10.1.2.3/",
        "https://192.168.0.9:8443/",
        "https://[fd12::1]/",
        "https://[64:ff9b::203.0.113.5]/",
        "https://[64:ff9b:1::203.0.113.5]/",
        "https://[64:ff9b:1:cb00:e6:500::]/",
        "https://[64:ff9b:1::10.0.0.7]/",
    ] {
        assert_eq!(check(&none, url), Ok(()), "{url}");
    }
    for url in [
        "http://search.example/",
        "http://10.1.2.3/",
        "ftp://search.example/",
        "file:///etc/passwd",
        "data:,x",
    ] {
        assert_eq!(check(&none, url), Err(AddressRefusal::Scheme), "{url}");
    }
}

#[test]
fn user_info_is_refused() {
    for url in
        ["https://user@search.example/", "https://user:secret@search.example/", "https://:secret@a.example/"]
    {
        assert_eq!(check(&AddressRules::default(), url), Err(AddressRefusal::UserInfo), "{url}");
    }
    let rules = listing(&["127.0.0.1"]);
    assert_eq!(check(&rules, "http://127.0.0.1@10.0.0.1/"), Err(AddressRefusal::Scheme));
}

#[test]
fn loopback_needs_listing_in_every_spelling() {
    let spellings = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "127.255.255.254",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "[2001:0:0:0:0:0:80ff:fffe]",
    ];
    for host in spellings {
        let url = format!("https://{host}/");
        assert_eq!(check(&AddressRules::default(), &url), Err(AddressRefusal::Loopback), "{url}");
    }
    let rules = listing(&["127.0.0.1", "[::1]:8080"]);
    for url in ["http://127.0.0.1:9/", "http://2130706433/", "https://127.1/", "http://[::1]:8080/"] {
        assert_eq!(check(&rules, url), Ok(()), "{url}");
    }
    assert_eq!(check(&rules, "https://127.0.0.2/"), Err(AddressRefusal::Loopback));
    assert_eq!(check(&rules, "https://[::1]:8081/"), Err(AddressRefusal::Loopback));
    assert_eq!(check(&rules, "http://[::1]/"), Err(AddressRefusal::Scheme));
}

#[test]
fn never_callable_address_is_refused_even_if_listed() {
    let never = [
        "169.254.169.254",
        "169.254.0.1",
        "2852039166",
        "[::ffff:169.254.169.254]",
        "[fe80::1]",
        "[febf::1]",
        "[fd00:ec2::254]",
        "[fd00:ec2::23]",
        "[fd20:ce::254]",
        "[fd00:c1::a9fe:a9fe]",
        "[fd00:42::42]",
        "[fd00:100::100:200]",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "0.0.0.0",
        "0.1.2.3",
        "[::]",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "[ff02::1]",
        "[64:ff9b::169.254.169.254]",
        // Local NAT64 with prefixes of 96, 64, 56 and 48 bits.
        "[64:ff9b:1::a9fe:a9fe]",
        "[64:ff9b:1:0:a9:fea9:fe08:808]",
        "[64:ff9b:1:a9:fe:a9fe:808:808]",
        "[64:ff9b:1:a9fe:a9:fe00:808:808]",
        "[2002:a9fe:a9fe::1]",
    ];
    for host in never {
        for (rules, scheme) in [(AddressRules::default(), "https"), (listing(&[host]), "http")] {
            let refused = check(&rules, &format!("{scheme}://{host}/"));
            assert!(matches!(refused, Err(AddressRefusal::Never(_))), "{scheme}://{host}/: {refused:?}");
        }
    }
}

#[test]
fn listing_covers_its_host_and_port_only() {
    let rules = listing(&["Intranet:8080", "wiki.example.", "mail:80", "post:0080"]);
    let allowed = [
        "http://intranet:8080/x",
        "http://INTRANET:8080",
        "http://wiki.example/",
        "http://wiki.example.:99/",
    ];
    for url in allowed.into_iter().chain(["http://mail/", "http://post/"]) {
        assert_eq!(check(&rules, url), Ok(()), "{url}");
    }
    for url in [
        "http://intranet/",
        "http://intranet:8081/",
        "http://wiki.example.com/",
        "http://a.wiki.example/",
        "http://mail:81/",
        "http://post:81/",
    ] {
        assert_eq!(check(&rules, url), Err(AddressRefusal::Scheme), "{url}");
    }
}

#[test]
fn invalid_host_cannot_be_listed() {
    for text in [
        "",
        "http://a",
        "a/b",
        "a:b",
        "a b",
        "user@a",
        "a:99999",
        "[::1",
        "a?b",
        "a:",
        "[::1]:",
        "[fe80::1%25lo]",
    ] {
        assert_eq!(AddressRules::new([text]), Err(InvalidHost(text.to_owned())), "{text:?}");
    }
    assert_eq!(check(&listing(&["*"]), "http://anything/"), Err(AddressRefusal::Scheme));
}

#[test]
fn own_address_is_allowed_on_its_port() {
    let url = Url::parse("http://127.0.0.1:9000/search").unwrap();
    let rules = AddressRules::allowing([&url]);
    assert_eq!(rules.check_url(&url), Ok(()));
    assert_eq!(check(&rules, "http://127.0.0.1:9001/"), Err(AddressRefusal::Scheme));
    let metadata = Url::parse("http://169.254.169.254/").unwrap();
    assert!(AddressRules::allowing([&metadata]).check_url(&metadata).is_err());
}

#[test]
fn listed_networks_bound_every_address_but_those_of_listed_hosts() {
    let networks = ["203.0.113.0/24", "2001:db8::/32"].map(|network| network.parse().unwrap());
    let rules = listing(&["intranet", "10.0.0.7"]).within(&networks);
    for url in [
        "https://203.0.113.5/",
        "https://[2001:db8::1]/",
        "https://[::ffff:203.0.113.5]/",
        "https://10.0.0.7/",
    ] {
        assert_eq!(check(&rules, url), Ok(()), "{url}");
    }
    for url in
        ["https://10.0.0.8/", "https://203.0.114.1/", "https://[::ffff:10.0.0.8]/", "https://[2001:db9::1]/"]
    {
        assert_eq!(check(&rules, url), Err(AddressRefusal::Network), "{url}");
    }
    assert_eq!(rules.check_ip("10.0.0.8".parse().unwrap(), true), Ok(()));
    assert!(rules.check_ip("169.254.169.254".parse().unwrap(), true).is_err());
}
