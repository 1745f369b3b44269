//! `listwatch serve`.

use super::follow::duration;
use clap::Args;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use listwatch::time::WallTime;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  listwatch serve tonight.jsonl.zst            # goes on while a client watches
  listwatch serve tonight.jsonl.zst --speed 10
  listwatch serve tonight.jsonl.zst --at 12s   # the state then, standing still
  listwatch serve tonight.jsonl.zst --at 2026-11-22T02:00:00Z --speed 1
  listwatch serve tonight.jsonl.zst --at 02:00
  listwatch serve pods.json --writable         # changes are kept in memory

  kubectl -s http://127.0.0.1:8001 get pods -A --watch
  listwatch watch v1/pods --server http://127.0.0.1:8001

A watch from a recorded version goes on exactly there. From a version before --at, and where the \
recording has a gap, watches get a 410, as its own client did. Ctrl-C and SIGTERM end the command.";

/// Serve a recording as a cluster: an API server for kubectl and controllers
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeOptions {
    /// A file of `listwatch record`, lists or objects (`kubectl get -o json` or `-o yaml`), a watch log
    /// (`kubectl get --watch --output-watch-events -o json`, an event a second), or an audit log or a
    /// folder of rotated ones, plain, gzipped or with Zstandard
    pub(crate) file: PathBuf,

    /// Serve objects that do not say their resource, as metadata alone, as those of this one, such as
    /// pods or v1/pods
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    pub(crate) resource: Option<String>,

    /// Begin at this time after the beginning of the recording, at a date or a time of day (in UTC,
    /// unless it has a zone), or at its end; without --speed, time stands still there
    #[arg(long, value_name = "TIME|DATE|end", value_parser = moment, help_heading = "Time")]
    pub(crate) at: Option<Moment>,

    /// Let time pass N times as fast as it was recorded, such as 10 or 0.5 [default: 1, unless --at]
    #[arg(long, value_name = "N", value_parser = speed, help_heading = "Time")]
    pub(crate) speed: Option<f64>,

    /// Let time pass while no client watches, too
    #[arg(long, help_heading = "Time")]
    pub(crate) unattended: bool,

    /// Keep the changes that clients make, in memory; without it, they are refused
    #[arg(long, help_heading = "Server")]
    pub(crate) writable: bool,

    /// The port; 0 for any that is free
    #[arg(long, default_value_t = 8001, value_parser = port, help_heading = "Server")]
    pub(crate) port: u16,

    /// The address; any other than a loopback one shows the recording to the network
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), help_heading = "Server")]
    #[arg(value_parser = ip)]
    pub(crate) address: IpAddr,
}

/// A moment of a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Moment {
    After(Duration),
    Date(WallTime),
    /// A time of the day, since midnight.
    TimeOfDay(Duration),
    End,
}

impl Moment {
    /// The time since a recording began at this date; `None` for its end, and for one that was before.
    pub(crate) fn since(self, began: WallTime) -> Option<Duration> {
        match self {
            Self::End => None,
            Self::After(time) => Some(time),
            Self::Date(date) => (date >= began).then(|| date.saturating_since(began)),
            Self::TimeOfDay(time) => Some(until(began, time)),
        }
    }
}

/// The time from a date until it is that time of the day (UTC) next.
fn until(date: WallTime, time: Duration) -> Duration {
    const DAY: i64 = 24 * 60 * 60 * 1_000_000;
    let time = i64::try_from(time.as_micros()).unwrap_or_default();
    let rest = (time - date.as_unix_micros()).rem_euclid(DAY);
    Duration::from_micros(rest.unsigned_abs())
}

pub(crate) fn moment(text: &str) -> Result<Moment, &'static str> {
    let time_of_day = || {
        let time: Time = text.parse().ok().filter(|_| text.contains(':') && !text.contains('-'))?;
        Duration::try_from(time.duration_since(Time::midnight())).ok().map(Moment::TimeOfDay)
    };
    let in_utc = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok();
    let date = || {
        let date = text.parse().ok();
        let date = date.or_else(|| Some(WallTime::from_unix_micros(in_utc()?.timestamp().as_microsecond())));
        date.map(Moment::Date)
    };
    let found = match text {
        "end" => Some(Moment::End),
        _ => time_of_day().or_else(date).or_else(|| duration(text).ok().map(Moment::After)),
    };
    found.ok_or(
        "give a time such as 12s or 1h30m, a date such as 2026-11-22T02:00:00Z, a time of day such as 02:00, or `end`",
    )
}

fn port(text: &str) -> Result<u16, &'static str> {
    text.parse().map_err(|_| "give a number from 0 to 65535")
}

fn ip(text: &str) -> Result<IpAddr, String> {
    match (text.parse(), text.parse::<SocketAddr>()) {
        (Err(_), Ok(both)) => {
            Err(format!("the port has its own option: --address {} --port {}", both.ip(), both.port()))
        }
        (ip, _) => ip.map_err(|_| "give an IP address such as 127.0.0.1 or ::1".to_owned()),
    }
}

fn speed(text: &str) -> Result<f64, &'static str> {
    let speed = text.parse().ok().filter(|speed| (1e-3..=1e6).contains(speed));
    speed.ok_or("give a number from 0.001 to 1000000")
}
