//! What goes wrong: servers, etcd and a replica are killed, and connections are dropped.

use super::replica::{DEADLINE, LEASE};
use super::{SERVERS, STEADY, Stage, wait_for};
use listwatch_core::Resource;
use listwatch_core::api::Api;
use listwatch_tests::balancer::{Door, Mode};
use listwatch_tests::control_plane::ControlPlane;
use listwatch_tests::sim::Dice;
use listwatch_transport_http::HttpClient;
use serde_json::Value;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// What has been killed, by kind.
#[derive(Default)]
pub(super) struct Kills {
    servers: AtomicU64,
    stopped: AtomicU64,
    etcd: AtomicU64,
    replicas: AtomicU64,
    /// Replicas that ended when they were asked to. These and what follows are no kills.
    pub(super) terminated: AtomicU64,
    pub(super) compactions: AtomicU64,
    pub(super) turns: AtomicU64,
    /// Servers that ended by themselves.
    pub(super) fallen: AtomicU64,
    /// Replicas that ended by themselves.
    pub(super) resigned: AtomicU64,
}

impl Kills {
    pub(super) fn all(&self) -> u64 {
        self.kinds().iter().sum()
    }

    /// Of API servers, in rolling restarts, of etcd, and of replicas.
    fn kinds(&self) -> [u64; 4] {
        [&self.servers, &self.stopped, &self.etcd, &self.replicas].map(read)
    }
}

impl fmt::Display for Kills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, [servers, stopped, etcd, replicas]) = (self.all(), self.kinds());
        write!(f, "{all} kills: {servers} of API servers and {stopped} in rolling restarts, ")?;
        write!(f, "{etcd} of etcd, {replicas} of replicas")
    }
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

pub(super) fn read(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// What goes wrong with the servers.
#[derive(Clone, Copy)]
enum Fault {
    /// One is killed.
    One,
    /// Two are killed at once.
    Two,
    /// Each is asked to end and started again, one after the other.
    Roll,
    /// etcd is killed.
    Etcd,
}

/// All of them happen in a random order, and then again.
const FAULTS: [Fault; 10] = {
    use Fault::{Etcd, One, Roll, Two};
    [One, One, One, One, One, One, Two, Roll, Etcd, Etcd]
};

/// Kills servers and etcd until it is over. Mostly two servers are up, and one at least.
pub(super) fn of_servers(control: &mut ControlPlane, mut dice: Dice, kills: &Kills, is_over: &AtomicBool) {
    let mut faults = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        if faults.is_empty() {
            faults.extend(FAULTS);
        }
        let fault = faults.swap_remove(dice.below(faults.len() as u64) as usize);
        go_wrong(control, fault, &mut dice, kills, is_over);
        if dice.chance(30) && control.try_compact().is_ok() {
            add(&kills.compactions);
        }
    }
}

fn go_wrong(control: &mut ControlPlane, fault: Fault, dice: &mut Dice, kills: &Kills, is_over: &AtomicBool) {
    let rest = |dice: &mut Dice, most| wait_for(dice.between(Duration::ZERO, most), || is_over.load(Ordering::Relaxed));
    let first = dice.below(SERVERS as u64) as usize;
    let [one, other] = [0, 1].map(|next| 1 + (first + next) % SERVERS);
    match fault {
        Fault::One => {
            kill(control, one, kills);
            rest(dice, Duration::from_secs(1));
            start(control, one, kills);
        }
        Fault::Two => {
            [one, other].into_iter().for_each(|one| kill(control, one, kills));
            [one, other].into_iter().for_each(|one| start(control, one, kills));
        }
        Fault::Roll => {
            for one in 1..=SERVERS {
                control.stop_server(one);
                add(&kills.stopped);
                start(control, one, kills);
            }
        }
        Fault::Etcd => {
            control.kill_etcd();
            add(&kills.etcd);
            rest(dice, Duration::from_secs(4));
            started(control.start_etcd(), control, kills);
        }
    }
}

fn kill(control: &mut ControlPlane, number: usize, kills: &Kills) {
    control.kill_server(number);
    add(&kills.servers);
}

fn start(control: &mut ControlPlane, number: usize, kills: &Kills) {
    started(control.start_server(number), control, kills);
}

fn started(result: Result<(), String>, control: &mut ControlPlane, kills: &Kills) {
    if let Err(error) = result {
        println!("{error}");
        heal(control, kills);
    }
}

/// Starts what has ended. A server that etcd was away from may end by itself.
pub(super) fn heal(control: &mut ControlPlane, kills: &Kills) {
    const ATTEMPTS: usize = 10;
    for _ in 0..ATTEMPTS {
        match control.heal() {
            Ok(fallen) => {
                kills.fallen.fetch_add(fallen, Ordering::Relaxed);
                return;
            }
            Err(error) => println!("{error}"),
        }
        wait_for(Duration::from_secs(1), || false);
    }
    panic!("the servers do not start");
}

/// Starts and ends replicas until it is over. By turns, the steady replica is cut off for so long that another one leads.
pub(super) fn of_replicas(stage: &Stage, mut dice: Dice, is_over: &AtomicBool) {
    let is_over = || is_over.load(Ordering::Relaxed);
    while !is_over() {
        for _ in 0..4 + dice.below(8) {
            let life = stage.start_replica();
            wait_for(dice.between(Duration::from_millis(100), Duration::from_millis(2_500)), is_over);
            end(stage, life, &mut dice);
        }
        if !is_over() {
            turn(stage, &mut dice, is_over);
        }
    }
}

fn turn(stage: &Stage, dice: &mut Dice, is_over: impl Fn() -> bool) {
    let door = &stage.doors.steady;
    let life = stage.start_replica();
    // It sees the lease, and holds the caches.
    wait_for(Duration::from_secs(2), &is_over);
    door.cut_off(if dice.chance(50) { Mode::Silence } else { Mode::Refuse });
    let leads = wait_for(10 * DEADLINE, || is_over() || holder(&stage.client).as_deref() == Some(&life.identity));
    door.heal();
    if leads && !is_over() {
        add(&stage.kills.turns);
        wait_for(dice.between(Duration::from_secs(1), Duration::from_secs(4)), &is_over);
    }
    end(stage, life, dice);
    wait_for(5 * DEADLINE, || is_over() || holder(&stage.client).as_deref() == Some(STEADY));
}

/// The identity that holds the lease, as far as a server tells.
fn holder(client: &HttpClient) -> Option<String> {
    let leases = Resource::named("coordination.k8s.io/v1/leases").unwrap().in_namespace(super::NAMESPACE);
    let lease = Api::<Value>::new(&leases).get(LEASE).with_timeout(Duration::from_secs(1)).send(client);
    lease.ok()?["spec"]["holderIdentity"].as_str().map(str::to_owned)
}

/// A life of a replica.
pub(super) struct Life {
    pub(super) identity: String,
    pub(super) process: super::process::Process,
}

fn end(stage: &Stage, mut life: Life, dice: &mut Dice) {
    if let Some(status) = life.process.ended() {
        println!("{} has ended by itself: {status}", life.identity);
        return add(&stage.kills.resigned);
    }
    if dice.chance(85) {
        life.process.kill();
        add(&stage.kills.replicas);
    } else {
        let status = life.process.terminate(Duration::from_secs(40));
        if status.is_none_or(|status| !status.success()) {
            println!("{} ends by SIGTERM with {status:?}", life.identity);
        }
        add(&stage.kills.terminated);
    }
}

/// Drops, silences and delays connections until it is over.
pub(super) fn of_connections(doors: &[&Door], mut dice: Dice, is_over: &AtomicBool) {
    let mut rounds = 0_u64;
    while !wait_for(dice.between(Duration::from_millis(50), Duration::from_millis(600)), || {
        is_over.load(Ordering::Relaxed)
    }) {
        let door = doors[dice.below(doors.len() as u64) as usize];
        match dice.below(40) {
            0 => door.cut(),
            1 => door.silence_one(dice.throw()),
            2 => door.delay(dice.between(Duration::from_millis(1), Duration::from_millis(300))),
            3..6 => door.delay(Duration::ZERO),
            _ => door.drop_one(dice.throw()),
        }
        rounds += 1;
        // As a router forgets what is silent.
        if rounds.is_multiple_of(60) {
            doors.iter().for_each(|door| door.cut_silent());
        }
    }
}
