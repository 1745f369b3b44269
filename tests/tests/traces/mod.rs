//! client-go's answers to random operations, replayed: our machines must answer the same.
//!
//! Every file of the folder is replayed; `LISTWATCH_TRACES=DIR` names another folder of the same layout.

mod delta_fifo;
mod files;
mod indexer;
mod limiters;
mod work_queue;
