//! Recordings as programs play and write them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod playback;
