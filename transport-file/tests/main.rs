//! Recordings as programs play and write them.

#![cfg(test)]

mod playback;
