//! The last states of objects.

use super::resource::name_of;
use listwatch::Key;
use listwatch::file::{ObjectText, RecordedChange, RecordedResource};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The objects that are selected, by their resources.
#[derive(Default)]
pub(super) struct State(pub(super) BTreeMap<String, Part>);

pub(super) struct Part {
    pub(super) resource: Arc<RecordedResource>,
    pub(super) objects: BTreeMap<Key, ObjectText>,
}

impl State {
    /// Takes a change of the objects whose keys are selected.
    pub(super) fn take(
        &mut self,
        resource: &Arc<RecordedResource>,
        change: RecordedChange,
        selects: impl Fn(&Key) -> bool,
    ) {
        let name = name_of(resource);
        let part =
            self.0.entry(name).or_insert_with(|| Part { resource: Arc::clone(resource), objects: BTreeMap::new() });
        let mut set = |object: ObjectText| {
            if selects(object.key()) {
                part.objects.insert(object.key().clone(), object);
            }
        };
        match change {
            RecordedChange::Added(object) | RecordedChange::Modified(object) => set(object),
            RecordedChange::Deleted(object) => _ = part.objects.remove(object.key()),
            RecordedChange::Reached(_) => {}
            RecordedChange::Relisted { changed, gone, .. } => {
                changed.into_iter().for_each(&mut set);
                gone.iter().for_each(|key| _ = part.objects.remove(key));
            }
        }
    }
}
