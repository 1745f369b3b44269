//! The smallest plan and the shortest scenario that show a fault.

use crate::explored::Explored;
use crate::failure::Failure;
use crate::fault::Fault;
use crate::learned::Learned;
use crate::plan::Plan;
use crate::run::Outcome;
use std::collections::BTreeSet;

/// A failure that a run of this number has shown, made as small as possible.
pub(crate) fn shrunk<S: Send + Sync + 'static>(
    learned: &Learned<S>,
    fault: Fault,
    plan: Plan,
    run: usize,
) -> Box<Failure> {
    let (mut smallest, mut shown) = (plan, fault.clone());
    while let Some((plan, found)) =
        best(smaller(&smallest, &learned.settings.without), &shown, |plan| Some(shows(learned, plan, &shown)?.0))
    {
        (smallest, shown) = (plan, found);
    }
    let Some((found, outcome)) = shows(learned, &smallest, &shown) else {
        let why = format!("the plan {smallest} does not show again that {fault}");
        let story = learned.run(&smallest).traces.story;
        return Failure::of(Fault::NotDeterministic(why), smallest, &story, learned.settings.seed);
    };
    let mut failure = Failure::of(found, smallest, &outcome.traces.story, learned.settings.seed);
    failure.run = run;
    shorten(learned, &mut failure);
    failure.before = Some(fault).filter(|fault| *fault != failure.fault);
    failure
}

/// Ends the scenario at the first step after which the plan shows the fault. Undisturbed, nothing is wrong so early.
fn shorten<S: Send + Sync + 'static>(learned: &Learned<S>, failure: &mut Failure) {
    let early = |steps: &u32| {
        let settings = learned.settings.clone();
        let early = Learned::of(&learned.parts, settings, Some(*steps), &mut Explored::default()).ok()?;
        shows(&early, &failure.plan, &failure.fault)
    };
    let shown = |steps: &u32| Some(early(steps)?.0);
    let Some((steps, _)) = best(0..learned.steps, &failure.fault, shown) else { return };
    if let Some((fault, outcome)) = early(&steps) {
        (failure.fault, failure.steps) = (fault, Some((steps, learned.steps)));
        failure.story = outcome.traces.story.told();
    }
}

/// The first candidate that shows the same fault. If none does, the first that shows a part of it, or other numbers in it.
fn best<T>(
    candidates: impl IntoIterator<Item = T>,
    fault: &Fault,
    shows: impl Fn(&T) -> Option<Fault>,
) -> Option<(T, Fault)> {
    let mut similar = None;
    for candidate in candidates {
        match shows(&candidate) {
            Some(found) if found == *fault => return Some((candidate, found)),
            Some(found) => _ = similar.get_or_insert((candidate, found)),
            None => {}
        }
    }
    similar
}

/// What a plan shows of a fault, with all of its disturbances.
fn shows<S: Send + Sync + 'static>(learned: &Learned<S>, plan: &Plan, fault: &Fault) -> Option<(Fault, Outcome)> {
    let outcome = learned.run(plan);
    let found = learned.judge(&outcome).filter(|found| found.is_of(fault))?;
    Some((found, outcome))
}

/// Plans with one disturbance fewer, or with a simpler one that is not left out.
fn smaller(plan: &Plan, left_out: &BTreeSet<String>) -> Vec<Plan> {
    let count = plan.disturbances.len();
    let mut plans: Vec<Plan> = (0..count).filter(|_| count > 1).map(|index| plan.without(index)).collect();
    for (index, disturbance) in plan.disturbances.iter().enumerate() {
        let simpler = disturbance.trouble.simpler().into_iter();
        for trouble in simpler.filter(|trouble| !left_out.contains(&trouble.name())) {
            let mut simpler = plan.clone();
            simpler.disturbances[index].trouble = trouble;
            plans.push(simpler);
        }
    }
    plans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_does_not_become_one_that_is_left_out() {
        let plan = Plan::parse("POST v1/secrets default/a 1: paused-long").unwrap();
        let simpler = |left_out: &[&str]| {
            let left_out = left_out.iter().map(|name| (*name).to_owned()).collect();
            smaller(&plan, &left_out).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(simpler(&[]), ["POST v1/secrets default/a 1: paused"]);
        assert_eq!(simpler(&["paused"]), [""; 0]);
    }
}
