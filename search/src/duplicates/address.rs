//! One spelling for addresses that lead to the same page. It is compared, never shown.

use url::Url;

/// Parameters that tell where a visitor comes from.
const TRACKING: &str = "fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid twclid ttclid igshid mc_cid mc_eid _hsenc _hsmi \
    _ga _gl srsltid utm_source utm_medium utm_campaign utm_term utm_content utm_id utm_name utm_reader utm_source_platform \
    utm_creative_format utm_marketing_tactic mtm_source mtm_medium mtm_campaign mtm_keyword mtm_kwd mtm_content mtm_cid \
    mtm_group mtm_placement pk_campaign pk_kwd pk_keyword";
/// Session of a Java server, in a path.
const SESSION: &str = ";jsessionid=";
const TEXT_DIRECTIVE: &str = ":~:";

pub(super) fn normal(address: &str) -> String {
    let Ok(mut url) = Url::parse(address) else { return address.to_owned() };
    if !matches!(url.scheme(), "http" | "https") {
        return url.into();
    }
    if url.port().is_none() {
        let _unchanged = url.set_scheme("https");
    }
    if url.fragment().is_some_and(|fragment| !is_route(fragment)) {
        url.set_fragment(None);
    }
    if let Some(query) = url.query() {
        let query = unreserved_as_they_are(query);
        let mut kept: Vec<&str> = query.split('&').filter(|pair| !is_tracking(pair)).collect();
        // Those of one name keep their order, and so do those without one.
        if kept.iter().all(|pair| pair.contains('=')) {
            kept.sort_by_key(|pair| name_of(pair));
        }
        let kept = kept.join("&").replace('+', "%20");
        url.set_query((!kept.is_empty()).then_some(&kept));
    }
    if let Some(session) = url.path().to_ascii_lowercase().find(SESSION) {
        let (page, rest) = url.path().split_at(session);
        let end = rest[1..].find([';', '/']).map_or("", |end| &rest[1 + end..]);
        let page = format!("{page}{end}");
        url.set_path(&page);
    }
    unreserved_as_they_are(url.as_str())
}

/// The place inside the page, such as one comment of a ticket.
pub(super) fn part(address: &str) -> Option<String> {
    let url = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let fragment = url.fragment()?;
    let is_part = !fragment.is_empty() && !fragment.starts_with(TEXT_DIRECTIVE) && !is_route(fragment);
    is_part.then(|| unreserved_as_they_are(fragment))
}

/// Tells whether a fragment is the address of an application's view.
///
/// Applications in one page keep their address behind the `#`; a plain name there is a place in the page.
fn is_route(fragment: &str) -> bool {
    let is_text_directive = fragment.starts_with(TEXT_DIRECTIVE);
    !is_text_directive && (fragment.starts_with('!') || fragment.contains(['/', '=', '?', '&']))
}

fn name_of(pair: &str) -> &str {
    pair.split_once('=').map_or(pair, |(name, _)| name)
}

fn is_tracking(pair: &str) -> bool {
    let name = name_of(pair).to_ascii_lowercase();
    pair.is_empty() || TRACKING.split(' ').any(|tracking| tracking == name)
}

/// `%7E` as `~`, and other escapes in capitals (RFC 3986 §6.2.2).
fn unreserved_as_they_are(address: &str) -> String {
    let mut normal = String::with_capacity(address.len());
    let mut rest = address;
    while let Some((before, behind)) = rest.split_once('%') {
        normal.push_str(before);
        let code = behind.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        rest = match code {
            Some(code) if code.is_ascii_alphanumeric() || b"-._~".contains(&code) => {
                normal.push(char::from(code));
                &behind[2..]
            }
            Some(_) => {
                normal.push('%');
                normal.push_str(&behind[..2].to_ascii_uppercase());
                &behind[2..]
            }
            None => {
                normal.push('%');
                behind
            }
        };
    }
    normal + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_page_are_one_address() {
        let page = normal("https://wiki.example/~mei/plan?b=c&d");
        for same in [
            "http://wiki.example/~mei/plan?b=c&d",
            "http://WIKI.example:80/%7Emei/plan?b=c&d",
            "https://wiki.example:443/%7emei/pl%61n?b=c&d#part-2",
            "https://wiki.example/~mei/./plan?b=c&d#",
            "https://wiki.example/~mei/plan?utm_source=mail&b=c&UTM_Medium=x&d&fbclid=1",
            "https://wiki.example/~mei/plan?b=c&&d&gclid&mc_eid=7",
            "https://wiki.example/~mei/plan?b=c&d#:~:text=a%20word&x=/",
            "https://wiki.example/~mei/plan?b=c&d&_ga=2.1&srsltid=x",
            "https://wiki.example/~mei/plan;jsessionid=1A?b=c&d",
        ] {
            assert_eq!(normal(same), page, "{same}");
        }
        assert_eq!(normal("https://h/a?utm_source=x"), normal("https://h/a"));
        assert_eq!(normal("https://h/a?%69d=1&b=2"), normal("https://h/a?b=2&id=1"));
        assert_eq!(normal("https://h/a?q=b+c"), normal("https://h/a?q=b%20c"));
        assert_eq!(normal("https://h/caf%c3%a9?q=%e4%b8%ad"), normal("https://h/café?q=中"));
    }

    #[test]
    fn different_pages_stay_different() {
        let addresses = [
            "https://h/a",
            "https://h/a/",
            "https://h/A",
            "https://h/a?b=c",
            "https://h/a?b=c&b=c",
            "https://h/a?b=d&b=c",
            "https://h/a?b=c&b=d",
            "https://h/a?b=1%2B1",
            "https://h/a?b=1+1",
            "https://h/a?b=C",
            "https://h/a%2Fb",
            "https://h/a/b",
            "https://h/a#/inbox/7",
            "https://h/a#!inbox",
            "https://h/a#ticket/zoom/7",
            "https://h/a#id=7",
            "http://h:8080/a",
            "https://h:8080/a",
            "https://h/a?utmost=1",
            "https://h/a?pk_id=1",
            "https://h/a?utm_zone=32",
            "https://h/a?=1",
            "https://h/a?1&2",
            "https://h/a?2&1",
            "https://h/a;jsessionid=A/1",
            "https://h/a;jsessionid=A;v=1",
            "app:h/a#x",
            "app:h/a",
            "/a",
            "https://h/100%",
            "https://h/100%25",
        ];
        let mut normals: Vec<String> = addresses.iter().map(|address| normal(address)).collect();
        normals.sort();
        normals.dedup();
        assert_eq!(normals.len(), addresses.len());
    }

    #[test]
    fn part_is_a_place_inside_the_page() {
        assert_eq!(part("https://h/issues/5#issue%63omment-7").as_deref(), Some("issuecomment-7"));
        for whole in ["https://h/a", "https://h/a#", "https://h/a#/inbox", "https://h/a#:~:text=x", "app:h#x"]
        {
            assert_eq!(part(whole), None, "{whole}");
        }
    }

    #[test]
    fn normal_address_is_normal() {
        for address in ["http://h/%7e%2f%", "https://h/?utm_a=1&x=%41#a", "https://h/%é%4", "no address %7e"]
        {
            assert_eq!(normal(&normal(address)), normal(address), "{address}");
        }
    }
}
