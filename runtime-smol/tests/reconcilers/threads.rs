//! With real threads and a real clock.

use crate::reconcilers::support::{Log, Stage, StopOnDrop};
use core::time::Duration;
use listwatch::controller::{Outcome, Report, RunError};
use listwatch::{Clock, Key};
use listwatch_tests::sim::Troubles;
use listwatch_tests::wait::{PATIENCE, wait_until};
use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

fn real() -> Stage {
    Stage::with(Clock::real(), Troubles::NONE)
}

#[test]
fn a_controller_runs_on_as_many_threads_as_it_is_told_and_none_of_them_is_the_callers() {
    let stage = real();
    (0..8).for_each(|n| stage.put(&format!("foo-{n}")));
    let met = Arc::<Mutex<BTreeSet<String>>>::default();
    let (threads, foos) = (Arc::<Mutex<Vec<ThreadId>>>::default(), stage.foos.clone());
    let handle = listwatch::controller::ControllerHandle::default();
    // Each reconcile waits until all eight are under way, so each has a worker of its own.
    let ended = stage.controller().workers(8).threads(3).keys(&handle).run(async |cx, key: Key| {
        assert!(foos.contains(&key));
        threads.lock().unwrap().push(thread::current().id());
        met.lock().unwrap().insert(key.to_string());
        while met.lock().unwrap().len() < 8 {
            cx.clock().sleep(Duration::from_millis(1)).await;
        }
        handle.stop();
        Ok(Outcome::Done)
    });
    assert_eq!(ended, Ok(()));
    let threads = threads.lock().unwrap();
    let distinct: Vec<_> = threads.iter().enumerate().filter(|(n, id)| !threads[..*n].contains(id)).collect();
    assert_eq!((threads.len(), distinct.len()), (8, 3));
    assert!(!threads.contains(&thread::current().id()));
}

#[test]
fn a_started_controller_is_stopped_by_its_handle_and_by_its_drop() {
    for drops in [false, true] {
        let (stage, log) = (real(), Log::default());
        stage.put("a");
        let (noted, held) = (log.clone(), Arc::new(()));
        let (told, tell) = channel();
        let captured = Arc::clone(&held);
        let controller = stage.controller().on_report(|_, _| {}).calls(async move |_cx, key| {
            let _held = &captured;
            noted.note(key);
            told.send(()).unwrap();
            Ok(Outcome::Done)
        });
        let started = controller.start().unwrap();
        tell.recv_timeout(PATIENCE).unwrap();
        if drops {
            drop(started);
        } else {
            started.handle().stop();
            assert_eq!(started.join(), Ok(()));
        }
        // A drop waits for the threads, but not for ever.
        wait_until(|| Arc::strong_count(&held) == 1);
        assert_eq!(log.take(), ["web/a"]);
    }
}

/// What the test and the reconciles of `busy` tell each other.
struct Talk {
    /// `busy` goes on to compute.
    compute: smol::channel::Receiver<()>,
    /// It computes now.
    computing: Mutex<Sender<()>>,
    /// It has computed enough.
    enough: Mutex<Receiver<()>>,
    /// Which key was reconciled, and where.
    done: Mutex<Sender<(String, ThreadId)>>,
}

/// The longest sleeper is on the thread that computes.
#[test]
fn a_key_goes_to_a_sleeping_thread_while_another_one_computes() {
    let stage = real();
    let (go, compute) = smol::channel::bounded(1);
    let ((computing, computes), (release, enough), (done, reconciled)) = (channel(), channel(), channel());
    let (computing, enough, done) = (Mutex::new(computing), Mutex::new(enough), Mutex::new(done));
    let talk = Talk { compute, computing, enough, done };
    let controller = stage.controller().workers(4).threads(2).on_report(|_, _| {});
    let controller = controller.calls(async move |_cx, key: Key| {
        let this = thread::current().id();
        if key.name() == "busy" {
            talk.done.lock().unwrap().send(("waits".into(), this)).unwrap();
            talk.compute.recv().await?;
            talk.computing.lock().unwrap().send(()).unwrap();
            _ = talk.enough.lock().unwrap().recv_timeout(PATIENCE);
        }
        talk.done.lock().unwrap().send((key.to_string(), this)).unwrap();
        Ok(Outcome::Done)
    });
    let handle = controller.handle();
    let started = controller.start().unwrap();
    let _stop = StopOnDrop(handle.clone());
    let next = || reconciled.recv_timeout(PATIENCE).unwrap();

    handle.add("busy");
    let (_, busy) = next();
    // The workers take turns: after one on the busy thread and one on the other, the former sleeps for longer.
    let mut last = busy;
    for n in 0.. {
        handle.add(format!("turn-{n}").as_str());
        let (_, thread) = next();
        if last == busy && thread != busy && n > 0 {
            break;
        }
        assert!(n < 100_000, "one thread has all the turns");
        last = thread;
    }
    go.send_blocking(()).unwrap();
    computes.recv_timeout(PATIENCE).unwrap();
    // Its event comes over the streams, which no reconcile holds up.
    stage.put("other");
    let other = reconciled.recv_timeout(PATIENCE);
    release.send(()).unwrap();
    assert_eq!(other.map(|(key, _)| key), Ok("web/other".to_owned()), "it waits for the thread that computes");
    drop(started);
}

#[test]
fn a_reconcile_that_blocks_its_thread_is_reported_while_it_does_and_one_that_waits_is_not() {
    let stage = real();
    ["blocks", "waits"].into_iter().for_each(|name| stage.put(name));
    let ((tell, told), (release, released)) = (channel(), channel::<()>());
    let released = Mutex::new(released);
    let controller = stage.controller().workers(2).threads(2).on_report(move |_, report| {
        if let Report::Blocking { key, after } = report {
            _ = tell.send((key.to_string(), *after));
        }
    });
    let controller = controller.calls(async move |cx, key: Key| {
        if key.name() == "blocks" {
            _ = released.lock().unwrap().recv_timeout(PATIENCE);
        } else {
            cx.clock().sleep(PATIENCE).await;
        }
        Ok(Outcome::Done)
    });
    let started = controller.start().unwrap();
    let look = Duration::from_millis(450);
    for times in [1, 2] {
        assert_eq!(told.recv_timeout(PATIENCE), Ok(("web/blocks".to_owned(), look * times)));
    }
    release.send(()).unwrap();
    drop(started);
}

#[test]
fn a_drain_does_not_wait_for_a_worker_on_a_blocked_thread() {
    for workers in [2, 3] {
        let stage = real();
        stage.put("blocks");
        let ((blocking, blocks), (release, released)) = (channel(), channel::<()>());
        let released = Mutex::new(released);
        let controller = stage.controller().workers(workers).drain(Duration::ZERO).on_report(|_, _| {});
        let controller = controller.calls(async move |_cx, _key| {
            blocking.send(()).unwrap();
            _ = released.lock().unwrap().recv_timeout(PATIENCE);
            Ok(Outcome::Done)
        });
        let started = controller.start().unwrap();
        blocks.recv_timeout(PATIENCE).unwrap();
        started.handle().stop();
        let ended = started.join();
        _ = release.send(());
        let Err(RunError::NotDrained { dropped, blocked, .. }) = ended else { panic!("{ended:?}") };
        assert_eq!((dropped, blocked), (Vec::new(), ["web/blocks".into()].to_vec()));
    }
}

#[test]
fn a_period_shorter_than_adding_its_keys_leaves_the_streams_a_turn() {
    let stage = real();
    stage.put("a");
    let (done, reconciled) = channel();
    let controller = stage.controller().every(Duration::from_nanos(1)).on_report(|_, _| {});
    let controller = controller.calls(async move |_cx, key: Key| {
        done.send(key).unwrap();
        Ok(Outcome::Done)
    });
    let started = controller.start().unwrap();
    reconciled.recv_timeout(PATIENCE).unwrap();
    stage.put("b");
    let end = stage.clock.now() + PATIENCE;
    let has_b = reconciled.iter().take_while(|_| stage.clock.now() < end).any(|key| key == Key::from("web/b"));
    assert!(has_b, "the streams do not get to its event");
    drop(started);
}

/// Both workers have one thread. The work that blocks ends when the other key was reconciled.
#[test]
fn work_that_blocks_holds_up_no_other_reconcile_of_its_thread() {
    let stage = real();
    ["a", "b"].into_iter().for_each(|name| stage.put(name));
    let (turns, taken) = channel();
    let taken = Arc::new(Mutex::new(taken));
    let (done, reconciled) = channel();
    let controller = stage.controller().workers(2).on_report(|_, _| {});
    let controller = controller.calls(async move |cx, key: Key| {
        if key.name() == "a" {
            let taken = Arc::clone(&taken);
            let other = cx.blocking(move || taken.lock().unwrap().recv_timeout(PATIENCE).is_ok()).await;
            done.send(other).unwrap();
        } else {
            turns.send(()).unwrap();
        }
        Ok(Outcome::Done)
    });
    let started = controller.start().unwrap();
    assert_eq!(reconciled.recv_timeout(PATIENCE * 2), Ok(true), "the other key waits for it");
    drop(started);
}

#[test]
fn a_panic_of_work_that_blocks_is_one_of_its_reconcile() {
    for clock in [Clock::real(), Clock::simulated()] {
        let (stage, reports) = (Stage::with(clock, Troubles::NONE), Log::default());
        stage.put("a");
        let said = reports.clone();
        let controller = stage.controller().on_report(move |_, report| said.note_report(report));
        let controller = controller.calls(async move |cx, _key| {
            cx.blocking(|| assert!(thread::current().name() == Some("never"), "at the disco")).await;
            Ok(Outcome::Done)
        });
        let ended = stage.play(controller, stage.until(|| reports.len() > 0));
        assert_eq!((ended, &*reports.take()[0]), (Ok(()), "web/a: the reconcile panicked: at the disco"));
    }
}

#[test]
fn work_that_blocks_is_done_in_its_turn_under_a_simulated_clock() {
    let (stage, log) = (Stage::new(), Log::default());
    ["a", "b"].into_iter().for_each(|name| stage.put(name));
    let noted = log.clone();
    let controller = stage.controller().workers(2).on_report(|_, _| {});
    let controller = controller.calls(async move |cx, key: Key| {
        let this = thread::current().id();
        assert_eq!(cx.blocking(|| thread::current().id()).await, this);
        noted.note(key);
        Ok(Outcome::Done)
    });
    let ended = stage.play(controller, stage.until(|| log.len() == 2));
    assert_eq!((ended, log.take()), (Ok(()), ["web/a", "web/b"].map(String::from).to_vec()));
}
