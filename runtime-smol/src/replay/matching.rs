//! Which recorded request a request is.

use super::fields::{Body, Query, is_left_out};
use listwatch_core::api::{ApiRequest, Method};
use listwatch_transport_file::SentCall;

/// A request whose recorded call is sought.
pub(super) struct Sought<'r> {
    request: &'r SentCall,
    query: Query<'r>,
    body: Body<'r>,
}

impl<'r> Sought<'r> {
    pub(super) fn new(request: &'r SentCall) -> Self {
        Self { request, query: Query::of(&request.target), body: Body::of(&request.body) }
    }

    /// The place of the first unused call that is equal, or else that is alike. Each call comes with whether it is used.
    pub(super) fn place<'c>(&self, calls: impl Iterator<Item = (&'c SentCall, bool)> + Clone) -> Option<usize> {
        self.first(calls.clone(), Self::is_equal).or_else(|| self.first(calls, Self::is_alike))
    }

    /// The place of the first unused call for which this holds.
    pub(super) fn first<'c>(
        &self,
        mut calls: impl Iterator<Item = (&'c SentCall, bool)>,
        holds: fn(&Self, &SentCall) -> bool,
    ) -> Option<usize> {
        calls.position(|(call, is_used)| !is_used && holds(self, call))
    }

    /// Whether the method and the path are the same.
    pub(super) fn is_alike(&self, call: &SentCall) -> bool {
        call.method == self.request.method && path(&call.target) == path(&self.request.target)
    }

    /// Whether the query and the body are the same, too. A body that is left out is the same as any.
    pub(super) fn is_equal(&self, call: &SentCall) -> bool {
        self.is_alike(call)
            && Query::of(&call.target) == self.query
            && (is_left_out(call) || is_left_out(self.request) || Body::of(&call.body) == self.body)
    }
}

/// A request as a tape has it.
pub(super) fn sent(request: &ApiRequest) -> SentCall {
    SentCall {
        id: 0,
        method: request.method.name().to_owned(),
        target: request.to_string(),
        content_type: request.content_type.map(str::to_owned),
        body: request.body.to_vec(),
        hashed: false,
    }
}

/// Whether it writes.
pub(super) fn is_write(call: &SentCall) -> bool {
    call.method != Method::Get.name()
}

/// The path of a request target, without the query.
pub(super) fn path(target: &str) -> &str {
    target.split_once('?').map_or(target, |(path, _)| path)
}
