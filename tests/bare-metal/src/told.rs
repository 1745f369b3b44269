//! What an image is told of an object, and the line that it prints of it.

use crate::line::Shown;
use crate::output::Output;
use listwatch_core::cache::{IndexId, IndexerIn};
use listwatch_core::informer::EventOf;
use listwatch_core::storage::{Keyed, Mem};

/// The state before a change, if there was another one.
pub fn old<V: Keyed>(event: &EventOf<V>) -> Option<&V> {
    match event {
        EventOf::Updated { old, .. } | EventOf::Recreated { old, .. } => Some(old),
        _ => None,
    }
}

/// Prints a change of an object; of any other event nothing.
pub fn print_change<V: Shown + Keyed>(event: &EventOf<V>) {
    let (Some(object), Some(verb)) = (event.object(), verb(event)) else { return };
    let mut output = Output::line("told");
    output.word(Shown::key(object)).word(verb);
    if let Some(old) = old(event) {
        output.word(old.version());
    }
    object.show(&mut output);
}

fn verb<V: Keyed>(event: &EventOf<V>) -> Option<&'static str> {
    Some(match event {
        EventOf::Added { initial: true, .. } => "listed",
        EventOf::Added { .. } => "added",
        EventOf::Updated { .. } => "updated",
        EventOf::Recreated { .. } => "recreated",
        EventOf::Deleted { final_state_known: true, .. } => "deleted",
        EventOf::Deleted { .. } => "lost",
        _ => return None,
    })
}

/// Prints the objects of a cache.
pub fn print_cache<'a, V: Shown + 'a>(objects: impl Iterator<Item = &'a V>) {
    for object in objects {
        let mut output = Output::line("kept");
        output.word(object.key());
        object.show(&mut output);
    }
}

/// Prints which objects have which value in an index.
pub fn print_index<V: Shown + Keyed, M: Mem>(name: &str, cache: &IndexerIn<V, M>, index: IndexId) {
    for value in cache.index_values(index) {
        for object in cache.by_index(index, value) {
            Output::line("index").word(name).word(value).word(Shown::key(object));
        }
    }
}
