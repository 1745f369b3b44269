//! A real Kubernetes control plane, for the suites that need one.
//!
//! Go builds it once from `tests/apiserver`, and keeps the build in its own cache.

use crate::go;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

/// etcd, kube-apiserver and the controller manager on loopback ports of their own. They end with it.
#[derive(Debug)]
pub struct ControlPlane {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    kubeconfig: PathBuf,
    folder: PathBuf,
    ports: Vec<u16>,
}

impl ControlPlane {
    /// One that answers already, with its files in `folder`, which is made anew. `None`, loudly, where there is no Go to
    /// build it with.
    ///
    /// # Panics
    /// Where it cannot be built or does not start, and under `CI=true` where there is no Go.
    #[must_use]
    pub fn start(folder: &Path) -> Option<Self> {
        Self::start_with(folder, None)
    }

    /// The same with several API servers, numbered from 1, and an etcd that can be killed. They log their writes, and the
    /// controller manager does not run.
    ///
    /// # Panics
    /// As [`start`](Self::start) does.
    #[must_use]
    pub fn start_servers(folder: &Path, servers: usize) -> Option<Self> {
        Self::start_with(folder, Some(servers))
    }

    fn start_with(folder: &Path, servers: Option<usize>) -> Option<Self> {
        let program = program()?;
        let _was_not_there = std::fs::remove_dir_all(folder);
        let mut child = Command::new(program)
            .arg("run")
            .arg(folder)
            .args(servers.map(|servers| servers.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let (orders, answers) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        let answers = answers.unwrap_or_else(|| unreachable!("its output is piped"));
        let (kubeconfig, ports) = (PathBuf::new(), Vec::new());
        let mut plane = Self { child, orders, answers, kubeconfig, folder: folder.into(), ports };
        let line = plane.answer();
        let Some(ready) = line.strip_prefix("ready ") else { panic!("the control plane does not start: {line:?}") };
        // A path may have spaces.
        let path = ready.trim_end_matches(|it: char| it == ' ' || it.is_ascii_digit());
        plane.ports = ready[path.len()..].split_whitespace().map_while(|port| port.parse().ok()).collect();
        plane.kubeconfig = path.into();
        Some(plane)
    }

    /// The ports of several API servers.
    #[must_use]
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// A kubeconfig with the contexts `kubernetes-admin@kubernetes`, `files`, `token` (administrators) and `reader`, who
    /// may do nothing at first.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Where its files and logs are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Ends kube-apiserver as a crash would.
    pub fn kill_api_server(&mut self) {
        self.order("kill");
    }

    /// Starts kube-apiserver again, under the same address.
    pub fn start_api_server(&mut self) {
        self.order("start");
    }

    /// Ends one of several API servers as a crash would.
    pub fn kill_server(&mut self, number: usize) {
        self.order(&format!("kill {number}"));
    }

    /// Asks one of several API servers to end (SIGTERM), and waits until it has.
    pub fn stop_server(&mut self, number: usize) {
        self.order(&format!("stop {number}"));
    }

    /// Starts one of several API servers again, under the same address.
    ///
    /// # Errors
    /// If it ends by itself, or is not ready in time: etcd may be away.
    pub fn start_server(&mut self, number: usize) -> Result<(), String> {
        self.try_order(&format!("start {number}")).map(drop)
    }

    /// Ends etcd as a crash would, where there are several API servers.
    pub fn kill_etcd(&mut self) {
        self.order("kill etcd");
    }

    /// Starts etcd again, with the data that it had.
    ///
    /// # Errors
    /// If it ends by itself, or is not ready in time.
    pub fn start_etcd(&mut self) -> Result<(), String> {
        self.try_order("start etcd").map(drop)
    }

    /// Starts etcd and the API servers that have ended, and waits until all are ready. Returns how many had ended.
    ///
    /// # Errors
    /// If one of them ends by itself, or is not ready in time.
    pub fn heal(&mut self) -> Result<u64, String> {
        self.try_order("heal")?.parse().map_err(|_| "no number".to_owned())
    }

    /// Ends the controller manager: nothing makes pods of Deployments, or collects garbage.
    pub fn kill_controller_manager(&mut self) {
        self.order("kill kube-controller-manager");
    }

    /// Starts the controller manager again. It needs some seconds to find the kinds of objects.
    pub fn start_controller_manager(&mut self) {
        self.order("start kube-controller-manager");
    }

    /// From the next start of kube-apiserver on, it logs each write, before it is handled and before its answer is
    /// complete.
    pub fn audit(&mut self, is_on: bool) {
        self.order(if is_on { "audit on" } else { "audit off" });
    }

    /// Where the writes are logged, as lines of JSON (`audit.k8s.io/v1`).
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.folder.join("audit.log")
    }

    /// The same of one of several API servers.
    #[must_use]
    pub fn audit_log_of(&self, number: usize) -> PathBuf {
        self.folder.join(format!("audit-{number}.log"))
    }

    /// Makes etcd forget its history. kube-apiserver has a history of its own, which it forgets when it is killed.
    pub fn compact(&mut self) {
        self.order("compact");
    }

    /// The same.
    ///
    /// # Errors
    /// If etcd is away.
    pub fn try_compact(&mut self) -> Result<(), String> {
        self.try_order("compact").map(drop)
    }

    /// A token of a service account that is good for so many seconds, and ten more where the server remembers it.
    pub fn token(&mut self, namespace: &str, name: &str, uid: &str, seconds: u32) -> String {
        self.order(&format!("token {namespace} {name} {uid} {seconds}"))
    }

    /// Begins to create, change and delete ConfigMaps, whatever becomes of the server.
    pub fn churn(&mut self, namespace: &str) {
        self.order(&format!("churn {namespace}"));
    }

    /// Ends that.
    pub fn rest(&mut self) {
        self.order("rest");
    }

    /// Gives an order and returns what is said to it.
    fn order(&mut self, order: &str) -> String {
        self.try_order(order).unwrap_or_else(|error| panic!("{order}: {error}"))
    }

    fn try_order(&mut self, order: &str) -> Result<String, String> {
        let sent = self.orders.as_mut().map(|orders| writeln!(orders, "{order}"));
        assert!(matches!(sent, Some(Ok(()))), "the control plane does not listen to {order:?}: {sent:?}");
        let line = self.answer();
        line.strip_prefix("ok").map(|answer| answer.trim().to_owned()).ok_or(line)
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        assert!(matches!(read, Ok(1..)), "the control plane is gone; its logs are in {}", self.folder.display());
        line.trim_end().to_owned()
    }
}

impl Drop for ControlPlane {
    /// It ends with its input.
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ended = self.child.wait();
    }
}

/// The program, built; `None`, loudly, where there is no Go. Under the name `kubectl` it is kubectl.
pub fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAM.get_or_init(|| go::build(&["build"], "apiserver", ".", "listwatch-apiserver")).as_deref()
}
