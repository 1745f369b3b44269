//! Files that are the body of one response: watch logs and lists. They are checked while they are delivered.

mod items;
mod list;
mod watch_log;

pub(crate) use items::foreign_kinds;
pub(crate) use list::ListBody;
pub(crate) use watch_log::{WatchEvent, WatchLog, ends_watch};

pub(crate) const JSON: &str = "application/json";
