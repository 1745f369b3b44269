//! The first reading of a capture: which resources it has, and the first state of each.

use super::change::{Observation, Told};
use super::clients::Clients;
use super::scope::{Sample, Scope};
use crate::capture::{Read, Reader};
use crate::error::{CaptureError, Fault};
use crate::memory::Memory;
use crate::object::ObjectText;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What the first reading found.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) clients: Clients,
    /// The first state of each scope, in the order of the file.
    pub(super) firsts: Vec<First>,
    /// The places of the scopes among those read.
    places: HashMap<Arc<Scope>, usize>,
    /// The last time in the file, in milliseconds.
    pub(super) last: u64,
    /// The error that ends the file early.
    pub(super) fault: Option<CaptureError>,
}

/// The first state of a scope.
#[derive(Debug)]
pub(super) struct First {
    pub(super) scope: Arc<Scope>,
    /// When it was complete, in milliseconds.
    pub(super) at: u64,
    pub(super) objects: Vec<ObjectText>,
    pub(super) version: u64,
    pub(super) sample: Option<Sample>,
}

impl Survey {
    /// Reads a whole capture.
    pub(super) fn read(capture: &mut Reader, memory: &Memory) -> Self {
        let clients = Clients::new(memory.clone());
        let mut survey = Self { clients, firsts: Vec::new(), places: HashMap::new(), last: 0, fault: None };
        survey.fault = capture.each(|read| survey.line(read)).err();
        let ignored = survey.ignored();
        survey.firsts.retain(|first| !ignored.contains(&first.scope));
        survey.clients = survey.clients.again(ignored);
        survey
    }

    fn line(&mut self, Read { line, .. }: Read<'_>) -> Result<(), Fault> {
        let mut told = Vec::new();
        if let Some(t) = self.clients.line(line, &mut told)? {
            self.last = self.last.max(t);
            told.into_iter().try_for_each(|observation| self.note(t, observation))?;
        }
        Ok(())
    }

    /// Notes the first state of a scope, and the first object. Then no more is read of that scope.
    fn note(&mut self, at: u64, Observation { scope, told }: Observation) -> Result<(), Fault> {
        let place = self.places.get(&scope).copied();
        let sample = told.sample();
        let is_known = sample.is_some();
        match (place, told) {
            (Some(place), _) => {
                let known = &mut self.firsts[place].sample;
                *known = known.take().or(sample);
            }
            (None, Told::State { objects, version }) => {
                self.clients.memory.take(objects.iter().map(ObjectText::weight).sum())?;
                self.add(First { scope: Arc::clone(&scope), at, objects, version, sample });
            }
            (None, Told::Watching { version }) => {
                self.add(First { scope: Arc::clone(&scope), at, objects: Vec::new(), version, sample });
            }
            (None, _) => return Ok(()),
        }
        if is_known {
            self.clients.ignored.insert(scope);
        }
        Ok(())
    }

    fn add(&mut self, first: First) {
        self.places.insert(Arc::clone(&first.scope), self.firsts.len());
        self.firsts.push(first);
    }

    /// The scopes that show nothing that another one does not show in more detail.
    fn ignored(&self) -> HashSet<Arc<Scope>> {
        let scopes = || self.firsts.iter().map(|first| &first.scope);
        let whole: HashSet<&str> =
            scopes().filter(|scope| !scope.metadata_only).map(|scope| &*scope.collection.name).collect();
        let of_metadata = self.watched_by_metadata();
        let is_shown = |scope: &&Arc<Scope>| {
            let name = &*scope.collection.name;
            scope.covering().any(|other| other != ***scope && self.is_watched(&other))
                || whole.contains(name) && scope.metadata_only != of_metadata.contains(name)
        };
        scopes().filter(is_shown).cloned().collect()
    }

    /// The collections whose metadata are watched, while their whole objects are only listed, all among those watched.
    fn watched_by_metadata(&self) -> HashSet<&str> {
        let scopes = |metadata_only: bool| {
            self.firsts.iter().map(|first| &first.scope).filter(move |scope| scope.metadata_only == metadata_only)
        };
        let watched = scopes(true).filter(|scope| self.is_watched(scope));
        let mut names: HashSet<&str> = watched.map(|scope| &*scope.collection.name).collect();
        for scope in scopes(false) {
            let covers = |other: Scope| other.metadata_only && self.is_watched(&other);
            if self.is_watched(scope) || !scope.of_metadata().covering().any(covers) {
                names.remove(&*scope.collection.name);
            }
        }
        names
    }

    fn is_watched(&self, scope: &Scope) -> bool {
        self.places.contains_key(scope) && self.clients.watched.contains(scope)
    }
}
