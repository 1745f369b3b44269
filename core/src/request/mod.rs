//! Resources, and the requests that list and watch them.

#[cfg(feature = "alloc")]
mod confidential;
mod percent;
mod resource;
mod token;

#[cfg(all(feature = "alloc", any(feature = "json", feature = "fixed")))]
pub(crate) use confidential::WITHHELD;
#[cfg(feature = "alloc")]
pub use confidential::is_confidential;
pub(crate) use percent::PercentEncoded;
#[cfg(feature = "alloc")]
pub use percent::{percent_decode, percent_decode_bytes};
#[cfg(feature = "alloc")]
pub use resource::ParseResourceError;
pub use resource::Resource;
pub use token::Token;

use crate::object::Version;

use core::fmt::{self, Write};
#[cfg(feature = "alloc")]
use core::str::FromStr;
use core::time::Duration;

/// The number of a request. The machine that makes the request chooses it and never uses it twice. Input for an old
/// request is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RequestId(pub u64);

/// One request of the list-watch protocol; a transport adds the server and the credentials.
///
/// [`Display`](fmt::Display) writes the request target; [`Request::parse`] reads one back.
///
/// ```
/// use listwatch_core::request::{Request, Verb};
/// use listwatch_core::Resource;
///
/// let request = Request {
///     resource: Resource::new("/api/v1/pods").with_label_selector("app in (a,b)"),
///     verb: Verb::List { limit: Some(500), continue_token: None, resource_version: None },
/// };
/// assert_eq!(request.to_string(), "/api/v1/pods?labelSelector=app%20in%20%28a%2Cb%29&limit=500");
/// assert_eq!(Request::parse(&request.to_string()), request);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The collection.
    pub resource: Resource,
    /// List or watch, with its parameters.
    pub verb: Verb,
}

/// List or watch, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Reads the collection, or a page of it.
    List {
        /// How many objects a page has at most; `None` for all of them in one response.
        limit: Option<u32>,
        /// The continue token of the page before.
        continue_token: Option<Token>,
        /// The minimum version (`resourceVersionMatch=NotOlderThan`); `None` for the most recent state.
        resource_version: Option<Version>,
    },
    /// Streams the changes after a version.
    Watch {
        /// The version after which the changes begin; `None` for the most recent one.
        resource_version: Option<Version>,
        /// After how long the server ends the response (`timeoutSeconds`); `None` for the server's default.
        timeout: Option<Duration>,
        /// Whether the stream begins with the state of every object (watch-list).
        initial_events: bool,
    },
}

/// The three kinds of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Query {
    /// A list, or a page of one.
    List,
    /// A watch.
    Watch,
    /// A watch that begins with the initial events.
    WatchList,
}

impl Request {
    /// The kind of the request.
    #[must_use]
    pub fn query(&self) -> Query {
        match self.verb {
            Verb::List { .. } => Query::List,
            Verb::Watch { initial_events: false, .. } => Query::Watch,
            Verb::Watch { initial_events: true, .. } => Query::WatchList,
        }
    }

    /// The token of the requested page; `None` for the first page and for a watch.
    #[must_use]
    pub fn continue_token(&self) -> Option<&str> {
        match &self.verb {
            Verb::List { continue_token, .. } => continue_token.as_deref(),
            Verb::Watch { .. } => None,
        }
    }

    /// The value of the `Accept` header. A server that does not support metadata alone, or Tables, sends whole objects.
    ///
    /// ```
    /// use listwatch_core::request::Request;
    /// use listwatch_core::Resource;
    ///
    /// let mut request = Request::parse("/api/v1/pods?limit=500");
    /// assert_eq!(request.accept(), "application/json");
    /// request.resource = request.resource.metadata_only();
    /// let (metadata, _) = request.accept().split_once(',').unwrap();
    /// assert_eq!(metadata, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    /// ```
    #[must_use]
    pub fn accept(&self) -> &'static str {
        match (self.resource.is_metadata_only(), self.resource.is_table(), self.query()) {
            (false, false, _) => "application/json",
            (true, false, Query::List) => {
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
            }
            (true, false, Query::Watch | Query::WatchList) => {
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
            }
            (_, true, _) => "application/json;as=Table;g=meta.k8s.io;v=v1,application/json",
        }
    }

    /// Parses a request target. Unknown parameters are ignored.
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn parse(target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let value = |name: &str| {
            let found = query.split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name));
            found.map(|(_, value)| percent_decode(value)).filter(|value| !value.is_empty())
        };
        let number = |name: &str| value(name).and_then(|value| value.parse::<u32>().ok());
        let flag = |name: &str| matches!(value(name).as_deref(), Some("1" | "true"));
        let version = || value("resourceVersion").as_deref().map(Version::from);
        let (labels, fields) = (value("labelSelector"), value("fieldSelector"));
        let resource = Resource::new(path)
            .with_label_selector(labels.as_deref().unwrap_or_default())
            .with_field_selector(fields.as_deref().unwrap_or_default());
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
                continue_token: value("continue").as_deref().map(Token::from),
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

    #[test]
    fn metadata_only_is_asked_for_in_the_words_of_each_query() {
        let accepted = |target: &str| {
            let Request { resource, verb } = Request::parse(target);
            Request { resource: resource.metadata_only(), verb }.accept()
        };
        assert!(accepted("/pods?limit=7").starts_with("application/json;as=PartialObjectMetadataList;"));
        for target in ["/pods?watch=1&resourceVersion=5", "/pods?watch=1&sendInitialEvents=true"] {
            assert!(accepted(target).starts_with("application/json;as=PartialObjectMetadata;"), "{target}");
        }
        assert!(accepted("/pods").ends_with(",application/json"), "whole objects are better than a 406");
    }

    #[test]
    fn a_table_is_asked_for_with_what_its_rows_have_of_their_objects() {
        for (resource, included) in [
            (Resource::new("/pods").as_table(), "includeObject=Object"),
            (Resource::new("/pods").as_table().metadata_only(), "includeObject=Metadata"),
        ] {
            for verb in [
                Verb::List { limit: Some(7), continue_token: None, resource_version: None },
                Verb::Watch { resource_version: Some("12".into()), timeout: None, initial_events: false },
            ] {
                let request = Request { resource: resource.clone(), verb };
                assert!(request.accept().starts_with("application/json;as=Table;"), "{request}");
                assert!(request.to_string().contains(included), "{request}");
                assert_eq!(Request::parse(&request.to_string()), request);
            }
        }
    }
}
