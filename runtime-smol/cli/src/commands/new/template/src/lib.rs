//! An operator of the kind Widget of example.com: its definition, and its controller.

pub mod controller;
pub mod definition;
