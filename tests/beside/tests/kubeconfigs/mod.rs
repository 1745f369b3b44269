//! Kubeconfigs that kubectl and the command read side by side: what each takes, and what each sends.

mod address;
mod certificates;
mod context;
mod credential;
mod draft;
mod form;
mod plugin;
mod programs;
mod reasons;
mod route;
mod rows;
mod seen;
mod server;
mod table;
mod trust;

use crate::kubectl::kubectl;
use programs::compare;
use rows::{Dimension, rows};
use std::sync::Mutex;
use std::thread;
use table::Table;

/// In the order in which they make a kubeconfig.
const DIMENSIONS: [Dimension; 7] = [
    Dimension { name: "address", choices: address::ADDRESSES },
    Dimension { name: "trust", choices: trust::TRUSTS },
    Dimension { name: "credential", choices: credential::CREDENTIALS },
    Dimension { name: "plugin", choices: plugin::PLUGINS },
    Dimension { name: "route", choices: route::ROUTES },
    Dimension { name: "context", choices: context::CONTEXTS },
    Dimension { name: "form", choices: form::FORMS },
];

/// How many rows run at once. Each waits for processes most of the time.
const THREADS: usize = 3;

#[test]
fn each_kubeconfig_is_read_as_kubectl_reads_it_or_there_is_a_reason() {
    let Some(kubectl) = kubectl() else { return };
    let rows = rows(&DIMENSIONS);
    assert!(rows.len() >= 400, "{}", rows.len());
    let (next, table) = (Mutex::new(rows.iter()), Mutex::new(Table::default()));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(row) = { next.lock().unwrap().next() } {
                    let compared = compare(row, kubectl);
                    table.lock().unwrap().add(row, &compared);
                }
            });
        }
    });
    table.into_inner().unwrap().check(&DIMENSIONS);
}
