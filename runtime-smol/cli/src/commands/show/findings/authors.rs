//! Whose doing something is, by a number.

use super::super::entry::By;
use std::collections::HashMap;
use std::num::NonZeroU32;

/// The most authors that are told apart.
const MOST: usize = 1 << 16;

/// The number of an author.
pub(super) type Author = Option<NonZeroU32>;

/// The authors that were seen.
#[derive(Default)]
pub(super) struct Authors {
    numbers: HashMap<String, NonZeroU32>,
    names: Vec<String>,
    /// Whether the recording names users, as an audit log does.
    has_users: bool,
}

/// Nobody is known.
pub(super) const UNKNOWN: &str = "not known";
/// What stands behind a name that several programs may have.
const MANAGER: &str = " (a field manager)";

impl Authors {
    /// The number of an author; `None` if nobody is known, or if there are too many.
    pub(super) fn of(&mut self, by: &By) -> Author {
        self.has_users |= by.user.is_some();
        let name = named(by)?;
        if let Some(number) = self.numbers.get(&name) {
            return Some(*number);
        }
        let number = u32::try_from(self.names.len() + 1).ok().filter(|_| self.names.len() < MOST)?;
        let number = NonZeroU32::new(number)?;
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        Some(number)
    }

    pub(super) fn name(&self, author: Author) -> &str {
        author.and_then(|number| self.names.get(number.get() as usize - 1)).map_or(UNKNOWN, String::as_str)
    }

    /// What a finding lacks that does not name who did it.
    pub(super) fn lack(&self, culprits: &[String]) -> Option<String> {
        let is_vague = culprits.iter().any(|name| name == UNKNOWN || name.ends_with(MANAGER));
        (is_vague && !self.has_users).then(|| "an audit log of this time would name the user".to_owned())
    }
}

/// The name of an author: a controller, a user with a program, or the managers of the fields that changed.
fn named(by: &By) -> Option<String> {
    if let Some(controller) = &by.controller {
        return Some(format!("controller {controller}"));
    }
    match (&by.user, &by.program) {
        (Some(user), Some(program)) => Some(format!("{user} ({program})")),
        (Some(name), None) | (None, Some(name)) => Some(name.clone()),
        (None, None) => (!by.managers.is_empty()).then(|| by.managers.join(", ") + MANAGER),
    }
}
