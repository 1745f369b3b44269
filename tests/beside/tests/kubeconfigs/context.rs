//! What else a context and a cluster say.

use crate::kubeconfigs::rows::Choice;
use serde_json::{Value, json};

pub(super) const CONTEXTS: &[Choice] = &[
    Choice::new("namespace", |draft| draft.in_context("namespace", "team")),
    Choice::new("no namespace", |_| {}).crossed(),
    Choice::new("empty namespace", |draft| draft.in_context("namespace", "")),
    Choice::new("null namespace", |draft| draft.in_context("namespace", Value::Null)),
    Choice::new("namespace default", |draft| draft.in_context("namespace", "default")),
    Choice::new("namespace of digits", |draft| draft.in_context("namespace", "123")),
    Choice::new("namespace that is a number", |draft| draft.in_context("namespace", 123)),
    Choice::new("namespace that is true", |draft| draft.in_context("namespace", true)),
    Choice::new("namespace in capitals", |draft| draft.in_context("namespace", "Team")),
    Choice::new("namespace with a slash", |draft| draft.in_context("namespace", "a/../b")),
    Choice::new("namespace with a query", |draft| draft.in_context("namespace", "a?b=c#d")),
    Choice::new("namespace that is dots", |draft| draft.in_context("namespace", "..")),
    Choice::new("namespace with a blank", |draft| draft.in_context("namespace", "a b")),
    Choice::new("no compression", |draft| {
        draft.in_context("namespace", "team");
        draft.in_cluster("disable-compression", true);
    })
    .crossed(),
    Choice::new("no compression, as text", |draft| {
        draft.in_context("namespace", "team");
        draft.in_cluster("disable-compression", "true");
    }),
    Choice::new("extensions", |draft| {
        draft.in_context("namespace", "team");
        let extension = json!([{ "name": "minikube.sigs.k8s.io", "extension": { "version": "v1.36.0" } }]);
        draft.in_context("extensions", extension.clone());
        draft.in_cluster("extensions", extension);
    }),
    Choice::new("extensions that are no list", |draft| {
        draft.in_context("namespace", "team");
        draft.in_cluster("extensions", json!({ "a": 1 }));
    }),
    Choice::new("api-version", |draft| {
        draft.in_context("namespace", "team");
        draft.in_cluster("api-version", "v1");
    }),
];
