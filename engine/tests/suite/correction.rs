use std::sync::Arc;

use serde_json::json;
use trawl_engine::correction::CorrectedWord;
use trawl_engine::{Document, Scope};

use super::support::{document, index_of, news, owned, restricted_to};

#[test]
fn unknown_word_is_corrected_by_one_edit() {
    let secret = restricted_to(&["u:1"], document("s", "zeppelin"));
    let (index, _writer) = index_of(vec![
        document("a", "Quarterly budget meetings of the company"),
        document("b", "劳动合同 范本"),
        secret,
        Document { scope: Scope::new(8, "news"), ..document("c", "elsewhere") },
    ]);
    let correct = |keyword: &str, principals: &[&str]| {
        let corrected = index.snapshot().unknown_words(&[news().into()], &owned(principals).into(), keyword);
        corrected.unwrap().correction.map(|correction| correction.keyword)
    };
    let corrected = |keyword: &str| correct(keyword, &[]);
    for (typed, meant) in [
        ("budgt", "budget"),
        ("Quartrely  budget ", "quarterly  budget "),
        ("\"quarterly bugdet\" -compny author:bob", "\"quarterly budget\" -compny author:bob"),
        ("companx", "company"),
        ("劳动合约", "劳动合同"),
        ("the-budgett!", "the-budget!"),
    ] {
        assert_eq!(corrected(typed).as_deref(), Some(meant), "{typed}");
    }
    // Found, unfinished, too short, a number, two edits, of another tenant, invisible, excluded.
    for typed in ["budget", "quarterl", "bud ", "20267", "bxdgxt", "elsewherr", "zeppelim", "", "-budgt"] {
        assert_eq!(corrected(typed), None, "{typed}");
    }
    assert_eq!(correct("zeppelim", &["u:1"]).as_deref(), Some("zeppelin"));
    assert_eq!(correct("zeppelim", &["u:2"]), None);
}

#[test]
fn word_is_corrected_only_if_no_scope_shows_it() {
    let people = Scope::new(7, "people");
    let (index, _writer) = index_of(vec![
        document("a", "We want rang lists and a lease"),
        Document { author: "Leaf Qiang".to_owned(), ..document("b", "Tape") },
        Document { scope: people.clone(), title_is_name: true, ..document("w", "Wang Fang") },
        Document { scope: people.clone(), ..restricted_to(&["u:1"], document("p", "Parental leave")) },
    ]);
    let correct = |scopes: &[&Scope], principals: &[&str], keyword: &str| {
        let scopes: Vec<_> = scopes.iter().map(|&scope| scope.clone().into()).collect();
        let corrected = index.snapshot().unknown_words(&scopes, &owned(principals).into(), keyword);
        corrected.unwrap().correction.map(|correction| correction.keyword)
    };
    let both = [&news(), &people];
    for keyword in
        ["wang fang", "qiang", "wangfan lists", "type:file", "leaf", "lists -leese", "tapeb2", "about"]
    {
        assert_eq!(correct(&both, &[], keyword), None, "{keyword}");
    }
    assert_eq!(correct(&[&news()], &[], "wang, fang").as_deref(), Some("want, rang"));
    assert_eq!(correct(&both, &["u:1"], "leave lists"), None);
    assert_eq!(correct(&both, &["u:2"], "leave lists").as_deref(), Some("lease lists"));
    assert_eq!(correct(&both, &["u:2"], "parentel"), None);
    assert_eq!(correct(&both, &["u:1"], "parentel").as_deref(), Some("parental"));
}

#[test]
fn words_around_a_word_choose_its_correction() {
    let titles = ["tables", "tables and chairs", "tables", "cables of the harbour", "harbour quay"];
    let documents = titles.iter().enumerate().map(|(number, title)| document(&number.to_string(), title));
    let (index, _writer) = index_of(documents.collect());
    let correct = |keyword: &str| {
        let corrected = index.snapshot().unknown_words(&[news().into()], &Arc::default(), keyword);
        corrected.unwrap().correction.map(|correction| (correction.keyword, correction.words))
    };
    let to = |from: &str, to: &str| vec![CorrectedWord { from: from.to_owned(), to: to.to_owned() }];
    assert_eq!(correct("Xables"), Some(("tables".to_owned(), to("Xables", "tables"))));
    assert_eq!(correct("xables harbour"), Some(("cables harbour".to_owned(), to("xables", "cables"))));
    let in_capitals = correct("HARBOUR XABLES").map(|(keyword, _)| keyword);
    assert_eq!(in_capitals.as_deref(), Some("HARBOUR CABLES"), "no word becomes an acronym");
    // No document has all words.
    assert_eq!(
        correct("harbour quay xables"),
        Some(("harbour quay cables".to_owned(), to("xables", "cables")))
    );
}

/// A document whose title is shown, as pinyin needs.
fn titled(id: &str, title: &str) -> Document {
    Document { item: json!({ "title": title }).to_string(), ..document(id, title) }
}

/// Checks what keywords become; `None` if they stay.
fn assert_corrected(documents: Vec<Document>, expected: &[(&str, Option<&str>)]) {
    let (index, _writer) = index_of(documents);
    for (typed, meant) in expected {
        let unknown = index.snapshot().unknown_words(&[news().into()], &Arc::default(), typed).unwrap();
        let corrected = unknown.correction.map(|correction| correction.keyword);
        assert_eq!(corrected.as_deref(), *meant, "{typed}");
    }
}

#[test]
fn two_syllables_are_pinyin_unless_texts_have_both_words() {
    let gantry = titled("c", "Xiphoid fantasies of gantries, Xiaomi in Liuyang");
    assert_corrected(
        vec![
            titled("a", "西安令人反感"),
            titled("b", "报销流程"),
            Document { author: "Xi Gan, Xiao Liu".to_owned(), ..gantry },
            titled("d", "Liu of Cheng"),
        ],
        &[
            ("xi an", Some("西安")),
            ("fan gan", Some("反感")),
            ("xiao liu", Some("销流")),
            ("liu cheng", None),
        ],
    );
}

#[test]
fn syllables_are_pinyin_before_they_are_edited() {
    assert_corrected(
        vec![
            titled("a", "西安仓库"),
            titled("b", "Xiao, Nina, Chang and Chow"),
            titled("c", "A budget"),
            titled("d", "Change of language"),
        ],
        &[
            ("xian", Some("西安")),
            ("xial", Some("xiao")),
            ("chuang xin nian", None),
            ("dong shi xin chou", None),
            ("chuang xin nian budgt", Some("chuang xin nian budget")),
            ("chuang cang ku", None),
            ("chuang cangku", Some("chuang 仓库")),
            ("change languge", Some("change language")),
            ("chang chuang", None),
        ],
    );
}

#[test]
fn pinyin_of_several_parts_becomes_whole_words() {
    let documents = ["品干果采购", "平安保险", "精品干果", "奖品干洗"];
    let documents = documents.iter().enumerate().map(|(id, title)| titled(&id.to_string(), title));
    assert_corrected(
        documents.collect(),
        &[("pingan", Some("平安")), ("ping an", Some("平安")), ("pin gan", Some("品干"))],
    );
}

#[test]
fn quotes_apostrophes_and_written_characters_are_read_as_pinyin() {
    assert_corrected(
        vec![
            titled("a", "报销流程"),
            titled("b", "新西安装修"),
            titled("c", "清乾隆瓷器"),
            titled("d", "长安街道"),
            titled("e", "律师"),
        ],
        &[
            ("\"bao xiao liu cheng\" 2026", Some("\"报销流程\" 2026")),
            ("“Bao Xiao”", Some("“报销”")),
            ("-\"bao xiao\"", None),
            ("\"bao xiao the\"", None),
            ("xi'an zhuang xiu", Some("西安装修")),
            ("Xi’an", Some("西安")),
            ("chang'an jie", Some("长安街")),
            ("xi'ann", None),
            // With tones, of another width, and an umlaut.
            ("bāo xiāo", Some("报销")),
            ("ｂａｏ　ｘｉａｏ", Some("报销")),
            ("xi＇an", Some("西安")),
            ("lǚshi", Some("律师")),
            ("qianlong", Some("干隆")),
        ],
    );
}

#[test]
fn unfinished_pinyin_becomes_what_it_begins() {
    let meant = Some("报销流程");
    assert_corrected(
        vec![titled("a", "2026 报销流程说明")],
        &[
            ("bao xiao liu", Some("报销流")),
            ("bao xiao liu che", meant),
            ("bao xiao liu chen", meant),
            ("bao xiao liu cheng", meant),
            ("baoxiaoliuch", meant),
            ("bao xiao liu xing", None),
            ("bao xi", None),
        ],
    );
}

#[test]
fn corrected_words_around_a_word_choose_its_correction() {
    let titles = ["报销流程", "报销 cables", "tables", "tables", "tables", "harbour quay"];
    let documents = titles.iter().enumerate().map(|(id, title)| titled(&id.to_string(), title));
    // No document has all words.
    assert_corrected(documents.collect(), &[("bao xiao xables quay", Some("报销 cables quay"))]);
}

#[test]
fn pinyin_of_a_title_is_corrected_where_nothing_else_is_meant() {
    let document = titled;
    let secret = restricted_to(&["u:1"], document("s", "年度薪酬调整"));
    let (index, _writer) = index_of(vec![
        document("a", "2026 年报销流程说明"),
        document("b", "保洁安排"),
        document("c", "Bxlx valves"),
        Document {
            brief: "库存盘点".to_owned(), author: "保洁民".to_owned(), ..document("d", "Stock")
        },
        secret,
    ]);
    let correct = |principals: &[&str], keyword: &str| {
        let corrected = index.snapshot().unknown_words(&[news().into()], &owned(principals).into(), keyword);
        corrected.unwrap().correction.map(|correction| correction.keyword)
    };
    for (typed, meant) in [
        ("baoxiaoliucheng", "报销流程"),
        ("baoxiao 2026", "报销 2026"),
        ("BXLCSM", "报销流程说明"),
        ("lcsm", "流程说明"),
        ("baojie", "保洁"),
        ("bxlc", "bxlx"),
        ("nianbaoxiaoliuchengshuoming", "年报销流程说明"),
        ("xiaoliu", "销流"),
        ("bao xiao liu cheng", "报销流程"),
        ("Bao Jie 2026", "保洁 2026"),
        ("报销 liucheng", "报销 流程"),
        ("报销liucheng", "报销流程"),
        ("\"baojie\" anpai", "\"保洁\" 安排"),
    ] {
        assert_eq!(correct(&[], typed).as_deref(), Some(meant), "{typed}");
    }
    // Few initials, a text, invisible, excluded, of two runs, between other syllables.
    for typed in ["bx", "kucun", "xinchou", "ndxc", "nian du", "-baoxiao", "mingbaojie", "xia oliu"] {
        assert_eq!(correct(&[], typed), None, "{typed}");
    }
    // Neither of them takes the correction of another.
    let many = "1 ".repeat(62) + "nian bao xiao liu cheng 2 bao jie 3 bao jie 4 bao xiao liu";
    assert_eq!(correct(&[], &many), None, "words behind the last that is read");
    let often = correct(&[], &"bao jie 1 ".repeat(20)).unwrap_or_default();
    assert_eq!(often.matches("保洁").count(), 4, "{often}");
    assert_eq!(correct(&["u:1"], "xinchou").as_deref(), Some("薪酬"));
    assert_eq!(correct(&["u:1"], "nian du xin chou").as_deref(), Some("年度薪酬"));
    assert_eq!(correct(&["u:2"], "xinchou"), None);
}

#[test]
fn homophone_of_an_indexed_word_is_corrected() {
    let people = Scope::new(7, "people");
    let (index, _writer) = index_of(vec![
        document("a", "苏州仓库盘点"),
        document("b", "报销流程说明"),
        document("c", "登录系统指南"),
        document("d", "权利与义务"),
        document("e", "报晓的公鸡，草原"),
        Document { scope: people.clone(), title_is_name: true, ..document("z", "张小洪") },
        restricted_to(&["u:1"], document("s", "会议室预定")),
    ]);
    let correct = |principals: &[&str], keyword: &str| {
        let scopes = [news().into(), people.clone().into()];
        let corrected = index.snapshot().unknown_words(&scopes, &owned(principals).into(), keyword);
        corrected.unwrap().correction.map(|correction| (correction.keyword, correction.words))
    };
    let corrected = |keyword: &str| correct(&[], keyword).map(|(keyword, _)| keyword);
    for (typed, meant) in [
        ("苏洲仓库", "苏州仓库"),
        ("苏洲仓库 盘点", "苏州仓库 盘点"),
        ("蘇洲倉庫", "苏州仓库"),
        ("报肖流程", "报销流程"),
        ("报肖流呈", "报销流程"),
        ("登陆系统", "登录系统"),
        ("\"苏洲仓库\" -报肖", "\"苏州仓库\" -报肖"),
    ] {
        assert_eq!(corrected(typed).as_deref(), Some(meant), "{typed}");
    }
    // Found, a name, two ideographs, another sound, not together, invisible, excluded.
    for typed in ["苏州仓库", "张小洪", "曹原", "权力", "苏港仓库", "苏洲流程", "会意室", "-苏洲仓库"]
    {
        assert_eq!(corrected(typed), None, "{typed}");
    }
    let (keyword, words) = correct(&["u:1"], "会意室预定").unwrap();
    assert_eq!(keyword, "会议室预定");
    assert_eq!(words, [CorrectedWord { from: "会意室预定".to_owned(), to: "会议室预定".to_owned() }]);
}

#[test]
fn unknown_words_without_a_correction_are_named() {
    let (index, _writer) =
        index_of(vec![document("a", "Harbour budget"), restricted_to(&["u:1"], document("b", "Lighthouse"))]);
    let uncorrected = |keyword: &str, principals: &[&str]| {
        let found = index.snapshot().unknown_words(&[news().into()], &owned(principals).into(), keyword);
        found.unwrap().uncorrected
    };
    assert_eq!(uncorrected("Zzzqqq harbour xyzzyx zzzqqq.", &[]), ["Zzzqqq", "xyzzyx", "zzzqqq"]);
    assert_eq!(uncorrected("harbuor budget 2026 the abc", &[]), [""; 0]);
    assert_eq!(uncorrected("lighthouse budget", &[]), ["lighthouse"]);
    // Parts are searched in their place.
    assert_eq!(uncorrected("联通公司 联通公司合同 乌托邦 budget", &[]), ["乌托邦"]);
    assert_eq!(uncorrected("lighthouse budget", &["u:1"]), [""; 0]);
}
