//! What a server, a proxy and a plugin have seen of one program.

use std::collections::BTreeSet;
use std::mem;
use std::sync::{Mutex, MutexGuard};

/// One request, as the server sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) authorization: String,
    /// The headers that impersonate, each with its value, in order.
    pub(super) impersonation: String,
    /// Whose client certificate was shown.
    pub(super) certificate: &'static str,
    /// The name that TLS asked for.
    pub(super) name: String,
}

/// What has been seen since the last [`Log::take`].
#[derive(Default)]
pub(super) struct Log(Mutex<Noted>);

#[derive(Default)]
pub(super) struct Noted {
    pub(super) requests: Vec<Request>,
    /// The connections without a request.
    pub(super) broken: usize,
    /// What proxies were asked.
    pub(super) asked: BTreeSet<String>,
    /// The connections that are open.
    pub(super) open: usize,
}

impl Log {
    pub(super) fn note(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap()
    }

    pub(super) fn take(&self) -> Noted {
        mem::take(&mut self.note())
    }
}

impl Noted {
    /// The request for the objects, behind those of the discovery.
    pub(super) fn resource(&self) -> Option<&Request> {
        self.requests.iter().find(|request| request.path.ends_with("/configmaps"))
    }
}

/// What became of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// It asked for the objects.
    Asks,
    /// It connected, and sent no request: TLS failed, or it took the server for another one.
    Breaks,
    /// It did not connect.
    Refuses,
}

/// What a program did, in words that compare.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) outcome: Outcome,
    pub(super) told: [(Part, String); 7],
}

/// A part of what a program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Whether it connects.
    Outcome,
    Path,
    Authorization,
    Impersonation,
    Certificate,
    /// The name that TLS asked for.
    Name,
    Proxy,
    Plugin,
}

impl Seen {
    pub(super) fn new(noted: &Noted, plugin: String) -> Self {
        let outcome = match noted.resource() {
            Some(_) => Outcome::Asks,
            None if noted.broken > 0 || !noted.requests.is_empty() => Outcome::Breaks,
            None => Outcome::Refuses,
        };
        let all = |part: fn(&Request) -> &str| {
            let different: BTreeSet<&str> = noted.requests.iter().map(part).collect();
            different.into_iter().collect::<Vec<_>>().join(" and ")
        };
        let path = noted.resource().map(|request| request.path.clone()).unwrap_or_default();
        let told = [
            (Part::Path, path),
            (Part::Authorization, all(|request| &request.authorization)),
            (Part::Impersonation, all(|request| &request.impersonation)),
            (Part::Certificate, all(|request| request.certificate)),
            (Part::Name, all(|request| &request.name)),
            (Part::Proxy, noted.asked.iter().cloned().collect::<Vec<_>>().join(" and ")),
            (Part::Plugin, plugin),
        ];
        Self { outcome, told }
    }

    /// Where it differs from another one. If one connects and the other does not, that is the difference.
    pub(super) fn differences(&self, other: &Self) -> Vec<(Part, String, String)> {
        if self.outcome != other.outcome {
            return vec![(Part::Outcome, format!("{:?}", self.outcome), format!("{:?}", other.outcome))];
        }
        let pairs = self.told.iter().zip(&other.told).filter(|(one, another)| one != another);
        pairs.map(|((part, one), (_, another))| (*part, one.clone(), another.clone())).collect()
    }
}
