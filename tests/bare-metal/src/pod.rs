//! What is kept of a pod where there is an allocator: a type of serde's, with what a [`Line`](crate::line::Line) has.

use crate::line::Shown;
use crate::output::Output;
use alloc::string::String;
use alloc::vec::Vec;
use listwatch_core::object::ObjectHandle;
use serde::Deserialize;

/// A pod.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Pod {
    spec: Spec,
    status: Status,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    node_name: String,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    conditions: Vec<Condition>,
    container_statuses: Vec<Container>,
}

#[derive(Deserialize)]
struct Condition {
    r#type: String,
    status: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Container {
    restart_count: u16,
}

impl Pod {
    fn ready(&self) -> &str {
        let ready = self.status.conditions.iter().find(|condition| condition.r#type == "Ready");
        ready.map_or("", |condition| &condition.status)
    }
}

impl Shown for ObjectHandle<Pod> {
    fn key(&self) -> &str {
        self.key().as_str()
    }

    fn app(&self) -> &str {
        self.meta().label("app").unwrap_or_default()
    }

    fn node(&self) -> &str {
        &self.spec.node_name
    }

    fn is_ready(&self) -> bool {
        self.ready() == "True"
    }

    fn version(&self) -> &str {
        self.meta().resource_version()
    }

    fn show(&self, output: &mut Output) {
        let restarts = self.status.container_statuses.first().map_or(0, |status| status.restart_count);
        let uid = self.meta().uid().map(|uid| alloc::string::ToString::to_string(&uid)).unwrap_or_default();
        output.word(&uid).word(self.version()).word(self.app()).word(self.node()).word(self.ready());
        output.number(restarts.into()).word("").word("whole");
    }
}
