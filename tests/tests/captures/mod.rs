//! Captures of real API servers go in, and what client-go told its handlers must come out.
//!
//! Every capture of the folder that has a `.client-go.jsonl` beside it is played; `LISTWATCH_CAPTURES=DIR` names
//! another folder of the same layout.

mod expected;
mod matrix;
mod play;
mod projected;
mod truth;
mod wired;
