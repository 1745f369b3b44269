//! The families of requests.

use super::encoder::Families;
use crate::informers::Asked;
use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Each client once, though several controllers send by it.
pub(super) fn encode(families: &mut Families<'_>, asked: impl Iterator<Item = Asked>) -> fmt::Result {
    let mut clients = Vec::<Asked>::new();
    for it in asked {
        if !clients.iter().any(|known| Arc::ptr_eq(&known.requests, &it.requests)) {
            clients.push(it);
        }
    }
    let mut sums = BTreeMap::<(String, &str, Option<u16>), u64>::new();
    for Asked { host, requests } in clients {
        for ((method, status), count) in requests.counts() {
            *sums.entry((host.clone(), method, status)).or_default() += count;
        }
    }
    let series = sums.into_iter().map(|((host, method, status), count)| {
        // As client-go has it.
        let code = status.map_or_else(|| "<error>".to_owned(), |status| status.to_string());
        (vec![("code", code), ("host", host), ("method", method.to_owned())], count)
    });
    families.counter("rest_client_requests", "Requests by the status of their answers", series)
}
