//! The Gregorian calendar, for every year: Howard Hinnant, "`chrono`-Compatible Low-Level Date Algorithms". Days are
//! counted in eras of 400 years that begin on the first of March, so that the leap day is the last of its year.

const DAYS_OF_ERA: i64 = 146_097;

/// The days from the first of March of the year 0 to the first of January 1970.
const TO_1970: i64 = 719_468;

/// The days from 1970 to a date, of a year of at most six digits. A division of 64 bits would take 1 KB of a device's flash.
pub(super) fn days_from_civil(year: i32, month: i32, day: i32) -> i32 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_OF_ERA as i32 + day_of_era - TO_1970 as i32
}

/// Year, month and day of a number of days from 1970.
pub(super) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + TO_1970;
    let (era, day_of_era) = (days.div_euclid(DAYS_OF_ERA), days.rem_euclid(DAYS_OF_ERA));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

/// How many days a month has.
pub(super) fn days_of_month(year: i32, month: i32) -> i32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
