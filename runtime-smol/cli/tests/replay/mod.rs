//! `listwatch replay` as a user runs it: arguments and a file in; standard output, standard error and an exit status out.

mod against;
mod arguments;
mod audit;
mod bundles;
mod capacities;
mod captures;
mod errors;
mod files;
mod hostile;
mod memory;
mod output;
mod pipes;
mod resources;
