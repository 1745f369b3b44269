//! An API server that keeps Events.

use listwatch_core::api::{ApiRequest, ApiResponse, Method};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The Events, by name, and what reached the server.
#[derive(Clone, Debug, Default)]
pub struct EventServer {
    events: BTreeMap<String, Value>,
    /// The greatest count of each Event, also of one that the server forgot.
    reached: BTreeMap<String, u64>,
}

impl EventServer {
    /// Does what a request asks.
    pub fn serve(&mut self, request: &ApiRequest) -> ApiResponse {
        let (name, body) = read_event(request);
        match (request.method, self.events.get_mut(&name)) {
            (Method::Post, Some(_)) => return refusal(409, "AlreadyExists"),
            (Method::Post, None) => _ = self.events.insert(name.clone(), body.clone()),
            (_, None) => {
                // What a request says has reached the server, although there is no Event any more.
                self.note(name, &body);
                return refusal(404, "NotFound");
            }
            (_, Some(event)) => event["series"] = body["series"].clone(),
        }
        self.note(name, &body);
        ApiResponse::new(200, *b"{}")
    }

    /// Forgets an Event, as a server does after an hour. False if there is none of this number.
    pub fn forget(&mut self, which: usize) -> bool {
        let name = self.events.keys().nth(which).cloned();
        name.is_some_and(|name| self.events.remove(&name).is_some())
    }

    /// Counts what reaches the server from now on.
    pub fn count_anew(&mut self) {
        self.reached.clear();
    }

    /// The occurrences that the Events stood for.
    #[must_use]
    pub fn reached(&self) -> u64 {
        self.reached.values().sum()
    }

    fn note(&mut self, name: String, body: &Value) {
        let reached = self.reached.entry(name).or_default();
        *reached = event_count(body).max(*reached);
    }
}

/// The name of the Event that a request writes, and the body.
///
/// # Panics
/// If the request has no JSON, or no name.
#[must_use]
pub fn read_event(request: &ApiRequest) -> (String, Value) {
    let body: Value = serde_json::from_slice(&request.body).expect("the body is JSON");
    let name = match request.method {
        Method::Post => body["metadata"]["name"].as_str(),
        _ => request.path.rsplit('/').next(),
    };
    (name.expect("a name").to_owned(), body)
}

/// How many occurrences an Event stands for.
#[must_use]
pub fn event_count(event: &Value) -> u64 {
    event["series"]["count"].as_u64().unwrap_or(1)
}

fn refusal(status: u16, reason: &str) -> ApiResponse {
    ApiResponse::new(status, json!({ "kind": "Status", "reason": reason, "code": status }).to_string())
}
