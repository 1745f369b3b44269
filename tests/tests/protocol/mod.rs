//! The list-watch protocol: what real servers answer, what is made of it, and the tables of it in the documents.

mod document;
mod exchange;
mod exchanges;
mod rules;
mod simulated_cluster;
mod table;
