//! Without the feature `shards`, each controller has all keys.

use super::owners::OwnKind;
use crate::client::Gate;
use crate::election::Candidate;
use crate::informers::World;
use core::convert::Infallible;
use core::time::Duration;
use listwatch_core::Key;
use listwatch_core::object::{Meta, Uid};
use std::sync::Arc;

/// No value of it exists.
pub(super) struct Sharded(Infallible);

pub(super) type Sharding = Infallible;
pub(super) type Member = Infallible;

/// No value of it exists.
pub(super) struct Place(Infallible);

#[derive(Clone)]
pub(super) struct PlaceGate(Infallible);

pub(super) fn join(sharding: Sharding, _: &World, _: Duration, _: &OwnKind) -> Result<(Candidate, Member), String> {
    match sharding {}
}

impl Sharded {
    pub(super) fn of(member: &Member) -> Self {
        match *member {}
    }

    pub(super) fn divides_by_uid(&self) -> bool {
        match self.0 {}
    }

    pub(super) fn learn(&self, _: &OwnKind, _: &Key, _: Option<&Uid>) {
        match self.0 {}
    }

    pub(super) fn learn_shard(&self, _: Option<&OwnKind>, _: &Key, _: Option<u16>) {
        match self.0 {}
    }

    pub(super) fn learn_owner(&self, _: &OwnKind, _: &Meta) {
        match self.0 {}
    }

    pub(super) fn admits(&self, _: Option<&OwnKind>, _: &Key) -> bool {
        match self.0 {}
    }

    pub(super) fn enter(&self, _: Option<&OwnKind>, _: &Key, _: Option<u16>) -> Option<Place> {
        match self.0 {}
    }

    pub(super) fn keep(&self, _: Option<&OwnKind>, _: &Key, _: u16) {
        match self.0 {}
    }
}

impl Place {
    pub(super) fn gate(&self) -> PlaceGate {
        match self.0 {}
    }

    pub(super) fn is_over(&self) -> bool {
        match self.0 {}
    }

    pub(super) async fn over(&self) {
        match self.0 {}
    }
}

impl PlaceGate {
    pub(super) fn gate(&self) -> Arc<dyn Gate> {
        match self.0 {}
    }

    pub(super) fn shard(&self) -> u16 {
        match self.0 {}
    }

    pub(super) fn work(&self) -> Option<Place> {
        match self.0 {}
    }
}
