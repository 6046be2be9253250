//! Extraction of each format from generated documents.

use std::io::{Cursor, Write as _};

use proptest::prelude::*;
use zip::{ZipWriter, write::SimpleFileOptions};

use super::{MAX_PLAIN_BYTES, Stop, TextFormat, TextWriter, extract, kind::may_have_text};

fn read_bounded(content: &[u8], extension: &str, most_bytes: usize) -> (String, Result<(), Stop>) {
    let mut written = Vec::new();
    let mut text = TextWriter::new(&mut written, most_bytes);
    let read_as = match extension {
        "md" => TextFormat::Markdown,
        "html" | "htm" => TextFormat::Html,
        _ => TextFormat::Plain,
    };
    let ended = extract(content, read_as, true, &mut text);
    text.flush().unwrap();
    drop(text);
    (String::from_utf8(written).unwrap(), ended)
}

#[track_caller]
fn words(content: &[u8], extension: &str) -> String {
    let (text, ended) = read_bounded(content, extension, 1 << 20);
    ended.unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn archive(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn pdf(content: &str, objects: &[&str]) -> Vec<u8> {
    let mut all = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
    ];
    all.extend(objects.iter().map(|&object| object.to_owned()));
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(&all) {
        places.push(file.len());
        write!(file, "{number} 0 obj\n{object}\nendobj\n").unwrap();
    }
    let start = file.len();
    write!(file, "xref\n0 {}\n0000000000 65535 f \n", all.len() + 1).unwrap();
    for place in places {
        writeln!(file, "{place:010} 00000 n ").unwrap();
    }
    let size = all.len() + 1;
    write!(file, "trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF").unwrap();
    file
}

const CHINESE: &str = "港口收费合同2026";

#[test]
fn texts_are_read_in_the_encoding_that_they_are_in() {
    let long = "港口的收费合同，自二零二六年一月一日起施行。".repeat(4);
    let (gb18030, ..) = encoding_rs::GB18030.encode(&long);
    let (big5, ..) = encoding_rs::BIG5.encode("關於港口費用的合同，自公元二零二六年一月一日起施行");
    assert_eq!(words(&gb18030, "txt"), long);
    assert!(words(&big5, "csv").contains("港口費用的合同"));
    assert_eq!(words("high tide, 潮".as_bytes(), "log"), "high tide, 潮");
    assert_eq!(words(&[b"\xef\xbb\xbf", CHINESE.as_bytes()].concat(), "txt"), CHINESE);
    let wide: Vec<u8> = CHINESE.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(words(&[b"\xff\xfe", wide.as_slice()].concat(), "txt"), CHINESE);
    assert_eq!(words(br#"{"tide": "high"}"#, "json"), r#"{"tide": "high"}"#);
    assert_eq!(words(b"fn main() {}", "rs"), "fn main() {}");
}

#[test]
fn a_large_text_is_read_in_part_and_cut_between_characters() {
    let long = "潮".repeat(1 << 20);
    let (text, ended) = read_bounded(long.as_bytes(), "txt", 1_000);
    assert!(matches!(ended, Err(Stop::Full(1_000))));
    assert_eq!(text, "潮".repeat(333));
    let (text, ended) = read_bounded(long.as_bytes(), "txt", 1 << 30);
    ended.unwrap();
    assert_eq!(text.len() as u64, MAX_PLAIN_BYTES / 3 * 3);
}

#[test]
fn markup_is_read_without_its_marks() {
    let markdown = "---\ntitle: Dues\n---\n# Harbour *dues*\n\nSee [the tariff](https://a.example/secret \"of 2026\").\n\n\
                    | berth | fee |\n|---|---|\n| 港口 | 3 |\n\n```\nlet x = 1;\n```\n";
    let read = words(markdown.as_bytes(), "md");
    assert!(!read.contains("secret") && !read.contains('*') && !read.contains('|'), "{read}");
    for wanted in ["Harbour dues", "the tariff", "of 2026", "港口 3", "let x = 1;"] {
        assert!(read.contains(wanted), "{wanted}: {read}");
    }
    let html = "<!DOCTYPE html><html><head><title>t</title><style>.hidden{}</style><script>var hidden</script></head>\
                <body><p>high&nbsp;tide</p><p>潮 &amp; quay</p></body></html>";
    for extension in ["html", "txt", "md"] {
        let read = words(html.as_bytes(), extension);
        assert!(read.contains("high tide") && read.contains("潮 & quay"), "{read}");
        assert!(!read.contains("hidden"), "{read}");
    }
    let (declared, ..) =
        encoding_rs::GBK.encode("<html><head><meta charset=\"gb2312\"></head><body>潮</body></html>");
    assert_eq!(words(&declared, "htm"), "潮");
}

#[test]
fn documents_of_office_are_read() {
    let word = archive(&[
        (
            "word/document.xml",
            "<w:document xmlns:w='w' xmlns:mc='mc'><w:body><w:p><w:r><w:t>Har</w:t></w:r><w:r><w:t>bour &amp; &#28526;</w:t></w:r></w:p>\
             <w:p><w:r><w:instrText>HIDDEN</w:instrText><w:t>dues</w:t><w:tab/><w:t>of</w:t><w:br/><w:t>2026</w:t></w:r></w:p>\
             <mc:AlternateContent><mc:Choice><w:t>once</w:t></mc:Choice><mc:Fallback><w:t>HIDDEN</w:t></mc:Fallback></mc:AlternateContent>\
             <w:del><w:r><w:delText>HIDDEN</w:delText></w:r></w:del></w:body></w:document>",
        ),
        ("word/header1.xml", "<w:hdr xmlns:w='w'><w:p><w:t>above</w:t></w:p></w:hdr>"),
        ("word/footnotes.xml", "<w:footnotes xmlns:w='w'><w:p><w:t>below</w:t></w:p></w:footnotes>"),
    ]);
    assert_eq!(words(&word, "docx"), "Harbour & 潮 dues of 2026 once above below");
    let slide = |text: &str| {
        format!("<p:sld xmlns:p='p' xmlns:a='a'><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>")
    };
    let slides = archive(&[
        ("ppt/presentation.xml", "<p/>"),
        ("ppt/slides/slide10.xml", &slide("third")),
        ("ppt/slides/slide2.xml", &slide("second 港口")),
        ("ppt/slides/slide1.xml", &slide("first")),
        ("ppt/notesSlides/notesSlide1.xml", &slide("noted")),
    ]);
    assert_eq!(words(&slides, "pptx"), "first second 港口 third noted");
    let open = archive(&[(
        "content.xml",
        "<office:document-content xmlns:office='o' xmlns:text='t'><office:styles>HIDDEN</office:styles><office:body>\
         <text:tracked-changes><text:p>HIDDEN</text:p></text:tracked-changes>\
         <text:h>Harbour</text:h><text:p>high<text:s/>tide <text:span>港口</text:span></text:p></office:body></office:document-content>",
    )]);
    assert_eq!(words(&open, "odt"), "Harbour high tide 港口");
}

#[test]
fn workbooks_are_read_cell_by_cell() {
    let workbook = archive(&[
        (
            "[Content_Types].xml",
            "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'/>",
        ),
        (
            "_rels/.rels",
            "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>\
             <Relationship Id='rId1' Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument' \
             Target='xl/workbook.xml'/></Relationships>",
        ),
        (
            "xl/workbook.xml",
            "<workbook xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main' \
             xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'>\
             <sheets><sheet name='Tariff 2026' sheetId='1' r:id='rId1'/></sheets></workbook>",
        ),
        (
            "xl/_rels/workbook.xml.rels",
            "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>\
             <Relationship Id='rId1' Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet' \
             Target='worksheets/sheet1.xml'/></Relationships>",
        ),
        (
            "xl/sharedStrings.xml",
            "<sst xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'><si><t>港口</t></si></sst>",
        ),
        (
            "xl/worksheets/sheet1.xml",
            "<worksheet xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'><sheetData>\
             <row r='1'><c r='A1' t='s'><v>0</v></c><c r='B1'><v>12.5</v></c></row>\
             <row r='1048576'><c r='XFD1048576' t='inlineStr'><is><t>far out</t></is></c></row></sheetData></worksheet>",
        ),
    ]);
    assert_eq!(words(&workbook, "xlsx"), "Tariff 2026 港口 12.5 far out");
}

#[test]
fn pdfs_are_read_in_all_the_encodings_of_chinese() {
    let latin = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>";
    let read = words(
        &pdf("BT /F1 24 Tf 72 700 Td (Harbour) Tj 0 -30 Td [(ker)-20(ned)-400(words)] TJ ET", &[latin]),
        "pdf",
    );
    assert_eq!(read, "Harbour kerned words");

    let font = |encoding: &str, collection: &str, to_unicode: &str| {
        [
            format!(
                "<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /{encoding} /DescendantFonts [6 0 R] {to_unicode} >>"
            ),
            format!(
                "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /FontDescriptor 7 0 R \
                 /CIDSystemInfo << /Registry (Adobe) /Ordering ({collection}) /Supplement 2 >> >>"
            ),
            "<< /Type /FontDescriptor /FontName /STSong-Light /Flags 6 /FontBBox [0 0 1000 900] /ItalicAngle 0 /Ascent 880 \
             /Descent -120 /CapHeight 880 /StemV 93 >>"
                .to_owned(),
        ]
    };
    let show = |codes: &str| format!("BT /F1 24 Tf 72 700 Td <{codes}> Tj ET");
    let (gbk, ..) = encoding_rs::GBK.encode(CHINESE);
    let wide = hex::encode(CHINESE.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>());
    for (encoding, codes) in [("UniGB-UCS2-H", wide), ("GBK-EUC-H", hex::encode(&gbk))] {
        let font = font(encoding, "GB1", "");
        let read = words(&pdf(&show(&codes), &font.each_ref().map(String::as_str)), "pdf");
        assert_eq!(read, CHINESE, "{encoding}");
    }
    let numbered = || (1_u16..).zip(CHINESE.encode_utf16());
    let pairs: Vec<String> = numbered().map(|(code, unit)| format!("<{code:04x}> <{unit:04x}>\n")).collect();
    let map = format!(
        "begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange {} beginbfchar\n{}endbfchar endcmap",
        numbered().count(),
        pairs.concat()
    );
    let [font, descendant, descriptor] = font("Identity-H", "Identity", "/ToUnicode 8 0 R");
    let map = format!("<< /Length {} >>\nstream\n{map}\nendstream", map.len());
    let codes: Vec<String> = numbered().map(|(code, _)| format!("{code:04x}")).collect();
    assert_eq!(words(&pdf(&show(&codes.concat()), &[&font, &descendant, &descriptor, &map]), "pdf"), CHINESE);
}

#[test]
fn content_without_text_yields_none() {
    let contents: [(&[u8], bool); 4] = [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", false),
        (b"", false),
        (&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1], true),
        (&[0; 4_096], false),
    ];
    for (content, may) in contents {
        assert_eq!(read_bounded(content, "txt", 1 << 20).0, "", "{content:?}");
        assert_eq!(may_have_text(content), may, "{content:?}");
    }
    assert!(may_have_text(b"BM is how pictures begin, and texts"));
}

#[test]
fn characters_that_control_are_none_of_a_text() {
    assert_eq!(read_bounded(b"high\x1btide\r\n\tnoon", "txt", 100).0, "high tide \n\tnoon");
}

proptest! {
    #![proptest_config(trawl_seeds::cases(64))]

    /// Damage may crash the reading process.
    #[test]
    fn a_damaged_document_is_read_to_where_it_is_damaged(
        place in any::<prop::sample::Index>(),
        damage in prop::collection::vec(any::<u8>(), 1..64),
        most in 0_usize..64,
    ) {
        let word = archive(&[("word/document.xml", "<w:p xmlns:w='w'><w:t>港口 harbour dues</w:t></w:p>")]);
        for (mut content, extension) in [(word, "docx"), ("# 港口\n\n* harbour\n".repeat(20).into_bytes(), "md")] {
            let place = place.index(content.len());
            let end = content.len().min(place + damage.len());
            content[place..end].copy_from_slice(&damage[..end - place]);
            let (text, _) = read_bounded(&content, extension, most);
            prop_assert!(text.len() <= most);
        }
    }
}
