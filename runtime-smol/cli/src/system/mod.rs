//! The system below the command.

pub(crate) mod process;
pub(crate) mod requirements;
pub(crate) mod stop;
