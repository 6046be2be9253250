//! Names of months and days by the language of a number format.

use ssfmt::{FormatOptions, Locale};

/// Letters of a shortened name.
const SHORT: usize = 3;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Language {
    /// Tag of the language, and its number in an LCID.
    tag: &'static str,
    number: u32,
    months: [&'static str; 12],
    /// From Sunday on.
    days: [&'static str; 7],
}

#[rustfmt::skip]
const LANGUAGES: [Language; 11] = [
    Language {
        tag: "de", number: 0x07,
        months: ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"],
        days: ["Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"],
    },
    Language {
        tag: "fr", number: 0x0c,
        months: ["janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre"],
        days: ["dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"],
    },
    Language {
        tag: "es", number: 0x0a,
        months: ["enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"],
        days: ["domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"],
    },
    Language {
        tag: "it", number: 0x10,
        months: ["gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre", "novembre", "dicembre"],
        days: ["domenica", "lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato"],
    },
    Language {
        tag: "nl", number: 0x13,
        months: ["januari", "februari", "maart", "april", "mei", "juni", "juli", "augustus", "september", "oktober", "november", "december"],
        days: ["zondag", "maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag"],
    },
    Language {
        tag: "pt", number: 0x16,
        months: ["janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro"],
        days: ["domingo", "segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado"],
    },
    Language {
        tag: "pl", number: 0x15,
        months: ["styczeń", "luty", "marzec", "kwiecień", "maj", "czerwiec", "lipiec", "sierpień", "wrzesień", "październik", "listopad", "grudzień"],
        days: ["niedziela", "poniedziałek", "wtorek", "środa", "czwartek", "piątek", "sobota"],
    },
    Language {
        tag: "ru", number: 0x19,
        months: ["Январь", "Февраль", "Март", "Апрель", "Май", "Июнь", "Июль", "Август", "Сентябрь", "Октябрь", "Ноябрь", "Декабрь"],
        days: ["воскресенье", "понедельник", "вторник", "среда", "четверг", "пятница", "суббота"],
    },
    Language {
        tag: "zh", number: 0x04,
        months: ["一月", "二月", "三月", "四月", "五月", "六月", "七月", "八月", "九月", "十月", "十一月", "十二月"],
        days: ["星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"],
    },
    Language {
        tag: "ja", number: 0x11,
        months: ["1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"],
        days: ["日曜日", "月曜日", "火曜日", "水曜日", "木曜日", "金曜日", "土曜日"],
    },
    Language {
        tag: "ko", number: 0x12,
        months: ["1월", "2월", "3월", "4월", "5월", "6월", "7월", "8월", "9월", "10월", "11월", "12월"],
        days: ["일요일", "월요일", "화요일", "수요일", "목요일", "금요일", "토요일"],
    },
];

impl Language {
    /// The language of `$-407`, `$-de-DE`; its number is the low bits.
    fn of_bracket(content: &str) -> Option<&'static Self> {
        let (_, name) = content.split_once('-')?;
        let number = u32::from_str_radix(name, 16).ok().map(|number| number & 0x3ff);
        LANGUAGES.iter().find(|language| match number {
            Some(number) => language.number == number,
            None => name.split('-').next().is_some_and(|tag| tag.eq_ignore_ascii_case(language.tag)),
        })
    }

    pub(super) fn options(&self, options: &FormatOptions) -> FormatOptions {
        let short = |name: &'static str| name.char_indices().nth(SHORT).map_or(name, |(end, _)| &name[..end]);
        let locale = Locale {
            month_names_full: self.months,
            month_names_short: self.months.map(short),
            day_names_full: self.days,
            day_names_short: self.days.map(short),
            ..options.locale.clone()
        };
        FormatOptions { locale, ..options.clone() }
    }
}

/// A format's code without its language and kinds of digits, and its language.
pub(super) fn without_language(code: &str) -> (String, Option<&'static Language>) {
    let (mut kept, mut language) = (String::new(), None);
    for (number, piece) in code.split('"').enumerate() {
        if number > 0 {
            kept.push('"');
        }
        if number % 2 == 1 {
            kept.push_str(piece);
            continue;
        }
        // Days of the week, eras and halves of the day in East Asian codes.
        let piece =
            piece.replace("aaa", "ddd").replace("ddda", "dddd").replace("ggg", "").replace("上午/下午", "");
        let mut rest = piece.as_str();
        while let Some((before, behind)) = rest.split_once('[') {
            let Some((content, after)) = behind.split_once(']') else { break };
            kept.push_str(before);
            if content.starts_with("$-") {
                language = language.or_else(|| Language::of_bracket(content));
            } else if !content.get(..5).is_some_and(|kind| kind.eq_ignore_ascii_case("DBNum")) {
                kept.extend(["[", content, "]"]);
            }
            rest = after;
        }
        kept.push_str(rest);
    }
    (kept, language)
}
