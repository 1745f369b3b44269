package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
)

// The components that run as processes of their own, so that they can be killed.
const (
	kubeAPIServer     = "kube-apiserver"
	controllerManager = "kube-controller-manager"
)

// The name under which the same program is kubectl.
const kubectl = "kubectl"

// How long a start may take.
const patience = 2 * time.Minute

// A control plane and the files that it lives on.
type plane struct {
	dir      string
	files    *files
	port     int
	admin    *admin
	etcd     *embed.Etcd
	audited  bool
	children map[string]*exec.Cmd
}

func newPlane(dir string) (*plane, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty, or not a folder", dir)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	files, err := writeFiles(dir, port)
	if err != nil {
		return nil, err
	}
	client, err := files.client()
	if err != nil {
		return nil, err
	}
	if err := linkKubectl(dir); err != nil {
		return nil, err
	}
	admin := &admin{client: client, server: fmt.Sprintf("https://127.0.0.1:%d", port)}
	return &plane{dir: dir, files: files, port: port, admin: admin, children: map[string]*exec.Cmd{}}, nil
}

// Links kubectl into the folder `bin`, for machines that have none.
func linkKubectl(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	return os.Symlink(self, filepath.Join(bin, kubectl))
}

// Starts everything and waits until the server answers.
func (p *plane) start() error {
	if err := p.startEtcd(); err != nil {
		return err
	}
	if err := p.startAPIServer(); err != nil {
		return err
	}
	return p.startControllerManager()
}

func (p *plane) startControllerManager() error {
	return p.startChild(controllerManager,
		"--kubeconfig="+p.files.kubeconfig,
		"--authentication-kubeconfig="+p.files.kubeconfig,
		"--authorization-kubeconfig="+p.files.kubeconfig,
		"--controllers=deployment-controller,replicaset-controller,namespace-controller,garbage-collector-controller",
		"--leader-elect=false",
		"--secure-port=0",
	)
}

// Stops everything.
func (p *plane) stop() {
	for name := range p.children {
		p.kill(name)
	}
	if p.etcd != nil {
		p.etcd.Close()
	}
}

func (p *plane) startEtcd() error {
	config := embed.NewConfig()
	config.Dir = filepath.Join(p.dir, "etcd")
	config.LogLevel = "error"
	config.LogOutputs = []string{filepath.Join(p.dir, "etcd.log")}
	// What is stored need not outlive the machine.
	config.UnsafeNoFsync = true
	anyPort := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	config.ListenPeerUrls = []url.URL{anyPort}
	port, err := freePort()
	if err != nil {
		return err
	}
	client := url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	config.ListenClientUrls = []url.URL{client}
	config.AdvertiseClientUrls = []url.URL{client}
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	p.etcd = etcd
	select {
	case <-etcd.Server.ReadyNotify():
		return nil
	case <-time.After(patience):
		return fmt.Errorf("etcd does not start; see %s", filepath.Join(p.dir, "etcd.log"))
	}
}

// Forgets all history up to now: who watches from there is told 410.
func (p *plane) compact() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	server := p.etcd.Server
	_, err := server.Compact(ctx, &etcdserverpb.CompactionRequest{Revision: server.KV().Rev(), Physical: true})
	return err
}

func (p *plane) etcdURL() string {
	return p.etcd.Config().AdvertiseClientUrls[0].String()
}

// Starts the API server and waits until it is ready.
func (p *plane) startAPIServer() error {
	args := []string{
		"--etcd-servers=" + p.etcdURL(),
		"--etcd-compaction-interval=0",
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(p.port),
		"--tls-cert-file=" + p.files.serverCertificate,
		"--tls-private-key-file=" + p.files.serverKey,
		"--client-ca-file=" + p.files.ca,
		"--token-auth-file=" + p.files.tokens,
		"--service-account-issuer=" + issuer,
		"--service-account-key-file=" + p.files.accountKey,
		"--service-account-signing-key-file=" + p.files.accountKey,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC",
		"--disable-admission-plugins=ServiceAccount",
		"--endpoint-reconciler-type=none",
		"--max-requests-inflight=0",
		"--max-mutating-requests-inflight=0",
		"--enable-priority-and-fairness=false",
	}
	if p.audited {
		args = append(args, p.auditArgs()...)
	}
	if err := p.startChild(kubeAPIServer, args...); err != nil {
		return err
	}
	return p.awaitReady()
}

// Logs each write twice: before it is handled, and before its answer is complete. So a server that is killed leaves the
// writes that it had begun.
func (p *plane) auditArgs() []string {
	return []string{
		"--audit-policy-file=" + p.files.auditPolicy,
		"--audit-log-path=" + p.log("audit"),
		"--audit-log-mode=blocking",
		// The log is one file.
		"--audit-log-maxsize=0",
	}
}

func (p *plane) awaitReady() error {
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		if p.admin.ask(http.MethodGet, "/readyz", "") == http.StatusOK {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s does not become ready; see %s", kubeAPIServer, p.log(kubeAPIServer))
}

func (p *plane) startChild(name string, args ...string) error {
	if p.children[name] != nil {
		return fmt.Errorf("%s runs already", name)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(p.log(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	child := exec.Command(self, append([]string{name}, args...)...)
	child.Dir, child.Stdout, child.Stderr = p.dir, log, log
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := child.Start(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.children[name] = child
	return nil
}

// Ends a component as a crash would.
func (p *plane) kill(name string) {
	if child := p.children[name]; child != nil {
		_ = child.Process.Kill()
		_ = child.Wait()
		delete(p.children, name)
	}
}

func (p *plane) log(name string) string {
	return filepath.Join(p.dir, name+".log")
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
