//! The text of a request: its target, as a path with a query.

#[cfg(feature = "alloc")]
use super::ParseResourceError;
use super::percent::PercentEncoded;
#[cfg(feature = "alloc")]
use super::percent::percent_decode;
use super::{Request, Resource, Verb};
#[cfg(feature = "alloc")]
use crate::object::Version;
#[cfg(feature = "alloc")]
use crate::text::SharedText;
use core::fmt::{self, Write};
#[cfg(feature = "alloc")]
use core::str::FromStr;
#[cfg(feature = "alloc")]
use core::time::Duration;

#[cfg(feature = "alloc")]
impl Request {
    /// Parses a request target. Unknown parameters are ignored.
    pub fn parse(target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let value = |name: &str| {
            let found = query.split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name));
            found.map(|(_, value)| percent_decode(value)).filter(|value| !value.is_empty())
        };
        let number = |name: &str| value(name).and_then(|value| value.parse::<u32>().ok());
        let flag = |name: &str| matches!(value(name).as_deref(), Some("1" | "true"));
        let version = || value("resourceVersion").as_deref().map(Version::from);
        let selector = |name: &str| value(name).unwrap_or_default();
        let resource = Resource::new(path)
            .with_label_selector(&selector("labelSelector"))
            .with_field_selector(&selector("fieldSelector"))
            .with_shard_selector(&selector("shardSelector"));
        let resource = match value("includeObject").as_deref() {
            Some("Object") => resource.as_table(),
            Some("Metadata") => resource.as_table().metadata_only(),
            _ => resource,
        };
        let verb = if flag("watch") {
            Verb::Watch {
                resource_version: version(),
                timeout: number("timeoutSeconds").map(|seconds| Duration::from_secs(seconds.into())),
                initial_events: flag("sendInitialEvents"),
            }
        } else {
            Verb::List {
                limit: number("limit"),
                continue_token: value("continue").map(SharedText::from),
                resource_version: version(),
            }
        };
        Self { resource, verb }
    }
}

/// Writes the path, the selectors, and what a Table has of its objects, as a request target has them.
///
/// ```
/// use listwatch_core::Resource;
///
/// let pods = Resource::named("v1/pods")?.with_label_selector("app=web");
/// assert_eq!(pods.to_string(), "/api/v1/pods?labelSelector=app%3Dweb");
/// assert_eq!(pods.to_string().parse(), Ok(pods));
/// # Ok::<(), listwatch_core::request::ParseResourceError>(())
/// ```
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        QueryString::of(self, f).map(drop)
    }
}

/// Reads a name, as [`Resource::named`] does. A text that begins with a slash is a path, with selectors where it has
/// them.
#[cfg(feature = "alloc")]
impl FromStr for Resource {
    type Err = ParseResourceError;

    fn from_str(text: &str) -> Result<Self, ParseResourceError> {
        if text.starts_with('/') { Ok(Request::parse(text).resource) } else { Self::named(text) }
    }
}

/// The same.
#[cfg(feature = "alloc")]
impl TryFrom<&str> for Resource {
    type Error = ParseResourceError;

    fn try_from(text: &str) -> Result<Self, ParseResourceError> {
        text.parse()
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut query = QueryString::of(&self.resource, f)?;
        match &self.verb {
            Verb::List { limit, continue_token, resource_version } => {
                if let Some(limit) = limit {
                    query.number("limit", *limit)?;
                }
                query.text("continue", continue_token.as_deref())?;
                query.text("resourceVersion", resource_version.as_deref())?;
                // A continue token fixes the version by itself, and the server refuses a match rule beside it.
                if resource_version.is_some() && continue_token.is_none() {
                    query.pair("resourceVersionMatch", "NotOlderThan")?;
                }
            }
            Verb::Watch { resource_version, timeout, initial_events } => {
                query.pair("watch", "1")?;
                query.pair("allowWatchBookmarks", "true")?;
                if *initial_events {
                    query.pair("sendInitialEvents", "true")?;
                    query.pair("resourceVersionMatch", "NotOlderThan")?;
                }
                query.text("resourceVersion", resource_version.as_deref())?;
                if let Some(timeout) = timeout {
                    query.number("timeoutSeconds", timeout.as_secs().try_into().unwrap_or(u32::MAX))?;
                }
            }
        }
        Ok(())
    }
}

struct QueryString<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    separator: char,
}

impl<'a, 'b> QueryString<'a, 'b> {
    /// Writes the resource; more parameters may follow.
    fn of(resource: &Resource, f: &'a mut fmt::Formatter<'b>) -> Result<Self, fmt::Error> {
        f.write_str(resource.path())?;
        let mut query = Self { f, separator: '?' };
        query.text("labelSelector", resource.label_selector())?;
        query.text("fieldSelector", resource.field_selector())?;
        query.text("shardSelector", resource.shard_selector())?;
        match (resource.is_table(), resource.is_metadata_only()) {
            (true, false) => query.pair("includeObject", "Object")?,
            (true, true) => query.pair("includeObject", "Metadata")?,
            (false, _) => {}
        }
        Ok(query)
    }

    fn pair(&mut self, name: &str, value: &str) -> fmt::Result {
        self.name(name)?;
        self.f.write_str(value)
    }

    fn text(&mut self, name: &str, value: Option<&str>) -> fmt::Result {
        let Some(value) = value else { return Ok(()) };
        self.name(name)?;
        fmt::Display::fmt(&PercentEncoded(value), self.f)
    }

    /// Digit by digit: the formatting of numbers would take 2 KB of a device's flash.
    fn number(&mut self, name: &str, number: u32) -> fmt::Result {
        self.name(name)?;
        let places = (0..=number.checked_ilog10().unwrap_or_default()).rev();
        let digits = places.map(|place| (number / 10_u32.pow(place) % 10) as u8);
        digits.map(|digit| char::from(b'0' + digit)).try_for_each(|digit| self.f.write_char(digit))
    }

    fn name(&mut self, name: &str) -> fmt::Result {
        self.f.write_char(core::mem::replace(&mut self.separator, '&'))?;
        self.f.write_str(name)?;
        self.f.write_char('=')
    }
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests {
    use super::super::Query;
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_written_request_reads_back() {
        for verb in [
            Verb::List { limit: None, continue_token: None, resource_version: None },
            Verb::List { limit: Some(7), continue_token: Some("a+b/c=".into()), resource_version: None },
            Verb::List { limit: None, continue_token: None, resource_version: Some("12".into()) },
            Verb::Watch { resource_version: Some("12".into()), timeout: None, initial_events: false },
            Verb::Watch { resource_version: None, timeout: Some(Duration::from_secs(290)), initial_events: true },
        ] {
            let resource =
                Resource::new("/api/v1/pods").with_label_selector("a=ü,b!=c").with_field_selector("metadata.name=x");
            let request = Request { resource, verb };
            assert_eq!(Request::parse(&request.to_string()), request);
        }
    }

    #[test]
    fn a_written_resource_reads_back_and_so_does_a_name() {
        for resource in [
            Resource::new("/api/v1/pods"),
            Resource::new("/api/v1/pods").with_field_selector("status.phase!=Running"),
            Resource::new("/x").with_label_selector("a in (b,ü)").with_field_selector("metadata.name=x&y"),
        ] {
            assert_eq!(resource.to_string().parse(), Ok(resource));
        }
        assert_eq!("apps/v1/deployments".parse(), Resource::named("apps/v1/deployments"));
        assert!("pods".parse::<Resource>().is_err());
    }

    #[test]
    fn a_recorded_target_is_understood() {
        let request = Request::parse("/api/v1/pods?labelSelector=app%20in%20(svc-00,svc-01)&limit=2&pretty=1");
        assert_eq!(request.resource.label_selector(), Some("app in (svc-00,svc-01)"));
        assert_eq!(request.query(), Query::List);
        assert_eq!(Request::parse("/x?watch=true&sendInitialEvents=true").query(), Query::WatchList);
        assert_eq!(Request::parse("/x?watch=1&resourceVersion=5").query(), Query::Watch);
    }
}
