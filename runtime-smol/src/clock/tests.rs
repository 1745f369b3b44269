use super::*;
use crate::{Executor, run};
use listwatch_tests::wait::{in_time, waker_with_drop};
use std::cell::RefCell;
use std::sync::Mutex;

#[test]
fn sleepers_wake_in_the_order_of_their_deadlines_and_take_no_real_time() {
    let (clock, executor, order) = (Clock::simulated(), Executor::new(), RefCell::new(Vec::new()));
    let sleeper = async |seconds: u64| {
        clock.sleep(Duration::from_secs(seconds)).await;
        order.borrow_mut().push((seconds, clock.now()));
    };
    run(&clock, &executor, async {
        smol::future::zip(sleeper(3600), smol::future::zip(sleeper(60), sleeper(7))).await;
    });
    let expected = [7, 60, 3600].map(|seconds| (seconds, Instant::ZERO + Duration::from_secs(seconds)));
    assert_eq!(*order.borrow(), expected);
}

#[test]
fn a_sleep_that_is_dropped_is_not_waited_for() {
    let clock = Clock::simulated();
    run(&clock, &Executor::new(), async {
        let long = async {
            clock.sleep(Duration::from_secs(1000)).await;
        };
        smol::future::or(long, clock.sleep(Duration::from_secs(1))).await;
        clock.sleep(Duration::from_secs(1)).await;
    });
    assert_eq!(clock.now(), Instant::ZERO + Duration::from_secs(2));
}

#[test]
fn time_stands_still_while_something_runs_outside_and_ready_tasks_go_on() {
    let (clock, (go, gone)) = (Clock::simulated(), smol::channel::bounded::<()>(1));
    let executor = Executor::new();
    let asks = async {
        let _outside = clock.outside();
        smol::unblock(move || gone.recv_blocking()).await.unwrap();
        clock.now()
    };
    let yields = async {
        for _ in 0..500 {
            smol::future::yield_now().await;
        }
        go.send(()).await.unwrap();
    };
    let sleeps = async {
        clock.sleep(Duration::from_secs(1)).await;
        clock.now()
    };
    let (asks, yields) = (executor.spawn(asks), executor.spawn(yields));
    let (answered, (slept, ())) = run(&clock, &executor, smol::future::zip(asks, smol::future::zip(sleeps, yields)));
    assert_eq!((answered, slept), (Instant::ZERO, Instant::ZERO + Duration::from_secs(1)));
}

#[test]
fn time_goes_on_when_a_guard_is_dropped_on_another_thread() {
    let clock = Clock::simulated();
    let outside = clock.outside();
    let (parks, parked) = std::sync::mpsc::channel();
    let gives_up = std::thread::spawn(move || {
        parked.recv().unwrap();
        drop(outside);
    });
    run(&clock, &Executor::new(), async {
        parks.send(()).unwrap();
        clock.sleep(Duration::from_secs(1)).await;
    });
    gives_up.join().unwrap();
    assert_eq!(clock.now(), Instant::ZERO + Duration::from_secs(1));
}

#[test]
fn a_waker_that_asks_for_the_time_when_it_is_dropped_does_not_wait_for_ever() {
    in_time(|| {
        let clock = Clock::simulated();
        let asks = || {
            let clock = clock.clone();
            waker_with_drop(move || _ = clock.now())
        };
        let mut sleep = clock.sleep(Duration::from_secs(1));
        assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(&asks())).is_pending());
        assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(&asks())).is_pending());
        drop(sleep);
        let outside = clock.outside();
        let time = clock.simulation().unwrap();
        assert!(time.stands_still(&asks()) && time.stands_still(&asks()));
        drop(outside);
    });
}

#[test]
fn a_fast_clock_sleeps_less_and_never_wakes_early() {
    let clock = Clock::scaled(NonZeroU32::new(1000).unwrap());
    run(&clock, &Executor::new(), async {
        for _ in 0..20 {
            let at = clock.now() + Duration::from_millis(1500);
            clock.sleep_until(at).await;
            assert!(clock.now() >= at);
        }
    });
}

#[test]
#[should_panic(expected = "no task can go on, and none waits for time")]
fn a_sleep_of_the_longest_duration_never_ends() {
    let clock = Clock::simulated();
    run(&clock, &Executor::new(), async {
        clock.sleep(Duration::from_secs(1)).await;
        clock.sleep(Duration::MAX).await;
    });
}

#[test]
fn a_second_thread_cannot_run_under_one_simulated_clock() {
    let clock = Clock::simulated();
    run(&clock, &Executor::new(), async {
        run(&clock, &Executor::new(), clock.sleep(Duration::from_secs(1)));
        let clock = clock.clone();
        let second = std::thread::spawn(move || run(&clock, &Executor::new(), async {}));
        let panic = second.join().unwrap_err();
        let message = panic.downcast_ref::<&str>().unwrap();
        assert!(message.contains("only one thread can run under a simulated clock"), "{message}");
    });
    let second = std::thread::spawn(move || run(&clock, &Executor::new(), async {}));
    second.join().unwrap();
}

#[test]
fn a_simulated_date_moves_with_the_simulated_time_alone() {
    let clock = Clock::simulated();
    assert_eq!(clock.wall().to_string(), "2000-01-01T00:00:00Z");
    run(&clock, &Executor::new(), clock.sleep(Duration::from_millis(86_400_250)));
    assert_eq!(clock.wall(), Clock::SIMULATED_ORIGIN + Duration::from_millis(86_400_250));
    assert_eq!(Clock::simulated_at(WallTime::MAX).wall(), WallTime::MAX);
}

#[test]
fn a_real_date_is_the_machines_and_a_scaled_one_starts_with_it() {
    #[allow(clippy::disallowed_methods, reason = "the clock is compared with the machine's")]
    let machine = || WallTime::from(std::time::SystemTime::now());
    // The machine's date may step back between two readings.
    let is_the_machines = |_| {
        let (before, date) = (machine(), Clock::real().wall());
        (before..=machine()).contains(&date)
    };
    assert!((0..100).any(is_the_machines));
    // The process had its first clock less than an hour ago, and the date has not stepped by an hour since.
    const HOUR: Duration = Duration::from_secs(3600);
    let fast = Clock::scaled(NonZeroU32::new(1_000_000).unwrap());
    run(&fast, &Executor::new(), fast.sleep(24 * HOUR));
    let since_start = || fast.now().saturating_since(Instant::ZERO);
    let (earliest, date, latest) = (since_start(), fast.wall(), since_start());
    let today = machine();
    assert!(today + earliest <= date + HOUR && date <= today + latest + HOUR, "{today}: {date}");
}

#[test]
fn each_controller_has_its_own_delays_except_in_a_simulation() {
    let seeds = |clock: &Clock| [(); 2].map(|()| clock.random_seed());
    let [one, other] = seeds(&Clock::real());
    assert_ne!(one, other);
    let [one, other] = seeds(&Clock::simulated());
    assert_eq!(one, other);
}

#[test]
fn time_with_a_pace_does_not_jump_and_hears_of_other_threads() {
    let (clock, (go, gone)) = (Clock::simulated(), smol::channel::bounded::<()>(1));
    clock.simulation().unwrap().pace(NonZeroU32::MIN);
    let other = std::thread::spawn(move || go.send_blocking(()));
    let woken = async {
        gone.recv().await.unwrap();
        "by the other thread"
    };
    let slept = async {
        clock.sleep(Duration::from_secs(3600)).await;
        "by the time"
    };
    assert_eq!(run(&clock, &Executor::new(), smol::future::or(woken, slept)), "by the other thread");
    other.join().unwrap().unwrap();
    assert_eq!(clock.now(), Instant::ZERO);
}

#[test]
fn time_with_a_pace_has_the_same_moments() {
    let moments = |speed: Option<u32>| {
        let (clock, mut moments) = (Clock::simulated(), Vec::new());
        speed.and_then(NonZeroU32::new).into_iter().for_each(|speed| clock.simulation().unwrap().pace(speed));
        run(&clock, &Executor::new(), async {
            for millis in [7, 0, 3_600_000] {
                clock.sleep(Duration::from_millis(millis)).await;
                moments.push(clock.now());
            }
        });
        moments
    };
    assert_eq!(moments(Some(10_000_000)), moments(None));
}

/// How long the machine has slept, by its clock.
static SLEPT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// A clock of a machine that sleeps.
fn sleepy() -> Clock {
    fn steady_with_sleep() -> Duration {
        source::steady() + Duration::from_secs(SLEPT.load(std::sync::atomic::Ordering::SeqCst))
    }
    let Source::Real { start, origin, speed, .. } = Source::real(NonZeroU32::MIN) else { panic!("it is real") };
    Clock(Arc::new(Source::Real { steady: steady_with_sleep, start, origin, speed }))
}

#[test]
fn a_sleep_after_the_machine_has_slept_is_on_time() {
    let (clock, before) = (sleepy(), sleepy().now());
    SLEPT.fetch_add(3600, std::sync::atomic::Ordering::SeqCst);
    assert!(clock.now() >= before + Duration::from_secs(3600));
    let (done, is_done) = std::sync::mpsc::channel();
    // A sleep that is late is left to its thread.
    std::thread::spawn(move || {
        run(&clock, &Executor::new(), clock.sleep(Duration::from_millis(5)));
        done.send(()).unwrap();
    });
    assert_eq!(is_done.recv_timeout(listwatch_tests::wait::PATIENCE), Ok(()));
}

#[test]
fn simulated_time_that_jumps_wakes_the_sleepers_in_their_order_and_never_goes_back() {
    let (clock, order) = (Clock::simulated(), Mutex::new(Vec::new()));
    let sleeper = async |seconds: u64| {
        clock.sleep(Duration::from_secs(seconds)).await;
        order.lock().unwrap().push((seconds, clock.now()));
    };
    let executor = Executor::new();
    let sleepers = [7, 3, 90].map(|seconds| executor.spawn(sleeper(seconds)));
    run(&clock, &executor, async {
        clock.sleep(Duration::from_secs(1)).await;
        clock.jump(Duration::from_secs(59));
        for sleeper in sleepers {
            sleeper.await;
        }
    });
    let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
    assert_eq!(*order.lock().unwrap(), [(3, at(60)), (7, at(60)), (90, at(90))]);
}

/// At the end of time, each deadline would be due at once.
#[test]
fn a_jump_of_the_longest_duration_leaves_a_later_moment() {
    let clock = Clock::simulated();
    (0..2).for_each(|_| clock.jump(Duration::MAX));
    let jumped = clock.now();
    run(&clock, &Executor::new(), clock.sleep(Duration::from_secs(1)));
    assert_eq!(clock.now().saturating_since(jumped), Duration::from_secs(1));
}
