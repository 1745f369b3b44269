//! Resources, and the requests that list and watch them.

#[cfg(feature = "alloc")]
mod confidential;
mod percent;
mod resource;
mod target;

#[cfg(feature = "alloc")]
pub use confidential::is_confidential;
#[cfg(feature = "json")]
pub(crate) use percent::PercentEncoded;
#[cfg(feature = "alloc")]
pub use percent::{percent_decode, percent_decode_bytes};
#[cfg(feature = "alloc")]
pub use resource::ParseResourceError;
pub use resource::Resource;

use crate::object::Version;
use crate::text::SharedText;
use core::time::Duration;

/// The number of a request. The machine that makes the request chooses it and never uses it twice. Input for an old
/// request is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RequestId(pub u64);

/// One request of the list-watch protocol; a transport adds the server and the credentials.
///
/// [`Display`](core::fmt::Display) writes the request target; [`Request::parse`] reads one back.
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
        /// The continue token of the page before, at which this one begins.
        continue_token: Option<SharedText>,
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
    pub fn query(&self) -> Query {
        match self.verb {
            Verb::List { .. } => Query::List,
            Verb::Watch { initial_events: false, .. } => Query::Watch,
            Verb::Watch { initial_events: true, .. } => Query::WatchList,
        }
    }

    /// The token of the requested page; `None` for the first page and for a watch.
    pub fn continue_token(&self) -> Option<&str> {
        match &self.verb {
            Verb::List { continue_token, .. } => continue_token.as_deref(),
            Verb::Watch { .. } => None,
        }
    }

    /// The value of the `Accept` header. A server that does not support metadata alone, or Tables, sends whole objects. One
    /// that cannot leave out `managedFields` sends them.
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
    pub fn accept(&self) -> &'static str {
        let [whole, unmanaged] = match (self.resource.is_metadata_only(), self.resource.is_table(), self.query()) {
            (false, false, _) => ["application/json", "application/json;drop=metadata.managedFields,application/json"],
            (true, false, Query::List) => accepted!("PartialObjectMetadataList"),
            (true, false, Query::Watch | Query::WatchList) => accepted!("PartialObjectMetadata"),
            (_, true, _) => accepted!("Table"),
        };
        if self.resource.is_without_managed_fields() { unmanaged } else { whole }
    }
}

/// What is accepted of another form of objects: with their `managedFields`, and without.
macro_rules! accepted {
    ($form:literal) => {
        [
            concat!("application/json;as=", $form, ";g=meta.k8s.io;v=v1,application/json"),
            concat!(
                concat!("application/json;as=", $form, ";g=meta.k8s.io;v=v1;drop=metadata.managedFields,"),
                concat!("application/json;as=", $form, ";g=meta.k8s.io;v=v1,application/json")
            ),
        ]
    };
}
use accepted;

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;

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
    fn managed_fields_are_dropped_from_each_form_and_a_server_may_send_them_nevertheless() {
        let pods = Resource::new("/pods").without_managed_fields(true);
        assert_eq!(pods, Resource::new("/pods"), "it has the same objects");
        for resource in [pods.clone(), pods.clone().metadata_only(), pods.as_table()] {
            for target in ["/pods", "/pods?watch=1&resourceVersion=5"] {
                let Request { verb, .. } = Request::parse(target);
                let dropping = Request { resource: resource.clone(), verb: verb.clone() }.accept();
                let whole = Request { resource: resource.clone().without_managed_fields(false), verb }.accept();
                let (form, _) = whole.split_once(',').unwrap_or((whole, ""));
                assert_eq!(dropping, format!("{form};drop=metadata.managedFields,{whole}"));
            }
        }
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
