//! Files that are bodies of responses: logs and lists. They are checked while they are delivered.

mod dates;
mod list;
mod marks;
mod survey;
mod watch_log;

pub(crate) use dates::{Dates, written_at};
pub(crate) use survey::{BodySurvey, INITIAL_EVENTS_END, Logged, LoggedKind, Relist};

pub(crate) use list::ListBody;
pub(crate) use watch_log::{WatchEvent, WatchLog, ends_watch, typed_event};

pub(crate) const JSON: &str = "application/json";
