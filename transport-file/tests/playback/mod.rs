//! Playback of real and of handmade recordings, asked as a reflector asks.

mod bodies;
mod calls;
mod captures;
mod chunks;
mod errors;
mod exported;
mod files;
mod given_up;
mod matching;
mod recording;
mod support;
mod tape;
mod timing;
