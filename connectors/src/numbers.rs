/// A number with commas between thousands, as messages write it.
#[must_use]
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        let shown = [0, 999, 8_192, 10_000, 100_000, 1_000_000].map(grouped);
        assert_eq!(shown, ["0", "999", "8,192", "10,000", "100,000", "1,000,000"]);
    }
}
