//! Sensors that the timer's interrupt of a Cortex-M reads, and a reconcile that copies what it read.

use crate::output::Output;
use core::cell::RefCell;
use core::time::Duration;
use cortex_m::peripheral::syst::SystClkSource;
use critical_section::Mutex;
use listwatch_core::Instant;
use listwatch_core::queue::Outcome;

/// The number of sensors.
pub const SENSORS: usize = 8;

/// The number of a sensor.
pub type Sensor = u8;

/// The interrupts in which a sensor is read.
const TICKS: u32 = 2_000;

/// The cycles between two interrupts, and the time that they take at 25 MHz.
const CYCLES: u32 = 1_000;
const PERIOD: Duration = Duration::from_micros(40);

static STATE: Mutex<RefCell<State>> =
    Mutex::new(RefCell::new(State { ticks: 0, reconciles: 0, read: [0; SENSORS], seen: [0; SENSORS] }));

struct State {
    ticks: u32,
    reconciles: u32,
    /// What was last read of each sensor.
    read: [u32; SENSORS],
    /// What the reconcile has copied.
    seen: [u32; SENSORS],
}

fn with<R>(change: impl FnOnce(&mut State) -> R) -> R {
    critical_section::with(|section| change(&mut STATE.borrow(section).borrow_mut()))
}

/// Starts the timer.
///
/// # Errors
/// If it was started before.
pub fn start() -> Result<(), &'static str> {
    let mut timer = cortex_m::Peripherals::take().ok_or("the timer was started before")?.SYST;
    timer.set_clock_source(SystClkSource::Core);
    timer.set_reload(CYCLES - 1);
    timer.clear_current();
    timer.enable_counter();
    timer.enable_interrupt();
    Ok(())
}

/// Counts an interrupt. Returns the sensor that has changed with it: some change often, and some seldom.
pub fn interrupt() -> Option<Sensor> {
    with(|state| {
        state.ticks += 1;
        let sensor = (state.ticks.trailing_zeros() as usize).min(SENSORS - 1);
        if state.ticks >= TICKS {
            return None;
        }
        state.read[sensor] = state.ticks;
        Some(sensor as Sensor)
    })
}

/// Whether no sensor is read any more.
#[must_use]
pub fn is_over() -> bool {
    with(|state| state.ticks >= TICKS)
}

/// The time since the start.
#[must_use]
pub fn now() -> Instant {
    Instant::ZERO + PERIOD * with(|state| state.ticks)
}

/// Copies what was read of a sensor, which takes a while. Each fifth attempt fails.
pub fn reconcile(sensor: Sensor) -> Outcome {
    cortex_m::asm::delay(CYCLES / 2);
    with(|state| {
        state.reconciles += 1;
        if state.reconciles.is_multiple_of(5) {
            return Outcome::Retry;
        }
        state.seen[usize::from(sensor)] = state.read[usize::from(sensor)];
        Outcome::Done
    })
}

/// Whether the last change of each sensor was seen.
///
/// # Errors
/// If not, or if one never changed.
pub fn check() -> Result<(), &'static str> {
    with(|state| {
        Output::line("reconciles").number(state.reconciles as usize);
        if state.read.contains(&0) {
            return Err("a sensor never changed");
        }
        if state.read == state.seen { Ok(()) } else { Err("a change of a sensor was missed") }
    })
}
