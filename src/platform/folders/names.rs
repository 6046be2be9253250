//! File and folder names, safe from look-alikes.
//!
//! Names are in NFC. Comparison keys ignore case, width, invisible characters and look-alikes of ASCII.

use std::sync::LazyLock;

use icu_casemap::CaseMapper;
use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{
        BidiControl, DefaultIgnorableCodePoint, Emoji, EmojiModifier, ExtendedPictographic, GeneralCategory,
        JoiningType, NoncharacterCodePoint,
    },
};
use unicode_normalization::{UnicodeNormalization, char::canonical_combining_class};
use unicode_security::skeleton;

use crate::{
    config::Limits,
    error::{BusinessCode, Error, Result},
};

/// Longer ones do not count as extensions.
const EXTENSION_BYTES: usize = 32;

/// Factor by which NFC shortens text.
const MAX_SHRINKING: usize = 4;

/// Path and wildcard characters.
const FORBIDDEN: [char; 9] = ['/', '\\', ':', '*', '?', '"', '<', '>', '|'];

/// Reserved with any extension; some take a number.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';
const ZERO_WIDTH_JOINER: char = '\u{200d}';

/// Combining class of vowel-removing signs in Indic scripts.
const VIRAMA: u8 = 9;

/// Valid name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Displayed name in NFC.
    pub shown: String,
    /// Comparison key.
    pub key: String,
}

/// Checks a file name; 430005 above `limits.file_name_bytes`.
pub fn check_file(limits: &Limits, name: &str) -> Result<Name> {
    check(limits, name, BusinessCode::NameTooLong)
}

/// Checks a folder name.
pub fn check_folder(limits: &Limits, name: &str) -> Result<Name> {
    check(limits, name, BusinessCode::General)
}

/// Extension in lower case, or empty.
pub fn extension(name: &str) -> String {
    let extension = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension.to_lowercase(),
        _ => String::new(),
    };
    if extension.len() <= EXTENSION_BYTES { extension } else { String::new() }
}

fn check(limits: &Limits, name: &str, too_long: BusinessCode) -> Result<Name> {
    let most = limits.file_name_bytes;
    let refuse_length = || Error::business(too_long, format!("name: must be at most {most} bytes of UTF-8"));
    if name.len() / MAX_SHRINKING > most {
        return Err(refuse_length());
    }
    let shown: String = name.nfc().collect();
    if shown.len() > most {
        return Err(refuse_length());
    }
    let refuse = |reason: String| Error::business(BusinessCode::General, format!("name: {reason}"));
    check_form(&shown).map_err(|reason| refuse(reason.to_owned()))?;
    check_characters(&shown).map_err(refuse)?;
    let key = key(&shown);
    if key.is_empty() {
        return Err(refuse("must hold something that is seen".to_owned()));
    }
    Ok(Name { shown, key })
}

fn check_form(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("must not be empty");
    }
    if name == "." || name == ".." {
        return Err("must not be `.` or `..`");
    }
    if name.starts_with(char::is_whitespace) || name.ends_with(char::is_whitespace) {
        return Err("must not begin or end with a space");
    }
    if name.ends_with('.') {
        return Err("must not end with a dot");
    }
    if is_device(name) {
        return Err("must not be a name that Windows keeps for a device, such as con, nul or com1");
    }
    Ok(())
}

fn is_device(name: &str) -> bool {
    // Superscript digits number devices too.
    let name: String = name.nfkc().collect::<String>().to_ascii_lowercase();
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let number = NUMBERED_DEVICES.iter().find_map(|device| stem.strip_prefix(device));
    DEVICES.contains(&stem)
        || number.is_some_and(|number| number.len() == 1 && number.as_bytes()[0].is_ascii_digit())
}

fn check_characters(name: &str) -> Result<(), String> {
    for (place, character) in name.char_indices() {
        if FORBIDDEN.contains(&character) {
            return Err("must not hold any of / \\ : * ? \" < > |".to_owned());
        }
        let code = u32::from(character);
        if is_nonsense(character) {
            return Err(format!("must not hold the character U+{code:04X}, which is not displayable"));
        }
        let (before, behind) = (&name[..place], &name[place + character.len_utf8()..]);
        if is_invisible(character) && !has_a_sense(character, before, behind) {
            return Err(format!("must not hold the invisible character U+{code:04X} here"));
        }
    }
    Ok(())
}

fn is_nonsense(character: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(character);
    let categories = [
        GeneralCategory::Control,
        GeneralCategory::LineSeparator,
        GeneralCategory::ParagraphSeparator,
        GeneralCategory::PrivateUse,
        GeneralCategory::Surrogate,
    ];
    let is_annotation = matches!(character, '\u{fff9}'..='\u{fffb}');
    categories.contains(&category)
        || is_annotation
        || CodePointSetData::new::<NoncharacterCodePoint>().contains(character)
}

fn is_invisible(character: char) -> bool {
    CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character)
        || CodePointSetData::new::<BidiControl>().contains(character)
}

/// Whether neighbours justify an invisible character (emoji, joining scripts).
fn has_a_sense(character: char, before: &str, behind: &str) -> bool {
    let Some(last) = before.chars().next_back() else { return false };
    match character {
        // Text or emoji style.
        '\u{fe0e}' | '\u{fe0f}' => CodePointSetData::new::<Emoji>().contains(last),
        // Ideographs and symbols.
        '\u{fe00}'..='\u{fe0d}' | '\u{e0100}'..='\u{e01ef}' => {
            !last.is_ascii() && !last.is_whitespace() && !is_invisible(last)
        }
        // Mongolian letters.
        '\u{180b}'..='\u{180d}' | '\u{180f}' => matches!(last, '\u{1820}'..='\u{18aa}'),
        ZERO_WIDTH_JOINER => joins_emoji(before, behind) || joins_letters(before, behind),
        ZERO_WIDTH_NON_JOINER => joins_letters(before, behind),
        _ => false,
    }
}

fn joins_emoji(before: &str, behind: &str) -> bool {
    let is_picture = |character: char| CodePointSetData::new::<ExtendedPictographic>().contains(character);
    let last = before.chars().rev().find(|character| {
        let is_variant = *character == '\u{fe0f}';
        !is_variant && !CodePointSetData::new::<EmojiModifier>().contains(*character)
    });
    last.is_some_and(is_picture) && behind.chars().next().is_some_and(is_picture)
}

/// RFC 5892 A.1 and A.2, simplified: both neighbours join.
fn joins_letters(before: &str, behind: &str) -> bool {
    let kind = |character: char| CodePointMapData::<JoiningType>::new().get(character);
    let joins = |character: char| {
        let joining = [JoiningType::DualJoining, JoiningType::LeftJoining, JoiningType::RightJoining];
        joining.contains(&kind(character))
    };
    let is_mark = |character: char| kind(character) == JoiningType::Transparent && !is_invisible(character);
    let last = before.chars().next_back();
    if last.is_some_and(|last| canonical_combining_class(last) == VIRAMA) {
        return true;
    }
    let letter = before.chars().rev().find(|character| !is_mark(*character));
    letter.is_some_and(joins) && behind.chars().next().is_some_and(joins)
}

fn key(name: &str) -> String {
    static CASES: LazyLock<icu_casemap::CaseMapperBorrowed<'static>> = LazyLock::new(CaseMapper::new);
    let seen: String = name.nfkc().filter(|character| !is_invisible(*character)).collect();
    let folded = CASES.fold_string(&seen);
    // Case folding may need recomposing and yield invisible characters.
    let folded = folded.nfkc().filter(|character| !is_invisible(*character));
    folded.map(in_ascii).nfc().collect()
}

/// ASCII look-alike; ASCII stays.
fn in_ascii(character: char) -> char {
    if character.is_ascii() {
        return character;
    }
    let mut bytes = [0; 4];
    let mut looks = skeleton(character.encode_utf8(&mut bytes));
    match (looks.next(), looks.next()) {
        (Some(look), None) if look.is_ascii() => look.to_ascii_lowercase(),
        _ => character,
    }
}

#[cfg(test)]
mod tests;
