//! What handlers are told, by the fields of client-go's.

use listwatch_core::Event;
use listwatch_core::object::ObjectHandle;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What came of an exchange.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Told {
    /// By handler.
    #[serde(deserialize_with = "of_each")]
    pub(crate) handlers: Vec<Vec<Notification>>,
    /// By look, and then by handler, whether it has synced, if it was there.
    pub(crate) synced: Option<Vec<Vec<Option<bool>>>>,
    /// Each object of the store at the end, and its version.
    pub(crate) store: Option<Vec<String>>,
    /// What client-go asked for at the wrong time.
    pub(crate) confused: Option<Vec<String>>,
}

/// What a handler is told.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Notification {
    /// When, in nanoseconds.
    pub(crate) at: u64,
    pub(crate) event: Kind,
    pub(crate) key: String,
    #[serde(flatten)]
    pub(crate) state: State,
    pub(crate) old: Option<State>,
    #[serde(default)]
    pub(crate) initial: bool,
    /// The final state of what is gone is not known.
    #[serde(default)]
    pub(crate) unknown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Add,
    Update,
    Delete,
}

/// Which object it is, and which version of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct State {
    pub(crate) uid: String,
    pub(crate) rv: String,
}

/// Notifications by key. The order within a key is law; that between the keys of one list is each informer's own.
pub(crate) type ByKey = BTreeMap<String, Vec<Notification>>;

impl Notification {
    /// An event as client-go would tell it, which knows no recreation.
    pub(crate) fn of<T>(at: u64, event: &Event<T>) -> Option<Self> {
        let (kind, object, old) = match event {
            Event::Added { object, .. } => (Kind::Add, object, None),
            Event::Updated { old, new } | Event::Recreated { old, new } => (Kind::Update, new, Some(old)),
            Event::Deleted { object, .. } => (Kind::Delete, object, None),
            _ => return None,
        };
        Some(Self {
            at,
            event: kind,
            key: object.key().to_string(),
            state: State::of(object),
            old: old.map(State::of),
            initial: matches!(event, Event::Added { initial: true, .. }),
            unknown: matches!(event, Event::Deleted { final_state_known: false, .. }),
        })
    }

    /// What kind of notification it is.
    pub(crate) fn name(&self) -> String {
        let words = [(self.initial, " initial"), (self.unknown, " unknown"), (self.is_sync(), " sync")];
        let words = words.iter().filter(|(is, _)| *is).map(|(_, word)| *word);
        let other = self.old.as_ref().is_some_and(|old| old.uid != self.state.uid);
        format!("{:?}{}{}", self.event, words.collect::<String>(), if other { " other" } else { "" })
    }

    /// What is known of the object after it.
    pub(crate) fn after(&self) -> Option<&State> {
        Some(&self.state).filter(|_| self.event != Kind::Delete)
    }

    /// Whether nothing is new.
    pub(crate) fn is_sync(&self) -> bool {
        self.old.as_ref() == Some(&self.state)
    }
}

impl State {
    fn of<T>(object: &ObjectHandle<T>) -> Self {
        let meta = object.meta();
        let uid = meta.uid().map(|uid| uid.to_string()).unwrap_or_default();
        Self { uid, rv: meta.resource_version().to_owned() }
    }
}

pub(crate) fn by_key(notifications: impl IntoIterator<Item = Notification>) -> ByKey {
    let mut by_key = ByKey::new();
    for notification in notifications {
        by_key.entry(notification.key.clone()).or_default().push(notification);
    }
    by_key
}

/// Go writes null for what is empty.
fn of_each<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Vec<Vec<Notification>>, D::Error> {
    let handlers: Option<Vec<Option<Vec<Notification>>>> = Option::deserialize(input)?;
    Ok(handlers.unwrap_or_default().into_iter().map(Option::unwrap_or_default).collect())
}
