//! What is kept of an object: the same of a pod and of a config map, so that one image follows each capture.

use crate::output::Output;
use listwatch_core::projection;
use listwatch_core::projection::{Beginning, Projected, Text};

/// The bytes of a key: those of the captures have 30.
pub const KEY: usize = 48;

/// The bytes of the name of an app.
pub const APP: usize = 15;

projection! {
    /// What a panel shows of an object.
    pub struct Line {
        /// The app that it belongs to.
        pub app: Text<APP> = "metadata.labels.app",
        /// Empty until a pod is scheduled.
        pub node: Text<15> = "spec.nodeName",
        /// `True` or `False`; empty where it is not known.
        pub ready: Text<7> = "status.conditions[type=Ready].status",
        /// How often the first container was started again.
        pub restarts: u16 = "status.containerStatuses[0].restartCount",
        /// The beginning of a value of a config map.
        pub note: Beginning<7> = "data.w",
    }
}

/// A projected object.
pub type Object = Projected<Line, KEY>;

/// An object that is printed, and counted on the panel.
pub trait Shown {
    /// `namespace/name`.
    fn key(&self) -> &str;

    /// The app that it belongs to; empty where it has none.
    fn app(&self) -> &str;

    /// The node that it is on; empty where it is on none.
    fn node(&self) -> &str;

    /// Whether it counts as ready.
    fn is_ready(&self) -> bool;

    /// The version that the server gave the state.
    fn version(&self) -> &str;

    /// Appends all that is known of it.
    fn show(&self, output: &mut Output);
}

impl Shown for Object {
    fn key(&self) -> &str {
        self.key()
    }

    fn app(&self) -> &str {
        &self.value.app
    }

    fn node(&self) -> &str {
        &self.value.node
    }

    fn is_ready(&self) -> bool {
        self.value.ready == "True"
    }

    fn version(&self) -> &str {
        self.resource_version()
    }

    fn show(&self, output: &mut Output) {
        let Line { app, node, ready, restarts, note } = &self.value;
        output.word(self.uid()).word(self.resource_version()).word(app).word(node).word(ready);
        output.number((*restarts).into()).word(note).word(if note.is_cut() { "cut" } else { "whole" });
    }
}

/// A text that is not empty.
#[must_use]
pub fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}
