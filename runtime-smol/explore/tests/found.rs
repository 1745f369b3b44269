//! The public bugs of the models: each is found, and the version without it is clean.

use crate::models::{MODELS, Model, Program};
use listwatch_explore::{Exploration, Explored, Failure};

fn exploration(model: &'static Model, program: Program) -> Exploration {
    let exploration = Exploration::of(program).cluster(model.cluster).scenario(async |it| {
        for step in model.steps {
            it.settled().await;
            // A user tries again, as the program may be down.
            let mut left = 20_u32;
            while let Err(error) = (step.take)(&it) {
                left = left.checked_sub(1).ok_or_else(|| format!("{}: {error}", step.what))?;
                it.settled().await;
            }
        }
        it.settled().await;
        Ok(())
    });
    // Which object gets which of several equal things may vary, so the model says what is right.
    exploration.may_vary("").always(model.name, |it| (model.always)(it)).in_the_end(|it| (model.in_the_end)(it))
}

fn explored(model: &'static Model, program: Program, runs: usize) -> Result<Explored, Box<Failure>> {
    exploration(model, program).run(runs)
}

#[test]
fn each_bug_is_found_and_shrunk_to_at_most_three_disturbances() {
    let mut missed = Vec::new();
    for model in &MODELS {
        match explored(model, model.buggy, 1_000) {
            Ok(_) => missed.push(model.name),
            Err(failure) => {
                println!("{}: {failure}\n", model.name);
                assert!(failure.plan.disturbances.len() <= 3, "{failure}");
                let is_by_report = model.name != "old leader" || failure.plan.to_string().contains("paused");
                assert!(is_by_report, "no second replica shows it: {failure}");
            }
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn a_stale_deletion_is_found_without_a_second_replica_by_a_restart_onto_a_server_that_lags() {
    let model = MODELS.iter().find(|model| model.name == "stale deletion").unwrap();
    let exploration = exploration(model, model.buggy).without("paused").without("paused-long");
    let failure = exploration.run(1_000).expect_err("its namesake's volume is deleted");
    assert!(failure.plan.to_string().contains(", back behind "), "{failure}");
}

/// The runs of a clean version: `LISTWATCH_RUNS=10000` for all.
fn runs() -> usize {
    std::env::var("LISTWATCH_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(100)
}

#[test]
fn each_version_without_its_bug_is_clean() {
    let mut wrong = Vec::new();
    for model in &MODELS {
        if let Err(failure) = explored(model, model.fixed, runs()) {
            println!("{}: {failure}\n", model.name);
            wrong.push(model.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
