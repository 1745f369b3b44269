//! Random requests of all verbs, for two servers that should answer alike.
//!
//! A [`draw`](draw::draw) makes requests of a seed. In a request, `<uid KEY>`, `<version KEY>` and `<older KEY>` are what a
//! [`Side`](side::Side) saw of an object, and the rest is that of [`answers`](crate::answers). A [`Pair`](pair::Pair) sends
//! them to both and compares the answers.

pub mod bodies;
pub mod difference;
pub mod draw;
pub mod oddities;
pub mod pair;
pub mod side;
pub mod specimen;

use crate::answers::Step;
use specimen::Specimen;
use std::fmt;

/// A request for both servers.
#[derive(Clone, Debug)]
pub struct Request {
    /// The kind that it is about.
    pub specimen: &'static Specimen,
    /// The name of the object; empty for the collection, and where the server makes it.
    pub name: String,
    /// The method, the target and the body.
    pub step: Step,
    /// What is unusual in it.
    pub oddities: Vec<&'static str>,
}

impl Request {
    /// The method, or the sort of patch.
    #[must_use]
    pub fn verb(&self) -> &str {
        self.step.request.split(' ').next().unwrap_or_default()
    }

    /// The path and the query.
    #[must_use]
    pub fn target(&self) -> &str {
        self.step.request.split_once(' ').unwrap_or_default().1
    }

    /// Whether it changes nothing.
    #[must_use]
    pub fn is_read(&self) -> bool {
        ["GET", "METADATA", "METADATAS", "NONSENSE"].contains(&self.verb())
    }

    /// Whether it is unusual in this way.
    #[must_use]
    pub fn has(&self, oddity: &str) -> bool {
        self.oddities.contains(&oddity)
    }

    /// The part of the object that it names, such as `status`; empty for all of it.
    #[must_use]
    pub fn subresource(&self) -> &str {
        let path = self.target().split('?').next().unwrap_or_default();
        let object = format!("{}/{}/", self.specimen.path(), self.name);
        path.strip_prefix(&object).unwrap_or_default()
    }

    /// The name under which a side knows the object.
    #[must_use]
    pub fn key(&self) -> String {
        self.specimen.key(&self.name)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.step.request)?;
        if !self.step.body.is_empty() {
            write!(f, "  {}", self.step.body)?;
        }
        if !self.oddities.is_empty() {
            write!(f, "  # {}", self.oddities.join(", "))?;
        }
        Ok(())
    }
}
