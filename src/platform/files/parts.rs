use serde::Deserialize;
use serde_json::value::RawValue;
use trawl_connectors::grouped;

use crate::{
    blobs::{MAX_PARTS, UploadPart},
    json,
};

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct PartTag {
    #[serde(rename = "eTag", alias = "etag")]
    pub(super) e_tag: String,
    #[serde(rename = "partNumber", alias = "partnumber")]
    pub(super) part_number: u32,
}

pub(super) fn read(text: &str) -> Result<Vec<PartTag>, String> {
    let most = MAX_PARTS as usize;
    let elements: Vec<&RawValue> = json::read_list(text.as_bytes(), most).map_err(|_reason| {
        format!("partETags: must be a text that holds a JSON array of at most {} parts", grouped(most))
    })?;
    let read_one = |(place, element): (usize, &RawValue)| {
        let named = json::read_object::<PartTag>(element.get().as_bytes());
        let named = named.map_err(|reason| format!("partETags[{place}]: {reason}"))?;
        if (1..=MAX_PARTS).contains(&named.part_number) {
            Ok(named)
        } else {
            Err(format!("partETags[{place}].partNumber: must be 1 to {MAX_PARTS}, not {}", named.part_number))
        }
    };
    elements.into_iter().enumerate().map(read_one).collect()
}

/// Ascending, unique, each but the last of at least `least_bytes`.
pub(super) fn choose(
    named: &[PartTag],
    sent: &[UploadPart],
    least_bytes: u64,
) -> Result<Vec<UploadPart>, String> {
    if named.is_empty() {
        return Err("partETags: must name at least one part".to_owned());
    }
    let mut chosen: Vec<UploadPart> = Vec::with_capacity(named.len());
    for PartTag { e_tag, part_number: number } in named {
        if let Some(before) = chosen.last() {
            if before.number >= *number {
                return Err(format!(
                    "partETags: part {number} follows part {}; parts must ascend, each given once",
                    before.number
                ));
            }
            if before.size < least_bytes {
                return Err(format!(
                    "partETags: part {} has {} bytes; each but the last must have at least {least_bytes}",
                    before.number, before.size
                ));
            }
        }
        let found = sent.iter().find(|part| part.number == *number);
        let part = found.ok_or_else(|| format!("partETags: part {number} has not been uploaded"))?;
        if bare(&part.e_tag) != bare(e_tag) {
            return Err(format!("partETags: the eTag of part {number} is not that of its last upload"));
        }
        chosen.push(part.clone());
    }
    Ok(chosen)
}

fn bare(e_tag: &str) -> &str {
    let inner = e_tag.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(e_tag)
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn part(number: u32, size: u64) -> UploadPart {
        UploadPart { number, size, e_tag: format!("e{number}") }
    }

    fn tag(part_number: u32) -> PartTag {
        PartTag { e_tag: format!("\"e{part_number}\""), part_number }
    }

    #[test]
    fn malformed_text_is_named_with_its_place() {
        for (text, reason) in [
            ("", "partETags: must be a text that holds a JSON array"),
            ("{}", "partETags: must be a text that holds a JSON array"),
            (r#"[["e1", 1]]"#, "partETags[0]: must be an object"),
            (r#"[{"eTag": "e1"}]"#, "partETags[0]: partNumber: is required"),
            (r#"[{"partNumber": 1}]"#, "partETags[0]: eTag: is required"),
            (r#"[{"eTag": "a", "partNumber": "1"}]"#, "partETags[0]: partNumber: must be an integer"),
            (
                r#"[{"eTag": "a", "etag": "b", "partNumber": 1}]"#,
                "partETags[0]: eTag: must be given only once",
            ),
            (
                r#"[{"eTag": "a", "partNumber": 1}, {"eTag": "a", "partNumber": 0}]"#,
                "partETags[1].partNumber: must be 1 to 10000",
            ),
            (r#"[{"eTag": "a", "partNumber": 10001}]"#, "partETags[0].partNumber: must be 1 to 10000"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.starts_with(reason), "{text}: {refused}");
        }
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(512))]

        #[test]
        fn chosen_parts_follow_the_rule(
            sizes in vec(0_u64..8, 0..6),
            named in vec((1_u32..7, 0_u32..8), 0..6),
        ) {
            let sent: Vec<UploadPart> = (1..).zip(&sizes).map(|(number, size)| part(number, *size)).collect();
            let named: Vec<PartTag> = named
                .into_iter()
                .map(|(number, wrong)| if wrong == 0 { PartTag { e_tag: "x".to_owned(), ..tag(number) } } else { tag(number) })
                .collect();
            let is_ascending = named.windows(2).all(|pair| pair[0].part_number < pair[1].part_number);
            let size = |tag: &PartTag| sizes.get(tag.part_number as usize - 1).copied();
            let is_there = named.iter().all(|tag| size(tag).is_some() && tag.e_tag != "x");
            let is_large = named.iter().rev().skip(1).all(|tag| size(tag).is_some_and(|size| size >= 5));
            let is_right = !named.is_empty() && is_ascending && is_there && is_large;
            match choose(&named, &sent, 5) {
                Ok(chosen) => {
                    prop_assert!(is_right);
                    let numbers: Vec<u32> = chosen.iter().map(|part| part.number).collect();
                    prop_assert_eq!(numbers, named.iter().map(|tag| tag.part_number).collect::<Vec<_>>());
                }
                Err(reason) => prop_assert!(!is_right, "{}", reason),
            }
        }
    }
}
