//! What goes into a reflector and what comes out of it.

use super::{During, Failure, Reaction};
use crate::transport::Head;
use crate::wire::{Request, RequestId};

/// What comes in.
#[derive(Debug)]
pub enum Input<'a> {
    /// Begin, if idle or stopped.
    Start,
    /// End what is open and do nothing more.
    Stop,
    /// An answer has begun.
    Head(RequestId, &'a Head),
    /// An item of a list, or an event of a watch with its object's version.
    Object(RequestId, &'a str),
    /// A list, or a page, is complete: its version, and the token to go on with, or an empty one.
    ListEnd(RequestId, &'a str, &'a str),
    /// A bookmark: its version, and whether it completes the initial events.
    Bookmark(RequestId, &'a str, bool),
    /// The answer is over: as it should be, or not.
    Closed(RequestId, Result<(), Failure>),
    /// The answer is of no more use, though the transport still has it open: an error came inside of a stream.
    Broken(RequestId, Failure),
    /// Time has passed.
    Timeout,
}

/// What is to be done with what came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: it is old, or it was for the reflector alone.
    Nothing,
    /// The object belongs to a state that is not complete yet.
    Stage,
    /// The object's change is to be applied.
    Apply,
    /// The staged state is complete and becomes visible.
    Commit,
    /// The staged state broke off and is forgotten.
    Discard,
}

/// What the transport is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start this request.
    Open(RequestId, Request),
    /// End that one.
    Abort(RequestId),
}

/// A failure, and what was made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// What was being done.
    pub during: During,
    /// What happened.
    pub failure: Failure,
    /// What follows.
    pub reaction: Reaction,
    /// How many attempts in a row have failed, this one included; zero where the reaction needs no back-off.
    pub attempts: u32,
}

/// What a [`Reflector`](crate::Reflector) is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Not started.
    Idle,
    /// Reading the whole state, by list or by watch-list.
    Listing,
    /// Following the changes.
    Watching,
    /// Waiting after a failure.
    BackingOff,
    /// Stopped.
    Stopped,
}
