//! The hours in which a plan may begin (kured `timewindow`).

use jiff::Timestamp;
use jiff::tz::TimeZone;
use listwatch::time::WallTime;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Window {
    #[serde(skip_serializing_if = "Option::is_none")]
    days: Option<Vec<String>>,
    #[serde(default)]
    start_time: String,
    #[serde(default)]
    end_time: String,
    #[serde(default)]
    time_zone: String,
}

impl Window {
    pub fn check(&self) -> Result<(), String> {
        self.contains(WallTime::UNIX_EPOCH).map(drop)
    }

    pub fn contains(&self, time: WallTime) -> Result<bool, String> {
        let days: Vec<_> = self.days.iter().flatten().filter(|it| !it.is_empty()).map(|it| day(it)).collect();
        let days = days.into_iter().collect::<Result<Vec<_>, _>>()?;
        let zone = match &*self.time_zone {
            "" => TimeZone::UTC,
            "Local" => TimeZone::system(),
            name => TimeZone::get(name).map_err(|_| format!("unknown time zone {name}"))?,
        };
        let (start, end) = (seconds(&self.start_time)?, seconds(&self.end_time)?);
        let time = Timestamp::from_second(time.as_unix_seconds()).map_err(|error| error.to_string())?.to_zoned(zone);
        let now = i32::from(time.hour()) * 3600 + i32::from(time.minute()) * 60 + i32::from(time.second());
        let is_day = days.contains(&time.weekday().to_sunday_zero_offset());
        let is_hour = if start <= end { start <= now && now <= end } else { start <= now || now <= end };
        Ok(is_day && is_hour)
    }
}

/// The number of a weekday; that of Sunday is 0.
fn day(text: &str) -> Result<i8, String> {
    const NAMES: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
    if let Ok(number) = text.parse::<i8>() {
        let why = || format!("Invalid weekday, number out of range: {text}");
        return Some(number).filter(|it| (0..7).contains(it)).ok_or_else(why);
    }
    let name = text.to_lowercase();
    let at = NAMES.iter().position(|known| *known == name || [&known[..2], &known[..3]].contains(&&*name));
    at.and_then(|at| i8::try_from(at).ok()).ok_or_else(|| format!("Invalid weekday: {text}"))
}

/// The seconds of a time of day since midnight.
fn seconds(text: &str) -> Result<i32, String> {
    let why = || format!("Invalid time format: {text}");
    let half = ["am", "pm"].into_iter().find(|it| text.ends_with(it));
    let parts: Vec<_> = text[..text.len() - half.map_or(0, str::len)].split(':').collect();
    let number = |part: &str, most: i32| {
        let is_number = (1..=2).contains(&part.len()) && part.bytes().all(|it| it.is_ascii_digit());
        part.parse::<i32>().ok().filter(|it| is_number && *it <= most)
    };
    let of = |at: usize| match parts.get(at) {
        Some(part) => Some(*part).filter(|it| it.len() == 2).and_then(|it| number(it, 59)),
        None => Some(0),
    };
    let hour = number(parts[0], if half.is_some() { 12 } else { 23 }).ok_or_else(why)?;
    let hour = match half {
        Some("pm") if hour < 12 => hour + 12,
        Some("am") if hour == 12 => 0,
        _ => hour,
    };
    let is_long = parts.len() > 3 || (half.is_some() && parts.len() > 2);
    let (minute, second) = of(1).zip(of(2)).filter(|_| !is_long).ok_or_else(why)?;
    Ok(hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(days: &str, start: &str, end: &str) -> Window {
        let days = Some(days.split(',').map(str::to_owned).collect());
        let time_zone = "America/Los_Angeles".to_owned();
        Window { days, start_time: start.to_owned(), end_time: end.to_owned(), time_zone }
    }

    #[test]
    fn it_contains_what_kured_says() {
        let contains = |window: &Window, time: &str| window.contains(time.parse().unwrap()).unwrap();
        let day = window("mon,tue,wed,thu,fri", "9am", "5pm");
        assert!(contains(&day, "2019-04-04T12:00:00-07:00") && !contains(&day, "2019-04-04T11:59:00Z"));
        let night = window("mon,tue,wed,thu,fri", "9pm", "5am");
        assert!(contains(&night, "2019-04-04T00:49:00-07:00") && !contains(&night, "2019-03-31T22:00:00-07:00"));
        let midnight = window("mon,tue,wed,fri", "11:59pm", "00:01am");
        assert!(contains(&midnight, "2019-04-05T00:00:00-07:00") && !contains(&midnight, "2019-04-04T23:59:00-07:00"));
        assert!(window("15", "9am", "5pm").check().is_err() && window("mo", "25", "5pm").check().is_err());
    }
}
