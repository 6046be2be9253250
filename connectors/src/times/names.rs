//! Words and signs that dates and times are written with.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use jiff::civil::Weekday;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Names and their usual abbreviations.
///
/// Those of two months, as `listopada` (October and November), are left out.
const MONTH_NAMES: [&str; 12] = [
    "january januar januari janvier janeiro januarie jänner gennaio enero gener ianuarie styczeń stycznia leden ledna \
     siječanj siječnja tammikuu tammikuuta jaanuar ocak január januára janúar январь января январи січень січня ιανουάριος \
     ιανουαρίου jan jän jen janv ene gen ian sty tammi oca янв січ ιαν",
    "february februar februari feber février fevereiro febbraio febrero febrer februarie luty lutego únor února veljača \
     veljače helmikuu helmikuuta veebruar şubat február februára febrúar pebruari февраль февраля февруари лютий лютого \
     φεβρουάριος φεβρουαρίου feb febr fév févr fev lut úno helmi şub фев февр лют φεβ",
    "march märz maerz mars marzo março març maart marts martie marzec marca mart březen března ožujak ožujka maaliskuu \
     maaliskuuta märts március marec maret март марта березень березня μάρτιος μαρτίου mar mär mrz mrt márc bře maalis \
     мар бер μαρ",
    "april avril abril aprile aprilie kwiecień kwietnia duben dubna travanj travnja huhtikuu huhtikuuta aprill nisan \
     április apríl apríla апрель апреля април квітень квітня απρίλιος απριλίου apr avr abr kwi huhti nis ápr апр кві квіт απρ",
    "may mai maj maja maggio mayo maio maig mei květen května svibanj svibnja toukokuu toukokuuta mayıs május máj mája maí \
     май мая травень травня μάιος μαΐου mag kvě touko тра трав μάι",
    "june juni juin junho junio giugno juny iunie czerwiec czerwca červen června lipanj lipnja kesäkuu kesäkuuta juuni \
     haziran június jún júna júní junij июнь июня юни червень червня ιούνιος ιουνίου jun giu iun cze čvn kesä haz июн чер черв \
     ιουν",
    "july juli juillet julho julio luglio juliol iulie lipiec lipca červenec července srpanj srpnja heinäkuu heinäkuuta \
     juuli temmuz július júl júla júlí julij julai июль июля юли липень липня ιούλιος ιουλίου jul juil juill lug iul čvc heinä \
     tem июл лип ιουλ",
    "august août agosto agost augusti augustus sierpień sierpnia srpen srpna kolovoz kolovoza elokuu elokuuta ağustos \
     augusztus augusta ágúst agustus avgust ogos август августа серпень серпня αύγουστος αυγούστου aug aoû ago agt ağu sie \
     elo авг сер серп αυγ",
    "september septembre setembro septiembre setiembre settembre setembre septembrie wrzesień września září rujan rujna \
     syyskuu syyskuuta eylül szeptember septembra septembar сентябрь сентября септември вересень вересня σεπτέμβριος \
     σεπτεμβρίου sep sept set wrz zář syys eyl szept сен сент вер σεπ σεπτ",
    "october oktober octobre outubro octubre ottobre octombrie październik października říjen října lokakuu lokakuuta \
     oktoober ekim október októbra oktobar октябрь октября октомври жовтень жовтня οκτώβριος οκτωβρίου oct okt ott out paź \
     říj loka eki окт жов жовт οκτ",
    "november novembre novembro noviembre noiembrie listopadu studeni studenoga studenog marraskuu marraskuuta kasım \
     novembra novembar nóvember ноябрь ноября ноември листопад листопада νοέμβριος νοεμβρίου nov marras kas ноя нояб лис лист νοε",
    "december dezember décembre dezembro diciembre dicembre desember desembre decembrie grudzień grudnia prosinec prosince \
     prosinac prosinca joulukuu joulukuuta detsember aralık decembra decembar disember декабрь декабря декември грудень \
     грудня δεκέμβριος δεκεμβρίου dec dez déc dic des gru joulu ara дек гру груд δεκ",
];

static MONTHS: LazyLock<HashMap<String, i8>> = LazyLock::new(|| {
    let of_month =
        |(month, names): (i8, &'static str)| names.split(' ').map(move |name| (plain(name), month));
    (1..).zip(MONTH_NAMES).flat_map(of_month).collect()
});
/// Minutes east of UTC, and the abbreviations of their zones.
///
/// RFC 2822 §4.3 has some; the others are common in feeds.
const ZONES: [(i32, &str); 35] = [
    (-720, "aoe"),
    (-660, "sst"),
    (-600, "hst"),
    (-540, "akst hdt"),
    (-480, "pst pt akdt"),
    (-420, "mst mt pdt"),
    (-360, "cst ct mdt"),
    (-300, "est et cdt cot pet ect"),
    (-240, "clt ast edt bot vet pyt"),
    (-210, "nst"),
    (-180, "art brt adt clst uyt pyst"),
    (-150, "ndt"),
    (-120, "brst fnt"),
    (0, "z ut utc gmt wet"),
    (60, "west bst cet met mez wat"),
    (120, "cest mest mesz eet sast cat"),
    (180, "eest msk trt eat"),
    (210, "irst"),
    (240, "msd gst samt azt"),
    (270, "aft"),
    (300, "pkt uzt yekt mvt"),
    (330, "ist slst"),
    (345, "npt"),
    (360, "omst"),
    (390, "mmt"),
    (420, "ict wib novt krat"),
    (480, "hkt sgt pht awst wita myt irkt ulat"),
    (540, "jst kst wit yakt"),
    (570, "acst"),
    (600, "aest pgt vlat chst"),
    (630, "acdt"),
    (660, "aedt magt sakt"),
    (720, "nzst fjt pett"),
    (780, "nzdt"),
    (840, "lint"),
];
/// Words that say nothing.
const FILLERS: &str = "at um uhr of de du del le la el den der kl klo a à às alle the on hrs h t st nd rd th er o v r в о ч г р lúc \
    στις saat pukul ora ore orele mo di mi do fr sa so lun mar mer jeu ven sam dim mie jue vie sab dom gio";
/// Beginnings of Chinese weekdays.
const CHINESE_WEEKDAYS: [&str; 4] = ["星期", "礼拜", "周", "週"];
/// Weekdays from Monday in English, German, French, Spanish, Italian, Turkish and Hungarian.
const WEEKDAYS: [&str; 7] = [
    "mon monday montag lundi lunes lunedì pazartesi hétfő",
    "tue tues tuesday dienstag mardi martes martedì salı kedd",
    "wed wednesday mittwoch mercredi miércoles mercoledì çarşamba szerda",
    "thu thur thurs thursday donnerstag jeudi jueves giovedì perşembe csütörtök",
    "fri friday freitag vendredi viernes venerdì cuma péntek",
    "sat saturday samstag samedi sábado sabato cumartesi szombat",
    "sun sunday sonntag dimanche domingo domenica pazar vasárnap",
];
/// Hours of the parts of a day, and their names.
const DAY_PERIODS: [(Range<i32>, &str); 7] = [
    (0..12, "am πμ 上午 午前 오전"),
    (12..24, "pm μμ 下午 午後 오후"),
    (0..6, "凌晨 새벽"),
    (4..12, "早上 早晨 清晨 아침"),
    (10..15, "中午"),
    (15..21, "傍晚"),
    (17..24, "晚上 저녁"),
];
/// Characters behind a number that say what it counts.
pub(super) const UNITS: [char; 15] =
    ['年', '년', '月', '월', '日', '일', '時', '时', '点', '시', '分', '분', '秒', '초', '号'];

/// Hours of the part of a day; a weekday may stand before it without a space.
pub(super) fn day_period(word: &str) -> Option<Range<i32>> {
    let is_named = |name: &str| word == name || (!name.is_ascii() && word.ends_with(name));
    DAY_PERIODS.into_iter().find(|(_, names)| names.split(' ').any(is_named)).map(|(hours, _)| hours)
}

/// Whether the word says nothing about the hour behind it.
pub(super) fn is_filler(word: &str) -> bool {
    is_one_of(FILLERS, word)
        || word.starts_with(UNITS)
        || CHINESE_WEEKDAYS.iter().any(|day| word.starts_with(day))
        || weekday(word).is_some()
}

/// Minutes east of UTC of a zone by letters.
pub(super) fn zone(word: &str) -> Option<i32> {
    // Single letters say nothing (RFC 2822 §4.3).
    let is_military = word.len() == 1 && word.is_ascii();
    let known = ZONES.iter().find(|(_, names)| is_one_of(names, word)).map(|(minutes, _)| *minutes);
    known.or(is_military.then_some(0))
}

pub(super) fn weekday(word: &str) -> Option<Weekday> {
    let (number, _) = (1..).zip(WEEKDAYS).find(|(_, names)| is_one_of(names, word))?;
    Weekday::from_monday_one_offset(number).ok()
}

fn is_one_of(words: &str, word: &str) -> bool {
    words.split(' ').any(|other| other == word)
}

/// The month whose name the word is, with or without its accents.
pub(super) fn month(word: &str) -> Option<i8> {
    MONTHS.get(&plain(word)).copied()
}

fn plain(word: &str) -> String {
    word.nfd()
        .filter(|character| !is_combining_mark(*character))
        .map(|character| if character == 'ı' { 'i' } else { character })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_of_one_month() {
        for (number, names) in (1..).zip(MONTH_NAMES) {
            for name in names.split(' ') {
                assert_eq!(month(name), Some(number), "{name}");
            }
        }
    }
}
