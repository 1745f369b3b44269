//! What goes wrong with requests, because a test asks for it.

use super::refusal::Refusal;
use std::collections::VecDeque;

/// What becomes of a request that [`SimulatedCluster::fail_next`](crate::SimulatedCluster::fail_next) lets fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The server refuses it with this status from 400 to 599, such as 403, 409, 429 or 500. Nothing is changed.
    Refused(u16),
    /// The server processes it, and the connection breaks before the answer arrives.
    Lost,
    /// The connection is refused, so nothing is changed.
    Unreachable,
    /// It never arrives, and no answer comes: the caller's deadline ends it.
    Silent,
}

impl Fault {
    /// The reason why no server refuses so; `None` if one does.
    pub(super) fn why_impossible(self) -> Option<String> {
        let Self::Refused(code) = self else { return None };
        let is_possible = (400..600).contains(&code);
        (!is_possible).then(|| format!("{code} is no status of a refusal; give one from 400 to 599, such as 409"))
    }
}

/// The faults to come.
#[derive(Debug, Default)]
pub(super) struct Faults(VecDeque<(String, Fault)>);

impl Faults {
    pub(super) fn push(&mut self, requests: &str, fault: Fault) {
        self.0.push_back((requests.to_owned(), fault));
    }

    /// Takes the first fault for a request, of which `line` has the method and the path.
    pub(super) fn take(&mut self, line: &str) -> Option<Fault> {
        let place = self.0.iter().position(|(requests, _)| begins(line, requests))?;
        self.0.remove(place).map(|(_, fault)| fault)
    }

    /// The requests that have not failed yet.
    pub(super) fn left(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(requests, _)| requests.as_str())
    }
}

/// Whether a line begins with these words and segments of a path, as a whole.
fn begins(line: &str, requests: &str) -> bool {
    line.strip_prefix(requests).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '/']))
}

/// The refusal with a status, with the reason and the message that a server gives for it.
pub(super) fn refusal(code: u16) -> Refusal {
    let (reason, message) = match code {
        400 => ("BadRequest", "the request is invalid"),
        401 => ("Unauthorized", "Unauthorized"),
        403 => ("Forbidden", "the request is forbidden"),
        404 => ("NotFound", "the server could not find the requested resource"),
        409 => {
            ("Conflict", "the object has been modified; please apply your changes to the latest version and try again")
        }
        410 => ("Expired", "the requested version is too old"),
        422 => ("Invalid", "the object is invalid"),
        429 => ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
        500 => ("InternalError", "an error on the server has prevented the request from succeeding"),
        503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
        504 => ("Timeout", "the server was unable to return a response in the time allotted"),
        _ => ("Unknown", "the server refuses the request"),
    };
    Refusal::new(code, reason, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_for_the_first_request_that_begins_with_its_words() {
        let mut faults = Faults::default();
        faults.push("PATCH /api/v1/namespaces/web/pods/a", Fault::Refused(409));
        faults.push("PATCH", Fault::Lost);
        assert_eq!(faults.take("POST /api/v1/namespaces/web/pods"), None);
        assert_eq!(faults.take("PATCH /api/v1/namespaces/web/pods/ab"), Some(Fault::Lost));
        assert_eq!(faults.left().collect::<Vec<_>>(), ["PATCH /api/v1/namespaces/web/pods/a"]);
        assert_eq!(faults.take("PATCH /api/v1/namespaces/web/pods/a/status"), Some(Fault::Refused(409)));
        assert_eq!(faults.take("PATCH /api/v1/namespaces/web/pods/a"), None);
    }

    #[test]
    fn only_an_error_status_can_be_a_refusal() {
        for (code, is_possible) in [(0, false), (200, false), (399, false), (400, true), (599, true), (600, false)] {
            assert_eq!(Fault::Refused(code).why_impossible().is_none(), is_possible, "{code}");
        }
    }
}
