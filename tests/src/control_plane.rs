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
}

impl ControlPlane {
    /// One that answers already, with its files in `folder`, which is made anew. `None`, loudly, where there is no Go to
    /// build it with.
    ///
    /// # Panics
    /// Where it cannot be built or does not start, and under `CI=true` where there is no Go.
    #[must_use]
    pub fn start(folder: &Path) -> Option<Self> {
        let program = program()?;
        let _was_not_there = std::fs::remove_dir_all(folder);
        let mut child = Command::new(program)
            .arg("run")
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let (orders, answers) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        let answers = answers.unwrap_or_else(|| unreachable!("its output is piped"));
        let mut plane = Self { child, orders, answers, kubeconfig: PathBuf::new(), folder: folder.into() };
        let line = plane.answer();
        let Some(path) = line.strip_prefix("ready ") else { panic!("the control plane does not start: {line:?}") };
        plane.kubeconfig = path.into();
        Some(plane)
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

    /// Makes etcd forget its history. kube-apiserver has a history of its own, which it forgets when it is killed.
    pub fn compact(&mut self) {
        self.order("compact");
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
        let sent = self.orders.as_mut().map(|orders| writeln!(orders, "{order}"));
        assert!(matches!(sent, Some(Ok(()))), "the control plane does not listen to {order:?}: {sent:?}");
        let line = self.answer();
        let Some(answer) = line.strip_prefix("ok") else { panic!("{order}: {line}") };
        answer.trim().to_owned()
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

/// The program, built.
fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAM.get_or_init(|| go::build(&["build"], "apiserver", ".", "listwatch-apiserver")).as_deref()
}
