//! The smallest plan and the shortest scenario that show a fault.

use crate::explored::Explored;
use crate::failure::Failure;
use crate::fault::Fault;
use crate::learned::Learned;
use crate::plan::Plan;
use crate::run::Outcome;

/// A failure that a run of this number has shown, made as small as possible.
pub(crate) fn shrunk<S: Send + Sync + 'static>(
    learned: &Learned<S>,
    fault: Fault,
    plan: Plan,
    run: usize,
) -> Box<Failure> {
    let mut smallest = plan;
    while let Some(plan) = smaller(&smallest).into_iter().find(|plan| shows(learned, plan, &fault).is_some()) {
        smallest = plan;
    }
    let Some((found, outcome)) = shows(learned, &smallest, &fault) else {
        let why = format!("the plan {smallest} does not show again that {fault}");
        let story = learned.run(&smallest).traces.story;
        return Failure::of(Fault::NotDeterministic(why), smallest, story, learned.settings.seed);
    };
    let mut failure = Failure::of(found, smallest, outcome.traces.story, learned.settings.seed);
    failure.run = run;
    shorten(learned, &mut failure);
    failure
}

/// Ends the scenario at the first step after which the plan shows the fault. Undisturbed, nothing is wrong so early.
fn shorten<S: Send + Sync + 'static>(learned: &Learned<S>, failure: &mut Failure) {
    for steps in 0..learned.steps {
        let early = Learned::of(&learned.parts, learned.settings.clone(), Some(steps), &mut Explored::default());
        let Ok(early) = early else { continue };
        if let Some((fault, outcome)) = shows(&early, &failure.plan, &failure.fault) {
            (failure.fault, failure.story, failure.steps) = (fault, outcome.traces.story, Some((steps, learned.steps)));
            return;
        }
    }
}

/// Whether a plan shows a fault of a kind, with all of its disturbances.
fn shows<S: Send + Sync + 'static>(learned: &Learned<S>, plan: &Plan, fault: &Fault) -> Option<(Fault, Outcome)> {
    let outcome = learned.run(plan);
    let found = learned.judge(&outcome).filter(|found| found.is_like(fault))?;
    Some((found, outcome))
}

/// Plans with one disturbance fewer, or with a simpler one.
fn smaller(plan: &Plan) -> Vec<Plan> {
    let count = plan.disturbances.len();
    let mut plans: Vec<Plan> = (0..count).filter(|_| count > 1).map(|index| plan.without(index)).collect();
    for (index, disturbance) in plan.disturbances.iter().enumerate() {
        for trouble in disturbance.trouble.simpler() {
            let mut simpler = plan.clone();
            simpler.disturbances[index].trouble = trouble;
            plans.push(simpler);
        }
    }
    plans
}
