//! The names that the options give, and those that a recording has.

use super::entry::{By, Entry};
use super::filter::{is_key, is_program, is_user, namespace_of};
use super::lines::shown;
use super::resource::{is_named, meant, resource_of};
use crate::arguments::SelectionOptions;
use listwatch::file::{Moment, MomentKind, ObjectText, RecordedChange};
use std::collections::BTreeSet;
use strsim::levenshtein;

/// The most names of a sort that are kept, and that are told.
const MOST: usize = 1_000;
const TOLD: usize = 8;

/// The names that were asked for.
pub(super) struct Names(Vec<Asked>);

struct Asked {
    /// Such as `user`.
    sort: &'static str,
    name: String,
    is_there: bool,
    /// Others of the sort.
    others: BTreeSet<String>,
}

impl Names {
    pub(super) fn asked_for(options: &SelectionOptions) -> Self {
        let asked = |sort, name: String| Asked { sort, name, is_there: false, others: BTreeSet::new() };
        let one = |sort, name: &Option<String>| name.iter().map(|name| asked(sort, name.clone())).collect::<Vec<_>>();
        let mut all = one("user", &options.user);
        all.extend(one("program", &options.program));
        all.extend(one("namespace", &options.namespace));
        all.extend(options.keys().into_iter().map(|name| asked("key", name.to_owned())));
        all.extend(options.kinds.iter().map(|name| asked("kind", meant(name))));
        Self(all)
    }

    /// Takes the names of an entry.
    pub(super) fn entry(&mut self, entry: &Entry) {
        if self.0.is_empty() {
            return;
        }
        let mut by = entry.by.clone();
        by.controller = by.controller.or_else(|| Some(entry.reconcile.as_ref()?.of.clone()));
        self.author(&by);
        self.object(entry.collection.as_deref(), entry.key.as_deref());
        entry.writes.iter().for_each(|write| self.entry(write));
    }

    /// Takes the objects of a list, of which there are no entries.
    pub(super) fn moment(&mut self, moment: &Moment) {
        if let MomentKind::Changed { resource, change: RecordedChange::Relisted { changed, .. }, .. } = &moment.kind
            && !self.0.is_empty()
        {
            let keys = changed.iter().map(ObjectText::key);
            keys.for_each(|key| self.object(Some(&resource.collection), Some(key.as_str())));
        }
    }

    fn author(&mut self, by: &By) {
        self.note("user", by.user.as_deref(), |name, _| is_user(name, by));
        by.programs().for_each(|program| self.note("program", Some(program), |name, _| is_program(name, by)));
    }

    fn object(&mut self, collection: Option<&str>, key: Option<&str>) {
        self.note("key", key, is_key);
        self.note("namespace", key.and_then(namespace_of), |name, own| name == own);
        let is_kind = |name: &str, _: &str| collection.is_some_and(|collection| is_named(collection, name));
        self.note("kind", collection.map(resource_of).as_deref(), is_kind);
    }

    fn note(&mut self, sort: &str, own: Option<&str>, is_meant: impl Fn(&str, &str) -> bool) {
        let Some(own) = own else { return };
        for asked in self.0.iter_mut().filter(|asked| asked.sort == sort && !asked.is_there) {
            asked.is_there = is_meant(&asked.name, own);
            if asked.others.len() < MOST {
                asked.others.insert(own.to_owned());
            }
        }
    }

    /// What was asked for and is not there, with what is.
    pub(super) fn unknown(&self) -> Vec<String> {
        self.0.iter().filter(|asked| !asked.is_there).map(Asked::told).collect()
    }
}

impl Asked {
    fn told(&self) -> String {
        let mut others: Vec<&String> = self.others.iter().collect();
        // The most alike are first.
        others.sort_by_key(|other| levenshtein(other, &self.name));
        let more = others.len().saturating_sub(TOLD);
        let more = (more > 0).then(|| format!("and {more} more"));
        let names: Vec<String> = others.into_iter().take(TOLD).map(|it| shown(it)).chain(more).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!("no {} \"{}\"; there are: {names}", self.sort, shown(&self.name))
    }
}
