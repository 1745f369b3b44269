//! A simulated world: an API server, a network, clients and a clock, all out of one seed.
//!
//! The world opens no socket and reads no clock:
//!
//! - [`Server`] takes a request and the time, and returns a head and bytes.
//! - [`Connection`] brings them in pieces, late, or not at all.
//! - [`Client`] feeds them to an informer, and [`Observer`] checks the rules after each step.
//! - [`World`] moves time from one event to the next. A [`Run`] is a world with a hundred faults.
//! - [`Wire`] lies between a connection and its client. Here it is empty; in another suite it is real sockets.
//!
//! A whole controller, which also writes, runs on the real drivers against an [`ApiServer`] of its own. A [`Store`] holds any
//! JSON objects, a [`Feed`] serves its informer, and an [`ApiLine`] serves its client.
//!
//! An [`AuditedRun`] is a [`Run`] whose cache is audited.
//!
//! An [`Election`] has candidates for one lease, with clocks of their own.
//!
//! A [`RecorderRun`] is a program that records occurrences, beside an [`EventServer`].

mod answer;
mod api_line;
mod api_server;
mod ask;
mod audits;
mod calm;
mod client;
mod counts;
mod dice;
mod election;
mod event_server;
mod fault;
mod feed;
mod ledger;
mod line;
mod log;
mod loopback;
mod network;
mod object;
mod observer;
mod page;
mod place;
mod pod;
mod recorder;
mod refusal;
mod replica;
mod restored;
mod run;
mod script;
mod seeds;
mod selector;
mod server;
mod setup;
mod store;
mod tally;
mod tier;
mod trace;
mod watch;
mod weather;
mod wire;
mod world;

pub use answer::Answer;
pub use api_line::{ApiLine, Troubles};
pub use api_server::{ApiServer, Inside};
pub use ask::Ask;
pub use audits::{AuditTally, AuditedRun};
pub use calm::{calm_world, prompt_client};
pub use client::Client;
pub use counts::Counts;
pub use dice::Dice;
pub use election::{Election, ElectionTally, Explored, explore};
pub use event_server::{EventServer, event_count, read_event};
pub use fault::Fault;
pub use feed::{Feed, FeedTroubles};
pub use ledger::{Ledger, Repeated, WriteId};
pub use line::{Line, Site};
pub use log::{Entry, Log, Write};
pub use loopback::{await_close, listen, read_request, respond, serve};
pub use network::{Connection, Pieces};
pub use object::{Health, KeyNumber, Stored};
pub use observer::Observer;
pub use place::Place;
pub use pod::Pod;
pub use recorder::{RecorderRun, RecorderTally};
pub use refusal::{Refusal, TooLarge};
pub use replica::Replica;
pub use restored::Restored;
pub use run::{FAULTS, Outcome, Run};
pub use script::{Script, Which};
pub use seeds::Seeds;
pub use selector::Selector;
pub use server::{Server, ServerConfig, WatchLists};
pub use store::{Change, Store};
pub use tally::Tally;
pub use tier::{AlwaysFull, InFixed, InParts, InformerOf, Kept, ObjectOf, OnHeap, OneByOne, Roomy, Seen, Tier};
pub use trace::Trace;
pub use weather::TO_ANY;
pub use wire::{Direct, Wire};
pub use world::World;
