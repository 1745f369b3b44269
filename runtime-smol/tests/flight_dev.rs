#![allow(clippy::unwrap_used, dead_code)]
mod audit {
    pub(crate) mod stage;
}
mod endpoint {
    pub(crate) mod client;
}
mod flight;
