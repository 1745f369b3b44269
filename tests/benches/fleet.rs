//! What a member of a fleet costs: 1,000 clusters over HTTP, then one of them that hangs and one that floods.
//!
//! The clusters are paths of one server, in a process of its own. Each has one ConfigMap.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "real time is measured")]

use listwatch::InformerHandle;
use listwatch::controller::{Controller, Fleet, Outcome};
use listwatch::decode::MetadataOnly;
use listwatch::http::Cluster;
use smol::channel::{Receiver, Sender, unbounded};
use smol::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use smol::net::{TcpListener, TcpStream};
use std::io::{BufRead, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const MEMBERS: usize = 1000;
/// How long an idle fleet is watched.
const IDLE: Duration = Duration::from_secs(20);
/// How often a change of all clusters is timed.
const CHANGES: usize = 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.first().map(String::as_str) {
        Some("server") => smol::block_on(serve()),
        _ => measure(),
    }
}

/// Reads a figure of this process, such as `VmRSS` in kB.
fn of_process(figure: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(':')).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// The processor time of this process, in seconds.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks / 100.0
}

/// When each reconcile of the changes was.
type Seen = Arc<Mutex<Vec<Instant>>>;

fn measure() {
    let mut server = Command::new(std::env::current_exe().unwrap())
        .arg("server")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut orders, mut said) =
        (server.stdin.take().unwrap(), std::io::BufReader::new(server.stdout.take().unwrap()).lines());
    let address = said.next().unwrap().unwrap();
    let (fleet, seen, count) = (Fleet::new(), Seen::default(), Arc::new(AtomicUsize::new(0)));
    let world = |name: &str| Cluster::at(&format!("{address}/{name}"));
    let home = Controller::new("home", world("quiet-home").unwrap());
    let maps: InformerHandle<MetadataOnly> = home.informer_of("v1/configmaps");
    let home = home.reconciles(&maps).calls(async |_cx, _key| Ok(Outcome::Done));
    let (handle, members, noted, counted) = (home.handle(), fleet.clone(), Arc::clone(&seen), Arc::clone(&count));
    let running = std::thread::spawn(move || {
        members.run(home, move |name, world| {
            let controller = Controller::new(name, world);
            let maps: InformerHandle<MetadataOnly> = controller.informer_of("v1/configmaps");
            let (seen, count) = (name.starts_with("quiet").then(|| Arc::clone(&noted)), Arc::clone(&counted));
            controller.reconciles(&maps).on_report(|_, _| {}).calls(async move |_cx, _key| {
                seen.iter().for_each(|seen| seen.lock().unwrap().push(Instant::now()));
                count.fetch_add(1, Ordering::Relaxed);
                Ok(Outcome::Done)
            })
        })
    });
    let reconciled = |many: usize| {
        while seen.lock().unwrap().len() < many {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    std::thread::sleep(Duration::from_secs(1));
    let (memory, threads, begun) = (of_process("VmRSS"), of_process("Threads"), Instant::now());
    for number in 0..MEMBERS {
        let name = format!("quiet-{number}");
        fleet.put(&name, "1", || world(&name)).unwrap();
    }
    reconciled(MEMBERS);
    println!("{MEMBERS} members have reconciled after {:.1} s", begun.elapsed().as_secs_f64());
    std::thread::sleep(Duration::from_secs(2));
    let bytes = (of_process("VmRSS") - memory) * 1024.0 / MEMBERS as f64;
    println!("{bytes:.0} resident bytes a member, {} threads more", of_process("Threads") - threads);
    let before = processor();
    std::thread::sleep(IDLE);
    let idle = (processor() - before) / IDLE.as_secs_f64();
    println!("idle: {:.2} % of a processor, {:.1} us a second and member", idle * 100.0, idle * 1e6 / MEMBERS as f64);
    let mut change = |name: &str| {
        let mut times = Vec::new();
        for _ in 0..CHANGES {
            seen.lock().unwrap().clear();
            let begun = Instant::now();
            writeln!(orders, "change").unwrap();
            reconciled(MEMBERS);
            times.extend(seen.lock().unwrap().iter().map(|at| at.duration_since(begun)));
        }
        times.sort_unstable();
        let at = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1e3;
        println!("{name}: a change is reconciled after {:.1} ms (half), {:.1} (99 of 100)", at(50), at(99));
    };
    change("all well");
    fleet.put("hang", "1", || world("hang")).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    change("one hangs");
    fleet.put("flood", "1", || world("flood")).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let (before, floods, begun) = (processor(), count.load(Ordering::Relaxed), Instant::now());
    change("one floods too");
    let took = begun.elapsed().as_secs_f64();
    let floods = count.load(Ordering::Relaxed) - floods - CHANGES * MEMBERS;
    println!(
        "{:.0} reconciles a second of the flood, {:.0} % of a processor",
        floods as f64 / took,
        (processor() - before) / took * 100.0
    );
    handle.stop();
    running.join().unwrap().unwrap();
    drop(orders);
    server.wait().unwrap();
}

/// The watches that are told changes.
type Watches = Arc<Mutex<Vec<Sender<usize>>>>;

/// Serves until standard input ends.
async fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    let watches = Watches::default();
    let told = Arc::clone(&watches);
    std::thread::spawn(move || {
        for (number, _) in std::io::stdin().lock().lines().enumerate() {
            told.lock().unwrap().retain(|watch| watch.try_send(number + 2).is_ok());
        }
        std::process::exit(0);
    });
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let watches = Arc::clone(&watches);
        smol::spawn(async move { _ = answer(stream, &watches).await }).detach();
    }
}

async fn answer(stream: TcpStream, watches: &Watches) -> std::io::Result<()> {
    let (mut lines, mut stream) = (BufReader::new(stream.clone()), stream);
    loop {
        let mut request = String::new();
        if lines.read_line(&mut request).await? == 0 {
            return Ok(());
        }
        let mut line = String::new();
        while lines.read_line(&mut line).await? > 2 {
            line.clear();
        }
        if request.contains("/hang/") {
            smol::future::pending::<()>().await;
        } else if request.contains("sendInitialEvents") {
            whole(&mut stream, "400 Bad Request", r#"{"kind":"Status","code":400,"reason":"BadRequest"}"#).await?;
        } else if !request.contains("watch=") {
            let list =
                format!(r#"{{"kind":"ConfigMapList","metadata":{{"resourceVersion":"1"}},"items":[{}]}}"#, map(1));
            whole(&mut stream, "200 OK", &list).await?;
        } else {
            let (tell, told) = unbounded();
            let is_flood = request.contains("/flood/");
            if !is_flood && !request.contains("quiet-home") {
                watches.lock().unwrap().push(tell);
            }
            return watch(&mut stream, is_flood, told).await;
        }
    }
}

async fn watch(stream: &mut TcpStream, is_flood: bool, told: Receiver<usize>) -> std::io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    let mut version = 1;
    loop {
        version = if is_flood { version + 1 } else { told.recv().await.unwrap_or(usize::MAX) };
        if version == usize::MAX {
            smol::future::pending::<()>().await;
        }
        let event = format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", map(version));
        stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).await?;
    }
}

fn map(version: usize) -> String {
    format!(
        r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"a","namespace":"web","uid":"u-1","resourceVersion":"{version}"}}}}"#
    )
}

async fn whole(stream: &mut TcpStream, status: &str, body: &str) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all((head + body).as_bytes()).await
}
