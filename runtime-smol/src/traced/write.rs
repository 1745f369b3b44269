//! What a reconcile writes.

use super::CONTROLLER;
use super::emit::told;
use listwatch_core::api::{ApiRequest, ApiResponse, Method};
use listwatch_core::controller::loops::fields_of;
use listwatch_core::text::Printable;
use tracing::{Level, event};

/// As many fields of a write are told.
const MOST_FIELDS: usize = 64;

/// A request was answered. Reads are not told.
pub(crate) fn answered(request: &ApiRequest, response: &ApiResponse) {
    if request.method == Method::Get {
        return;
    }
    told(|| {
        if is_heard() {
            event!(
                target: CONTROLLER,
                Level::DEBUG,
                method = request.method.name(),
                path = display(Printable::new(request)),
                status = response.status,
                fields = fields(request),
                "{}: {}",
                request.line(),
                response.status
            );
        }
    });
}

/// The fields that the body names. That of a deletion has its options.
fn fields(request: &ApiRequest) -> Option<String> {
    let body = serde_json::from_slice(&request.body).ok().filter(|_| request.method != Method::Delete)?;
    let mut fields = fields_of(&body);
    let more = fields.len().saturating_sub(MOST_FIELDS);
    fields.truncate(MOST_FIELDS);
    let fields = fields.join(" ");
    Some(if more == 0 { fields } else { format!("{fields} and {more} more") })
}

/// Whether somebody may hear of a write: a subscriber, or a logger by tracing's feature `log`.
fn is_heard() -> bool {
    tracing::enabled!(target: CONTROLLER, Level::DEBUG) || log::log_enabled!(target: CONTROLLER, log::Level::Debug)
}
