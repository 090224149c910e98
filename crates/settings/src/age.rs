use std::time::Duration;

/// Parses an age such as `90d`, `12h` or `2w`.
pub fn parse_age(text: &str) -> Result<Duration, String> {
    let invalid = || format!("`{text}` is not an age; ages look like 90d, 2w or 12h");
    let (number, hours) = [("h", 1), ("d", 24), ("w", 7 * 24)]
        .into_iter()
        .find_map(|(unit, hours)| Some((text.strip_suffix(unit)?, hours)))
        .ok_or_else(invalid)?;
    let number: u64 = number.parse().map_err(|_| invalid())?;
    number.checked_mul(hours * 3_600).map(Duration::from_secs).ok_or_else(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_hours_days_and_weeks() {
        let hours = |text| parse_age(text).map(|age| age.as_secs() / 3_600).ok();
        assert_eq!(hours("12h"), Some(12));
        assert_eq!(hours("90d"), Some(90 * 24));
        assert_eq!(hours("2w"), Some(14 * 24));
        for invalid in ["", "d", "12", "1m", "-1d", "1.5h", "1 d", "ä", "18446744073709551615w"] {
            assert_eq!(hours(invalid), None, "{invalid}");
        }
    }
}
