//! `listwatch watch` and `listwatch record` of captures that Python serves.

mod captures;
#[expect(dead_code, reason = "the command's own tests have it too, and need more of it")]
#[path = "../../../../runtime-smol/cli/tests/watch/following.rs"]
mod following;
mod played;
