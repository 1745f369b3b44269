use super::*;
use crate::time::MicroTime;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use std::format;
use std::string::{String, ToString};

/// Weyl's sequence, mixed: the module of random numbers stands above this one.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    }
}

/// A time in the whole range, or one within hours of a change of the year.
fn any(random: &mut Random) -> WallTime {
    let micros = (i128::from(random.next()) * i128::from(WallTime::MAX.0 - WallTime::MIN.0)) >> 64;
    let time = WallTime(WallTime::MIN.0 + micros as i64);
    if random.next().is_multiple_of(2) {
        return time;
    }
    let (year, _, _) = date::civil_from_days(time.as_unix_seconds().div_euclid(DAY));
    let around = random.next() as i64 % (36 * 3_600 * MICROS);
    let march = date::days_from_civil(i32::try_from(year).unwrap(), 3, 1);
    WallTime::from_unix_micros(i64::from(march) * DAY * MICROS + around)
}

/// What jiff makes of the same number of microseconds. A `Timestamp` ends a day before the year 9999.
fn by_jiff(time: WallTime) -> DateTime {
    DateTime::constant(1970, 1, 1, 0, 0, 0, 0).checked_add(jiff::SignedDuration::from_micros(time.0)).unwrap()
}

#[test]
fn every_day_of_ten_thousand_years_is_the_one_of_jiff() {
    let mut date = jiff::civil::date(0, 1, 1);
    for days in WallTime::MIN.as_unix_seconds() / DAY..=WallTime::MAX.as_unix_seconds() / DAY {
        let (year, month, day) = (i32::from(date.year()), i32::from(date.month()), i32::from(date.day()));
        assert_eq!(date::civil_from_days(days), (year.into(), month.into(), day.into()));
        assert_eq!(i64::from(date::days_from_civil(year, month, day)), days);
        assert_eq!(date::days_of_month(year, month), i32::from(date.days_in_month()));
        date = date.tomorrow().unwrap_or(date);
    }
    assert_eq!(date, jiff::civil::Date::MAX);
}

#[test]
fn any_time_is_written_as_by_jiff_and_read_again() {
    let mut random = Random::new(1);
    for _ in 0..20_000 {
        let time = any(&mut random);
        let (seconds, micros) = (time.to_string(), MicroTime(time).to_string());
        assert_eq!(seconds, format!("{:.0}Z", by_jiff(time)));
        assert_eq!(micros, format!("{:.6}Z", by_jiff(time)));
        assert_eq!(seconds.parse(), Ok(time.truncated_to_seconds()));
        assert_eq!(micros.parse(), Ok(time));
        assert_eq!(format!("{time:?}"), micros);
    }
}

#[test]
fn any_offset_and_any_fraction_are_read_as_by_jiff() {
    let mut random = Random::new(2);
    for _ in 0..20_000 {
        let clock = any(&mut random);
        let digits = usize::try_from(random.next() % 10).unwrap();
        let minutes = (random.next() % 3_000) as i64 - 1_500;
        let sign = if minutes < 0 { '-' } else { '+' };
        let offset = format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60);
        let nanos = random.next() % 1_000_000_000;
        let fraction = if digits == 0 { String::new() } else { format!(".{}", &format!("{nanos:09}")[..digits]) };
        let text = format!("{}{fraction}{offset}", clock.to_string().trim_end_matches('Z'));
        let expected = text.parse::<Timestamp>().ok().filter(|_| minutes.abs() < 1_440);
        let Some(expected) = expected else { continue };
        let micros = expected.as_nanosecond().div_euclid(1_000);
        assert_eq!(text.parse::<WallTime>().map(|time| i128::from(time.0)), Ok(micros), "{text}");
    }
}

#[test]
fn a_text_with_one_byte_changed_is_never_read_as_another_time_than_by_jiff() {
    let mut random = Random::new(3);
    let mut read = 0;
    for _ in 0..50_000 {
        let mut text = MicroTime(any(&mut random)).to_string().into_bytes();
        let at = random.next() as usize % text.len();
        text[at] = b"0123456789-+:.,TtZz [w"[random.next() as usize % 22];
        let text = String::from_utf8(text).unwrap();
        let Ok(time) = text.parse::<WallTime>() else { continue };
        let pieces = Pieces::parse(&text).unwrap();
        assert_eq!(by_jiff(time), pieces.date().to_datetime(pieces.time().unwrap()), "{text}");
        read += 1;
    }
    assert!(read > 10_000, "{read}");
}

#[test]
fn the_forms_that_kubernetes_writes_are_read() {
    let expected = WallTime::from_unix_micros(1_795_347_288_000_000);
    for text in [
        "2026-11-22T11:34:48Z",
        "2026-11-22T11:34:48.000000Z",
        "2026-11-22T11:34:48.000000999Z",
        "2026-11-22T11:34:48+00:00",
        "2026-11-22T11:34:48-00:00",
        "2026-11-22T13:04:48+01:30",
        "2026-11-21T23:34:48-12:00",
        "2026-11-22t11:34:48z",
        "2026-11-22 11:34:48Z",
    ] {
        assert_eq!(text.parse(), Ok(expected), "{text}");
    }
    assert_eq!("2016-12-31T23:59:60Z".parse(), Ok(WallTime::from_unix_seconds(1_483_228_799)), "a leap second");
    assert_eq!("0001-01-01T00:00:00Z".parse(), Ok(WallTime::from_unix_seconds(-62_135_596_800)), "Go's zero");
}

#[test]
fn what_is_no_time_by_rfc_3339_is_refused() {
    for text in [
        "",
        "soon",
        "2026-11-22",
        "2026-11-22T11:34Z",
        "2026-11-22T11:34:48",
        "2026-11-22T11:34:48.Z",
        "2026-11-22T11:34:48,5Z",
        "2026-11-22T11:34:48ZZ",
        "2026-11-22T11:34:48Z[UTC]",
        "2026-11-22T11:34:48+0100",
        "2026-11-22T11:34:48+24:00",
        "2026-11-22T11:34:48+01:60",
        "2026-11-22T24:00:00Z",
        "2026-11-22T11:60:00Z",
        "2026-11-22T11:34:61Z",
        "2026-11-31T11:34:48Z",
        "2026-02-29T11:34:48Z",
        "2100-02-29T11:34:48Z",
        "2026-00-22T11:34:48Z",
        "2026-11-00T11:34:48Z",
        "+2026-11-22T11:34:48Z",
        "12026-11-22T11:34:48Z",
        "-001-11-22T11:34:48Z",
        "2026-+1-22T11:34:48Z",
        "２026-11-22T11:34:48Z",
    ] {
        assert_eq!(text.parse::<WallTime>(), Err(ParseWallTimeError), "{text}");
    }
}

#[test]
fn arithmetic_and_offsets_end_where_the_years_have_more_than_four_digits() {
    assert_eq!(WallTime::MIN.to_string(), "0000-01-01T00:00:00Z");
    assert_eq!(MicroTime(WallTime::MAX).to_string(), "9999-12-31T23:59:59.999999Z");
    assert_eq!(WallTime::MAX + Duration::from_micros(1), WallTime::MAX);
    assert_eq!(WallTime::MIN - Duration::from_micros(1), WallTime::MIN);
    assert_eq!((WallTime::MIN + Duration::MAX, WallTime::MAX - Duration::MAX), (WallTime::MAX, WallTime::MIN));
    assert_eq!(WallTime::from_unix_seconds(i64::MAX), WallTime::MAX);
    assert_eq!(WallTime::from_unix_millis(i64::MIN), WallTime::MIN);
    assert_eq!("9999-12-31T23:59:59-10:00".parse(), Ok(WallTime::MAX));
    assert_eq!("0000-01-01T00:00:00+10:00".parse(), Ok(WallTime::MIN));
}

#[test]
fn units_before_1970_are_rounded_down() {
    let time = WallTime::UNIX_EPOCH - Duration::from_micros(1);
    assert_eq!((time.as_unix_micros(), time.as_unix_millis(), time.as_unix_seconds()), (-1, -1, -1));
    assert_eq!(MicroTime(time).to_string(), "1969-12-31T23:59:59.999999Z");
    assert_eq!(time.truncated_to_seconds(), WallTime::from_unix_millis(-1_000));
    assert_eq!(WallTime::UNIX_EPOCH.saturating_since(time), Duration::from_micros(1));
    assert_eq!(time.saturating_since(WallTime::UNIX_EPOCH), Duration::ZERO);
    let range = WallTime::MAX.saturating_since(WallTime::MIN);
    assert_eq!(WallTime::MIN + range, WallTime::MAX);
}

#[test]
#[cfg(feature = "json")]
fn json_has_seconds_or_microseconds_and_null_is_no_time() {
    let time = WallTime::from_unix_micros(1_795_347_288_250_000);
    assert_eq!(serde_json::to_string(&time).unwrap(), r#""2026-11-22T11:34:48Z""#);
    assert_eq!(serde_json::to_string(&MicroTime(time)).unwrap(), r#""2026-11-22T11:34:48.250000Z""#);
    assert_eq!(serde_json::from_str::<MicroTime>(r#""2026-11-22T11:34:48.250000Z""#).unwrap(), MicroTime(time));
    assert_eq!(serde_json::from_str::<Option<WallTime>>("null").unwrap(), None);
    let error = serde_json::from_str::<WallTime>(r#""soon""#).unwrap_err();
    let expected =
        r#"invalid value: string "soon", expected a date and time by RFC 3339, such as 2026-11-22T11:34:48Z"#;
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
#[cfg(feature = "std")]
fn the_machines_time_is_rounded_down() {
    use std::time::SystemTime;
    let nanosecond = Duration::from_nanos(1);
    assert_eq!(WallTime::from(SystemTime::UNIX_EPOCH), WallTime::UNIX_EPOCH);
    assert_eq!(WallTime::from(SystemTime::UNIX_EPOCH + nanosecond), WallTime::UNIX_EPOCH);
    assert_eq!(WallTime::from(SystemTime::UNIX_EPOCH - nanosecond), WallTime::from_unix_micros(-1));
    assert_eq!(WallTime::from(SystemTime::UNIX_EPOCH - 1_000 * nanosecond), WallTime::from_unix_micros(-1));
}
