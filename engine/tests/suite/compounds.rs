//! Letters, digits and signs in every spelling, in both orders.

use trawl_engine::{Audience, Document, Query, Request};

use super::support::{BEST, document, found, ids, index_of, news, owned, ranked, request};
use crate::engine_under_test::Index;

fn index_texts(texts: &[&str]) -> Index {
    let of = |(number, text): (usize, &&str)| Document {
        brief: (*text).to_owned(),
        ..document(&number.to_string(), "")
    };
    index_of(texts.iter().enumerate().map(of).collect()).0
}

/// Texts found by time, with a finished and an unfinished keyword, and by relevance.
fn all_found(index: &Index, keyword: &str) -> [Vec<String>; 4] {
    let sorted = |mut ids: Vec<String>| {
        ids.sort_by_key(|id| id.parse::<usize>().unwrap());
        ids
    };
    let finished = format!("{keyword} ");
    [found(index, keyword), found(index, &finished), ranked(index, keyword), ranked(index, &finished)]
        .map(sorted)
}

#[test]
fn every_spelling_finds_every_other() {
    let mut failures = Vec::new();
    for spellings in [
        &["ISO27001", "ISO 27001", "ISO-27001", "iso_27001", "ISO/27001"][..],
        &["ABC123", "ABC-123", "ABC 123", "abc.123", "ABC#123"],
        &["COVID19", "COVID-19", "Covid 19"],
        &["iPhone 15", "iPhone15", "iPhone-15", "ＩＰＨＯＮＥ１５"],
        &["C-2052", "C2052", "C 2052", "c_2052"],
        &["F-16", "F16", "F 16"],
        &["node.js", "nodejs", "Node.JS", "NodeJS"],
        &["Wi-Fi", "wifi", "WiFi", "Wi‐Fi"],
        &["e-mail", "email", "E-Mail"],
        &["AT&T", "att"],
        &["U.K", "uk"],
        &["get_user_name", "getUserName", "get-user-name", "getusername"],
        &["data/report.pdf", "data\\report.pdf", "data_report_pdf"],
        &[
            "20260315",
            "2026-03-15",
            "2026/3/15",
            "2026年3月15日",
            "2026.3.15",
            "2026 年 03 月 15 日",
            "2026年3月15号",
        ],
        &["2026年3月", "2026-03", "2026/3", "2026.03"],
        &["1200", "1,200", "1，200"],
        &["1,200.50", "1200.50"],
        &["1,234,567", "1234567"],
        &[
            "138 0013 8000",
            "13800138000",
            "+86 138-0013-8000",
            "138-0013-8000",
            "+8613800138000",
            "0086 138 0013 8000",
        ],
        &["010-5550142", "0105550142", "+86 10 5550142", "(010) 5550142", "010 555 0142"],
        &[
            "+1 (415) 555-0100",
            "415-555-0100",
            "+14155550100",
            "(415) 555 0100",
            "4155550100",
            "415.555.0100",
        ],
        &["978-7-111-12345-6", "9787111123456", "978 7 111 12345 6"],
        &["16GB", "16 GB", "16-GB"],
        &["v2.13.1", "2.13.1"],
        &["INV-2026-0042", "inv2026-0042", "INV_2026_0042"],
        &["192.168.10.12", "192-168-10-12"],
        &["O'Brien", "obrien", "O’Brien"],
        &["9001:2015", "9001-2015"],
        &["三百万", "300万", "3,000,000", "3000000", "叁佰万", "三百萬"],
        &["两千五百", "2500", "2,500"],
        &["一万二", "12000", "1.2万", "一万二千"],
        &["1.5亿", "150000000", "一亿五千万"],
        &["百分之三十", "30%"],
        &["二〇二六年三月", "2026年3月", "2026-03"],
        &["二零二六年三月十五日", "2026-03-15", "20260315"],
    ] {
        let in_english = spellings.iter().map(|spelling| format!("see {spelling}, today"));
        let in_chinese = spellings.iter().map(|spelling| format!("请看{spelling}，谢谢"));
        let texts: Vec<String> = in_english.chain(in_chinese).collect();
        let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        texts.extend(["C 27 iso", "another text", "15 user 138 8000 js"]);
        let index = index_texts(&texts);
        let expected: Vec<String> = (0..2 * spellings.len()).map(|number| number.to_string()).collect();
        for keyword in spellings {
            for (way, found) in all_found(&index, keyword).iter().enumerate() {
                if !expected.iter().all(|id| found.contains(id)) {
                    let missing = expected.iter().zip(&texts).filter(|(id, _)| !found.contains(id));
                    let missing: Vec<&&str> = missing.map(|(_, text)| text).collect();
                    failures.push(format!("{keyword} {way}: {missing:?}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn part_or_beginning_finds_the_whole() {
    for (keyword, text) in [
        ("7702", "part XK7702B of the crane"),
        ("XK7702", "part XK7702B"),
        ("XK77", "part XK7702B"),
        ("xk7702b", "零件XK7702B已到"),
        ("2.13.1", "released v2.13.1-rc4 today"),
        ("2.13", "released v2.13.1-rc4 today"),
        ("v2.13.1-rc4", "released v2.13.1-rc4 today"),
        ("rc4", "released v2.13.1-rc4 today"),
        ("13.1-rc4", "发布v2.13.1-rc4版本"),
        ("1200", "total 1,200.50 EUR"),
        ("1,200", "total 1,200.50 EUR"),
        ("1200.50", "total 1,200.50 EUR"),
        ("1200", "合计¥1,200.50元"),
        ("username", "call getUserName(id)"),
        ("user name", "call getUserName(id)"),
        ("user-name", "call getUserName(id)"),
        ("getUs", "call getUserName(id)"),
        ("getusername", "call getUserName(id)"),
        ("userna", "call getUserName(id)"),
        ("names", "call getUserName(id)"),
        ("username", "column user_name"),
        ("budget", "Budget2026v2.xlsx"),
        ("2026", "Budget2026v2.xlsx"),
        ("Budget2026", "Budget2026v2.xlsx"),
        ("Budget2026v2.xlsx", "Budget2026v2.xlsx"),
        ("quarterly report", "QuarterlyReport.docx"),
        ("Q 3", "Q3_report-final.PDF"),
        ("Q3 report", "Q3_report-final.PDF"),
        ("mei.chen@acme.example", "write to mei.chen@acme.example now"),
        ("mei.chen@acme.exa", "write to mei.chen@acme.example now"),
        ("mei.chen", "write to mei.chen@acme.example now"),
        ("acme.example", "write to mei.chen@acme.example now"),
        ("acme", "write to mei.chen@acme.example now"),
        ("mei.chen@mail.acme.example", "邮箱mei.chen@mail.acme.example，电话"),
        ("wiki.intra.acme.example", "https://wiki.intra.acme.example/page"),
        ("wiki.intra", "https://wiki.intra.acme.example/page"),
        ("intra.acme.example", "https://wiki.intra.acme.example/page"),
        ("/srv/data/2026/report.pdf", "in /srv/data/2026/report.pdf there"),
        ("data/2026", "in /srv/data/2026/report.pdf there"),
        ("report.pdf", "in /srv/data/2026/report.pdf there"),
        ("srv report", "in /srv/data/2026/report.pdf there"),
        ("C:\\data\\plan.doc", "C:\\data\\plan.doc"),
        ("13800138000", "电话：138 0013 8000。"),
        ("8000", "电话：138 0013 8000。"),
        ("5550142", "call (010) 555-0142"),
        ("+86 138", "call +86 138 0013 8000"),
        ("2026-03", "on 2026-03-15"),
        ("2026年3月", "on 2026-03-15"),
        ("2026-03-15", "at 2026-03-15T10:22:33Z"),
        ("10:22", "at 2026-03-15T10:22:33Z"),
        ("3月15日", "2026年3月15日召开会议"),
        ("会议", "2026年3月15日会议"),
        ("2026年3月15日会议", "会议定于2026-03-15"),
        ("follow-up", "follow up soon"),
        ("state-of-the-art", "the state of the art"),
        ("iphone", "新款iPhone15手机"),
        ("iPhone15手机", "新款iPhone 15手机"),
        ("N95", "公共交通需佩戴N-95口罩"),
        ("mp3-player", "an mp3 player"),
        ("5km", "a run of 5 km"),
        ("covid-19-related", "covid-19 related costs"),
        ("report.docx", "Q3_report-final 合同书v2.DOCX"),
        ("node.js", "the Node JS runtime"),
        ("三百万元预算", "预算3,000,000元"),
        ("300万元", "采购预算三百万元以内"),
        ("3000000", "合计约300万元"),
        ("预算三百万", "预算为300万美元"),
    ] {
        let index = index_texts(&[text, "nothing of it"]);
        for (way, found) in all_found(&index, keyword).into_iter().enumerate() {
            // An unfinished word is found by an unfinished keyword only.
            let is_open = ["getUs", "userna", "XK77", "mei.chen@acme.exa"].contains(&keyword) && way % 2 == 1;
            assert!(is_open || found == ["0"], "{keyword} in {text}, {way}: {found:?}");
        }
    }
}

#[test]
fn exact_thing_finds_what_holds_it_whole() {
    let texts = [
        "mei.chen@acme.example",
        "li.chen@acme.example",
        "mei.chen@acme.test, example",
        "mei chen of acme, an example",
        "+86 138-0013-8000",
        "138 0099 8000 and 0013",
        "C-2052",
        "c 2053, 2052 c",
        "v2.13.1-rc4",
        "2.13.2, 1.2.13, 13.1",
        "wiki.acme.example",
        "wiki acme example",
        "mei.chen@mail.eu.acme.example",
        "mei.chen@mail.eu.acme.test and li@acme.example",
        "2026-03-15",
        "2026-03-16, 15",
        "21.31",
        "10.0.0.12",
        "10.0.0.1, 12",
        "getUserName",
        "预算三百万",
        "3,000,000 EUR",
        "3,000 and 000, 300, 万",
    ];
    let index = index_texts(&texts);
    for (keyword, expected) in [
        ("mei.chen@acme.example", &["0"][..]),
        ("13800138000", &["4"]),
        ("138-0013-8000", &["4"]),
        ("138 0013 8000", &["4"]),
        ("+86 138 0013 8000", &["4"]),
        ("C-2052", &["6"]),
        ("C2052", &["6"]),
        ("v2.13.1-rc4", &["8"]),
        ("2.13.1", &["8"]),
        ("wiki.acme.example", &["10", "11"]),
        ("mei.chen@mail.eu.acme.example", &["12"]),
        ("2026-03-15", &["14"]),
        ("2026年3月15日", &["14"]),
        ("21.31", &["16"]),
        ("10.0.0.12", &["17"]),
        ("10.0.0.1", &["18"]),
        ("三百万", &["20", "21"]),
        ("3000000", &["20", "21"]),
    ] {
        for (way, found) in all_found(&index, keyword).into_iter().enumerate() {
            assert_eq!(found, expected, "{keyword} {way}");
        }
    }
    // Nothing holds these whole.
    for (keyword, expected) in [
        ("mei.chen@acme.org", &["0", "1", "2", "3", "12", "13"][..]),
        ("mei.chen@mail.eu.acme.org", &["0", "1", "2", "3", "10", "11", "12", "13"]),
        ("C-2053", &["7"]),
    ] {
        let mut ranked = ranked(&index, keyword);
        ranked.sort_by_key(|id| id.parse::<usize>().unwrap());
        assert!(expected.iter().all(|id| ranked.contains(&(*id).to_owned())), "{keyword}: {ranked:?}");
    }
    assert_eq!(found(&index, "mei.chen@acme.org "), [""; 0]);
    assert_eq!(found(&index, "chen -mei.chen@acme.example "), owned(&["1", "12", "13", "2", "3"]));
}

#[test]
fn ordinary_phrases_stay_as_they_are() {
    let index =
        index_texts(&["the ISO 27001 audit of getUserName today", "a follow-up call", "3, 4 and 2026"]);
    for (keyword, expected) in [
        ("\"iso 27001 audit\"", &["0"][..]),
        ("\"audit of getUserName today\"", &["0"]),
        ("\"audit of getusername today\"", &["0"]),
        ("\"follow up call\"", &["1"]),
        ("\"follow-up call\"", &["1"]),
        ("\"27001 iso\"", &[]),
        ("\"4 and 2026\"", &["2"]),
        ("audit -iso-27001", &[]),
        ("call -followup", &[]),
    ] {
        assert_eq!(found(&index, keyword), expected, "{keyword}");
    }
}

#[test]
fn exact_thing_with_signs_finds_its_words_side_by_side() {
    let texts = [
        "the 2026 plan",
        "Fig. 3",
        "tel: 13800138000",
        "a B2B sales team",
        "AS 9100",
        "day 2 ops",
        "HR, Finance and IT",
        "GB/T 19001—2016",
        "GB/T19001-2016",
        "2019—2020",
        "call 010-5550142/5550143",
        "meeting 138-0013-8001 9:00",
        "in 2025 and 2026",
        "results of 2024, then 2025",
        "SN0012345678",
        "2026-3-final",
        "ISO27001",
        "U.S. economy",
    ];
    let index = index_texts(&texts);
    for (keyword, expected) in [
        ("2026-plan", &["0"][..]),
        ("Fig.3", &["1"]),
        ("tel:13800138000", &["2"]),
        ("B2B-sales", &["3"]),
        ("AS-9100", &["4"]),
        ("day-2-ops", &["5"]),
        ("HR/IT/Finance", &["6"]),
        ("19001-2016", &["7", "8"]),
        ("2019-2020", &["9"]),
        ("010-5550142", &["10"]),
        ("138-0013-8001", &["11"]),
        ("2024 2025", &["13"]),
        ("0012345678", &["14"]),
        ("2026-03", &["15"]),
    ] {
        let finished = format!("{keyword} ");
        for keyword in [keyword, &finished] {
            let mut found = found(&index, keyword);
            found.sort_by_key(|id| id.parse::<usize>().unwrap());
            assert_eq!(found, expected, "{keyword}");
            let ranked = ranked(&index, keyword);
            assert!(expected.iter().all(|id| ranked.contains(&(*id).to_owned())), "{keyword}: {ranked:?}");
        }
    }
    assert_eq!(found(&index, "2026 -2025 "), owned(&["0", "15"]));
}

#[test]
fn hidden_holder_of_an_exact_thing_is_as_good_as_none() {
    let hidden = Document {
        brief: "C-2053".to_owned(),
        audience: Audience::Principals(vec!["g:1".to_owned()]),
        ..document("hidden", "")
    };
    let shown = Document { brief: "series C, volume 2053".to_owned(), ..document("shown", "") };
    let (index, _writer) = index_of(vec![hidden, shown]);
    let ranked_for = |principals: &[&str]| {
        let request = Request {
            principals: owned(principals).into(),
            ..request(&news(), &Query::parse("C-2053 "), BEST, 10)
        };
        ids(index.snapshot().search(&request).unwrap())
    };
    assert_eq!(ranked_for(&[]), ["shown"]);
    assert_eq!(ranked_for(&["g:1"]), ["hidden"]);
}

#[test]
fn numerals_in_ordinary_words_are_no_numbers() {
    let index = index_texts(&["51, 10001, 1000, 100 and 9", "五一放假，万一下雨，千万别去百度，一定"]);
    for keyword in ["五一", "万一", "千万", "百度", "一定"] {
        assert_eq!(found(&index, keyword), ["1"], "{keyword}");
    }
    assert_eq!(found(&index, "51 "), ["0"]);
}

#[test]
fn stop_words_between_signs_do_not_match_everything() {
    let index = index_texts(&["harbour budget", "who knows what"]);
    for keyword in ["who/what/where ", "he/she/they ", "to.do "] {
        assert!(!ranked(&index, keyword).contains(&"0".to_owned()), "{keyword}");
    }
}
